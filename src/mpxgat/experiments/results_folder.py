"""A folder of results: all its JSONL files are read, one is added to; checkpoints of cells in work are inside."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from mpxgat.errors import InputError, OutputError, TrainingError, printable
from mpxgat.experiments.records import CellKey, CellRecord, ResultsFile
from mpxgat.training.engines import THIS_PROCESS, Engine
from mpxgat.training.session import Session

_CHECKPOINTS = ".checkpoints"


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
