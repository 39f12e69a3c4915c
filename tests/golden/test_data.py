"""Data sets: drawn and from files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dse.errors import InputError
from dse.golden import GoldenModel, IntegerArithmetic, Schedule, accuracy, draw_shapes, load_npz, train
from dse.golden.dataset import DataSet
from dse.networks import load_network


@pytest.mark.parametrize(("shape", "classes"), [((1, 8, 8), 4), ((3, 32, 32), 10), ((2, 9, 16), 2)])
def test_shapes_are_the_same_from_the_same_seed(shape: tuple[int, int, int], classes: int) -> None:
    one, same, other = (draw_shapes(shape, classes, 103, seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(one.train[0], same.train[0])
    np.testing.assert_array_equal(one.test[1], same.test[1])
    assert (one.train[0] != other.train[0]).any()
    assert (len(one.train[1]), len(one.test[1])) == (83, 20)
    counts = np.bincount(np.concatenate([one.train[1], one.test[1]]))
    assert len(counts) == classes
    assert counts.max() - counts.min() <= 1
    for samples, _ in (one.train, one.test):
        assert samples.shape[1:] == shape
        assert np.abs(samples).max() <= 1


def test_the_mean_of_a_class_does_not_give_it_away() -> None:
    """Means over many samples tell nothing, for place, level and sign are drawn."""
    data = draw_shapes((1, 12, 12), 6, 2500, 0)
    means = np.stack([data.train[0][data.train[1] == label].mean(axis=0) for label in range(6)])
    assert np.abs(means).max() < 0.2


def test_the_loss_of_integers_falls_and_the_network_learns() -> None:
    data = draw_shapes((1, 12, 12), 6, 2500, 0)
    arithmetic = IntegerArithmetic()
    epochs = list(train(GoldenModel(load_network("shapes_cnn"), arithmetic, 0), data, Schedule(epochs=4)))
    assert [epoch.number for epoch in epochs] == [1, 2, 3, 4]
    assert epochs[-1].loss < 0.8 * epochs[0].loss
    assert epochs[-1].accuracy > 0.45  # chance is 0.17
    assert arithmetic.rate_shift == 5  # 4, halved after two epochs


def test_accuracy_counts_samples() -> None:
    data = draw_shapes((1, 12, 12), 6, 400, 0)
    model = GoldenModel(load_network("shapes_cnn"), IntegerArithmetic(), 0)
    right = [accuracy(model, data.train[0][i : i + 1], data.train[1][i : i + 1]) for i in range(150)]
    assert set(right) <= {0.0, 1.0}
    assert accuracy(model, data.train[0][:150], data.train[1][:150]) == pytest.approx(np.mean(right))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (((1, 7, 8), 4, 100, 0), "maps are too small"),
        (((1, 8, 8), 11, 100, 0), "no such number of classes; got 11; allowed: 2 to 10"),
        (((1, 8, 8), 4, 19, 0), "five samples a class; got 19; allowed: 20 or more"),
    ],
)
def test_what_cannot_be_drawn_is_refused(arguments: tuple[tuple[int, int, int], int, int, int], says: str) -> None:
    with pytest.raises(InputError, match=says):
        draw_shapes(*arguments)


def test_files_in_their_forms(tmp_path: Path) -> None:
    rng, path = np.random.default_rng(0), tmp_path / "d.npz"
    images, labels = rng.integers(0, 256, (20, 4, 5, 3), np.uint8), rng.integers(0, 3, 20)
    np.savez(path, x=images, y=labels)
    last = load_npz(path, (3, 4, 5), 1)
    assert len(last.train[1]) == 16
    assert last.name == "d.npz"
    both = np.concatenate([last.train[0], last.test[0]])
    assert sorted(both.ravel()) == pytest.approx(sorted((images.ravel() - 127.5) / 127.5), abs=1e-6)
    np.savez_compressed(path, x=images.transpose(0, 3, 1, 2) / 255.0, y=labels, x_test=images / 255.0, y_test=labels)
    given = load_npz(path, (3, 4, 5), 1)
    np.testing.assert_array_equal(given.train[0], given.test[0])
    np.testing.assert_array_equal(given.train[1], labels)
    np.savez(path, x=images[..., 0], y=labels)
    assert load_npz(path, (1, 4, 5), 1).train[0].shape == (16, 1, 4, 5)


IMAGES, LABELS = np.zeros((4, 1, 8, 8), np.uint8), np.zeros(4, np.int64)


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"x": IMAGES}, "d.npz: y: array is missing"),
        ({"x": IMAGES, "y": LABELS, "x_test": IMAGES}, "y_test: array is missing"),
        ({"x": IMAGES[:, :, :7], "y": LABELS}, "x: samples do not fit the network; got (4, 1, 7, 8)"),
        ({"x": IMAGES.astype(np.int64), "y": LABELS}, "x: is of another type; got 'int64'; allowed: uint8"),
        ({"x": IMAGES + 1.5, "y": LABELS}, "x: has values out of range; got 1.5"),
        ({"x": IMAGES * np.nan, "y": LABELS}, "x: has values out of range; got nan"),
        ({"x": IMAGES, "y": LABELS[:3]}, "y: must have one label for each sample; got '4 samples, 3 labels'"),
        ({"x": IMAGES, "y": LABELS - 1}, "y: must be whole numbers from 0"),
        ({"x": IMAGES, "y": LABELS * 1.0}, "y: must be whole numbers from 0"),
        ({"x": IMAGES[:1], "y": LABELS[:1]}, "y: has too few samples"),
        ({"x": np.array([None]), "y": LABELS}, "cannot be read"),
    ],
)
def test_wrong_files_are_named_with_their_array(tmp_path: Path, arrays: dict[str, object], says: str) -> None:
    path = tmp_path / "d.npz"
    np.savez(path, **arrays)  # type: ignore[arg-type]
    with pytest.raises(InputError) as caught:
        load_npz(path, (1, 8, 8), 0)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 damaged", b"\x93NUMPY\x01\x00", b"text"])
def test_files_that_are_no_archives_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "d.npz"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"d\.npz"):
        load_npz(path, (1, 8, 8), 0)


def test_a_plain_array_is_no_data_set(tmp_path: Path) -> None:
    path = tmp_path / "d.npz"
    with path.open("wb") as file:
        np.save(file, IMAGES)
    with pytest.raises(InputError, match=r"is no \.npz file"):
        load_npz(path, (1, 8, 8), 0)


def test_data_that_do_not_fit_are_refused() -> None:
    network = load_network("shapes_cnn")
    fits = draw_shapes((1, 12, 12), 6, 100, 0)
    model = GoldenModel(network, IntegerArithmetic(), 0)
    for data, says in (
        (draw_shapes((1, 8, 8), 6, 100, 0), "samples do not fit"),
        (draw_shapes((1, 12, 12), 10, 100, 0), "a label has no output; got 9; allowed: 0 to 5"),
        (DataSet("few", (fits.train[0][:5], fits.train[1][:5]), fits.test), "does not fill a batch"),
    ):
        with pytest.raises(InputError, match=says):
            next(train(model, data, Schedule()))
