"""Commands killed and interrupted a few times; `make endurance` does it hundreds of times."""

import signal

from tests.endurance.kills import _wrong_end, interrupts, kills
from tests.endurance.launcher import Ended
from tests.endurance.outcome import check
from tests.endurance.works import BENCHMARK, MATCH, TRAIN, TUNE


def test_killed_and_started_again_they_come_to_the_same(stage):
    outcomes = kills(stage, 2, 100, (TUNE, BENCHMARK, MATCH))  # tests/cli/test_kill.py has ten kills of `train`
    assert [outcome.tried for outcome in outcomes] == [2, 2, 2]
    check(outcomes)


def test_ctrl_c_says_how_to_go_on(stage):
    outcomes = interrupts(stage, 1, 100, (TRAIN, TUNE, BENCHMARK, MATCH))
    assert [outcome.tried for outcome in outcomes] == [1] * 4
    check(outcomes)


def test_an_end_that_is_not_as_promised_is_noticed():
    assert not _wrong_end(Ended(-9, 1, "", ""), TRAIN, signal.SIGKILL, begun=True)
    assert _wrong_end(Ended(2, 1, "", "error: x\n"), TRAIN, signal.SIGKILL, begun=True)
    said = "the run is not finished; continue with: mpxgat train a -o b --resume\nstopped\n"
    assert not _wrong_end(Ended(130, 1, "", said), TRAIN, signal.SIGINT, begun=True)
    assert _wrong_end(Ended(1, 1, "", said), TRAIN, signal.SIGINT, begun=True)
    assert _wrong_end(Ended(130, 1, "", "stopped\n"), TRAIN, signal.SIGINT, begun=True)
    assert _wrong_end(Ended(130, 1, "", "Traceback (most recent call last)\n"), TRAIN, signal.SIGINT, begun=False)
