"""Readers fuzzed: whatever the file holds, a valid value or a named error, in 10 seconds and in little memory.

Inputs are read one after another in a child process. Before each, the child writes down its number and sets an alarm on
its processor time. So an input that hangs, or that takes the whole process with it, is known, and another
child goes on behind it. Run as a program, this file is that child.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mpxgat.errors import DataWarning
from tests.endurance.memory import address_space, peak, reset_peak
from tests.endurance.mutations import Random, mutated
from tests.endurance.outcome import Failure, Outcome
from tests.endurance.subjects import Subject

ROOT = Path(__file__).parents[2]
MEMORY = 500 << 20  # bytes, beside twice the file
_HARD_LIMIT = 4 << 30  # of address space: what claims more cannot get it, whatever becomes of it
_ORIGINALS = 6
_MOST_FAILURES = 20  # of a subject; more say nothing new
_HOSTILE = "hostile"  # the name under which those files go
_PLACE = struct.Struct("<QQ")


@dataclass(frozen=True)
class Patience:
    """Seconds of processor time for an input, and seconds on the clock in which nothing at all is computed."""

    busy: float = 10
    idle: float = 120


_USUAL = Patience()


# ---- the parent ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stretch:
    """Inputs of one subject, numbered ``start`` to before ``stop``."""

    subject: str
    start: int
    stop: int


def fuzz(count: int, seed: int, only: Sequence[str] = (), first: int = 0, patience: Patience = _USUAL) -> list[Outcome]:
    """At least ``count`` inputs shared out over all subjects (or ``only`` these); an outcome for each subject.

    The same seed and number make the same input. ``first`` skips as many of each subject, to go on from there.
    """
    subjects = _subjects(only)
    total = sum(subject.share for subject in subjects.values())
    work = [
        Stretch(name, first, first + math.ceil(count * subject.share / total)) for name, subject in subjects.items()
    ]
    failures: dict[str, list[Failure]] = {name: [] for name in subjects}
    with tempfile.TemporaryDirectory(prefix="endurance-") as folder:
        waiting = list(work)
        while waiting:
            waiting = _one_child(waiting, seed, Path(folder), failures, patience)
    return [Outcome(f"fuzz {s.subject}", seed, s.stop - s.start, tuple(failures[s.subject])) for s in work]


def hostile(seed: int, only: Sequence[str] = ()) -> Outcome:
    """Every file made to do harm (or ``only`` those whose names hold one of these words), once; needs no seed."""
    from tests.endurance.hostile import cases

    wanted = [n for n, name in enumerate(cases()) if not only or any(words in name for words in only)]
    failures: dict[str, list[Failure]] = {_HOSTILE: []}
    with tempfile.TemporaryDirectory(prefix="endurance-") as folder:
        waiting = [Stretch(_HOSTILE, number, number + 1) for number in wanted]
        while waiting:
            waiting = _one_child(waiting, seed, Path(folder), failures, _USUAL)
    return Outcome("hostile files", seed, len(wanted), tuple(failures[_HOSTILE]))


def _one_child(
    work: list[Stretch], seed: int, folder: Path, failures: dict[str, list[Failure]], patience: Patience
) -> list[Stretch]:
    """Let a child work; what is left to do when it is gone. Failures are added to ``failures``."""
    place, found = folder / "place", folder / "found"
    place.write_bytes(_PLACE.pack(0, work[0].start))
    found.write_bytes(b"")
    plan = json.dumps([str(folder), seed, patience.busy, [[s.subject, s.start, s.stop] for s in work]])
    code = _run_child(plan, folder, patience.idle)
    assert code != 1, f"the fuzzing itself failed: {(folder / 'said').read_text(errors='replace')}"
    for line in found.read_text(encoding="utf-8").splitlines():
        name, number, what = json.loads(line)
        failures[name].append(_failure(seed, name, number, what))
    stretch, number = _PLACE.unpack(place.read_bytes())
    if stretch == len(work):  # it came to the end
        return []
    name = work[stretch].subject
    if code != 0:
        what = {
            -signal.SIGPROF: f"took more than {patience.busy} s",
            -signal.SIGALRM: f"did not get on in {patience.idle} s",
        }.get(code, f"ended the process (code {code}): {_tail(folder / 'said')}")
        failures[name].append(_failure(seed, name, number, what))
        number += 1
    rest = [Stretch(name, number, work[stretch].stop), *work[stretch + 1 :]]
    return [
        s for s in rest if s.start < s.stop and (s.subject == _HOSTILE or len(failures[s.subject]) < _MOST_FAILURES)
    ]


def _run_child(plan: str, folder: Path, idle: float) -> int:
    """The exit code of a child; one that does not get on is ended by SIGALRM."""
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.endurance.fuzzing", plan]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
    last: tuple[bytes, str] | None = None
    since = time.monotonic()
    with (
        open(folder / "said", "wb") as said,
        subprocess.Popen(command, cwd=ROOT, stdout=said, stderr=said, env=environment) as child,
    ):
        while child.poll() is None:
            now = (folder / "place").read_bytes(), _processor_time(child.pid)
            if now != last:
                last, since = now, time.monotonic()
            elif time.monotonic() - since > idle:
                child.send_signal(signal.SIGALRM)
            time.sleep(0.05)
    return child.returncode


def _processor_time(pid: int) -> str:
    """What a process has used of the processor; the same text if it has not used any since."""
    with suppress(OSError):  # it has just ended
        return " ".join(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13])
    return ""


def _failure(seed: int, name: str, number: int, what: str) -> Failure:
    if name != _HOSTILE:
        return Failure(f"{name}, input {number}: {what}", f"fuzz(1, {seed}, [{name!r}], first={number})")
    from tests.endurance.hostile import cases

    case = list(cases())[number]
    return Failure(f"{case}: {what}", f"hostile({seed}, [{case!r}])")


def _tail(path: Path) -> str:
    lines = [line for line in path.read_text(errors="replace").splitlines() if line.strip()]
    return " | ".join(lines[:6])[:400]


# ---- the child -------------------------------------------------------------------------------------------


def _subjects(names: Sequence[str] = ()) -> dict[str, Subject]:
    """These subjects by name, or all but those that are broken on purpose."""
    from tests.endurance.broken import broken_subjects

    broken = {subject.name: subject for subject in broken_subjects()}
    if names and all(name in broken for name in names):  # they need nothing that takes long to load
        return {name: broken[name] for name in names}
    from tests.endurance.state_subjects import all_subjects

    return {name: subject for name, subject in all_subjects().items() if not names or name in names}


def rng_for(seed: int, name: str, number: int) -> Random:
    """The random numbers of one input."""
    return np.random.default_rng([seed, number, *name.encode()])


def files_of(folder: Path) -> dict[str, bytes]:
    """The content of all files in a folder, by name; without hidden ones, which are locks."""
    paths = (path for path in sorted(folder.iterdir()) if path.is_file() and not path.name.startswith("."))
    return {path.name: path.read_bytes() for path in paths}


def originals(folder: Path, subject: Subject, seed: int) -> list[dict[str, bytes]]:
    """Valid files of a subject; made once for all children that work in ``folder``."""
    found = []
    for number in range(_ORIGINALS if subject.share >= 1 else 2):
        place = folder / "originals" / f"{subject.name} {number}"
        if not place.exists():
            place.mkdir(parents=True)
            subject.make(place, rng_for(seed, subject.name, 2**32 - 1 - number))
            subject.read(place)
        found.append(files_of(place))
    return found


def make_input(subject: Subject, number: int, seed: int, known: Sequence[dict[str, bytes]]) -> dict[str, bytes]:
    """Input ``number``: the files of an original, one of them damaged; or a text made by the subject's grammar."""
    rng = rng_for(seed, subject.name, number)
    files = dict(known[int(rng.integers(len(known)))])
    if subject.grammar is not None and rng.random() < 0.3:
        files = {subject.main: subject.grammar(rng)} if rng.random() < 0.7 else files
        files[subject.main] = subject.grammar(rng)
        return files
    victim = list(files)[int(rng.integers(len(files)))]
    if subject.structured is not None and rng.random() < 0.6:
        files[victim] = subject.structured(files[victim], rng)
        if rng.random() < 0.8:
            return files
    files[victim] = mutated(files[victim], [_any(original, rng) for original in known[:2]], rng)
    return files


