"""The parts of MPXGAT that are trained one after another: MPXGAT-H of each layer, then MPXGAT-V."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mpxgat.graph import MultiplexGraph
from mpxgat.models.batch_plans import Net, Network, SampledPlan, UnitPlan
from mpxgat.models.mpxgat_settings import MPXGATSettings
from mpxgat.models.part import Part
from mpxgat.nn.stack import HorizontalNet, VerticalNet, Widths, unit_rows
from mpxgat.nn.transform import Input
from mpxgat.sampling.negatives import BetweenLayers, WithinLayer
from mpxgat.training.loop import Schedule


class LayerPart(Part):
    """MPXGAT-H of one layer; nodes are numbered within the layer."""

    @classmethod
    def of(cls, graph: MultiplexGraph, number: int, settings: MPXGATSettings, seed: int) -> Self:
        """Layer ``number`` of a graph."""
        start, stop = int(graph.layer_start[number]), int(graph.layer_start[number + 1])
        inside = graph.node_layer[graph.intra[:, 0]] == number
        features = graph.horizontal_features
        return cls(
            key=number + 1,
            label=f"layer {number + 1} of {graph.n_layers}: {graph.layers[number]}",
            n_nodes=stop - start,
            links=graph.intra[inside] - start,
            weight=None if graph.intra_weight is None else graph.intra_weight[inside],
            features=None if features is None else features.values[start:stop],
            settings=settings,
            seed=seed,
        )

    @property
    def file_name(self) -> str:
        """Layers by number: names may hold anything."""
        return f"horizontal-{self.key:04d}"

    @property
    def widths(self) -> Widths:
        """As set for MPXGAT-H."""
        return self.settings.horizontal_widths

    @property
    def schedule(self) -> Schedule:
        """As set for MPXGAT-H."""
        return self.settings.horizontal_schedule

    def new_net(self) -> HorizontalNet:
        """MPXGAT-H with its initial parameters."""
        return HorizontalNet(
            self._columns,
            self.widths,
            generator=self.start(),
            dropout=self.settings.dropout,
            style=self.settings.style,
            weighted=self.weight is not None,
        )

    def inputs(self) -> tuple[Input]:
        """Features, or one-hot."""
        return (self._input(),)

    def sampler(self) -> WithinLayer:
        """Pairs of the layer."""
        return WithinLayer.of(self.n_nodes, self.links)

    def plan(self, network: Network, size: int) -> SampledPlan:
        """With neighbours drawn by chance."""
        return SampledPlan(network, size)

    def extent(self, size: int) -> tuple[int, int]:
        """As sampled."""
        return SampledPlan.extent(self.n_nodes, self.links, size)

    @property
    def whole_width(self) -> int:
        """Inputs and outputs of a block."""
        return 2 * self.widths.heads * max(self.widths.hidden, self.widths.out)


@dataclass(frozen=True, eq=False)
class VerticalPart(Part):
    """MPXGAT-V of all nodes, fed with horizontal embeddings (n, k)."""

    horizontal: NDArray[np.float32]
    layer: NDArray[np.int32]
    unit: NDArray[np.int32]

    @classmethod
    def of(cls, graph: MultiplexGraph, horizontal: NDArray[np.float32], settings: MPXGATSettings, seed: int) -> Self:
        """The vertical network of a graph."""
        features = graph.vertical_features
        return cls(
            key=0,
            label="between layers",
            n_nodes=graph.n_nodes,
            links=graph.inter,
            weight=graph.inter_weight,
            features=None if features is None else features.values,
            settings=settings,
            seed=seed,
            horizontal=horizontal,
            layer=graph.node_layer,
            unit=graph.unit,
        )

    @property
    def file_name(self) -> str:
        """There is one."""
        return "vertical"

    @property
    def widths(self) -> Widths:
        """As set for MPXGAT-V."""
        return self.settings.vertical_widths

    @property
    def schedule(self) -> Schedule:
        """As set for MPXGAT-V."""
        return self.settings.vertical_schedule

    def new_net(self) -> Net:
        """MPXGAT-V with its initial parameters."""
        return VerticalNet(
            self._columns,
            self.horizontal.shape[1],
            self.widths,
            generator=self.start(),
            dropout=self.settings.dropout,
            style=self.settings.style,
            weighted=self.weight is not None,
        )

    def inputs(self) -> tuple[Input | Tensor, ...]:
        """Features or one-hot, and the horizontal embeddings, rows of length 1."""
        return self._input(), unit_rows(torch.from_numpy(self.horizontal))

    def sampler(self) -> BetweenLayers:
        """Pairs of different layers."""
        return BetweenLayers(self.layer, self.unit)

    def plan(self, network: Network, size: int) -> UnitPlan:
        """With whole units."""
        return UnitPlan(network, size, self.unit)

    def extent(self, size: int) -> tuple[int, int]:
        """Whole units."""
        return UnitPlan.extent(self.unit, self.links, size)

    @property
    def whole_width(self) -> int:
        """The horizontal embeddings and the result."""
        return int(self.horizontal.shape[1]) + self.widths.out
