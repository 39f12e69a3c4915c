"""Networks: one TOML file each, read into a ``dse.network.Network`` with every shape inferred.

To add a network, write one TOML file (the smallest shipped one, ``lenet10.toml``, shows the form) and either put it
in this folder, or load it by its path, or publish it from your own package through the entry-point group
``dse.networks``: the entry's name is the network's, its object the path of the file or a function returning it.

    name = "lenet10"                                   # letters, digits, "_", "." and "-"
    source = "Where the structure is from."            # required: paper and table, or title of the publication
    input = { channels = 3, height = 32, width = 32 }
    layer = [                                          # the same as one [[layer]] block each
      { name = "conv1", op = "conv", out_channels = 32, kernel = 3, padding = 1 },
      { name = "relu1", op = "relu" },                 # reads the layer above it, or what ``from`` names
    ]

    [[published]]                                      # optional: counts in print that the file must reproduce
    quantity = "parameters"                            # one of ``dse.networks.published.QUANTITIES``
    value = 1000
    tolerance = 0.001                                  # relative
    source = "Where that number is printed."

The operations and the keys each takes are the table ``dse.networks.shapes.OPERATIONS``.

ONNX files (``onnx_import``) and Darknet .cfg files (``darknet_import``) are read by their paths too. To add an operator
of ONNX, write a function of a node and one line of ``onnx_operators.COMPUTE``, ``onnx_cuts.CUTS`` or
``onnx_movement.MOVEMENT``.
"""

from __future__ import annotations

from dse.networks.catalog import list_networks
from dse.networks.loader import load_network
from dse.networks.published import PublishedCount, published_counts

__all__ = ["PublishedCount", "list_networks", "load_network", "published_counts"]