def _any(files: dict[str, bytes], rng: Random) -> bytes:
    return list(files.values())[int(rng.integers(len(files)))]


def _work(folder: Path, seed: int, seconds: float, plan: Sequence[tuple[str, int, int]]) -> None:
    names = [name for name, _, _ in plan if name != _HOSTILE]
    subjects = _subjects(names) if names else {}
    with open(folder / "place", "r+b") as stream:
        place = mmap.mmap(stream.fileno(), _PLACE.size)
    found = open(folder / "found", "a", encoding="utf-8", buffering=1)  # noqa: SIM115 - open as long as this process
    held = {name: originals(folder, subject, seed) for name, subject in subjects.items()}
    warnings.simplefilter("error")
    warnings.simplefilter("ignore", DataWarning)
    for stretch, (name, start, stop) in enumerate(plan):
        failed = 0
        for number in range(start, stop):
            place[:] = _PLACE.pack(stretch, number)
            if name == _HOSTILE:
                read, files = _hostile_input(number)
            else:
                read, files = subjects[name].read, make_input(subjects[name], number, seed, held[name])
            _put(folder / "input", files)
            size = sum(map(len, files.values()))
            del files
            problem = _problem(read, folder / "input", size, seconds)
            if problem is not None:
                failed += 1
                found.write(json.dumps([name, number, problem]) + "\n")
            if failed >= _MOST_FAILURES:
                break
    place[:] = _PLACE.pack(len(plan), 0)


def _hostile_input(number: int) -> tuple[Callable[[Path], None], dict[str, bytes]]:
    from tests.endurance.hostile import cases
    from tests.endurance.state_subjects import all_subjects

    name, make = list(cases().values())[number]
    return all_subjects()[name].read, make()


def _put(folder: Path, files: dict[str, bytes]) -> None:
    """Make ``files`` all that is in the folder."""
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():  # a file that is still mapped must not change, so it is another one
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name, content in files.items():
        (folder / name).write_bytes(content)


def _problem(read: Callable[[Path], None], folder: Path, size: int, seconds: float) -> str | None:
    """What is wrong with how files of so many bytes were taken, None if all is well."""
    from mpxgat.errors import MpxgatError

    before = reset_peak()
    usual = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (address_space() + _HARD_LIMIT, usual[1]))
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        read(folder)
    except MpxgatError as error:
        text = str(error)
        if not text.isprintable() or not 0 < len(text) < 2000:
            return f"a message that is not one short line: {text[:300]!r}"
    except BaseException as error:
        return f"{type(error).__name__}: {str(error)[:200]!r}{_where(error)}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, usual)
    taken = peak() - before
    if taken > MEMORY + 2 * size:
        return f"took {taken >> 20} MB for {size} bytes"
    return None


def _where(error: BaseException) -> str:
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    return "" if frame is None else f" at {Path(frame.tb_frame.f_code.co_filename).name}:{frame.tb_lineno}"


if __name__ == "__main__":
    _folder, _seed, _seconds, _plan = json.loads(sys.argv[1])
    _work(Path(_folder), _seed, _seconds, _plan)
