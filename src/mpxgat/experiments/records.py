"""Results on record: one line of JSON for each cell (data set, protocol, model, settings, seed) in a JSONL file.

A cell that is there is not computed again. Lines are appended whole; one that was cut off by a crash is dropped. Of a
folder of results all JSONL files are read and one is added to; checkpoints of cells being computed are inside.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from mpxgat.errors import InputError, OutputError, TrainingError, printable
from mpxgat.evaluation import Evaluation
from mpxgat.io.files import append_json_line, read_json_lines
from mpxgat.models import make_model
from mpxgat.system import reproducibility, versions
from mpxgat.training.parallel import THIS_PROCESS, Engine, Session

_LARGEST = sys.float_info.max
_CHECKPOINTS = ".checkpoints"


@dataclass(frozen=True)
class CellKey:
    """What a result is a result of. ``settings`` are all settings of the model, defaults included."""

    dataset: str
    protocol: str
    model: str
    settings: Mapping[str, Any]
    seed: int

    def text(self) -> str:
        """The same text for the same cell."""
        return json.dumps(asdict(self), sort_keys=True)


def cell_key(dataset: str, protocol: str, model: str, settings: dict[str, Any], seed: int) -> CellKey:
    """The key of a cell; the model fills in its default settings."""
    return CellKey(dataset, protocol, model, make_model(model, seed=seed, **settings).settings, seed)


@dataclass(frozen=True)
class CellRecord:
    """A result: measures by kind, how training went, seconds, memory, and what it was made with."""

    key: CellKey
    measures: Mapping[str, Mapping[str, float | None]]
    training: Mapping[str, Any]
    seconds: Mapping[str, float]
    peak_rss_mb: float | None
    made_with: Mapping[str, Any]


def measures_of(evaluation: Evaluation) -> dict[str, dict[str, float | None]]:
    """Measures of an evaluation as plain values; undefined ones are None."""
    kinds = {
        kind: {**measures.values, "positives": measures.positives, "negatives": measures.negatives}
        for kind, measures in (("intra", evaluation.intra), ("inter", evaluation.inter))
    }
    kinds["overall"] = {"auc": evaluation.overall_auc}
    kinds |= {way: dict(evaluation.ranks[way]) for way in ("forward", "backward")}  # their mean is among inter's
    return {
        kind: {name: None if math.isnan(value) else value for name, value in values.items()}
        for kind, values in kinds.items()
    }


def made_with() -> dict[str, Any]:
    """Versions, hardware, and what the same seed promises there."""
    return {**versions(), "machine": f"{platform.machine()}, {os.cpu_count()} cores", **reproducibility()}


@dataclass(frozen=True)
class ResultsFile:
    """A JSONL file of `CellRecord`s."""

    path: Path

    def read(self) -> list[CellRecord]:
        """All records; InputError names a line that is none. A last line without its end is passed over."""
        return [self._record(row, number) for number, row in read_json_lines(self.path, "a result")]

    def append(self, record: CellRecord) -> None:
        """Add a record at the end, on disk when this returns."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise OutputError(f"{printable(self.path, 300)}: cannot write: {printable(problem.strerror)}") from None
        append_json_line(self.path, asdict(record))

    def _record(self, row: Mapping[str, Any], number: int) -> CellRecord:
        try:
            values = {field.name: row[field.name] for field in fields(CellRecord)}
            record = CellRecord(**{**values, "key": CellKey(**row["key"])})
        except (ValueError, KeyError, TypeError) as problem:
            raise InputError(f"not a result ({printable(problem)})", self.path, number) from None
        wrong = _wrong_part(record)
        if wrong:
            raise InputError(f"not a result ({wrong} has the wrong type)", self.path, number)
        return record


def _wrong_part(record: CellRecord) -> str | None:
    """The name of a part that is not what a record holds; None if all are."""
    key = record.key
    parts = {
        "key": all(isinstance(text, str) for text in (key.dataset, key.protocol, key.model))
        and isinstance(key.settings, dict)
        and type(key.seed) is int,
        "measures": _is_table(record.measures) and all(map(_are_numbers, record.measures.values())),
        "training": isinstance(record.training, dict)
        and _is_table(parts := record.training.get("parts", {}))
        and all(type(part.get("epochs")) is int for part in parts.values()),
        "seconds": isinstance(record.seconds, dict) and _are_numbers(record.seconds),
        "peak_rss_mb": _are_numbers({"": record.peak_rss_mb}),
        "made_with": isinstance(record.made_with, dict),
    }
    return next((name for name, right in parts.items() if not right), None)


def _is_table(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(row, dict) for row in value.values())


def _are_numbers(values: Mapping[str, object]) -> bool:
    return all(
        value is None or (isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST)
        for value in values.values()
    )


@dataclass(frozen=True)
class ResultsFolder:
    """The folder, which may not be there yet; new results go to the file ``added_to`` in it."""

    path: Path
    added_to: str

    def read(self) -> dict[str, CellRecord]:
        """All results on record by the text of their keys; InputError if one key is there twice."""
        found: dict[str, CellRecord] = {}
        for path in sorted(self.path.glob("*.jsonl")):
            for record in ResultsFile(path).read():
                if found.setdefault(record.key.text(), record) is not record:
                    raise InputError(f"a second result for {record.key.text()}, expected one", path)
        return found

    def add(self, record: CellRecord) -> None:
        """Put a result on record; its checkpoints have done their work."""
        ResultsFile(self.path / self.added_to).append(record)
        shutil.rmtree(self._checkpoints(record.key), ignore_errors=True)

    def session(self, key: CellKey, engine: Engine = THIS_PROCESS) -> Session:
        """A session whose checkpoints are in a folder of the cell's own."""
        folder = self._checkpoints(key)
        folder.mkdir(parents=True, exist_ok=True)
        return Session(checkpoints=folder, identity={"cell": key.text()}, engine=engine)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes out; the end of this one, even a kill, lets them in."""
        folder = self.path / _CHECKPOINTS
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(folder / ".lock")
            lock.acquire(timeout=0)
        except Timeout:
            raise TrainingError(f"{printable(self.path, 300)}: another process adds results to this folder") from None
        except OSError as problem:
            raise OutputError(f"{printable(folder, 300)}: cannot make it: {printable(problem.strerror)}") from None
        try:
            yield
        finally:
            lock.release()

    def _checkpoints(self, key: CellKey) -> Path:
        name = hashlib.sha256(key.text().encode()).hexdigest()[:16]
        return self.path / _CHECKPOINTS / name
