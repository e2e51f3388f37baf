"""GATNE (Cen et al. 2019): a base embedding and embeddings for each type of link, combined by attention.

The types are two, intra links of all layers and inter links. Every node gets one vector for each type, trained by
skip-gram over random walks along links of that type. A graph with features is learned by GATNE-I, whose vectors are
functions of the features, others by GATNE-T. Weights of links are not read: walks are uniform.

Vectors are scaled to length 1 where pairs are scored, so a score is a cosine, as in the original. The original scales
them in training, too; here they train unscaled under weight decay, which predicts held-out links better. Unscaled
scores are worse: hubs, whose contexts are many, have short vectors, and nodes with few links long ones. Once trained,
nodes are embedded with all neighbours instead of drawn ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch

from mpxgat.arrays import Arrays
from mpxgat.graph import MultiplexGraph
from mpxgat.models.gatne_settings import GATNESettings
from mpxgat.models.gatne_training import SkipGramTrainee, means_of
from mpxgat.models.node_features import standardised_features
from mpxgat.models.part import chosen_device
from mpxgat.models.sage_training import SageLinks
from mpxgat.models.trained_embedding import TrainedEmbedding
from mpxgat.nn.gatne import FeatureMaps, GATNENet, NodeTables
from mpxgat.nn.stack import unit_rows
from mpxgat.sampling.neighbours import Neighbours
from mpxgat.training.loop import Outcome, train
from mpxgat.training.session import Session

_CUT, _START, _EPOCHS = range(3)  # what random numbers are for
_PART, _FILE = "all links", "all-links"
_TYPES = 2  # intra, inter


class GATNE(TrainedEmbedding):
    """Horizontal vectors are those of type intra, vertical ones those of type inter. Settings: `GATNESettings`."""

    name = "gatne"
    description = "skip-gram over random walks; a vector for each type of link, from a base and what neighbours add"
    _part = _PART
    _settings: GATNESettings

    def __init__(self, /, *, seed: int = 0, **settings: Any):
        super().__init__(seed=seed)
        self._settings = GATNESettings.of(**settings)

    # ---- learning --------------------------------------------------------------------------------------

    def _learn(self, graph: MultiplexGraph, session: Session) -> None:
        device = chosen_device(self._settings.device)
        links = SageLinks.cut(graph, self._settings.validation, self._stream(_CUT).numpy())
        net = self._new_net(graph).to(device)
        trainee = SkipGramTrainee(net, graph.n_nodes, links, self._settings, self._stream(_EPOCHS), device)
        schedule = self._settings.schedule(graph.n_nodes)
        self._outcome = train(trainee, schedule, session.checkpoint(_FILE), partial(session.report, _PART))
        means = [means_of(Neighbours.of(graph.n_nodes, part), device) for part in (graph.intra, graph.inter)]
        with torch.no_grad():
            self._horizontal, self._vertical = (unit_rows(net(kind, means)).cpu().numpy() for kind in range(_TYPES))

    def _new_net(self, graph: MultiplexGraph) -> GATNENet:
        settings, start = self._settings, self._stream(_START).torch()
        widths = settings.dimensions, settings.edge_dimensions
        x = standardised_features(graph)
        nodes = (
            NodeTables(graph.n_nodes, *widths, _TYPES, start)
            if x is None
            else FeatureMaps(x, *widths, _TYPES, beta=settings.beta, generator=start)
        )
        return GATNENet(nodes, settings.attention_dimensions, alpha=settings.alpha, generator=start)

    # ---- saving ----------------------------------------------------------------------------------------

    def _state(self) -> Arrays:
        return {"horizontal": self.horizontal, "vertical": self.vertical}

    def _restore(self, graph: MultiplexGraph, state: Arrays, notes: Mapping[str, Any]) -> None:
        self._horizontal, self._vertical = state["horizontal"], state["vertical"]
        self._outcome = Outcome(**notes["outcome"])
