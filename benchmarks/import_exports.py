"""Full-size networks exported by PyTorch, imported, and counted against PyTorch's own counters.

    python benchmarks/import_exports.py [NAME ...] [--keep DIR]

Needs torch and onnxscript. Exits 1 where a count differs. Weights are written beside the files, and never read.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import logging
import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "fixtures"))
import torch_models

from dse.errors import InputError
from dse.networks import load_network

IMAGE = (3, 224, 224)
FOLDED_ELEMENTS = 8192
"""Largest constant that the exporter computes with (onnxscript, optimizer/_constant_folding.py)."""
MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "alexnet": (torch_models.alexnet, IMAGE),
    "vgg16": (torch_models.vgg16, IMAGE),
    "resnet18": (lambda: torch_models.resnet((2, 2, 2, 2), bottleneck=False), IMAGE),
    "resnet50": (lambda: torch_models.resnet((3, 4, 6, 3), bottleneck=True), IMAGE),
    "mobilenet_v2": (torch_models.mobilenet_v2, IMAGE),
    "efficientnet_b0": (torch_models.efficientnet, IMAGE),
    "unet_transposed": (torch_models.UNet, (3, 256, 256)),
    "unet_upsampled": (lambda: torch_models.UNet(transposed=False), (3, 256, 256)),
    "deit_tiny": (torch_models.ViT, IMAGE),
    "deit_tiny_sdpa": (lambda: torch_models.ViT(fused=True), IMAGE),
    "bert_base": (torch_models.Bert, (128,)),
}


def sample(shape: tuple[int, ...], batch: int) -> torch.Tensor:
    return torch.randint(0, 1000, (batch, *shape)) if len(shape) == 1 else torch.randn(batch, *shape)


def export(model: nn.Module, shape: tuple[int, ...], path: Path, dynamo: bool) -> None:
    """TorchScript in training mode, which keeps batch normalisation; dynamo in evaluation mode, which folds it."""
    x = sample(shape, 2)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        if dynamo:
            batch = ({0: torch.export.Dim("batch")},)
            torch.onnx.export(model, (x,), str(path), dynamo=True, dynamic_shapes=batch, external_data=True)
            return
        model.train()
        axes = {"x": {0: "batch"}, "y": {0: "batch"}}
        torch.onnx.export(
            model, (x,), str(path), dynamo=False, input_names=["x"], output_names=["y"], dynamic_axes=axes,
            training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False, opset_version=17,
        )  # fmt: skip


def count(model: nn.Module, shape: tuple[int, ...]) -> tuple[int, int]:
    """MACs of a sample's forward pass and parameters, as PyTorch counts them."""
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        model(sample(shape, 1))
    return counter.get_total_flops() // 2, sum(parameter.numel() for parameter in model.parameters())


def shift(model: nn.Module) -> None:
    """Give batch normalisation shifts that are not 0: the dynamo exporter drops biases that are."""
    for one in model.modules():
        if isinstance(one, nn.BatchNorm2d):
            nn.init.normal_(one.bias)


def folded(model: nn.Module, shape: tuple[int, ...]) -> int:
    """Parameters that a file of the dynamo exporter has more than the model, or fewer.

    Scales of batch normalisation are merged into the convolutions, shifts become biases; rows that are looked up by
    fixed numbers replace their tables, here those of BERT's positions and segments.
    """
    fewer = sum(one.num_features for one in model.modules() if isinstance(one, nn.BatchNorm2d))
    if isinstance(model, torch_models.Bert):
        for table in (model.positions, model.segments):
            if table.weight.numel() <= FOLDED_ELEMENTS:
                fewer += (table.num_embeddings - shape[0]) * table.embedding_dim
    return -fewer


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MODELS))
    parser.add_argument("--keep", type=Path, metavar="DIR", help="folder that the files are written to")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    missed = 0
    print(f"{'network':<18}{'exporter':<13}{'MACs':>16}{'parameters':>14}{'layers':>8}{'import':>9}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        for name in options.names or MODELS:
            make, shape = MODELS[name]
            for dynamo in (False, True):
                torch.manual_seed(0)
                model = make().eval()
                shift(model)
                expected = count(model, shape)
                if dynamo:
                    expected = expected[0], expected[1] + folded(model, shape)
                path = folder / f"{name}{'_dynamo' if dynamo else ''}.onnx"
                export(model, shape, path, dynamo)
                started = time.perf_counter()
                exporter = "dynamo" if dynamo else "TorchScript"
                try:
                    network = load_network(path)
                except InputError as error:
                    print(f"{name:<18}{exporter:<13} {error}")
                    missed += 1
                    continue
                took, found = time.perf_counter() - started, (network.macs, network.parameters)
                print(
                    f"{name:<18}{exporter:<13}{found[0]:>16,}{found[1]:>14,}{len(network.layers):>8}{took:>7.2f} s",
                    end="",
                )
                print("" if found == expected else f"  PyTorch counts {expected[0]:,} and {expected[1]:,}", flush=True)
                missed += found != expected
                if not options.keep:
                    for written in folder.iterdir():
                        written.unlink()
    print(f"largest memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB, most of it PyTorch's")
    print("all counts are PyTorch's" if not missed else f"{missed} files differ")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
