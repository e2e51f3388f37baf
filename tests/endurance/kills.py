"""Commands killed or interrupted at random moments: started again they come to what they would have come to anyway."""

from __future__ import annotations

import signal
from collections.abc import Sequence

import numpy as np

from tests.endurance.launcher import Ended
from tests.endurance.outcome import Failure, Outcome
from tests.endurance.works import WORKS, Stage, Work

_IN_A_ROW = 5  # kills of one run, at most
_STOPPED = 130


def kills(stage: Stage, count: int, seed: int, works: Sequence[Work] = WORKS) -> list[Outcome]:
    """Each work killed (as by ``kill -9``) ``count`` times, up to five times in one run; an outcome for each work."""
    return [_series(stage, work, count, seed, signal.SIGKILL) for work in works]


def interrupts(stage: Stage, count: int, seed: int, works: Sequence[Work] = WORKS) -> list[Outcome]:
    """The same with Ctrl-C: exit code 130, and words that say how to go on."""
    return [_series(stage, work, count, seed, signal.SIGINT) for work in works]


def _series(stage: Stage, work: Work, count: int, seed: int, sent: signal.Signals) -> Outcome:
    expected, seconds = stage.undisturbed(work)
    rng = np.random.default_rng([seed, *work.name.encode()])
    name = f"{'kill -9' if sent == signal.SIGKILL else 'Ctrl-C'}: {work.name}"
    failures: list[Failure] = []
    done, attempts = 0, 0
    while done < count and attempts < 3 * count + 10:
        place = stage.place(work.name)
        wanted = min(count - done, int(rng.integers(1, _IN_A_ROW + 1)))
        problems = []
        for moment in rng.dirichlet(np.ones(wanted)) * rng.random() * seconds:
            attempts += 1
            before = work.begun(place)
            ended = stage.run(work, place, seconds=float(moment), signal=int(sent))
            if ended.code == 0:  # it was quicker than thought
                seconds = min(seconds, ended.seconds)
                break
            done += 1
            problems += _wrong_end(ended, work, sent, begun=work.begun(place) and not before)
        ended = stage.run(work, place)
        if ended.code != 0:
            problems.append(f"started again it ended with code {ended.code}: {ended.err[-300:]!r}")
        elif work.result(place) != expected:
            problems.append("started again it came to something else")
        failures += [Failure(f"{problem} (in {place.name})", f"{name}, seed {seed}") for problem in problems]
    return Outcome(name, seed, done, tuple(failures))


def _wrong_end(ended: Ended, work: Work, sent: signal.Signals, *, begun: bool) -> list[str]:
    """What was wrong with how a command took a signal."""
    if sent == signal.SIGKILL:
        return [] if ended.code == -sent else [f"code {ended.code}: {ended.err[-300:]!r}"]
    problems = []
    if ended.code != _STOPPED:
        problems.append(f"exit code {ended.code}, expected {_STOPPED}: {ended.err[-300:]!r}")
    if "Traceback" in ended.err or "Exception ignored" in ended.err:
        problems.append(f"a traceback: {ended.err[-300:]!r}")
    elif begun and work.how not in ended.err:
        problems.append(f"it does not say how to go on: {ended.err[-300:]!r}")
    return problems
