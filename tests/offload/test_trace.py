"""GPU times from traces: what was put into a made-up one comes out, and wrong ones are one line."""

from __future__ import annotations

import contextlib
import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest

from dse import Workload, load_network
from dse.errors import InputError
from dse.offload.gpu_model import load_gpu
from dse.offload.scenario import training_scenario
from dse.offload.trace import read_trace
from dse.workload import precision_named
from tests.offload.made_trace import made_trace


def write(path: Path, trace: object) -> Path:
    (path / "trace.json").write_text(json.dumps(trace))
    return path / "trace.json"


@pytest.mark.parametrize("name", ["lenet10", "resnet20_cifar10", "alexnet"])
def test_times_come_out_as_they_went_in(tmp_path: Path, name: str) -> None:
    network = load_network(name)
    trace, expected = made_trace(network)
    random.Random(1).shuffle(trace["traceEvents"])
    times = read_trace(write(tmp_path, trace), network)
    assert times.seconds == pytest.approx(expected)
    assert (times.iterations, times.unmatched, times.gpu) == (2, (), "Tesla V100")
    assert 0.5 < times.attributed < 1


def test_a_compressed_trace_is_the_same(tmp_path: Path) -> None:
    network = load_network("lenet10")
    trace, _ = made_trace(network)
    plain = read_trace(write(tmp_path, trace), network)
    packed = tmp_path / "trace.json.gz"
    packed.write_bytes(gzip.compress(json.dumps(trace).encode()))
    assert read_trace(packed, network) == plain


def test_layers_beside_convolutions_that_do_not_fit_are_left_out_and_named(tmp_path: Path) -> None:
    network = load_network("lenet10")
    trace, _ = made_trace(network)
    trace["traceEvents"] = [e for e in trace["traceEvents"] if e["name"] != "aten::relu_" or e["ts"] > 2000]
    times = read_trace(write(tmp_path, trace), network)
    assert "relu" in times.unmatched
    relu = next(layer.name for layer in network.layers if layer.op == "relu")
    assert (relu, "forward") not in times.seconds


def test_the_scenario_takes_the_traces_times(tmp_path: Path) -> None:
    work = Workload(load_network("alexnet"), 16, precision_named("fp32"))
    trace, expected = made_trace(work.network)
    times = read_trace(write(tmp_path, trace), work.network)
    scenario = training_scenario(work, load_gpu("v100"), trace=times)
    first = scenario.graph.by_name["conv1 forward"].costs["gpu"]
    assert first.seconds == pytest.approx(expected["conv1", "forward"])
    assert first.watts == load_gpu("v100").mac[0]
    assert "from trace" in scenario.assumptions["GPU times"]
    assert scenario.assumptions["trace"].startswith("2 iterations on Tesla V100")


def without(kind: str, trace: dict[str, Any]) -> dict[str, Any]:
    return {**trace, "traceEvents": [e for e in trace["traceEvents"] if e["cat"] != kind]}


def test_wrong_traces_are_one_line(tmp_path: Path) -> None:
    network = load_network("lenet10")
    trace, _ = made_trace(network, 1)
    cases = [
        ([], "is no Chrome trace"),
        ({"traceEvents": 1}, "is no Chrome trace"),
        (without("kernel", trace), "has no GPU kernels; got 0; allowed: a trace with ProfilerActivity.CUDA"),
        (without("cpu_op", trace), "conv operators are no multiple of the layers of network lenet10; got 0"),
        ({"traceEvents": [{**trace["traceEvents"][0], "ts": "soon"}]}, "ts must be a number; got 'soon'"),
    ]
    for content, says in cases:
        with pytest.raises(InputError) as caught:
            read_trace(write(tmp_path, content), network)
        assert says in str(caught.value)
    with pytest.raises(InputError, match="conv operators are no multiple"):
        read_trace(write(tmp_path, trace), load_network("vgg16"))
    (tmp_path / "torn.json").write_text(json.dumps(trace)[:-20])
    with pytest.raises(InputError, match="is not valid JSON"):
        read_trace(tmp_path / "torn.json", network)
    (tmp_path / "torn.json.gz").write_bytes(gzip.compress(b"{}")[:-4])
    with pytest.raises(InputError, match="is not valid JSON"):
        read_trace(tmp_path / "torn.json.gz", network)
    with pytest.raises(InputError, match="cannot be read: No such file"):
        read_trace(tmp_path / "nowhere.json", network)


def test_damaged_events_never_end_in_a_traceback(tmp_path: Path) -> None:
    network = load_network("lenet10")
    trace, _ = made_trace(network, 1)
    draw = random.Random(2)
    for _ in range(60):
        events = [dict(event) for event in trace["traceEvents"]]
        for event in draw.sample(events, 5):
            event[draw.choice(["ph", "cat", "name", "ts", "dur", "args", "tid"])] = draw.choice(
                [None, -1, "x", [], {}, 1e300]
            )
        for event in draw.sample(events, 3):
            event["args"] = {"External id": draw.choice([[], "1", 3]), "Sequence number": draw.choice([{}, -1, 2])}
        with contextlib.suppress(InputError):
            read_trace(write(tmp_path, {**trace, "traceEvents": events}), network)


def test_the_command_takes_a_trace(dse, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    trace, _ = made_trace(load_network("alexnet"))
    path = write(tmp_path, trace)
    done = dse("offload", "advise", "-n", "alexnet", "-b", 16, "--trace", path)
    assert done.code == 0
    assert "2 iterations on Tesla V100" in done.out
    assert (
        "has no GPU kernels"
        in dse("offload", "simulate", "-n", "alexnet", "--trace", write(tmp_path, {"traceEvents": []})).error
    )
