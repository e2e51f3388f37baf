"""`mpxgat predict`: likely links by a trained model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mpxgat.cli.options import JsonOption, RunArgument, nodes_called
from mpxgat.cli.output import print_json, print_note, print_table, progress
from mpxgat.errors import SettingError, printable

if TYPE_CHECKING:
    from mpxgat.models import Model
    from mpxgat.predictions import Predictions

_DEFAULT_TOP = 10
_MOST = 10_000_000
_SHOWN_ROWS = 100


def predict(
    run: RunArgument,
    pairs: Annotated[
        Path | None,
        typer.Option(help="Score the pairs in a file (columns source, source_layer, target, target_layer)."),
    ] = None,
    node: Annotated[str | None, typer.Option(metavar="ID", help="The best partners of a node, in every layer.")] = None,
    layer: Annotated[str | None, typer.Option(help="With --node: the layer it is in, if several have that id.")] = None,
    top: Annotated[
        int | None,
        typer.Option(min=1, max=_MOST, help=f"The K best pairs; with --node: its K best in a layer ({_DEFAULT_TOP})."),
    ] = None,
    layers: Annotated[
        tuple[str, str] | None, typer.Option(metavar="A B", help="With --top: between these two, or within one (A A).")
    ] = None,
    missing: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Of the links within layers, how many the data lack; probabilities rise with it (0.008: as many as "
            "the protocol marked hides).",
        ),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The file to write: .parquet or .csv.")] = None,
    json: JsonOption = False,
) -> None:
    """Likely links, within layers and between them; known ones and those that cannot be are left out."""
    from mpxgat.io.link_files import check_link_suffix, write_links
    from mpxgat.models.link_curve import check_missing
    from mpxgat.runs import RunFolder

    _check_one_question(pairs, node, layer, top, layers)
    if output is not None:
        check_link_suffix(output)
    if missing is not None:
        check_missing(missing)
    with progress(f"reading {run}", quiet=json):
        model = RunFolder(run).model()
    if pairs is not None:
        found = _of_file(model, pairs, missing)
    elif node is not None:
        found = _of_node(model, node, layer, top or _DEFAULT_TOP, missing)
    else:
        found = _best(model, top or _DEFAULT_TOP, layers, missing, quiet=json)
    head: dict[str, Any] = {"run": str(run), "model": model.name, "count": len(found)}
    if output is not None:
        write_links(found.to_table(), output)
        print_note(f"wrote {len(found):,} links to {printable(output, 300)}")
        if json:
            print_json({**head, "output": str(output)})
    elif json:
        print_json({**head, "links": found.to_table().to_pylist()})
    else:
        _print(found)


def _check_one_question(
    pairs: Path | None, node: str | None, layer: str | None, top: int | None, layers: tuple[str, str] | None
) -> None:
    """SettingError unless exactly one thing is asked."""
    asked = [name for name, value in (("--pairs", pairs), ("--node", node), ("--top", top)) if value is not None]
    if asked not in (["--pairs"], ["--node"], ["--top"], ["--node", "--top"]):
        found = " and ".join(asked) or "none of them"
        raise SettingError(f"{found} given, expected one of --pairs FILE, --node ID and --top K")
    if layer is not None and node is None:
        raise SettingError("--layer given without --node, expected --layers A B with --top")
    if layers is not None and asked != ["--top"]:
        raise SettingError(f"--layers given with {asked[0]}, expected it with --top alone")


def _of_file(model: Model, path: Path, missing: float | None) -> Predictions:
    from mpxgat.io.link_files import read_pairs
    from mpxgat.predictions import predict_pairs

    return predict_pairs(model, read_pairs(path, model.graph), missing=missing)


def _of_node(model: Model, node: str, layer: str | None, k: int, missing: float | None) -> Predictions:
    from mpxgat.predictions import join, predict_node

    graph = model.graph
    positions = nodes_called(graph, node) if layer is None else [graph.index(node, layer)]
    return join(graph, [predict_node(model, position, k, missing=missing) for position in positions])


def _best(model: Model, k: int, layers: tuple[str, str] | None, missing: float | None, *, quiet: bool) -> Predictions:
    from mpxgat.predictions import pairs_to_search, predict_top

    numbers = None if layers is None else (model.graph.layer_index(layers[0]), model.graph.layer_index(layers[1]))
    with progress("searching", pairs_to_search(model.graph, numbers), quiet=quiet) as advance:
        return predict_top(model, k, numbers, advance, missing=missing)


def _print(found: Predictions) -> None:
    table = found.to_table()
    rows = [tuple(row.values()) for row in table.slice(0, _SHOWN_ROWS).to_pylist()]
    print_table(table.column_names, rows)
    if len(found) > _SHOWN_ROWS:
        print_note(f"{len(found) - _SHOWN_ROWS:,} more; -o writes all of them to a file")
