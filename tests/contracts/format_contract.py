"""What every file format promises, as functions that any format's tests can call."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mpxgat.build import validate
from mpxgat.errors import InputError, OutputError
from mpxgat.graph import MultiplexGraph
from mpxgat.io import Format, read, write


def what_remains(graph: MultiplexGraph, leaves_out: frozenset[str]) -> MultiplexGraph:
    """The graph without the parts that a format says it drops."""
    if "weights" in leaves_out:
        graph = graph.unweighted()
    if "direction" in leaves_out:
        graph = graph.undirected()
    if "features" in leaves_out:
        graph = replace(graph, horizontal_features=None, vertical_features=None)
    if "attributes" in leaves_out:
        graph = replace(graph, attributes={})
    if "apart" in leaves_out:
        graph = graph.without(apart=graph.apart)
    return graph


def check_round_trip(form: Format, graph: MultiplexGraph, folder: Path) -> bool:
    """Written and read again the graph is the same; or the writer refuses, and leaves nothing behind.

    Returns whether it was written.
    """
    path = folder / f"graph{form.suffixes[0]}"
    try:
        written = write(graph, path, form.name)
    except OutputError as caught:
        refusal = str(caught)
    else:
        refusal = None
    if refusal is not None:
        assert refusal.isprintable()
        assert list(folder.iterdir()) == []
        return False
    assert path in written
    assert sorted(folder.iterdir()) == sorted(written)
    assert read(path, form.name) == what_remains(graph, form.leaves_out)
    return True


def check_reads_or_explains(form: Format, path: Path) -> InputError | None:
    """Whatever is in the files, reading gives a valid graph or one line that names a file. Returns the error."""
    try:
        graph = read(path, form.name)
    except InputError as problem:
        text = str(problem)
        assert text.isprintable(), text
        assert len(text) < 2000
        assert any(str(place) in text for place in path.parent.iterdir()), text
        return problem
    validate(graph)
    return None
