"""Words of a schedule, read as ``sequencer_pkg.sv`` reads them, and the cycles of the sequencer by hand."""

from __future__ import annotations

import re
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.engine import EngineParameters
from dse.host.registers import ERRORS
from dse.schedule import PHASES, SPACES, Rule, Step, build_schedule, least_hardware
from dse.schedule.record import HEADER_WORDS, NO_RULE, SHIFTS, STARTS, UNITS, step_words
from dse.schedule.schedule import sequencer_cycles
from tests.schedule.made_networks import NETWORKS, made_workload

PACKAGE = (files("dse.rtl_templates") / "sequencer" / "sequencer_pkg.sv").read_text(encoding="utf-8")
RULE_OF_FIELD = {"a_slot": "a", "b_slot": "b", "o_slot": "o", "weight_slot": "weight", "bias_slot": "bias"}


def decoded(words: np.ndarray) -> dict[str, int]:
    """Field of ``header_t`` -> its bits, from the assignments in the RTL's own function."""
    found = {}
    for name, word, high, low in re.findall(r"h\.(\w+) += .*?word\[(\d)\]\[(\d+)(?::(\d+))?\]", PACKAGE):
        first = int(low or high)
        found[name] = int(words[int(word)]) >> first & (1 << int(high) - first + 1) - 1
    return found


def numbers(enum: str) -> list[str]:
    """Names of an enumeration, in the order of their numbers from 0."""
    (body,) = re.findall(rf"typedef enum [^{{]*\{{([^}}]*)\}} {enum};", PACKAGE)
    pairs = re.findall(r"(\w+) += \d+'d(\d+)", body)
    assert [int(value) for _, value in pairs] == list(range(len(pairs)))
    return [name for name, _ in pairs]


def constant(name: str) -> int:
    (value,) = re.findall(rf"localparam int unsigned {name} += (\d+);", PACKAGE)
    return int(value)


def test_numbers_of_units_shifts_starts_and_errors_are_those_of_the_rtl() -> None:
    assert [constant(name.capitalize()) for name in UNITS] == list(range(len(UNITS)))
    assert constant("Units") == len(UNITS) - 1
    assert constant("HeaderWords") == HEADER_WORDS
    assert [name.lower() for name in numbers("shift_e")] == list(SHIFTS)
    assert [name.removeprefix("From").lower() for name in numbers("exponent_e")] == list(STARTS)
    errors = numbers("error_e")
    assert errors[0] == "NoError"
    assert list(ERRORS) == list(range(1, len(errors)))
    for number, word in ((1, "read"), (3, "write"), (4, "unit"), (6, "longer"), (7, "unit"), (8, "base")):
        assert word in ERRORS[number]
        assert word in f"{errors[number]} longer".lower()


slots = st.none() | st.integers(0, 255)
rules = st.builds(
    Rule, st.sampled_from(SHIFTS), st.integers(0, 1), st.sampled_from(STARTS), st.booleans(),
    st.integers(-(1 << 15), (1 << 15) - 1), slots, slots, slots, slots, slots,
)  # fmt: skip


@given(
    rule=rules,
    unit=st.sampled_from(UNITS),
    payload=st.lists(st.integers(0, 2**32 - 1), max_size=120),
    spaces=st.tuples(*[st.sampled_from(SPACES)] * 3),
    counter=st.integers(0, 2**16 - 1),
)
def test_every_field_of_a_record_is_where_the_rtl_reads_it(
    rule: Rule, unit: str, payload: list[int], spaces: tuple[str, str, str], counter: int
) -> None:
    step = Step("layer", "forward", unit, "", np.array(payload, np.uint32), 0, spaces, rule)
    words = step_words(step, counter)
    assert words.dtype == np.uint32
    assert words[HEADER_WORDS:].tolist() == payload
    found = decoded(words)
    assert found["addend"] == rule.addend & 0xFFFF
    writes = [rule.o is not None, rule.weight is not None, rule.bias is not None]
    expected = {
        "unit": UNITS.index(unit), "payload": len(payload), "counter": counter, "shift": SHIFTS.index(rule.shift),
        "extra": rule.extra, "exponent": STARTS.index(rule.start), "shifted": int(rule.shifted),
        "writes": sum(1 << bit for bit, on in enumerate(writes) if on),
        **{f"{name}_base": SPACES.index(space) for name, space in zip("abw", spaces, strict=True)},
        **{name: getattr(rule, key) or 0 for name, key in RULE_OF_FIELD.items()},
    }  # fmt: skip
    assert {name: found[name] for name in expected} == expected
    assert set(found) == {*expected, "addend"}


@pytest.mark.parametrize("name", NETWORKS)
def test_records_follow_each_other_and_count_for_their_layer_and_phase(name: str) -> None:
    network = NETWORKS[name]
    schedule = build_schedule(made_workload(network), least_hardware(network, EngineParameters()))
    words, at = schedule.words(), 0
    for step in schedule.steps:
        header = decoded(words[at : at + HEADER_WORDS])
        assert UNITS[header["unit"]] == step.unit
        assert schedule.layers[header["counter"] // len(PHASES)] == step.layer
        assert PHASES[header["counter"] % len(PHASES)] == step.phase
        assert header["counter"] < schedule.counters
        at += HEADER_WORDS + header["payload"]
    assert at == len(words)
    content = schedule.content()
    assert content["words"] == len(words)
    assert content["cycles"] == sum(row["cycles"] for row in content["steps"]) == schedule.cycles


def _step(unit: str, words: int, cycles: int, rule: Rule = NO_RULE) -> Step:
    return Step("layer", "forward", unit, "", np.zeros(words, np.uint32), cycles, rule=rule)


def test_sequencer_cycles_by_hand() -> None:
    # A first record of 4 + 11 words is there after 17 cycles, its command is taken 4 later, its end is noted 1 later.
    assert sequencer_cycles([_step("elementwise", 11, 50)]) == [17 + 4 + 50 + 1]
    # Each slot that is noted takes a cycle.
    assert sequencer_cycles([_step("channel", 11, 50, Rule(o=0, weight=1, bias=2))]) == [17 + 4 + 50 + 1 + 3]
    # 103 words are loaded behind a step of 200 cycles; behind one of 5 they are waited for, to 104 after the 21.
    assert sequencer_cycles([_step("elementwise", 11, 200), _step("engine", 99, 30)]) == [222, 4 + 30 + 1]
    assert sequencer_cycles([_step("elementwise", 11, 5), _step("engine", 99, 30)]) == [27, 21 + 104 - 27 + 4 + 30 + 1]
    # The host's own time does not count; what comes behind it is loaded only then.
    assert sequencer_cycles([_step("host", 0, 0), _step("elementwise", 11, 50)]) == [6 + 4, 15 + 4 + 50 + 1]
