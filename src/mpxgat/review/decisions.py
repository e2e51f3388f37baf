"""What people decided about pairs, in the file ``decisions.csv`` of a run's folder.

A line for each answer, added at the end and on disk before the next pair is shown; no line is ever changed. The latest
line about a pair counts; ``undo`` takes back what was said of it. The time comes last, so that a line which a crash cut
off has none: it is reported and passed over. A text with a line break is written as JSON behind ``json:``, as a line is
to be one line whatever an id holds. One that a spreadsheet would take for a formula has an apostrophe before it.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
from filelock import FileLock, Timeout

from mpxgat.errors import GraphError, InputError, OutputError, listed, printable, quoted, warn_of_data
from mpxgat.graph import MultiplexGraph
from mpxgat.io.csv_tables import with_formulas, without_formulas
from mpxgat.io.files import write_files
from mpxgat.metrics import Share

FILE = "decisions.csv"
ACCEPT, REJECT, SKIP, UNDO = "accept", "reject", "skip", "undo"
INFORMATIVE, SUREST, RANDOM = "informative", "surest", "random"
ORDERS = (INFORMATIVE, SUREST, RANDOM)
_ANSWERS = (ACCEPT, REJECT, SKIP, UNDO)
_NODES = ("source", "source_layer", "target", "target_layer")
_COLUMNS = (*_NODES, "decision", "order", "threshold", "probability", "who", "note", "when")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_AS_JSON = "json:"
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_LOCK, _LOCK_SECONDS = ".decisions.lock", 20

Pair = tuple[int, int]
"""Positions of two nodes of different layers, the lower first."""


@dataclass(frozen=True)
class Decision:
    """An answer about a pair.

    answer          accept (one unit), reject (different ones), skip or undo
    order           in which the pair was asked about: informative, surest or random; or empty
    threshold       of the matches that a random sample was drawn from; None in other orders
    probability     that the model gave the pair; None if it is not known
    line            of the file; 0 if it is in none yet
    """

    pair: Pair
    answer: str
    order: str = ""
    threshold: float | None = None
    probability: float | None = None
    who: str = ""
    note: str = ""
    when: str = ""
    line: int = 0


def now() -> str:
    """The time as decisions have it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def standing(decisions: Iterable[Decision]) -> dict[Pair, Decision]:
    """What holds now of every pair that anything was said about and not taken back."""
    latest: dict[Pair, Decision] = {}
    for each in decisions:
        latest.pop(each.pair, None)  # so that the order is that of the latest answers
        if each.answer != UNDO:
            latest[each.pair] = each
    return latest


@dataclass(frozen=True)
class Sample:
    """Answers about matches that were drawn at random: the share of those accepted is the matches' precision.

    skipped     matches that were drawn and skipped, which the share leaves out
    """

    threshold: float
    share: Share
    skipped: int

    def __str__(self) -> str:
        share, skipped = self.share, f"; {self.skipped} more skipped" if self.skipped else ""
        return (
            f"precision of the run's matches at threshold {self.threshold:g}: {share.value:.1%} (95% interval "
            f"{share.low:.1%} to {share.high:.1%}), by {share.n} drawn at random and reviewed, {share.hits} of them "
            f"accepted{skipped}"
        )

    def to_record(self) -> dict[str, float | int]:
        """Plain values."""
        share = self.share
        found = {"reviewed": share.n, "accepted": share.hits, "skipped": self.skipped}
        return {"threshold": self.threshold, **found, "precision": share.value, "low": share.low, "high": share.high}


def samples(decisions: Iterable[Decision]) -> list[Sample]:
    """One for each threshold at which matches were drawn; those of which none was accepted or rejected are none."""
    by_threshold: dict[float, dict[Pair, str]] = {}
    for pair, latest in drawn(decisions).items():
        by_threshold.setdefault(latest.threshold or 0.0, {})[pair] = latest.answer
    found = []
    for threshold, answers in sorted(by_threshold.items()):
        counts = {answer: [*answers.values()].count(answer) for answer in (ACCEPT, REJECT, SKIP)}
        if answered := counts[ACCEPT] + counts[REJECT]:
            found.append(Sample(threshold, Share(counts[ACCEPT], answered), counts[SKIP]))
    return found


def drawn(decisions: Iterable[Decision]) -> dict[Pair, Decision]:
    """The latest answer about each pair in a random sample."""
    return standing(each for each in decisions if each.order == RANDOM or each.answer == UNDO)


def samples_of(run: Path, graph: MultiplexGraph) -> list[Sample]:
    """Those in a run's folder; ``graph`` has the run's nodes."""
    return samples(DecisionsFile(run, graph).read())


