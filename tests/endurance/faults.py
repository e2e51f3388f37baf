"""What goes wrong around a command: a full disk, missing permission, a folder in use, a wrong clock, damaged files.

Each fault is a function that makes it happen once and says what was not as promised: one clear line, nothing lost,
nothing half-written, and once the fault is gone the same command comes to what it would have come to.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tests.endurance.mutations import Random
from tests.endurance.outcome import Failure, Outcome
from tests.endurance.refusals import contents, leftovers, wrong_refusal
from tests.endurance.works import BENCHMARK, MATCH, OPTUNA, TRAIN, TUNE, WORKS, Stage, Work

Fault = Callable[[Stage, Random], list[str]]
_FUTURE = 4_000_000_000  # seconds: the year 2096


def faults(stage: Stage, count: int, seed: int, only: Sequence[str] = ()) -> list[Outcome]:
    """Every fault (or ``only`` these) ``count`` times; an outcome for each."""
    outcomes = []
    for name, fault in FAULTS.items():
        if only and name not in only:
            continue
        failures = []
        for number in range(count):
            found = fault(stage, np.random.default_rng([seed, number, *name.encode()]))
            failures += [Failure(problem, f"faults(stage, {number + 1}, {seed}, [{name!r}])") for problem in found]
        outcomes.append(Outcome(f"fault: {name}", seed, count, tuple(failures)))
    return outcomes


def _ends_well(stage: Stage, work: Work, place: Path) -> list[str]:
    """What is wrong with a work that was disturbed and now may end."""
    ended = stage.run(work, place)
    if ended.code != 0:
        return [f"afterwards {work.name} ends with code {ended.code}: {ended.err[-300:]!r}"]
    if work.result(place) != stage.undisturbed(work)[0]:
        return [f"afterwards {work.name} comes to something else"]
    return [f"{work.name}: {problem}" for problem in leftovers(place)]


# ---- disk ------------------------------------------------------------------------------------------------


def _full_disk(work: Work) -> Fault:
    def fault(stage: Stage, rng: Random) -> list[str]:
        """No file may grow beyond some bytes; that may be before, while or after the work has begun."""
        place = stage.place(f"{work.name} full")
        ended = stage.run(work, place, largest_file=int(rng.choice([0, 100, 700, 2000, 10_000])))
        problems = [] if ended.code == 0 else wrong_refusal(ended)
        return problems + leftovers(place) + _ends_well(stage, work, place)

    return fault


def _full_disk_below_old_files(stage: Stage, rng: Random) -> list[str]:
    """What was there stays as it was when a new version cannot be written."""
    place = stage.place("old files")
    names = ("net.edges", "net.csv", "net.json", "net.mpx", "net.parquet", "net.mpxg")
    problems = []
    for name in (str(rng.choice(names)), "vectors.npz", "matches.csv"):
        command: tuple[object, ...] = ("convert", stage.data / "net.parquet", "-o", place / name)
        if name == "vectors.npz":
            command = ("embed", stage.data / "embedded", "-o", place / name)
        elif name == "matches.csv":
            command = tuple(MATCH.arguments(stage.data, place))
        (place / name).write_bytes(b"old\n")
        before = contents(place)
        ended = stage.launch(*command, largest_file=64)
        problems += wrong_refusal(ended, name)
        if contents(place) != before:
            problems.append(f"{name}: what was there is not as it was")
    return problems


def _full_output(stage: Stage, rng: Random) -> list[str]:
    """The result cannot be printed."""
    problems = []
    for command in (("datasets",), ("info", stage.data / "net.parquet", "--json"), ("match", stage.data / "run")):
        problems += wrong_refusal(stage.launch(*command, stdout="/dev/full"), "cannot write the result")
    return problems


# ---- permission ------------------------------------------------------------------------------------------


@contextmanager
def _mode(path: Path, mode: int) -> Iterator[None]:
    before = stat.S_IMODE(path.stat().st_mode)
    path.chmod(mode)
    try:
        yield
    finally:
        path.chmod(before)


def _read_only(work: Work) -> Fault:
    def fault(stage: Stage, rng: Random) -> list[str]:
        """The folder cannot be written, at first or in the middle."""
        place = stage.place(f"{work.name} read-only")
        problems = []
        if rng.random() < 0.5:
            seconds = float(rng.random()) * stage.undisturbed(work)[1]
            if stage.run(work, place, seconds=seconds).code == 0:
                shutil.rmtree(place)  # done already: from the beginning, then
                place.mkdir()
        folders = [path for path in (place, *place.rglob("*")) if path.is_dir()]
        before = contents(place)
        modes = [_mode(path, 0o555) for path in folders]
        for mode in modes:
            mode.__enter__()
        ended = stage.run(work, place, bound=True)
        for mode in modes:
            mode.__exit__(None, None, None)
        problems += wrong_refusal(ended)
        if contents(place) != before:
            problems.append("what was there is not as it was")
        return problems + _ends_well(stage, work, place)

    return fault


def _unreadable(stage: Stage, rng: Random) -> list[str]:
    """A file or run that this user may not read."""
    place = stage.place("unreadable")
    data = place / "data"
    shutil.copytree(stage.data, data)
    hidden = [*data.glob("*.parquet"), *data.glob("*.toml"), *(data / "run").glob("*.*")]
    for path in hidden:
        path.chmod(0)
    problems = []
    for work in WORKS:
        ended = stage.launch(*work.arguments(data, place), bound=True)
        said = " ".join(ended.err.replace("│", " ").split())
        if ended.code == 2 and "is not readable" in said:  # typer looks at files of settings before we do, in a box
            continue
        problems += [f"{work.name}: {problem}" for problem in wrong_refusal(ended)]
    problems += wrong_refusal(stage.launch("evaluate", data / "net.parquet", bound=True), "net.parquet")
    return problems + leftovers(place)


# ---- two at once -----------------------------------------------------------------------------------------


def _in_use(stage: Stage, rng: Random) -> list[str]:
    """Another process, this one, works in the folder; the second is refused and disturbs nothing."""
    from mpxgat.experiments.records import ResultsFolder
    from mpxgat.runs import RunFolder

    problems = []
    for work in (TRAIN, BENCHMARK):
        place = stage.place(f"{work.name} in use")
        stage.run(work, place, seconds=float(rng.random()) * stage.undisturbed(work)[1])
        folder = RunFolder(place / "run") if work is TRAIN else ResultsFolder(place / "results", "run.jsonl")
        with folder.locked():
            before = contents(place)
            problems += wrong_refusal(stage.run(work, place), "another process")
            if contents(place) != before:
                problems.append(f"{work.name}: the second process has changed something")
        problems += _ends_well(stage, work, place)
    return problems


def _searched_by_two(stage: Stage, rng: Random) -> list[str]:
    """Several may search in one folder: a trial that another process has is left to it."""
    from mpxgat.tuning.search import SearchFolder

    place = stage.place("two searches")
    stage.run(TUNE, place, seconds=float(rng.random()) * stage.undisturbed(TUNE)[1])
    held = list((place / "out" / ".running").glob("*")) if (place / "out" / ".running").exists() else []
    reservations = [SearchFolder(place / "out").reserve(path.name) for path in held]
    ended = stage.run(TUNE, place)
    problems = [] if ended.code == 0 or not reservations else wrong_refusal(ended)
    for reservation in reservations:
        if reservation is not None:
            reservation.lock.release()
    return problems + ([] if problems else _ends_well(stage, TUNE, place))


# ---- clock -----------------------------------------------------------------------------------------------


def _wrong_clock(stage: Stage, rng: Random) -> list[str]:
    """A clock in 1970 that goes backward, and files from the future, in the middle of a work."""
    problems = []
    for work in WORKS:
        place = stage.place(f"{work.name} clock")
        stage.run(work, place, seconds=float(rng.random()) * stage.undisturbed(work)[1])
        for path in [place, *place.rglob("*")]:
            os.utime(path, (_FUTURE, _FUTURE))
        ended = stage.run(work, place, clock=float(rng.choice([0.0, 1e5, 1e9])))
        if ended.code != 0:
            problems.append(f"{work.name}: code {ended.code}: {ended.err[-300:]!r}")
        else:
            problems += _ends_well(stage, work, place)
    place = stage.place("vectors")
    for name, clock in (("a.npz", 0.0), ("b.npz", 1.7e9), ("a.parquet", 0.0), ("b.parquet", 1.7e9)):
        ended = stage.launch("embed", stage.data / "embedded", "-o", place / name, clock=clock)
        problems += [f"embed {name}: {ended.err[-300:]!r}"] if ended.code else []
    if not problems:
        problems += [
            f"the clock is in the bytes of {kind}"
            for kind in ("npz", "parquet")
            if (place / f"a.{kind}").read_bytes() != (place / f"b.{kind}").read_bytes()
        ]
    return problems


# ---- damaged files ---------------------------------------------------------------------------------------


def _damage(path: Path, rng: Random) -> bytes:
    """Cut a file off or overwrite a stretch of it; what it held before."""
    content = path.read_bytes()
    place = int(rng.integers(len(content)))
    noise = rng.bytes(16) + b"\xff"
    path.write_bytes(content[:place] if rng.random() < 0.5 else content[:place] + noise + content[place + 17 :])
    return content


def _damaged_cache(stage: Stage, rng: Random) -> list[str]:
    """A data set in the cache, or in the folder of one's own, is damaged, and it cannot be fetched anew."""
    from mpxgat.datasets import dataset

    problems = []
    wanted = dataset("aucs")
    for variable, folder in (("XDG_CACHE_HOME", "cache/mpxgat"), ("MPXGAT_DATA", "cache")):
        place = stage.place("cache")
        for file in wanted.files:
            path = place / folder / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(rng.bytes(100))
        before = contents(place)
        environment = {"MPXGAT_DATA": "", variable: str(place / "cache")}
        ended = stage.launch("info", "aucs", offline=True, environment=environment)
        problems += wrong_refusal(ended, "data set aucs") + leftovers(place)
        if contents(place) != before:
            problems.append("what was in the cache is not as it was")
    return problems


