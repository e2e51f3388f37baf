"""`mpxgat convert`: from one format to another, or several single-layer files and an anchor list to one multiplex."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mpxgat.cli.options import DifferentOption, DirectedOption, add_different, is_path, load_data
from mpxgat.cli.output import print_note, progress
from mpxgat.errors import OutputError, SettingError, printable, quoted

if TYPE_CHECKING:
    from mpxgat.graph import MultiplexGraph
    from mpxgat.io import Format

_IN_WORDS = {"apart": "pairs known to be different"}


def convert(
    inputs: Annotated[
        list[str],
        typer.Argument(metavar="DATA…", help="A data set or file; or several lists of edges, one for each layer."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")],
    anchors: Annotated[
        Path | None,
        typer.Option(help="Who is who among several files: lines 'a b' for two, 'a layer_a b layer_b' for more."),
    ] = None,
    nodes: Annotated[
        list[Path] | None,
        typer.Option(
            help="CSV file with all nodes of a layer (a column id), also those without links; give one for each of "
            "several files, in their order."
        ),
    ] = None,
    from_format: Annotated[
        str | None, typer.Option("--from", help="Format of what is read, if the suffix does not tell.")
    ] = None,
    to_format: Annotated[
        str | None, typer.Option("--to", help="Format of what is written, if the suffix does not tell.")
    ] = None,
    layer_names: Annotated[
        str | None, typer.Option(help="Names for the layers of several files, separated by commas.")
    ] = None,
    directed: DirectedOption = False,
    different: DifferentOption = None,
) -> None:
    """Write a multiplex in another format, or join single-layer networks into one."""
    from mpxgat.io import choose_format, write

    target = choose_format(output, to_format)
    sources = [Path(text) for text in inputs] + [path for path in (anchors, different) if path] + (nodes or [])
    single = len(inputs) == 1 and anchors is None and layer_names is None and not nodes
    if single and is_path(inputs[0]):
        sources += _read_beside(choose_format(sources[0], from_format), sources[0])
    _refuse_to_overwrite([output, *(places[0] for places in target.beside(output))], sources)
    with progress("converting"):
        if single:
            graph, _ = load_data(inputs[0], from_format, directed=directed)
        else:
            graph = _join(inputs, anchors, nodes or [], from_format, layer_names, directed=directed)
        graph = add_different(graph, different)
        if len(graph.apart):
            _refuse_to_overwrite(target.apart(output)[:1], sources)
        written = write(graph, output, to_format)
    left_out = sorted(target.leaves_out & _parts(graph))
    if left_out:
        words = ", ".join(_IN_WORDS.get(part, part) for part in left_out)
        print_note(f"{target.name} does not hold {words} of this network: left out")
    for path in written:
        print_note(f"wrote {printable(path, 300)}")


def _join(
    inputs: list[str],
    anchors: Path | None,
    nodes: list[Path],
    format: str | None,
    layer_names: str | None,
    *,
    directed: bool,
) -> MultiplexGraph:
    from mpxgat.io import read_layers

    if format is not None:
        raise SettingError(f"--from {quoted(format)} with several files; these are lists of edges, expected no --from")
    names = None if layer_names is None else layer_names.split(",")
    return read_layers(inputs, names=names, anchors=anchors, nodes=nodes, directed=directed)


def _read_beside(form: Format, path: Path) -> Iterator[Path]:
    """Places of the files that are read with ``path``, and those where a new file would be read in their stead."""
    for places in (*form.beside(path), form.apart(path)):
        for place in places:
            yield place
            if os.path.exists(place):  # unlike the method, False for a name too long
                break


def _refuse_to_overwrite(outputs: Sequence[Path], sources: Sequence[Path]) -> None:
    """OutputError if a file that may be written is, or would become, part of what is read."""
    for output, source in product(outputs, sources):
        if _same(output, source):
            raise OutputError(
                f"{quoted(output, 300)} is, or would be taken for, part of what is read, expected other files"
            )


def _same(one: Path, other: Path) -> bool:
    try:
        return one.resolve() == other.resolve() or one.samefile(other)
    except (OSError, ValueError):  # one of them is not there, or the system forbids the name
        return False


def _parts(graph: MultiplexGraph) -> set[str]:
    """The parts this graph has of those that a format may leave out."""
    parts = {
        "weights": graph.intra_weight is not None or graph.inter_weight is not None,
        "direction": graph.intra_arcs is not None,
        "features": graph.horizontal_features is not None or graph.vertical_features is not None,
        "attributes": bool(graph.attributes),
        "apart": len(graph.apart) > 0,
    }
    return {name for name, has in parts.items() if has}
