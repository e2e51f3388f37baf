"""What `mpxgat convert --dry-run` shows: what was read as what, the first rows, what is dropped and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import typer

from mpxgat.cli.output import print_fields, print_table
from mpxgat.errors import listed, printable, quoted

if TYPE_CHECKING:
    from mpxgat.graph import MultiplexGraph
    from mpxgat.io.assemble import Assembly, LayerLinks
    from mpxgat.io.lists import Layout

_SHOWN_ROWS = 10


def print_assembly(assembly: Assembly) -> None:
    """Every file that was read, then the network that they make."""
    for number, links in enumerate(assembly.links):
        _print_links(links, assembly, number)
    for layer, nodes in zip(assembly.layers, assembly.nodes, strict=True):
        if nodes is not None and nodes.layout is not None:
            alone = _without_links(assembly.graph, layer)
            facts = {"attributes": listed(nodes.attributes, 20) or "none", "without links": f"{alone:,} (kept)"}
            _print_list(f"nodes of layer {quoted(layer)}", nodes.layout, facts)
    if assembly.anchors is not None:
        facts = {"pairs": f"{len(assembly.anchors.pairs):,}", **_dropped(assembly.anchors.layout, [])}
        _print_list("who is who", assembly.anchors.layout, facts)
    _print_network(assembly.graph)


def print_graph(graph: MultiplexGraph, path: str, form: str) -> None:
    """A network that is a file of its own, and its first links."""
    from mpxgat.io.tables import edges_of

    _print_heading(f"{path}: a network, read as {form}")
    table = edges_of(graph).slice(0, _SHOWN_ROWS)
    print_table(table.column_names, [list(row.values()) for row in table.to_pylist()], "the first links")
    _print_network(graph)


def _print_links(links: LayerLinks, assembly: Assembly, number: int) -> None:
    import pyarrow.compute as pc

    graph, layer = assembly.graph, assembly.layers[number]
    what = f"links of layer {quoted(layer)}"
    n_links, n_arcs = _links_and_arcs(graph, layer)
    counts = {"links": f"{n_links:,}{' (weighted)' if (links.weight != 1).any() else ''}"}
    if links.layout is None:
        _print_heading(f"{links.path}: {what}, a file of nodes and edges")
        print_fields({**counts, "direction": "as the file states it" if links.one_way.any() else "none"})
        return
    loops = pc.sum(pc.equal(links.source, links.target)).as_py() or 0
    again = len(links.source) - loops - (n_arcs if links.one_way.any() else n_links)
    reasons = [f"{loops:,} link(s) of a node with itself (the node stays)"] if loops else []
    if again:
        reasons.append(f"{again:,} row(s) that say a link again (the largest weight stays)")
    direction = "from source to target" if links.one_way.any() else "none; with --directed from source to target"
    _print_list(what, links.layout, {**counts, "direction": direction, **_dropped(links.layout, reasons)})


def _dropped(layout: Layout, reasons: Sequence[str]) -> dict[str, str]:
    columns = [f"the column(s) {listed(layout.passed_over, 20)}, which have no role"]
    return {"dropped": "; ".join([*reasons, *(columns if layout.passed_over else [])]) or "nothing"}


def _print_list(what: str, layout: Layout, facts: Mapping[str, object]) -> None:
    from mpxgat.io.lists import how_read

    _print_heading(f"{layout.rows.path}: {what}")
    roles = {place: role for role, place in layout.places.items()}
    print_fields(
        {
            "read as": f"{how_read(layout.rows)}, {'without' if layout.header is None else 'with'} a header",
            "columns": ", ".join(f"{role} = {layout.label(place)}" for place, role in sorted(roles.items())),
            "rows": f"{len(layout.rows):,}",
            **facts,
        }
    )
    places = range(len(layout.rows.fields))
    cells = [layout.rows.fields[place].slice(0, _SHOWN_ROWS).to_pylist() for place in places]
    print_table([layout.label(place) for place in places], list(zip(*cells, strict=True)))


def _print_network(graph: MultiplexGraph) -> None:
    _print_heading("together")
    print_fields(
        {
            "layers": listed(graph.layers, 20),
            "nodes": f"{graph.n_nodes:,}",
            "intra links": f"{graph.n_intra:,}",
            "inter links": f"{graph.n_inter:,}",
            "direction": "some links go one way" if graph.intra_arcs is not None else "none",
            "weights": "yes" if graph.intra_weight is not None else "none",
            "attributes": listed(graph.attributes, 20) or "none",
        }
    )


def _print_heading(text: str) -> None:
    typer.echo(f"\n{printable(text, 400)}")


def _links_and_arcs(graph: MultiplexGraph, layer: str) -> tuple[int, int]:
    """Number of links of a layer, and with mutual ones counted twice."""
    from mpxgat.pairs import BOTH_WAYS

    if layer not in graph.layers:  # a layer without nodes vanishes
        return 0, 0
    here = graph.node_layer[graph.intra[:, 0]] == graph.layer_index(layer)
    mutual = 0 if graph.intra_arcs is None else int((graph.intra_arcs[here] == BOTH_WAYS).sum())
    return int(here.sum()), int(here.sum()) + mutual


def _without_links(graph: MultiplexGraph, layer: str) -> int:
    if layer not in graph.layers:
        return 0
    here = graph.node_layer == graph.layer_index(layer)
    return int((graph.degree[here] == 0).sum())
