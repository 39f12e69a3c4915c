"""Published tables, a TOML file a paper; see ``dse.validation``."""
