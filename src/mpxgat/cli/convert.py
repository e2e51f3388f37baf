"""`mpxgat convert`: from one format to another, or several single-layer files and an anchor list to one multiplex."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mpxgat.cli.data import load_data
from mpxgat.cli.output import print_note, progress
from mpxgat.errors import OutputError, SettingError, printable, quoted

if TYPE_CHECKING:
    from mpxgat.graph import MultiplexGraph


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
    from_format: Annotated[
        str | None, typer.Option("--from", help="Format of what is read, if the suffix does not tell.")
    ] = None,
    to_format: Annotated[
        str | None, typer.Option("--to", help="Format of what is written, if the suffix does not tell.")
    ] = None,
    layer_names: Annotated[
        str | None, typer.Option(help="Names for the layers of several files, separated by commas.")
    ] = None,
) -> None:
    """Write a multiplex in another format, or join single-layer networks into one."""
    from mpxgat.io import choose_format, write

    target = choose_format(output, to_format)
    _refuse_to_overwrite(output, [*inputs, *([str(anchors)] if anchors else [])])
    with progress("converting"):
        if len(inputs) == 1 and anchors is None and layer_names is None:
            graph, _ = load_data(inputs[0], from_format)
        else:
            graph = _join(inputs, anchors, from_format, layer_names)
        written = write(graph, output, to_format)
    left_out = sorted(target.leaves_out & _parts(graph))
    if left_out:
        print_note(f"{target.name} does not hold {', '.join(left_out)} of this network: left out")
    for path in written:
        print_note(f"wrote {printable(path, 300)}")


def _join(inputs: list[str], anchors: Path | None, format: str | None, layer_names: str | None) -> MultiplexGraph:
    from mpxgat.io import read_layers

    if format is not None:
        raise SettingError(f"--from {quoted(format)} with several files; these are lists of edges, expected no --from")
    return read_layers(inputs, names=None if layer_names is None else layer_names.split(","), anchors=anchors)


def _refuse_to_overwrite(output: Path, inputs: list[str]) -> None:
    for text in inputs:
        try:
            same = output.samefile(text)
        except (OSError, ValueError):  # one of them is not there, so they are not the same
            same = False
        if same:
            raise OutputError(f"{quoted(output, 300)} is read from, expected another file to write to")


def _parts(graph: MultiplexGraph) -> set[str]:
    """The parts this graph has of those that a format may leave out."""
    parts = {
        "weights": graph.intra_weight is not None or graph.inter_weight is not None,
        "features": graph.horizontal_features is not None or graph.vertical_features is not None,
        "attributes": bool(graph.attributes),
    }
    return {name for name, has in parts.items() if has}