class DecisionsFile:
    """The decisions in a run's folder; ``graph`` is the run's, whose nodes they name."""

    def __init__(self, folder: Path, graph: MultiplexGraph):
        self.path = folder / FILE
        self._graph = graph
        self._positions: dict[tuple[str, str], int] = {}
        self._seen: tuple[int, int] | None = None
        self._read: list[Decision] = []

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from adding decisions; the end of this process, even a kill, lets them in.

        OutputError if another one does not let go.
        """
        lock = FileLock(self.path.with_name(_LOCK))
        try:
            lock.acquire(timeout=_LOCK_SECONDS)
        except Timeout:
            raise OutputError(f"{printable(self.path, 300)}: another process does not let it go") from None
        except OSError as problem:
            raise OutputError(f"{printable(self.path, 300)}: cannot lock it: {problem.strerror}") from None
        try:
            yield
        finally:
            lock.release()

    def read(self) -> list[Decision]:
        """All decisions in their order; none if there is no file. A line that was cut off is a `DataWarning`.

        InputError names the line of one that is whole but wrong.
        """
        try:
            status = self.path.stat()
            seen = (status.st_size, status.st_mtime_ns)
            if seen != self._seen:
                self._read = self._parsed(self.path.read_bytes())
                self._seen = seen
        except FileNotFoundError:
            return []
        except OSError as problem:
            raise InputError(f"cannot read: {printable(problem.strerror)}", self.path) from None
        return self._read

    def append(self, decision: Decision) -> None:
        """Add a decision at the end, on disk when this returns; call it `locked`. OutputError if that cannot be."""
        line = self._line(decision)
        if not self.path.exists():
            write_files({self.path: (",".join(_COLUMNS) + "\n").encode()})
        try:
            with open(self.path, "rb+") as stream:
                end = stream.seek(0, os.SEEK_END)
                if end:
                    stream.seek(end - 1)
                    line = line if stream.read(1) == b"\n" else b"\n" + line  # after one that was cut off
                try:
                    stream.write(line)
                    stream.flush()
                    os.fsync(stream.fileno())
                except OSError:
                    with suppress(OSError):
                        stream.truncate(end)
                    raise
        except OSError as problem:
            raise OutputError(f"{printable(self.path, 300)}: cannot write: {printable(problem.strerror)}") from None

    # ---- lines -----------------------------------------------------------------------------------------

    def _line(self, decision: Decision) -> bytes:
        one, other = (self._graph.nodes[node] for node in decision.pair)
        numbers = ("" if value is None else f"{value:.6g}" for value in (decision.threshold, decision.probability))
        answer = (decision.answer, decision.order, *numbers, decision.who, decision.note, decision.when or now())
        texts = without_formulas(pa.table({"": pa.array([*one, *other, *answer], pa.large_string())}))[""].to_pylist()
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="").writerow([_on_one_line(each) for each in texts])
        if len(_fields(text.getvalue()) or ()) != len(_COLUMNS):  # beyond what the csv module reads
            raise OutputError(f"{printable(self.path, 300)}: cannot hold {quoted(one)} and {quoted(other)}")
        return f"{text.getvalue()}\n".encode()

    def _parsed(self, content: bytes) -> list[Decision]:
        rows: list[tuple[int, Sequence[str]]] = []
        cut_off = []
        text = content.decode("utf-8-sig", errors="replace")  # a line that is cut off may end within a character
        for number, line in enumerate(text.split("\n"), 1):
            fields = _fields(line.removesuffix("\r"))
            if number == 1:
                self._check_header(fields)
            elif fields is not None and len(fields) == len(_COLUMNS) and _TIME.fullmatch(fields[-1]):
                rows.append((number, fields))
            elif line.strip():
                cut_off.append(number)
        if cut_off:
            where = ", ".join(map(str, cut_off[:5])) + (", …" if len(cut_off) > 5 else "")
            warn_of_data(f"line {where}: cut off, as by a crash, and passed over", self.path)
        columns = [_texts(column) for column in zip(*(fields for _, fields in rows), strict=True)]
        texts = zip(*columns, strict=True)
        return [
            self._decision(number, dict(zip(_COLUMNS, row, strict=True)))
            for (number, _), row in zip(rows, texts, strict=True)
        ]

    def _check_header(self, fields: Sequence[str] | None) -> None:
        if tuple(fields or ()) != _COLUMNS:
            raise InputError(f"the columns {listed(fields or ())}, expected {', '.join(_COLUMNS)}", self.path, 1)

    def _decision(self, number: int, row: Mapping[str, str]) -> Decision:
        if row["decision"] not in _ANSWERS:
            raise InputError(f"{quoted(row['decision'])}, expected {', '.join(_ANSWERS)}", self.path, number)
        return Decision(
            pair=self._pair([row[name] for name in _NODES], number),
            answer=row["decision"],
            order=row["order"],
            threshold=self._share(row, "threshold", number),
            probability=self._share(row, "probability", number),
            who=row["who"],
            note=row["note"],
            when=row["when"],
            line=number,
        )

    def _pair(self, texts: Sequence[str], number: int) -> Pair:
        ends = []
        for node in ((texts[0], texts[1]), (texts[2], texts[3])):
            if node not in self._positions:
                try:
                    self._positions[node] = self._graph.index(*node)
                except GraphError as problem:
                    raise InputError(f"{problem} of this run", self.path, number) from None
            ends.append(self._positions[node])
        if texts[1] == texts[3]:
            raise InputError(f"both nodes are in layer {quoted(texts[1])}, expected two layers", self.path, number)
        return min(ends), max(ends)

    def _share(self, row: Mapping[str, str], name: str, number: int) -> float | None:
        try:
            value = float(row[name]) if row[name] else None
        except ValueError:
            value = -1.0
        if value is not None and not 0 <= value <= 1:
            raise InputError(f"{name} {quoted(row[name])}, expected a number from 0 to 1", self.path, number)
        return value


def _on_one_line(text: str) -> str:
    return _AS_JSON + json.dumps(text) if _CONTROL.search(text) or text.startswith(_AS_JSON) else text


def _texts(fields: Sequence[str]) -> list[str]:
    """What `_on_one_line` and `without_formulas` made a column of."""
    column = pa.array(map(_as_it_was, fields), pa.large_string())
    texts: list[str] = with_formulas(pa.chunked_array([column])).to_pylist()
    return texts


def _as_it_was(field: str) -> str:
    """A text that only looks as if it were written as JSON is taken as it is."""
    if field.startswith(_AS_JSON):
        with suppress(ValueError, RecursionError):
            value = json.loads(field.removeprefix(_AS_JSON))
            return value if isinstance(value, str) else field
    return field


def _fields(line: str) -> Sequence[str] | None:
    """The fields of a line; None if its quotes do not close."""
    try:
        return next(csv.reader([line], strict=True), [])
    except csv.Error:
        return None
