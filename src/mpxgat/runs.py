"""Trainings kept in folders: what is trained on what, how far it is, and the model in the end.

RUN/config.json         data, model, settings, seed, versions: written first, never changed
RUN/checkpoints/        states of the parts in training; gone once the model is there
RUN/history.json        a row for each validation, and a summary
RUN/model.safetensors   the model: where it is, the run is finished
RUN/.lock               held while a process trains; it stays, as who removes it might remove another one's

Every file is written whole or not at all, so a process killed at any moment leaves a run that can go on.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from mpxgat.errors import InputError, OutputError, TrainingError, printable, quoted
from mpxgat.graph import MultiplexGraph
from mpxgat.io.arrays import read_arrays
from mpxgat.io.files import json_bytes, read_json, write_files
from mpxgat.models.base import Model, check_imported, load_model
from mpxgat.system import ANY_THREADS, reproducibility, versions
from mpxgat.training.parallel import THIS_PROCESS, Engine, Report, Session

_KIND, _HISTORY_KIND = "mpxgat-run-2", "mpxgat-history-1"
_CONFIG, _HISTORY, _MODEL = "config.json", "history.json", "model.safetensors"
_CHECKPOINTS, _LOCK = "checkpoints", ".lock"
_CONDITIONS = ("threads", "MKL_CBWR", "processor")  # of reproducibility


@dataclass(frozen=True)
class RunConfig:
    """What is trained.

    data            the data set's name or path, as given
    fingerprint     the graph's
    settings        all of the model's, defaults included
    reproducibility what the same seed promises where the run was begun, see `mpxgat.system.reproducibility`
    graph           the graph's sizes, for people to read
    """

    data: str
    fingerprint: str
    model: str
    settings: Mapping[str, Any]
    seed: int
    versions: Mapping[str, str]
    reproducibility: Mapping[str, Any]
    graph: Mapping[str, Any]

    @classmethod
    def of(cls, model: Model, graph: MultiplexGraph, data: str) -> RunConfig:
        """The configuration of training ``model`` on ``graph``, here and now."""
        return cls(
            data=data,
            fingerprint=graph.fingerprint(),
            model=model.name,
            settings=model.settings,
            seed=model.seed,
            versions=versions(),
            reproducibility=reproducibility(),
            graph={
                "layers": list(graph.layers),
                "nodes": graph.n_nodes,
                "intra_links": graph.n_intra,
                "inter_links": graph.n_inter,
                **({"apart": len(graph.apart)} if len(graph.apart) else {}),
            },
        )

    @property
    def identity(self) -> dict[str, str]:
        """What a checkpoint must agree with."""
        return {
            "model": self.model,
            "settings": json.dumps(dict(self.settings), sort_keys=True),
            "seed": str(self.seed),
            "graph": self.fingerprint,
        }

    def difference(self, now: RunConfig) -> str | None:
        """The first thing in which ``now`` would be another training, in words; None if it is the same one."""
        if self.model != now.model:
            return f"the model {quoted(self.model)}, now {quoted(now.model)}"
        for name in {**self.settings, **now.settings}:
            before, after = (_shown(config.settings, name) for config in (self, now))
            if before != after:
                return f"the setting {name} = {before}, now {after}"
        if self.seed != now.seed:
            return f"the seed {self.seed}, now {now.seed}"
        if self.fingerprint != now.fingerprint:
            return f"other data ({_sizes(self)}; now {_sizes(now)})"
        return None

    def other_conditions(self, now: RunConfig) -> list[str]:
        """What is not as it was where the run was begun and may change its bytes, in words."""
        before, after = dict[str, Any](self.versions), dict[str, Any](now.versions)
        if {config.reproducibility.get("promise") for config in (self, now)} != {ANY_THREADS}:
            before |= {name: self.reproducibility.get(name) for name in _CONDITIONS}
            after |= now.reproducibility
        changed = [name for name in before if name in after and after[name] != before[name]]
        return [f"{name} {printable(before[name])}, now {printable(after[name])}" for name in changed]

    def to_bytes(self) -> bytes:
        """As a JSON file."""
        return json_bytes({"kind": _KIND, **asdict(self)})

    @classmethod
    def read(cls, path: Path) -> RunConfig:
        """From a JSON file; InputError if it is damaged or something else."""
        value = read_json(path, _KIND)
        kinds = {"data": str, "fingerprint": str, "model": str, "settings": dict, "seed": int}
        for name, kind in {**kinds, "versions": dict, "reproducibility": dict, "graph": dict}.items():
            if not isinstance(value.get(name), kind):
                raise InputError(f"damaged: {name} is {quoted(value.get(name))}, expected {kind.__name__}", path)
        for named in (value["model"], value["settings"].get("f"), value["settings"].get("g")):
            check_imported(named)
        return cls(**{name: value[name] for name in cls.__dataclass_fields__})


def _shown(settings: Mapping[str, Any], name: str) -> str:
    return json.dumps(settings[name]) if name in settings else "not there"


def _sizes(config: RunConfig) -> str:
    nodes, apart = (config.graph.get(name) for name in ("nodes", "apart"))
    different = f", {printable(apart)} pair(s) known to be different" if apart else ""
    return f"{quoted(config.data)}: {nodes} nodes{different}, checksum {printable(config.fingerprint[:12])}"


@dataclass(frozen=True)
class PartProgress:
    """How far the training of a part is."""

    part: str
    epochs: int
    best_epoch: int
    best: float | None
    finished: bool

    def to_record(self) -> dict[str, Any]:
        """Plain values but for the name."""
        return {name: value for name, value in asdict(self).items() if name != "part"}


@dataclass(frozen=True)
class RunFolder:
    """The folder of a run, which may not be there yet."""

    path: Path

    @property
    def checkpoints(self) -> Path:
        """Where the states of parts in training are."""
        return self.path / _CHECKPOINTS

    @property
    def model_path(self) -> Path:
        """Where the model will be."""
        return self.path / _MODEL

    @property
    def finished(self) -> bool:
        """Whether the model is there."""
        return os.path.exists(self.model_path)  # unlike Path.exists, also for a name the system forbids

    def holds_run(self) -> bool:
        """Whether a run was begun here."""
        return os.path.exists(self.path / _CONFIG)

    def config(self) -> RunConfig:
        """What is trained here; InputError if there is no run or its configuration is damaged."""
        if not self.holds_run():
            raise InputError(f"no run here (no file {_CONFIG}), expected a folder that mpxgat train made", self.path)
        return RunConfig.read(self.path / _CONFIG)

    def model(self) -> Model:
        """The trained model; InputError if the training is not finished."""
        config = self.config()
        if not self.finished:
            raise InputError(
                f"the run is not finished; continue with: mpxgat train {printable(config.data, 300)} "
                f"-o {printable(self.path, 300)} --resume",
                self.path,
            )
        return load_model(self.model_path)

    def summary(self) -> dict[str, Any]:
        """How a finished training went, see `Model.training_summary`."""
        path = self.path / _HISTORY
        summary = read_json(path, _HISTORY_KIND).get("summary")
        if not isinstance(summary, dict):
            raise InputError("a damaged history: no summary", path)
        return summary

    def to_record(self) -> dict[str, Any]:
        """Everything about the run as plain values; of one that is not finished, how far its parts are."""
        head = {"run": str(self.path), "finished": self.finished, **asdict(self.config())}
        return {**head, "training": self.training()}

    def training(self) -> dict[str, Any]:
        """The summary of a finished training; else ``parts``, by name, as far as they are."""
        if self.finished:
            return self.summary()
        return {"parts": {part.part: part.to_record() for part in self.progress()}}

    def progress(self) -> list[PartProgress]:
        """How far the parts are that have a checkpoint, in order of their names."""
        from mpxgat.training.checkpoint import KIND as CHECKPOINT_KIND

        found = []
        for path in sorted(self.checkpoints.glob("[!.]*.safetensors")):
            header, _ = read_arrays(path, CHECKPOINT_KIND)
            try:
                fields = {name: header[name] for name in ("best_epoch", "finished")}
                found.append(PartProgress(path.stem, epochs=header["epoch"], best=header["best_value"], **fields))
            except KeyError as problem:
                raise InputError(f"a damaged checkpoint: no {problem}", path) from None
        return found

    def check_free(self) -> None:
        """OutputError or TrainingError if something else than a run is here."""
        if self.holds_run() or not os.path.exists(self.path):
            return
        ours = (_LOCK, f".{_CONFIG}.")  # what a process killed at once has left
        try:
            foreign = sorted(name for name in os.listdir(self.path) if not name.startswith(ours))
        except NotADirectoryError:
            raise OutputError(f"{printable(self.path, 300)} is a file, expected a folder or a new name") from None
        except OSError as problem:
            raise OutputError(f"{printable(self.path, 300)}: cannot make a run: {problem.strerror}") from None
        if foreign:
            raise TrainingError(
                f"{printable(self.path, 300)} holds {quoted(foreign[0])} and no run, expected an empty or a new folder"
            )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Make the folder if need be and keep other processes out; the end of this process, even a kill, lets them in.

        TrainingError if another process is in.
        """
        self.check_free()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.path / _LOCK)
            lock.acquire(timeout=0)
        except Timeout:
            raise TrainingError(f"{printable(self.path, 300)}: another process trains in this folder") from None
        except (OSError, ValueError) as problem:  # ValueError: a NUL character in the path
            reason = printable(getattr(problem, "strerror", None) or problem)
            raise OutputError(f"{printable(self.path, 300)}: cannot make a run: {reason}") from None
        try:
            yield
        finally:
            lock.release()

    def begin(self, config: RunConfig) -> None:
        """Write the configuration, or check that it is the one of the run begun here; call it `locked`.

        TrainingError says in what the run differs.
        """
        if not self.holds_run():
            write_files({self.path / _CONFIG: config.to_bytes()})
        difference = self.config().difference(config)
        if difference is not None:
            raise TrainingError(
                f"cannot resume: {printable(self.path, 300)} was begun with {difference}; "
                "expected the same, or another folder"
            )
        for folder in (self.path, self.checkpoints):
            _remove_leftovers(folder)
        if self.finished:
            self._remove_checkpoints()

    def session(self, report: Report, *, engine: Engine = THIS_PROCESS, save_every: float = 20.0) -> Session:
        """A session that keeps its checkpoints here."""
        try:
            self.checkpoints.mkdir(exist_ok=True)
        except OSError as problem:
            raise OutputError(f"{printable(self.checkpoints, 300)}: cannot make it: {problem.strerror}") from None
        return Session(self.checkpoints, self.config().identity, report, engine, save_every)

    def finish(self, model: Model) -> None:
        """Keep the trained model and its history; the checkpoints have done their work."""
        history = {
            "kind": _HISTORY_KIND,
            "summary": model.training_summary(),
            "history": getattr(model, "history", {}),  # only models that are trained have one
        }
        write_files({self.path / _HISTORY: json_bytes(history)})
        model.save(self.model_path)  # last: where the model is, everything is
        self._remove_checkpoints()

    def abandon(self) -> None:
        """Undo `begin` if nothing has been trained yet: a device that is not there should not leave a run behind."""
        if not any(self.checkpoints.glob("[!.]*")):
            self._remove_checkpoints()
            (self.path / _CONFIG).unlink(missing_ok=True)

    def _remove_checkpoints(self) -> None:
        try:
            if self.checkpoints.exists():
                shutil.rmtree(self.checkpoints)
        except OSError as problem:
            raise OutputError(f"{printable(self.checkpoints, 300)}: cannot remove it: {problem.strerror}") from None


def _remove_leftovers(folder: Path) -> None:
    """Temporary files of writers that were killed."""
    for name in (_CONFIG, _HISTORY, "*.safetensors"):
        for path in folder.glob(f".{name}.*"):
            path.unlink(missing_ok=True)
