"""SystemVerilog sources, as plain files under ``lib``; this package only carries them."""
