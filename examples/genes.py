# ruff: noqa: T201
"""Genes in two layers of genetic interaction: which interactions are missing, and which would we find again?

    python examples/genes.py

Reads the data set `drosophila` (fetched once, or from the folder that MPXGAT_DATA names) and keeps its two middle-sized
layers, so that it ends within a minute.
"""

import numpy as np

import mpxgat as mx

LAYERS = (
    "suppressive_genetic_interaction_defined_by_inequality",
    "additive_genetic_interaction_defined_by_inequality",
)
SEED = 100  # seeds 0 to 9 are for reported results


def main() -> None:
    flies = mx.load("drosophila")
    wanted = [flies.layer_index(name) for name in LAYERS]
    graph = flies.subgraph(np.isin(flies.node_layer, wanted)).largest_component()
    print(f"{graph.n_nodes} nodes of {graph.n_units} genes, {len(graph.intra)} interactions within the two layers")

    # A model sees split.train and nothing else; the links it is asked about are hidden from it.
    split = mx.splits.marked_nodes(graph, seed=SEED)
    for name in ("adamic-adar", "rules", "anchored"):
        result = mx.evaluate(mx.make_model(name, seed=SEED).fit(split.train), split)
        print(f"{name:12} AUC within layers {result.intra.values['auc']:.3f}, between {result.inter.values['auc']:.3f}")

    # With all links known: the likeliest interactions that the suppressive layer lacks.
    model = mx.make_model("rules").fit(graph)
    best = mx.predictions.predict_top(model, k=5, layers=(LAYERS[0], LAYERS[0]))
    for row in best.to_table().to_pylist():
        print(f"{row['rank']}. {label(graph, row['source'])} and {label(graph, row['target'])}")


def label(graph: mx.MultiplexGraph, gene: str) -> str:
    """A gene's name, if the file has one besides the number."""
    names = graph.attributes.get("label")
    return gene if names is None else names[graph.index(gene, LAYERS[0])].as_py()


if __name__ == "__main__":
    main()
