"""GraphSAGE (Hamilton et al. 2017), as the paper compares with it: all links are alike.

A node's vector comes from a trainable identity embedding of its own, the mean of drawn neighbours' vectors, and the
mean of theirs; it has length 1. Vectors are trained so that the ends of a link are near each other and far from nodes
drawn in proportion to degree^0.75. Weights of links are not read: the mean aggregator has no place for them.

Once trained, all nodes are embedded with *all* neighbours instead of drawn ones: that is the mean which drawing
estimates, it needs no chance, and it predicts held-out links better.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mpxgat.arrays import Arrays
from mpxgat.graph import MultiplexGraph
from mpxgat.models.node_features import standardised_features
from mpxgat.models.part import chosen_device
from mpxgat.models.sage_training import Kind, SageLinks, SageTrainee, all_hops
from mpxgat.models.settings import Settings
from mpxgat.models.trained_embedding import TrainedEmbedding
from mpxgat.nn.sage import SageNet
from mpxgat.sampling.neighbours import Neighbours
from mpxgat.training.loop import Outcome, Schedule, train
from mpxgat.training.session import Session

_CUT, _START, _EPOCHS = range(3)  # what random numbers are for
_PART, _FILE = "all links", "all-links"
_Links = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class SageSettings(Settings):
    """Settings of GraphSAGE and MultiplexSAGE.

    Dimensions, samples and negatives are the paper's. The others were chosen by the validation AUC on ckm, celegans
    (seeds 100 and 101) and ff-tw-yt (seed 100).

    dimensions      of identity embeddings, of the hidden and of the last block
    samples_1       neighbours drawn for the first block (for the neighbours of a node)
    samples_2       neighbours drawn for the second block (for the node itself)
    negatives       nodes drawn for each minibatch that its links are told from
    batch           links in a minibatch
    lr, weight_decay, epochs    Adam, and its largest number of epochs
    check_every, patience       epochs between validations; validations without a better one before stopping
    validation      share of the training links of both kinds kept out of training to stop on
    device          where to compute: "cpu", "cuda", …
    """

    dimensions: int = 128
    samples_1: int = 25
    samples_2: int = 10
    negatives: int = 20
    batch: int = 512
    lr: float = 5e-4
    weight_decay: float = 0.0
    epochs: int = 300
    check_every: int = 1
    patience: int = 20
    validation: float = 0.1
    device: str = "cpu"

    def __post_init__(self) -> None:
        self.check_at_least(1, "dimensions", "samples_1", "samples_2", "negatives", "batch")
        self.check_share("validation")
        _ = self.schedule  # checks its own ranges

    @property
    def schedule(self) -> Schedule:
        """How long to train, and how."""
        return Schedule(self.epochs, self.check_every, self.patience, self.lr, self.weight_decay)


class GraphSAGE(TrainedEmbedding):
    """One embedding for both kinds of link. Settings by name: see `SageSettings`."""

    name = "graphsage"
    description = "means of neighbours' vectors; intra and inter links are not told apart"
    _part = _PART
    _settings: SageSettings

    def __init__(self, /, *, seed: int = 0, **settings: Any):
        super().__init__(seed=seed)
        self._settings = SageSettings.of(**settings)

    def _kinds(self, n_nodes: int, n_layers: int, intra: _Links, inter: _Links) -> list[Kind]:
        """The ways of messages: here one kind, of all links."""
        links = np.concatenate([intra, inter])
        return [Kind(Neighbours.of(n_nodes, links), (self._settings.samples_1, self._settings.samples_2))]

    # ---- learning --------------------------------------------------------------------------------------

    def _learn(self, graph: MultiplexGraph, session: Session) -> None:
        device = chosen_device(self._settings.device)
        links = SageLinks.cut(graph, self._settings.validation, self._stream(_CUT).numpy())
        kinds = self._kinds(graph.n_nodes, graph.n_layers, links.intra.training, links.inter.training)
        start = self._stream(_START).torch()
        net = SageNet(graph.n_nodes, self._settings.dimensions, len(kinds), standardised_features(graph), start).to(
            device
        )
        trainee = SageTrainee(
            net, links, kinds, self._settings.batch, self._settings.negatives, self._stream(_EPOCHS), device
        )
        report = partial(session.report, _PART)
        self._outcome = train(trainee, self._settings.schedule, session.checkpoint(_FILE), report)
        everyone = all_hops(self._kinds(graph.n_nodes, graph.n_layers, graph.intra, graph.inter))
        with torch.no_grad():
            self._horizontal = net.cpu()(everyone).numpy()
        self._vertical = self._horizontal

    # ---- saving ----------------------------------------------------------------------------------------

    def _state(self) -> Arrays:
        return {"embedding": self.horizontal}

    def _restore(self, graph: MultiplexGraph, state: Arrays, notes: Mapping[str, Any]) -> None:
        self._horizontal = self._vertical = state["embedding"]
        self._outcome = Outcome(**notes["outcome"])
