"""GAT in place of GAT-V: the paper's first ablation.

The vertical model is plain graph attention over the inter links, on one-hot inputs (or vertical features), with no
horizontal part. The blocks are those of MPXGAT-H: PyTorch Geometric's GATConv gives the same where the two coincide (a
test holds them together), but is slower and wants the one-hot matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from mpxgat.errors import SettingError, quoted
from mpxgat.graph import MultiplexGraph
from mpxgat.models.batch_plans import Net
from mpxgat.models.mpxgat import MPXGAT
from mpxgat.models.mpxgat_parts import VerticalPart
from mpxgat.models.mpxgat_random import random_horizontal
from mpxgat.models.mpxgat_settings import MPXGATSettings
from mpxgat.models.part import Part, Trained
from mpxgat.nn.presets import HorizontalStyle, Style
from mpxgat.nn.stack import HorizontalNet
from mpxgat.nn.transform import Input

_SOURCES = ("trained", "random")


@dataclass(frozen=True)
class GATSettings(MPXGATSettings):
    """Settings of MPXGAT, and where horizontal embeddings come from: "trained" as in MPXGAT, or "random".

    The vertical model does not read them, so inter scores are the same; "random" saves the time (intra scores are then
    chance).
    """

    horizontal: str = "trained"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.horizontal not in _SOURCES:
            raise SettingError(f"horizontal is {quoted(self.horizontal)}, expected {' or '.join(_SOURCES)}")


@dataclass(frozen=True, eq=False)
class GATPart(VerticalPart):
    """Plain graph attention of all nodes over the inter links."""

    def new_net(self) -> Net:
        """Blocks of the vertical style without its horizontal part."""
        return HorizontalNet(
            self._columns,
            self.widths,
            generator=self.start(),
            dropout=self.settings.dropout,
            style=_without_horizontal_part(self.settings.style),
            weighted=self.weight is not None,
        )

    def inputs(self) -> tuple[Input | Tensor, ...]:
        """Features, or one-hot."""
        return (self._input(),)


class GAT(MPXGAT):
    """MPXGAT whose vertical model is plain GAT. Settings: see `GATSettings`."""

    name = "gat"
    description = "the paper's first ablation: plain GAT in place of GAT-V"
    _settings_class = GATSettings
    _vertical_part = GATPart

    def _layer_parts(self, graph: MultiplexGraph) -> list[Part]:
        return super()._layer_parts(graph) if self._trains_horizontally else []

    def _embed_horizontally(
        self, graph: MultiplexGraph, layers: Sequence[Part], trained: Sequence[Trained]
    ) -> NDArray[np.float32]:
        if self._trains_horizontally:
            return super()._embed_horizontally(graph, layers, trained)
        return random_horizontal(graph, self._settings.out, self.seed)

    @property
    def _trains_horizontally(self) -> bool:
        return cast(GATSettings, self._settings).horizontal == "trained"


def _without_horizontal_part(style: Style) -> Style:
    vertical = style.vertical
    plain = HorizontalStyle(vertical.transform, vertical.activation, vertical.last_activation)
    return replace(style, horizontal=plain)
