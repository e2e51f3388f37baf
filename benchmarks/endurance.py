"""What tests/endurance tries in small, tried in large: fuzzing, kills, faults, little memory, hostile files, leaks.

    python -m benchmarks.endurance --inputs 1000000 --kills 100 --hours 8 --into docs/reliability.md

Each piece is put on record as soon as it is done, in the file --record, and the summary between the markers of the
section "endurance" is made anew. Killed and started again with the same numbers, it goes on with what is missing. The
exit code is 1 if anything failed; every failure is printed with the call that repeats it.
"""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path

from tests.endurance.fuzzing import fuzz, hostile
from tests.endurance.outcome import Failure, Outcome
from tests.endurance.works import WORKS, Stage, stage

from mpxgat.experiments.layouts import markdown_lines
from mpxgat.experiments.tables import write_section
from mpxgat.io.files import append_json_line, read_json_lines

SECTION = "endurance"
_CHUNK = 20_000  # inputs in a piece of fuzzing
_LEAK_SECONDS = 600.0  # of a piece of repeated runs
# Rows of the summary: what their outcomes' names begin with, and what they are called.
_ROWS = {
    "fuzz ": "inputs to readers, damaged or made up",
    "hostile files": "files made to do harm",
    "harmful texts": "commands on ids and names made to do harm",
    "kill -9": "`kill -9` at random moments, then resumed",
    "Ctrl-C": "Ctrl-C at random moments, then resumed",
    "fault: ": "faults of disk, permission, clock, files, and two at once",
    "little memory": "commands with little memory",
    "repeated runs": "repeated runs in one process, memory and open files compared",
}

Piece = tuple[str, Callable[[], Sequence[Outcome]]]
"""A name that is the same whenever the same is done, and what to do."""


class Stages:
    """A stage that is set only if a piece needs it."""

    def __init__(self, stack: ExitStack):
        self._stack = stack
        self._stage: Stage | None = None

    def give(self, piece: Callable[..., Sequence[Outcome]], *arguments: object) -> Sequence[Outcome]:
        """Do a piece on the stage."""
        return piece(self.get(), *arguments)

    def get(self) -> Stage:
        """The stage, in a folder that goes away in the end."""
        if self._stage is None:
            folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="endurance-"))
            self._stage = self._stack.enter_context(stage(Path(folder) / "stage"))
        return self._stage


def pieces(options: argparse.Namespace, stages: Stages) -> Iterator[Piece]:
    """All that was asked for, the quick first."""
    from tests.endurance.faults import FAULTS, faults
    from tests.endurance.kills import interrupts, kills
    from tests.endurance.limits import little_memory
    from tests.endurance.texts import harmful_texts

    seed = options.seed
    yield f"hostile {seed}", lambda: [hostile(seed)]
    yield f"texts {seed}", lambda: [harmful_texts(stages.get(), seed)]
    for number in range(options.faults):
        for name in FAULTS:
            yield f"fault {name} {seed + number}", partial(stages.give, faults, 1, seed + number, [name])
    for number in range(options.faults):
        yield f"memory {seed + number}", partial(stages.give, little_memory, 1, seed + number)
    for done in range(0, options.kills, 10):
        count = min(10, options.kills - done)
        for work in WORKS:
            what = f"{work.name} {count} {seed + done}"
            yield f"kills {what}", partial(stages.give, kills, count, seed + done, [work])
            yield f"interrupts {what}", partial(stages.give, interrupts, count, seed + done, [work])
    for done in range(0, options.inputs, _CHUNK):
        count = min(_CHUNK, options.inputs - done)
        yield f"fuzz {done} {count} {seed}", partial(fuzz, count, seed, first=done)
    for number in range(round(options.hours * 3600 / _LEAK_SECONDS)):
        yield f"leaks {number} {seed}", lambda: [_leaks(seed)]


def _leaks(seed: int) -> Outcome:
    from tests.endurance.leaks import leaks

    with tempfile.TemporaryDirectory(prefix="endurance-") as folder:
        return leaks(Path(folder), 1, seed, _LEAK_SECONDS)


def read_record(path: Path) -> dict[str, list[Outcome]]:
    """What is on record, by the name of the piece."""
    found = {}
    for _, row in read_json_lines(path, "a piece of endurance"):
        found[str(row["piece"])] = [
            Outcome(one["name"], one["seed"], one["tried"], tuple(Failure(**failure) for failure in one["failures"]))
            for one in row["outcomes"]
        ]
    return found


def summary(record: dict[str, list[Outcome]]) -> str:
    """The record as Markdown: a table of sums, and one of the readers that were fuzzed."""
    outcomes = [outcome for piece in record.values() for outcome in piece]
    rows = []
    for beginning, title in _ROWS.items():
        found = [outcome for outcome in outcomes if outcome.name.startswith(beginning)]
        if found:
            rows.append([title, f"{_tried(found):,}", str(_failed(found)), _seeds(found)])
    readers: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.name.startswith("fuzz "):
            readers.setdefault(outcome.name.removeprefix("fuzz "), []).append(outcome)
    text = markdown_lines(["what", "tried", "failed", "seeds"], rows)
    text += f"\nPython {platform.python_version()}, {platform.system()}, {platform.machine()}.\n"
    if readers:
        text += "\nInputs for each reader:\n\n"
        counts = [[name, f"{_tried(found):,}", str(_failed(found))] for name, found in sorted(readers.items())]
        text += markdown_lines(["reader", "inputs", "failed"], counts)
    return text


def _tried(outcomes: Sequence[Outcome]) -> int:
    return sum(outcome.tried for outcome in outcomes)


def _failed(outcomes: Sequence[Outcome]) -> int:
    return sum(len(outcome.failures) for outcome in outcomes)


def _seeds(outcomes: Sequence[Outcome]) -> str:
    seeds = sorted({outcome.seed for outcome in outcomes})
    whole = len(seeds) > 2 and seeds == list(range(seeds[0], seeds[-1] + 1))
    return f"{seeds[0]} to {seeds[-1]}" if whole else ", ".join(map(str, seeds))


def main() -> int:
    """Do what is missing; 1 if anything on record failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=1_000_000, help="inputs to readers, all together")
    parser.add_argument("--kills", type=int, default=25, help="of each command, and as many times Ctrl-C")
    parser.add_argument("--faults", type=int, default=10, help="times that each fault is made to happen")
    parser.add_argument("--hours", type=float, default=8.0, help="of repeated runs")
    parser.add_argument("--seed", type=int, default=100)
    parser.add_argument("--record", type=Path, default=Path("mpxgat-endurance.jsonl"), help="what is done so far")
    parser.add_argument("--into", type=Path, help=f"a Markdown file with the markers of the section {SECTION}")
    options = parser.parse_args()
    record = read_record(options.record)
    with ExitStack() as stack:
        for name, work in pieces(options, Stages(stack)):
            if name in record:
                continue
            begin = time.monotonic()
            record[name] = list(work())
            append_json_line(options.record, {"piece": name, "outcomes": [asdict(one) for one in record[name]]})
            print(
                f"{name}: {time.monotonic() - begin:.0f} s, {_failed(record[name])} failed", file=sys.stderr, flush=True
            )
            if options.into is not None:
                write_section(options.into, SECTION, summary(record))
    print(summary(record))
    failures = [failure for piece in record.values() for outcome in piece for failure in outcome.failures]
    for failure in failures:
        print(f"failed: {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
