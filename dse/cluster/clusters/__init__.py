"""Clusters as data, one TOML file each."""
