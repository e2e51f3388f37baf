"""Ids and names made to do harm where they are shown: in a terminal, in HTML, in a spreadsheet, in another file."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from mpxgat.build import validate
from mpxgat.graph import MultiplexGraph
from mpxgat.io import read, write
from mpxgat.synthetic import social
from tests.endurance.launcher import Ended
from tests.endurance.outcome import Failure, Outcome
from tests.endurance.works import Stage

MARK = "<script>alert('harm')</script>"
HARMFUL = (
    MARK, "\x1b[2J\x1b[31mred", "two\nlines", "a\r\nb", "\u202egnp.exe", "[link=file:///etc/passwd]x[/link]",
    "../../etc/passwd", "=HYPERLINK(1)", "\0", "\x85\u2028", "'; DROP TABLE nodes; --",
    "</script><img src=x onerror=1>",
    '"quoted, and more"', "\ufeff", "x" * 60_000, "%s%n{0}", "\\u0000", "nan", "𝕬🦊",
)  # fmt: skip


def harmful_network(seed: int) -> MultiplexGraph:
    """A planted network whose layers and nodes have such names."""
    graph = social(people=60, layers=2, seed=seed, known=0.6)
    rng = np.random.default_rng(seed)
    ids = [f"{HARMFUL[int(rng.integers(len(HARMFUL)))]}{number:04d}" for number in range(graph.n_nodes)]
    texts = pa.array(ids, pa.large_string())
    starts = graph.layer_start.tolist()
    order = [n for start, stop in pairwise(starts) for n in sorted(range(start, stop), key=lambda n: ids[n].encode())]
    # Only ids change: put in order within each layer, each to the node that stands at its place.
    changed = replace(graph, ids=texts.take(pa.array(order)), layers=(HARMFUL[1], MARK), attributes={MARK: texts})
    validate(changed)
    return changed


def harmful_texts(stage: Stage, seed: int) -> Outcome:
    """Such a network through all that shows or writes it."""
    place = stage.place("harmful texts")
    graph = harmful_network(seed)
    write(graph, place / "net.parquet")
    problems: list[str] = []
    tried = 0
    commands: list[tuple[object, ...]] = [
        ("train", place / "net.parquet", "-o", place / "run", "--model", "evidence", "--set", "splits=2"),
        ("info", place / "net.parquet"),
        ("info", place / "net.parquet", "--json"),
        ("info", place / "run"),
        ("match", place / "run", "--threshold", 0.01),
        ("match", place / "run", "--threshold", 0.01, "--json"),
        ("match", place / "run", "--threshold", 0.01, "-o", place / "matches.parquet"),
        ("predict", place / "run", "--top", 5),
        ("report", place / "run", "-o", place / "report.html"),
        ("explore", place / "run", "-o", place / "explorer.html", "--no-open"),
    ]
    for command in commands:
        tried += 1
        ended = stage.launch(*command)
        problems += [f"{command[0]}: {problem}" for problem in _wrong_output(ended, json_only="--json" in command)]
    for page in ("report.html", "explorer.html"):
        problems += _wrong_page(place / page)
    for suffix in (".csv", ".json", ".parquet", ".mpxg"):
        tried += 1
        ended = stage.launch("convert", place / "net.parquet", "-o", place / f"copy{suffix}")
        if ended.code == 0 and read(place / f"copy{suffix}") != graph:
            problems.append(f"{suffix}: another network comes back")
        elif ended.code not in (0, 2) or "Traceback" in ended.err:
            problems.append(f"{suffix}: {ended.err[-300:]!r}")
    return Outcome("harmful texts", seed, tried, tuple(Failure(p, f"harmful_texts(stage, {seed})") for p in problems))


def _wrong_output(ended: Ended, *, json_only: bool) -> list[str]:
    problems = [] if ended.code == 0 else [f"code {ended.code}: {ended.err[-300:]!r}"]
    if json_only:
        try:
            json.loads(ended.out)
        except ValueError:
            problems.append("what is printed is not JSON")
    shown = ended.out + ended.err
    bad = {c for c in shown if c != "\n" and not c.isprintable()}
    return problems + ([f"characters that steer a terminal: {sorted(bad)}"] if bad else [])


def _wrong_page(path: Path) -> list[str]:
    if not path.exists():
        return [f"{path.name} was not written"]
    text = path.read_text(encoding="utf-8")
    found = [mark for mark in (MARK, "<img src=x") if mark in text]
    return [f"{path.name} holds {mark!r} as it is" for mark in found]