def _damaged_state(work: Work, *patterns: str) -> Fault:
    def fault(stage: Stage, rng: Random) -> list[str]:
        """A file of a work that was killed is damaged: it goes on to the same end, or refuses and loses nothing."""
        place = stage.place(f"{work.name} damaged")
        for _ in range(20):
            stage.run(work, place, seconds=float(rng.random()) * stage.undisturbed(work)[1])
            files = [path for pattern in patterns for path in place.glob(pattern) if path.stat().st_size]
            if files:
                break
        else:
            return []  # never begun: nothing to damage
        victim = files[int(rng.integers(len(files)))]
        whole = _damage(victim, rng)
        before = contents(place)
        ended = stage.run(work, place)
        if ended.code == 0:  # the damage was in a last line that is not counted, or in what is not read
            return [] if work.result(place) == stage.undisturbed(work)[0] else ["comes to something else"]
        problems = wrong_refusal(ended)
        # What a killed process was writing, under a name of its own, is not lost but cleared away.
        wanted = [name for name in before if not Path(name).name.startswith(".")]
        lost = [name for name in wanted if name not in contents(place)]
        problems += [f"lost: {name}" for name in lost]
        if victim.exists():
            victim.write_bytes(whole)
        return problems + _ends_well(stage, work, place)

    return fault


