"""Each kind of fault once, on the quicker commands; `make endurance` makes all of them happen many times."""

from tests.endurance.faults import FAULTS, faults
from tests.endurance.launcher import Ended
from tests.endurance.outcome import check
from tests.endurance.refusals import leftovers, wrong_refusal

LARGE_ONLY = {
    "full disk, tune --grid", "full disk, benchmark", "read-only folder, tune --grid",
    "read-only folder, tune --trials", "read-only folder, benchmark", "damaged search, tune --trials", "wrong clock",
    "two searches in a folder",
}  # fmt: skip


def test_every_fault_is_one_clear_line_and_nothing_is_lost(stage):
    assert FAULTS.keys() > LARGE_ONLY
    outcomes = faults(stage, 1, 100, [name for name in FAULTS if name not in LARGE_ONLY])
    assert len(outcomes) == len(FAULTS) - len(LARGE_ONLY)
    check(outcomes)


def test_a_refusal_that_is_not_as_promised_is_noticed(tmp_path):
    assert not wrong_refusal(Ended(2, 1, "", "a note\nerror: no such file\n"), "no such")
    assert not wrong_refusal(Ended(2, 1, "", "failed: a, seed 1: disk\nfailed: b, seed 1: disk\n"))
    for code, said in (
        (1, "error: x\n"),
        (0, ""),
        (-9, ""),
        (2, "Traceback (most recent call last)\nerror: x\n"),
        (2, "error: x\nerror: y\n"),
        (2, "something\n"),
        (2, "error: other words\n"),
    ):
        assert wrong_refusal(Ended(code, 1, "", said), "x")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".lock").touch()
    assert leftovers(tmp_path) == []
    (tmp_path / "run" / ".model.safetensors.k2j4").touch()
    assert leftovers(tmp_path) == ["left behind: .model.safetensors.k2j4"]
