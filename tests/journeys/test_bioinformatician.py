"""A bioinformatician with networkx graphs, confidences and annotations wants the links of one gene, ranked and
calibrated, as a DataFrame: in Python, as the documentation tells it (docs/tutorial-genes.md).
"""

import warnings

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import mpxgat as mx
from mpxgat.errors import DataWarning

GENES = 150
GENE = "GENE042"


def interactions(seed):
    """Physical and genetic interactions of the same genes in the same processes, with confidence scores."""
    rng = np.random.default_rng(seed)
    process = rng.integers(10, size=GENES)
    likely = np.where(process[:, None] == process, 0.45, 0.01)
    layers = {}
    for layer in ("physical", "genetic"):
        graph = layers[layer] = nx.Graph()
        for gene in range(GENES):
            annotation = {"process": f"process {process[gene]}", "length": int(rng.integers(300, 9000))}
            graph.add_node(f"GENE{gene:03}", **annotation, terms=["GO:1", "GO:2"])
        for one, other in np.argwhere(np.triu(rng.random((GENES, GENES)) < likely, 1)).tolist():
            confidence = float(rng.uniform(0.4, 1.0))
            graph.add_edge(f"GENE{one:03}", f"GENE{other:03}", confidence=confidence, source="assay")
    return layers


def read(**options):
    """The network, and what is said of what it does not hold."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", DataWarning)
        graph = mx.from_networkx(interactions(0), **options)
    return graph, [str(each.message) for each in told]


@pytest.fixture(scope="module")
def graph():
    return read(weight="confidence")[0]


@pytest.fixture(scope="module")
def model(graph):
    return mx.Evidence(seed=0, embeddings="none", splits=2, trees=40).fit(graph)


def test_weights_and_annotations_arrive(graph):
    assert graph.layers == ("physical", "genetic")
    assert graph.n_inter == GENES  # the same names, the same genes
    assert 0.4 <= graph.intra_weight.min() < graph.intra_weight.max() <= 1.0
    _, nodes = mx.to_pandas(graph)
    assert nodes["process"].str.startswith("process ").all()


def test_nothing_is_passed_over_in_silence():
    edges, nodes = read(weight="confidence")[1]
    assert edges == "attributes of edges passed over: 'source'; of them, confidence is read"
    assert nodes.startswith("attributes of nodes passed over: 'length', 'terms'; ")
    graph, told = read()
    assert graph.intra_weight is None
    assert told[0].endswith("""'confidence', 'source'; of them, weight is read (weight="NAME" names another one)""")
    assert "no edge has the attribute 'score': all weigh 1" in read(weight="score")[1]


def test_the_links_of_one_gene_are_ranked_and_calibrated(graph, model):
    found = mx.predictions.predict_node(model, GENE, "physical", k=20).to_pandas()
    assert (found["source"] == GENE).all()
    assert (found["target_layer"] == "physical").all()  # its counterpart in the other layer is known
    assert found["rank"].tolist() == list(range(1, 21))
    assert found["score"].is_monotonic_decreasing
    assert found["probability"].is_monotonic_decreasing
    assert found["probability"].between(0, 1).all()
    known = {frozenset(edge) for edge in interactions(0)["physical"].edges}
    assert not known & {frozenset(pair) for pair in zip(found["source"], found["target"], strict=True)}
    # With the annotations beside them: most of the first are of the gene's own process, of which one gene in ten is.
    _, nodes = mx.to_pandas(graph)
    process = nodes[nodes["layer"] == "physical"].set_index("id")["process"]
    assert (found["target"].head(5).map(process) == process[GENE]).sum() >= 3


def test_pairs_of_ones_own_in_a_data_frame(model):
    pairs = pd.DataFrame({"source": [GENE, GENE], "target": ["GENE000", "GENE001"]})
    pairs["source_layer"] = pairs["target_layer"] = "genetic"
    scored = mx.predictions.predict_pairs(model, pairs).to_pandas()
    assert scored["target"].tolist() == ["GENE000", "GENE001"]
    assert sorted(scored["rank"]) == [1, 2]


def test_how_good_that_is(graph):
    split = mx.splits.marked_nodes(graph, seed=0)
    result = mx.evaluate(mx.make_model("rules").fit(split.train), split)
    frame = result.to_pandas()
    assert result.intra.values["auc"] > 0.7
    assert set(frame["layer_a"].dropna()) == {"physical", "genetic"}
