"""The settings of GATNE: what they are and what they may be."""

from __future__ import annotations

from dataclasses import dataclass

from mpxgat.models.settings import Settings
from mpxgat.training.loop import Schedule


@dataclass(frozen=True)
class GATNESettings(Settings):
    """Settings of GATNE-T and GATNE-I. Widths, walks and negatives are as published (Cen et al. 2019).

    Published are also 20 walks from every node, drawn once, batches of 64 pairs and a learning rate of 0.001. Here
    walks are drawn anew for every epoch, so an epoch needs only one from every node. A step composes all vectors and
    moves all parameters, whatever its batch, so batches are large and the learning rate is higher in turn. Those and
    the weight decay, which the original does without, were chosen on fftwyt, drosophila and arxiv, seeds 100 and 101.

    dimensions              of the embeddings
    edge_dimensions         of the edge embeddings, one for each node and type of link
    attention_dimensions    of the attention over types
    alpha, beta             weight of what neighbours add; weight of D^T x (GATNE-I)
    walks, walk_length      walks from every node in an epoch; nodes in a walk
    window                  steps between the two nodes of a pair, at most
    negatives               nodes drawn for each pair, in proportion to degree^0.75
    samples                 neighbours of each type drawn for every node and epoch
    batch                   pairs in a step, at most: a small graph takes fewer, for at least 20 steps in an epoch
    lr, epochs              Adam, and its largest number of epochs
    weight_decay            divided by the number of nodes, as is every node's share of the loss: so it weighs the same
                            in a small graph and in a large one
    check_every, patience   epochs between validations; validations without a better one before stopping
    validation              share of the training links of both kinds kept out of training to stop on
    device                  where to compute: "cpu", "cuda", …
    """

    dimensions: int = 200
    edge_dimensions: int = 10
    attention_dimensions: int = 20
    alpha: float = 1.0
    beta: float = 1.0
    walks: int = 1
    walk_length: int = 10
    window: int = 5
    negatives: int = 5
    samples: int = 10
    batch: int = 16384
    lr: float = 0.02
    weight_decay: float = 0.5
    epochs: int = 50
    check_every: int = 1
    patience: int = 5
    validation: float = 0.1
    device: str = "cpu"

    def __post_init__(self) -> None:
        self.check_at_least(1, "dimensions", "edge_dimensions", "attention_dimensions")
        self.check_at_least(1, "walks", "window", "negatives", "samples", "batch")
        self.check_at_least(2, "walk_length")
        self.check_at_least(0, "alpha", "beta")
        self.check_share("validation")
        self.schedule(1)  # checks its own ranges

    def schedule(self, n_nodes: int) -> Schedule:
        """Training on a graph of that size."""
        return Schedule(self.epochs, self.check_every, self.patience, self.lr, self.weight_decay / max(n_nodes, 1))
