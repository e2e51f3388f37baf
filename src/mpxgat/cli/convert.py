"""`mpxgat convert`: from one format to another, or several single-layer files and an anchor list to one multiplex."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from mpxgat.cli.options import DifferentOption, DirectedOption, add_different, is_path, load_data
from mpxgat.cli.output import print_note, progress
from mpxgat.errors import OutputError, SettingError, listed, printable, quoted

if TYPE_CHECKING:
    from mpxgat.graph import MultiplexGraph
    from mpxgat.io import Format
    from mpxgat.io.assemble import Assembly

_IN_WORDS = {"apart": "pairs known to be different"}
_NODES = "--nodes"
_TABLES = ("csv", "xlsx")  # formats that hold a whole network or the list of one layer's links


class SeveralNodes(TyperCommand):
    """A command in which ``--nodes A B``, behind an argument, means ``--nodes A --nodes B``.

    Given several times the option takes one value each time, and before all arguments too: what follows are these.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # a Context of click, or of typer's own copy of it
        """As click does, of the arguments with the option repeated."""
        if args.count(_NODES) == 1 and self._has_argument(args[: args.index(_NODES)]):
            place = args.index(_NODES) + 1
            stop = next((k for k in range(place, len(args)) if args[k].startswith("-")), len(args))
            repeated = [word for value in args[place:stop] for word in (_NODES, value)]
            args = [*args[: place - 1], *(repeated or [_NODES]), *args[stop:]]
        return super().parse_args(ctx, args)

    def _has_argument(self, args: Sequence[str]) -> bool:
        """Whether one of the words is neither an option nor the value of one."""
        valued = {name for each in self.params for name in each.opts if not getattr(each, "is_flag", True)}
        behind = ["", *args]
        return any(not word.startswith("-") and last not in valued for last, word in zip(behind, args, strict=False))


def convert(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA…",
            help="A data set or file; or several files of one layer each: lists of links (.csv, .tsv, .txt, .xlsx, "
            "book.xlsx:SHEET), GraphML or GEXF.",
        ),
    ],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The file to write.")] = None,
    anchors: Annotated[
        Path | None,
        typer.Option(
            help="Who is who among several files: lines 'a b' for two, 'a layer_a b layer_b' for more, or a table "
            "with a column for each layer."
        ),
    ] = None,
    nodes: Annotated[
        list[Path] | None,
        typer.Option(
            help="Table of all nodes of a layer (a column id), also those without links; one for each of several "
            "files, in their order: --nodes A B behind the files, or the option for each."
        ),
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROLE=NAME,…",
            help="Which column is what, by name or number: source, target, weight of links, id of nodes, a, b, "
            "layer_a, layer_b of anchors (source=follower,target=followed,id=account).",
        ),
    ] = None,
    encoding: Annotated[
        str | None,
        typer.Option(help="Encoding of text files without a byte-order mark, such as cp1252; UTF-8 by default."),
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
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what is read as what, and what is dropped; write nothing.")
    ] = False,
) -> None:
    """Write a multiplex in another format, or join single-layer networks into one."""
    from mpxgat.io import choose_format, write
    from mpxgat.io.lists import parse_columns

    if output is None and not dry_run:
        raise typer.BadParameter("missing; expected -o FILE, or --dry-run to see what would be read", param_hint="-o")
    target = None if output is None else _target(output, to_format)
    named = parse_columns(columns or [])
    names = None if layer_names is None else layer_names.split(",")
    whole = _is_whole(inputs, from_format, names, joined=bool(anchors or nodes))
    sources = [Path(text) for text in inputs] + [path for path in (anchors, different) if path] + (nodes or [])
    if whole and is_path(inputs[0]):
        sources += _read_beside(choose_format(sources[0], from_format), sources[0])
    if target is not None and output is not None:
        _refuse_to_overwrite([output, *(places[0] for places in target.beside(output))], sources)
    assembly = None
    with progress("converting"):
        if whole:
            graph = _read_whole(inputs[0], from_format, names, named, encoding, directed=directed)
        else:
            assembly = _join(inputs, anchors, nodes or [], from_format, names, named, encoding, directed=directed)
            graph = assembly.graph
        graph = add_different(graph, different)
        if target is not None and output is not None and len(graph.apart):
            _refuse_to_overwrite(target.apart(output)[:1], sources)
        written = [] if output is None or dry_run else write(graph, output, to_format)
    if dry_run:
        _show(graph, assembly, inputs[0], from_format)
    if target is not None:
        _say_what_is_left_out(graph, target)
    for path in written:
        print_note(f"wrote {printable(path, 300)}")
    if dry_run:
        print_note("nothing was written (--dry-run)")


