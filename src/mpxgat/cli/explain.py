"""`mpxgat explain`: why two nodes are held to be one unit, or not."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mpxgat.cli.options import JsonOption, RunArgument, load_matcher, nodes_called
from mpxgat.cli.output import cell, console_for, print_fields, print_json, progress
from mpxgat.errors import GraphError, SettingError, quoted

if TYPE_CHECKING:
    from rich.text import Text

    from mpxgat.graph import MultiplexGraph
    from mpxgat.matching import Explanation

_BAR_CHARACTERS = 30


def explain(
    run: RunArgument,
    node_a: Annotated[str, typer.Argument(metavar="NODE_A", help="The id of a node.")],
    node_b: Annotated[str, typer.Argument(metavar="NODE_B", help="The id of a node of another layer.")],
    layers: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="A B", help="The layers the two nodes are in, if several have such an id."),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Why two nodes are held to be one unit, or not: what each finding adds to the log-odds."""
    from mpxgat.graph import describe

    with progress(f"reading {run}", quiet=json):
        matcher, name = load_matcher(run)
    graph = matcher.graph
    ends = [_position(graph, node, layers and layers[side]) for side, node in enumerate((node_a, node_b))]
    if graph.node_layer[ends[0]] == graph.node_layer[ends[1]]:
        layer = quoted(graph.nodes[ends[0]].layer)
        raise SettingError(f"both nodes are in layer {layer}, expected nodes of two layers; --layers A B says which")
    found = _settled(graph, *ends) or matcher.explain(min(ends), max(ends))
    names = [graph.nodes[end] for end in ends]
    if json:
        print_json({"run": str(run), "model": name, "nodes": [one._asdict() for one in names], **_as_json(found)})
        return
    print_fields({"nodes": " and ".join(map(describe, names)), "probability": found.probability})
    if isinstance(found, _Settled):
        console_for(sys.stdout).print(cell(found.why))
    else:
        _print_waterfall(found)


@dataclass(frozen=True)
class _Settled:
    """A pair of which the known links alone say that it is one unit, or cannot be."""

    status: str
    probability: float
    why: str


def _as_json(found: Explanation | _Settled) -> dict[str, Any]:
    """The same keys for all pairs."""
    if isinstance(found, _Settled):
        return {**asdict(found), "base": None, "reasons": [], "score": None}
    reasons = [asdict(reason) for reason in found.reasons]
    head = {"status": "open", "probability": found.probability, "why": None}
    return {**head, "base": found.base, "reasons": reasons, "score": found.score}


def _position(graph: MultiplexGraph, node: str, layer: str | None) -> int:
    """The position of a node; GraphError if there is none, or several and no layer is given."""
    if layer is not None:
        return graph.index(node, layer)
    found = nodes_called(graph, node)
    if len(found) > 1:
        layers = ", ".join(quoted(graph.nodes[position].layer) for position in found)
        raise GraphError(f"the layers {layers} have a node {quoted(node)}; say which two are meant with --layers A B")
    return found[0]


def _settled(graph: MultiplexGraph, first: int, second: int) -> _Settled | None:
    """What the known links say of a pair; None if they leave it open."""
    from mpxgat.graph import describe
    from mpxgat.pairs import KnownUnits

    if graph.unit[first] == graph.unit[second]:
        return _Settled("known", 1.0, "known links join the two")
    units = KnownUnits.of(graph)
    obstacle, said = units.obstacle(first, second), units.said_of(first, second)
    if obstacle is None and said is None:
        return None
    one, other = (describe(graph.nodes[node]) for node in said or obstacle or ())
    if said is None:
        why = f"they cannot be one unit: by known links it would have two nodes in a layer, {one} and {other}"
    else:
        why = f"they are known to be different: {one} and {other} are said to be"
    return _Settled("forbidden", 0.0, why)


def _print_waterfall(found: Explanation) -> None:
    """Base, reasons and score, one a line, with bars from where the log-odds were to where they are."""
    from rich import box
    from rich.table import Table

    ends = [found.base]
    for reason in found.reasons:
        ends.append(ends[-1] + reason.contribution)
    scale = _Scale(min(0.0, *ends), max(0.0, *ends))
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("reason", overflow="fold")
    table.add_column("found", overflow="fold")
    table.add_column("log-odds", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_row("before any evidence", "", f"{found.base:+.2f}", scale.bar(0.0, found.base))
    for reason, before, after in zip(found.reasons, ends, ends[1:], strict=False):
        numbers = f"{reason.contribution:+.2f}"
        table.add_row(cell(reason.label), cell(reason.finding), numbers, scale.bar(before, after))
    table.add_section()
    table.add_row("all together", "", f"{found.score:+.2f}", scale.bar(0.0, found.score))
    console = console_for(sys.stdout)
    console.print()
    console.print(table)


class _Scale:
    """Bars between two values of the log-odds, on a scale from ``low`` to ``high``."""

    def __init__(self, low: float, high: float):
        self._low = low
        self._step = _BAR_CHARACTERS / ((high - low) or 1.0)
        self._mark = "█" if (sys.stdout.encoding or "").lower().startswith("utf") else "#"

    def bar(self, before: float, after: float) -> Text:
        """A bar from ``before`` to ``after``, green if it goes up; at least one character wide."""
        from rich.text import Text

        begin, end = (round((value - self._low) * self._step) for value in sorted((before, after)))
        begin = min(begin, _BAR_CHARACTERS - 1)
        bar = " " * begin + self._mark * max(1, end - begin)
        return Text(bar, style="green" if after >= before else "red")
