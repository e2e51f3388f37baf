"""Work side by side: the same results in the same order, no more of it than fits the memory, the dead are named."""

import os
import signal

import pytest

from mpxgat.errors import TrainingError
from mpxgat.training import parallel as side_by_side
from mpxgat.training.parallel import Processes, at_once, is_worth_workers, results


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_come_in_order(jobs):
    assert list(results(Processes(jobs), abs, range(-5, 0), 0, "made numbers positive")) == [5, 4, 3, 2, 1]


@pytest.mark.parametrize(("jobs", "elsewhere"), [(1, False), (2, True)])
def test_several_jobs_run_in_processes(jobs, elsewhere):
    """Which leave Ctrl-C to their parent."""
    found = list(results(Processes(jobs), signal.getsignal, [signal.SIGINT] * 2, 0, "looked"))
    assert found == [signal.SIG_IGN if elsewhere else signal.getsignal(signal.SIGINT)] * 2


def test_nothing_to_do_takes_no_worker():
    assert list(results(Processes(2), os._exit, [], 0, "died")) == []


def test_a_worker_that_dies_is_told():
    with pytest.raises(TrainingError, match=r"a process that squared numbers died .* out of memory"):
        list(results(Processes(2), os._exit, range(2), 0, "squared numbers"))


def test_no_more_at_once_than_the_memory_holds(monkeypatch):
    process = side_by_side._PROCESS_BYTES
    room = {"bytes": 0}
    monkeypatch.setattr(side_by_side, "fits", lambda needed: needed <= room["bytes"])
    needs = [10, 30, 20]
    for space, expected in ((0, 1), (50 + 2 * process, 2), (49 + 2 * process, 1), (60 + 3 * process, 3)):
        room["bytes"] = space
        assert at_once(Processes(4), needs) == expected
        assert at_once(Processes(4, always=True), needs) == 3  # it has its memory elsewhere
    assert at_once(Processes(2), []) == 0


def test_one_piece_at_a_time_runs_here_unless_the_engine_is_elsewhere():
    assert [is_worth_workers(Processes(4), count) for count in (0, 1, 2)] == [False, False, True]
    assert [is_worth_workers(Processes(4, always=True), count) for count in (0, 1, 2)] == [False, True, True]
