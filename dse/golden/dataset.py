"""Data sets to train on: samples with labels, in part for training and in part for testing, and .npz files of them."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dse.errors import InputError
from dse.golden.product import Array
from dse.network import Network, Shape

__all__ = ["DataSet", "load_npz", "split"]

TEST_SHARE = 5
"""One sample of so many is for testing, where a file does not say which are."""


@dataclass(frozen=True, slots=True)
class DataSet:
    """Samples float32 [S, C, H, W] from -1 to 1 with labels int64 [S], for training and for testing."""

    name: str
    train: tuple[Array, Array]
    test: tuple[Array, Array]

    def check(self, network: Network, batch_size: int) -> None:
        """Raise InputError where samples do not have the shape of the network's input, labels exceed its classes, or
        the training samples do not fill a batch.
        """
        shape = self.train[0].shape[1:]
        if shape != network.input_shape:
            raise InputError(f"data {self.name}", "samples do not fit the network", shape, network.input_shape)
        classes = network.layers[-1].in_shape[0]
        largest = max(int(labels.max()) for _, labels in (self.train, self.test))
        if largest >= classes:
            raise InputError(f"data {self.name}", "a label has no output", largest, f"0 to {classes - 1}")
        count = len(self.train[1])
        if count < batch_size:
            where, got = f"data {self.name}", f"{count} samples"
            raise InputError(where, "does not fill a batch", got, f"{batch_size} or more")


def split(name: str, samples: Array, labels: Array, seed: int) -> DataSet:
    """A data set of which a fifth, drawn from ``seed``, is for testing."""
    order = np.random.default_rng(seed).permutation(len(labels))
    cut = max(1, len(labels) // TEST_SHARE)
    test, train = order[:cut], order[cut:]
    return DataSet(name, (samples[train], labels[train]), (samples[test], labels[test]))


def load_npz(path: Path, shape: Shape, seed: int) -> DataSet:
    """The data set of a .npz file: ``x`` and ``y``, and ``x_test`` and ``y_test`` where it says what to test on.

    ``x`` is [S, C, H, W], [S, H, W, C] or (one channel) [S, H, W], where ``shape`` (C, H, W) tells which; bytes from 0
    to 255 or floats from -1 to 1. ``y`` is [S], whole numbers from 0. Nothing pickled is read. Raises InputError for a
    file that cannot be read, a missing array, other types, sizes or values.
    """
    arrays = _read(path)
    pairs = [("x", "y"), ("x_test", "y_test")] if {"x_test", "y_test"} & set(arrays) else [("x", "y")]
    for name in (name for pair in pairs for name in pair):
        if name not in arrays:
            raise InputError(f"{path}: {name}", "array is missing", allowed="x and y, or x, y, x_test and y_test")
    parts = [_part(f"{path}: ", arrays, names, shape) for names in pairs]
    if len(parts) == 2:
        return DataSet(path.name, parts[0], parts[1])
    if len(parts[0][1]) < 2:
        raise InputError(f"{path}: y", "has too few samples", len(parts[0][1]), "2 or more")
    return split(path.name, *parts[0], seed)


def _read(path: Path) -> dict[str, Array]:
    try:
        file = np.load(path, allow_pickle=False)
        if not isinstance(file, np.lib.npyio.NpzFile):
            raise InputError(str(path), "is no .npz file", allowed="an archive written by numpy.savez")
        with file:
            return {key: file[key] for key in file.files if key in ("x", "y", "x_test", "y_test")}
    except InputError:
        raise
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(str(path), f"cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _part(where: str, arrays: dict[str, Array], names: tuple[str, str], shape: Shape) -> tuple[Array, Array]:
    samples = _samples(where + names[0], arrays[names[0]], shape)
    labels = arrays[names[1]]
    if not np.issubdtype(labels.dtype, np.integer) or labels.ndim != 1 or (labels.size and labels.min() < 0):
        raise InputError(where + names[1], "must be whole numbers from 0, [S]", f"{labels.dtype} {labels.shape}")
    if len(labels) != len(samples) or not len(labels):
        counts = f"{len(samples)} samples, {len(labels)} labels"
        raise InputError(where + names[1], "must have one label for each sample", counts, "as many, at least 1")
    return samples, labels.astype(np.int64)


def _samples(where: str, x: Array, shape: Shape) -> Array:
    c, h, w = shape
    if x.ndim == 3 and c == 1:
        x = x[:, None]
    if x.ndim == 4 and x.shape[1:] == (h, w, c) and x.shape[1:] != shape:
        x = x.transpose(0, 3, 1, 2)
    if x.ndim != 4 or x.shape[1:] != shape:
        raise InputError(where, "samples do not fit the network", x.shape, f"[S, {c}, {h}, {w}] or [S, {h}, {w}, {c}]")
    if x.dtype == np.uint8:
        return (x.astype(np.float32) - 127.5) / 127.5
    if not np.issubdtype(x.dtype, np.floating):
        raise InputError(where, "is of another type", str(x.dtype), "uint8, or floats from -1 to 1")
    if x.size and not np.abs(x).max() <= 1:  # not: so that NaN is refused too
        raise InputError(where, "has values out of range", float(np.abs(x).max()), "floats from -1 to 1")
    return x.astype(np.float32)
