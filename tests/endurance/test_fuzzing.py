"""Readers fuzzed in small, and that fuzzing notices what it is there for; `make endurance` does it in large."""

import sys

import pytest

from tests.endurance.fuzzing import Patience, fuzz, hostile, make_input
from tests.endurance.outcome import check
from tests.endurance.subjects import format_subjects

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is measured as Linux tells it")

# Of files made to do harm, those that take no long time to make; the others wait for the large run.
QUICK = [
    "one unit in", "a megabyte about", "names of features", "without vertices", "an attribute for every",
    "bomb for mpx", "parts, for settings", "number of a million digits", "nested", "without end, for",
    "Parquet: long texts", "header",
]  # fmt: skip


def test_every_reader_gives_a_valid_value_or_a_named_error():
    outcomes = fuzz(500, seed=100)
    assert len(outcomes) > 25
    check(outcomes)


def test_files_made_to_do_harm_do_none():
    outcome = hostile(100, QUICK)
    assert outcome.tried > 30
    check([outcome])


def test_what_breaks_a_promise_is_noticed():
    said = {
        "raises": "KeyError: \"'not a named error'\" at broken.py",
        "hangs": "took more than 2 s",
        "eats": "MB for ",
        "dies": "ended the process (code -6)",
        "babbles": "a message that is not one short line: 'two\\nlines'",
    }
    outcomes = fuzz(25, 100, [f"broken: {name}" for name in said], patience=Patience(busy=2))
    for (name, words), outcome in zip(said.items(), outcomes, strict=True):
        assert outcome.name == f"fuzz broken: {name}"
        assert words in outcome.failures[0].what
        number = int(outcome.failures[0].what.partition("input ")[2].partition(":")[0])
        assert outcome.failures[0].repeat == f"fuzz(1, 100, ['broken: {name}'], first={number})"


def test_what_waits_for_ever_is_noticed():
    (outcome,) = fuzz(1, 100, ["broken: waits"], patience=Patience(idle=1))
    assert "did not get on in 1 s" in str(outcome)


def test_the_same_seed_and_number_make_the_same_input():
    subject = format_subjects()[0]
    known = [{"net.edges": b"1 a b\n2 a b\n"}, {"net.edges": b"1 a b 3\n", "net_layers.txt": b"layerID x\n1 x\n"}]
    inputs = [make_input(subject, number, 100, known) for number in range(50)]
    assert inputs == [make_input(subject, number, 100, known) for number in range(50)]
    assert len({str(files) for files in inputs}) > 40