def _target(output: Path, to_format: str | None) -> Format:
    """The format to write; OutputError if it is one that is only read."""
    from mpxgat.io import choose_format, formats

    target = choose_format(output, to_format)
    if not target.writes:
        able = ", ".join(known.suffixes[0] for known in formats().values() if known.writes)
        raise OutputError(f"{printable(output, 300)}: {target.name} is only read; those that are written are {able}")
    return target


def _is_whole(inputs: list[str], from_format: str | None, names: Sequence[str] | None, *, joined: bool) -> bool:
    """Whether the only input is a whole network; anchors, nodes or a layer's name make a table the list of a layer."""
    from mpxgat.io import formats

    if len(inputs) != 1 or joined:
        return False
    if names is None or from_format is not None or not is_path(inputs[0]):
        return True
    known = [suffix for form in formats().values() if form.name not in _TABLES for suffix in form.suffixes]
    return inputs[0].lower().removesuffix(".gz").endswith(tuple(known))


def _read_whole(
    text: str,
    format: str | None,
    names: Sequence[str] | None,
    columns: Mapping[str, Sequence[str]],
    encoding: str | None,
    *,
    directed: bool,
) -> MultiplexGraph:
    from mpxgat.io import read

    if not columns and encoding is None:
        graph, _ = load_data(text, format, directed=directed)
    elif not is_path(text):
        raise SettingError(f"--columns or --encoding for {quoted(text)}, which is no file; expected a file")
    else:
        graph = read(text, format, directed=directed, columns=columns, encoding=encoding)
    return graph if names is None else _with_layer_names(graph, names)


def _with_layer_names(graph: MultiplexGraph, names: Sequence[str]) -> MultiplexGraph:
    from mpxgat.build import check_layer_names

    if len(names) != graph.n_layers:
        raise SettingError(f"{len(names)} layer names for the layers {listed(graph.layers)}, expected one for each")
    check_layer_names(names)
    return replace(graph, layers=tuple(names))


def _join(
    inputs: list[str],
    anchors: Path | None,
    nodes: list[Path],
    format: str | None,
    names: list[str] | None,
    columns: Mapping[str, Sequence[str]],
    encoding: str | None,
    *,
    directed: bool,
) -> Assembly:
    from mpxgat.io.assemble import assemble

    if format is not None:
        raise SettingError(f"--from {quoted(format)} with several files; these are lists of edges, expected no --from")
    return assemble(inputs, names, anchors, nodes, directed=directed, columns=columns, encoding=encoding)


def _show(graph: MultiplexGraph, assembly: Assembly | None, name: str, format: str | None) -> None:
    from mpxgat.cli.preview import print_assembly, print_graph
    from mpxgat.io import choose_format

    if assembly is not None:
        print_assembly(assembly)
    else:
        print_graph(graph, name, choose_format(Path(name), format).name if is_path(name) else "a data set")


def _say_what_is_left_out(graph: MultiplexGraph, target: Format) -> None:
    left_out = sorted(target.leaves_out & _parts(graph))
    if left_out:
        words = ", ".join(_IN_WORDS.get(part, part) for part in left_out)
        print_note(f"{target.name} does not hold {words} of this network: left out")


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
