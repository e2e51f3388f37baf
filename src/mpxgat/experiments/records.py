"""Results on record: one line of JSON for each cell (data set, protocol, model, settings, seed) in a JSONL file.

A cell that is there is not computed again. Lines are appended whole; one that was cut off by a crash is dropped.
"""

from __future__ import annotations

import json
import math
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from mpxgat.errors import InputError, OutputError, printable
from mpxgat.evaluation import Evaluation
from mpxgat.process import versions


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


@dataclass(frozen=True)
class CellRecord:
    """A result: measures by kind, how training went, seconds, memory, and what it was made with."""

    key: CellKey
    measures: Mapping[str, Mapping[str, float | None]]
    training: Mapping[str, Any]
    seconds: Mapping[str, float]
    peak_rss_mb: float | None
    made_with: Mapping[str, str]


def measures_of(evaluation: Evaluation) -> dict[str, dict[str, float | None]]:
    """Measures of an evaluation as plain values; undefined ones are None."""
    kinds = {
        kind: {**measures.values, "positives": measures.positives, "negatives": measures.negatives}
        for kind, measures in (("intra", evaluation.intra), ("inter", evaluation.inter))
    }
    kinds["overall"] = {"auc": evaluation.overall_auc}
    return {
        kind: {name: None if math.isnan(value) else value for name, value in values.items()}
        for kind, values in kinds.items()
    }


def made_with() -> dict[str, str]:
    """Versions and hardware."""
    return {**versions(), "machine": f"{platform.machine()}, {os.cpu_count()} cores"}


class ResultsFile:
    """A JSONL file of `CellRecord`s."""

    def __init__(self, path: Path):
        self.path = path

    def read(self) -> list[CellRecord]:
        """All records; InputError names a line that is none. A last line without its end is passed over."""
        if not self.path.exists():
            return []
        text = self.path.read_text(encoding="utf-8")
        whole = text[: text.rfind("\n") + 1]
        return [self._record(line, number) for number, line in enumerate(whole.splitlines(), 1) if line]

    def append(self, record: CellRecord) -> None:
        """Add a record at the end, on disk when this returns."""
        line = json.dumps(asdict(record), allow_nan=False) + "\n"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with open(self.path, "ab+") as stream:
                self._drop_unfinished_line(stream)
                stream.write(line.encode())
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as problem:
            raise OutputError(f"{self.path}: cannot write: {printable(problem.strerror)}") from None

    @staticmethod
    def _drop_unfinished_line(stream: Any) -> None:
        stream.seek(0)
        content: bytes = stream.read()
        stream.truncate(content.rfind(b"\n") + 1)

    def _record(self, line: str, number: int) -> CellRecord:
        try:
            row = json.loads(line)
            values = {field.name: row[field.name] for field in fields(CellRecord)}
            values["key"] = CellKey(**row["key"])
        except (ValueError, KeyError, TypeError) as problem:
            raise InputError(f"not a result ({printable(problem)})", self.path, number) from None
        return CellRecord(**values)
