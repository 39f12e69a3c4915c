"""Checking emitted RTL: tools found in the Python environment, simulation, comparison with the golden model."""
