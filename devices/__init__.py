"""Boards, one TOML file each, every number with the document it comes from.

Adding a board takes one file. Copy the nearest one in this folder, name it after the board (the file name is the name
that commands take) and change the figures:

- ``name`` (the same as the file name), ``part``, ``vendor`` ("xilinx" or "intel");
- ``[resources]``: lut, ff, dsp, bram36, uram288, or for Intel alm, m20k, dsp;
- ``[clock]`` hz; ``[dram]`` bytes and bytes_per_s; ``[dma]`` port_bits and restart_cycles;
- ``[dsp_cost.<precision>]`` multiplier and adder, in DSP blocks, for int8, int16, bf16, fp32 where the board has them;
- ``[usable]``: share of each resource a design may take, 0 to 1;
- ``[[power]]``, none or several: design, dsp, bram36, clock_hz, watts, source;
- ``[sources]``: for each numeric key (``"dram.bytes"``) or whole table (``resources``) the document and its table or
  section. Where nothing is published for the board, the text begins with ``assumed:`` and says on what basis.

A file outside this folder is used by its path (``load_device("boards/mine.toml")``); a distribution adds boards through
the entry-point group ``dse.devices``, whose objects are the path of a TOML file or a callable that returns it.
"""

from dse.devices.loader import ENTRY_POINT_GROUP, PRECISIONS, list_devices, load_device

__all__ = ["ENTRY_POINT_GROUP", "PRECISIONS", "list_devices", "load_device"]