def _damaged_run(stage: Stage, rng: Random) -> list[str]:
    """A finished run of which a file is damaged."""
    place = stage.place("damaged run")
    shutil.copytree(stage.data / "run", place / "run")
    victim = place / "run" / str(rng.choice(["config.json", "model.safetensors"]))
    victim.write_bytes(victim.read_bytes()[: int(rng.integers(1, 200))])
    before = contents(place)
    problems = []
    for command in (("match", place / "run"), ("explain", place / "run", "0", "1")):
        problems += wrong_refusal(stage.launch(*command), victim.name)
    if contents(place) != before:
        problems.append("what was there is not as it was")
    return problems


FAULTS: dict[str, Fault] = {
    **{f"full disk, {work.name}": _full_disk(work) for work in WORKS},
    "full disk, old files": _full_disk_below_old_files,
    "full disk, printed result": _full_output,
    **{f"read-only folder, {work.name}": _read_only(work) for work in WORKS},
    "no permission to read": _unreadable,
    "folder in use": _in_use,
    "two searches in a folder": _searched_by_two,
    "wrong clock": _wrong_clock,
    "damaged cache of data sets": _damaged_cache,
    "damaged checkpoint, train": _damaged_state(TRAIN, "run/checkpoints/*"),
    "damaged configuration, train": _damaged_state(TRAIN, "run/config.json"),
    "damaged search, tune --grid": _damaged_state(TUNE, "out/*.json*", "out/.running/*/*"),
    "damaged search, tune --trials": _damaged_state(OPTUNA, "out/search.json", "out/study.db"),
    "damaged results, benchmark": _damaged_state(BENCHMARK, "results/*.jsonl", "results/.checkpoints/*/*"),
    "damaged run, match": _damaged_run,
}
