"""Every reader of files, with valid files for it: what fuzzing damages, and what it calls then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mpxgat.build import validate
from mpxgat.errors import OutputError
from mpxgat.io import Format, formats, read, write
from tests.endurance import grammars, structured
from tests.endurance.mutations import Random
from tests.endurance.networks import awkward_network, plain_network
from tests.io.foreign import FOREIGN

Structured = Callable[[bytes, Random], bytes]


@dataclass(frozen=True)
class Subject:
    """A reader.

    make        writes valid files into an empty folder
    read        reads the files in a folder; whatever it raises but MpxgatError is a failure
    structured  changes a file in its own terms, where there is such a way
    grammar     makes a file out of the format's words, where there is such a way
    main        name of the file that the grammar's texts go to
    share       of all inputs, relative to other subjects; small for what is slow
    """

    name: str
    make: Callable[[Path, Random], None]
    read: Callable[[Path], None]
    structured: Structured | None = None
    grammar: grammars.Grammar | None = None
    main: str = ""
    share: float = 1.0


def format_subjects() -> list[Subject]:
    """All formats of the registry, and the readers of the same files that the registry does not know."""
    known = {
        "comunelab": (None, grammars.edge_lines),
        "comunelab-extended": (None, grammars.edge_lines),
        "mpx": (None, grammars.mpx_sections),
        "multiplexsage": (structured.json_mutated, grammars.json_text),
        "csv": (None, grammars.csv_table),
        "parquet": (structured.parquet_mutated, None),
    }
    found = []
    for name, form in sorted(formats().items()):
        changed, grammar = known.get(name, (None, None))
        found.append(_of_format(form, changed, grammar))
    return found


def _of_format(form: Format, changed: Structured | None, grammar: grammars.Grammar | None) -> Subject:
    main = f"net{form.suffixes[0]}"

    def make(folder: Path, rng: Random) -> None:
        if not form.writes:
            FOREIGN[form.name](folder / main)
            return
        if rng.random() < 0.5:
            try:
                write(awkward_network(rng), folder / main, form.name)
            except OutputError:  # texts that the format cannot hold; another network can
                pass
            else:
                return
        write(plain_network(rng), folder / main, form.name)

    def read_graph(folder: Path) -> None:
        validate(read(folder / main, form.name))

    return Subject(form.name, make, read_graph, changed, grammar, main)


def list_subjects() -> list[Subject]:
    """Lists of edges, anchors and pairs."""
    from mpxgat.io import read_layers
    from mpxgat.io.link_files import read_anchors, read_pairs, write_links
    from mpxgat.io.multiplexsage import read_training
    from mpxgat.io.tables import edges_of
    from mpxgat.models.contract import graph_of
    from mpxgat.splits import anchored_split

    graph = plain_network(np.random.default_rng(0))
    listed = graph_of("x.a x.b", "x.b x.c", "y.p y.q", "y.q y.r")
    anchors = {"known.csv": b"a,b\na,p\n", "hidden.csv": b"y,x\nq,c\nr,b\n"}
    nodes = {"one.nodes.csv": b"id\na\nb\nc\nd\n", "two.nodes.csv": b"id\na\nb\nd\n"}
    lists = {"one.txt": b"a b 1\nb c 2\nc a 1\n", "two.csv": b"source,target\na,b\nb,d\n", "who.txt": b"a a\nb d\n"}

    def make_lists(folder: Path, rng: Random) -> None:
        for name, content in lists.items():
            (folder / name).write_bytes(content)

    def read_lists(folder: Path) -> None:
        validate(read_layers([folder / "one.txt", folder / "two.csv"], anchors=folder / "who.txt"))

    def make_anchors(folder: Path, rng: Random) -> None:
        for name, content in anchors.items():
            (folder / name).write_bytes(content)

    def read_both(folder: Path) -> None:
        split = anchored_split(listed, *read_anchors(folder / "known.csv", folder / "hidden.csv", listed))
        assert len(split.inter.positives) > 0

    def make_with_nodes(folder: Path, rng: Random) -> None:
        make_lists(folder, rng)
        for name, content in nodes.items():
            (folder / name).write_bytes(content)

    def read_with_nodes(folder: Path) -> None:
        validate(read_layers([folder / "one.txt", folder / "two.csv"], nodes=[folder / name for name in nodes]))

    def pairs(suffix: str, changed: Structured | None, grammar: grammars.Grammar | None) -> Subject:
        def make(folder: Path, rng: Random) -> None:
            write_links(edges_of(graph), folder / f"pairs{suffix}")

        def read_them(folder: Path) -> None:
            found = read_pairs(folder / f"pairs{suffix}", graph)
            assert found.shape[1:] == (2,)
            assert not len(found) or (0 <= found.min() <= found.max() < graph.n_nodes)

        return Subject(f"pairs{suffix}", make, read_them, changed, grammar, f"pairs{suffix}", 0.5)

    json_format = formats()["multiplexsage"]
    training = _of_format(json_format, structured.json_mutated, grammars.json_text)
    return [
        Subject("edge lists", make_lists, read_lists, None, grammars.edge_lines, "one.txt"),
        Subject("lists of nodes", make_with_nodes, read_with_nodes, None, grammars.csv_table, "one.nodes.csv", 0.3),
        Subject("lists of anchors", make_anchors, read_both, None, grammars.csv_table, "hidden.csv", 0.5),
        pairs(".csv", None, grammars.csv_table),
        pairs(".parquet", structured.parquet_mutated, None),
        Subject(
            "multiplexsage without held-out links",
            training.make,
            lambda folder: validate(read_training(folder / training.main)),
            structured.json_mutated,
            share=0.3,
        ),
    ]
