"""Files we write, read by other people's libraries, and their files read by us: the same network both ways."""

import json
import warnings
from pathlib import Path

import networkx as nx
import pytest

from mpxgat.io import comunelab, mpx, multiplexsage
from mpxgat.io.networkx_graphs import to_networkx
from tests.examples import graph_of, random_graph

pytestmark = pytest.mark.filterwarnings("ignore::mpxgat.errors.DataWarning")  # see test_data_warnings.py

PARTLY_LINKED = random_graph(4, known=0.6)
ALL_LINKED = random_graph(4, known=1.0)
WEIGHTED = graph_of("x.1 x.2 2.5", "x.2 x.3", "y.1 y.3 0.125", "x.1 y.1", "x.3 y.3", "z.4 z.4")
GRAPHS = {"partly linked": PARTLY_LINKED, "all linked": ALL_LINKED, "weighted": WEIGHTED}


def imported(module: str):
    """The library, or a skip that says why; some warn when they are imported or use what they warn about."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return __import__(module, fromlist=["_"])
        except ImportError as problem:
            pytest.skip(f"{module} cannot be imported: {problem}")


def links(graph, kind):
    return {frozenset(map(tuple, (graph.nodes[a], graph.nodes[b]))) for a, b in getattr(graph, kind).tolist()}


def weights(graph):
    values = [1.0] * graph.n_intra if graph.intra_weight is None else graph.intra_weight.tolist()
    ends = ((graph.nodes[a], graph.nodes[b]) for a, b in graph.intra.tolist())
    return {frozenset(map(tuple, pair)): value for pair, value in zip(ends, values, strict=True)}


# ---- uunet ---------------------------------------------------------------------------------------------


def uunet_network(network, multinet):
    """Vertices, links within layers and links between layers, undirected and without loops."""
    vertices = multinet.vertices(network)
    layers = multinet.layers(network)
    edges = multinet.edges(network, layers, layers)
    rows = zip(edges["from_actor"], edges["from_layer"], edges["to_actor"], edges["to_layer"], strict=True)
    pairs = {frozenset([(a, k), (b, m)]) for a, k, b, m in rows if (a, k) != (b, m)}
    between = {pair for pair in pairs if len({layer for _, layer in pair}) == 2}
    return set(zip(vertices["actor"], vertices["layer"], strict=True)), pairs - between, between


@pytest.mark.parametrize("name", GRAPHS)
def test_uunet_reads_what_we_write(name, tmp_path):
    multinet = imported("uunet.multinet")
    graph = GRAPHS[name]
    mpx.write(graph, tmp_path / "g.mpx")
    vertices, intra, inter = uunet_network(multinet.read(str(tmp_path / "g.mpx")), multinet)
    assert vertices == set(map(tuple, graph.nodes))
    assert intra == links(graph, "intra")
    is_multiplex = "\nmultiplex\n" in (tmp_path / "g.mpx").read_text()
    assert inter == (set() if is_multiplex else links(graph, "inter"))  # there, shared actors say it


def test_uunet_reads_our_weights_and_attributes(tmp_path):
    multinet = imported("uunet.multinet")
    graph = mpx.read(Path(multinet.__file__).parent / "data" / "aucs.mpx")
    mpx.write(graph, tmp_path / "g.mpx")
    network = multinet.read(str(tmp_path / "g.mpx"))
    nodes = list(graph.nodes)
    asked = {"actor": [node.id for node in nodes], "layer": [node.layer for node in nodes]}
    values = multinet.get_values(network, "role", vertices=asked)
    assert next(iter(values.values())) == graph.attributes["role"].to_pylist()

    mpx.write(WEIGHTED, tmp_path / "w.mpx")
    found = multinet.to_edge_dict(multinet.read(str(tmp_path / "w.mpx")))
    assert found["x"]["1"]["2"]["weight"] == 2.5
    assert found["y"]["1"]["3"]["weight"] == 0.125


@pytest.mark.parametrize("name", ["aucs", "bankwiring", "book", "florentine", "monastery", "tailorshop"])
def test_uunets_own_files_are_the_same_network_to_both(name):
    multinet = imported("uunet.multinet")
    path = Path(multinet.__file__).parent / "data" / f"{name}.mpx"
    graph = mpx.read(path)
    vertices, intra, inter = uunet_network(multinet.read(str(path)), multinet)
    assert vertices == set(map(tuple, graph.nodes))
    assert intra == links(graph, "intra")
    assert inter == set()
    shared = {frozenset([one, other]) for one in vertices for other in vertices if one[0] == other[0] and one != other}
    assert shared == links(graph, "inter")


def test_we_read_what_uunet_writes(tmp_path):
    multinet = imported("uunet.multinet")
    mpx.write(ALL_LINKED, tmp_path / "ours.mpx")
    multinet.write(multinet.read(str(tmp_path / "ours.mpx")), str(tmp_path / "theirs.mpx"))
    again = mpx.read(tmp_path / "theirs.mpx")
    assert links(again, "intra") == links(ALL_LINKED, "intra")
    assert links(again, "inter") == links(ALL_LINKED, "inter")


# ---- pymnet --------------------------------------------------------------------------------------------


def test_pymnet_reads_the_edges_we_write(tmp_path):
    pymnet = imported("pymnet")
    comunelab.FORMAT.write(WEIGHTED.layer("x"), tmp_path / "x.edges")
    network = pymnet.read_edge_file(str(tmp_path / "x.edges"), couplings="none", sep=" ")
    assert {frozenset([(str(a), "x"), (str(b), "x")]): weight for a, b, _, _, weight in network.edges} == weights(
        WEIGHTED.layer("x")
    )


# ---- py3plex -------------------------------------------------------------------------------------------


def py3plex_network(source, kind):
    multinet = imported("py3plex.core.multinet")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns about its own habits, which are not ours to mend
        return multinet.multi_layer_network().load_network(source, directed=False, input_type=kind)


def test_py3plex_reads_the_plain_edges_we_write(tmp_path):
    comunelab.FORMAT.write(ALL_LINKED, tmp_path / "g.edges")
    number = {str(place): layer for place, layer in enumerate(ALL_LINKED.layers, start=1)}
    network = py3plex_network(str(tmp_path / "g.edges"), "multiplex_edges").core_network
    found = {
        frozenset([(a, number[k]), (b, number[m])]) for (a, k), (b, m) in network.edges() if k == m and (a, k) != (b, m)
    }
    assert found == links(ALL_LINKED, "intra")


def test_py3plex_reads_the_extended_edges_we_write(tmp_path):
    comunelab.EXTENDED_FORMAT.write(PARTLY_LINKED, tmp_path / "g.edges")
    number = {str(place): layer for place, layer in enumerate(PARTLY_LINKED.layers, start=1)}
    network = py3plex_network(str(tmp_path / "g.edges"), "multiedgelist").core_network
    found = {frozenset([(a, number[k]), (b, number[m])]) for (a, k), (b, m) in network.edges() if (a, k) != (b, m)}
    assert found == links(PARTLY_LINKED, "intra") | links(PARTLY_LINKED, "inter")


def test_py3plex_takes_our_networkx_graph():
    network = py3plex_network(to_networkx(PARTLY_LINKED), "nx").core_network
    assert set(network.nodes) == set(map(tuple, PARTLY_LINKED.nodes))
    assert {frozenset(edge[:2]) for edge in network.edges()} == links(PARTLY_LINKED, "intra") | links(
        PARTLY_LINKED, "inter"
    )


# ---- networkx ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GRAPHS)
def test_networkx_reads_the_node_link_json_we_write(name, tmp_path):
    graph = GRAPHS[name]
    multiplexsage.write(graph, tmp_path / "g.json")
    network = nx.node_link_graph(json.loads((tmp_path / "g.json").read_text()), edges="links")
    assert sorted(network.nodes) == list(range(graph.n_nodes))
    found = {tuple(sorted(pair)): data["inter_layer"] for *pair, data in network.edges(data=True)}
    assert {pair for pair, inter in found.items() if not inter} == set(map(tuple, graph.intra.tolist()))
    assert {pair for pair, inter in found.items() if inter} == set(map(tuple, graph.inter.tolist()))
