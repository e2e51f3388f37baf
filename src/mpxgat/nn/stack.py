"""`HorizontalNet` and `VerticalNet`: blocks on top of each other, from node inputs to embeddings.

The horizontal network of a multiplex takes one `HorizontalNet` for each layer. One `VerticalNet` covers all nodes;
every one of its blocks is fed with the frozen horizontal embeddings, rows of length 1 (`unit_rows`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from mpxgat.errors import SettingError
from mpxgat.nn.attention import AttentionDropout
from mpxgat.nn.gat_h import HorizontalBlock
from mpxgat.nn.gat_v import VerticalBlock
from mpxgat.nn.multi_head import EdgeTerm, Joining, MultiHeadAttention, average_heads, concatenate_heads
from mpxgat.nn.neighbourhood import Neighbourhood
from mpxgat.nn.presets import PAPER, MakeTransform, Style
from mpxgat.nn.transform import Input


@dataclass(frozen=True)
class Widths:
    """Shape of a network: ``blocks`` blocks of ``heads`` heads, ``hidden`` wide, the last one ``out`` wide."""

    hidden: int = 128
    out: int = 128
    heads: int = 4
    blocks: int = 3

    def __post_init__(self) -> None:
        for name in ("hidden", "out", "heads", "blocks"):
            if getattr(self, name) < 1:
                raise SettingError(f"{name} is {getattr(self, name)}, expected at least 1")

    def per_block(self, inputs: int) -> Iterator[tuple[int, int, bool]]:
        """(inputs, out, is the last) of every block."""
        for _ in range(self.blocks - 1):
            yield inputs, self.hidden, False
            inputs = self.heads * self.hidden
        yield inputs, self.out, True


class HorizontalNet(nn.Module):
    """MPXGAT-H for one layer of the multiplex.

    inputs      columns of the node features; the number of nodes if the input is `OneHot`
    weighted    whether the blocks read the neighbourhood's edge weights
    generator   draws the initial parameters: same seed, same bytes
    """

    def __init__(
        self,
        inputs: int,
        widths: Widths,
        *,
        generator: torch.Generator,
        dropout: float = 0.6,
        style: Style = PAPER,
        weighted: bool = False,
    ):
        super().__init__()
        parts = style.horizontal
        self.blocks = nn.ModuleList()
        for width, out, last in widths.per_block(inputs):
            attend = _attention(parts.transform, width, out, widths.heads, dropout, generator, weighted=weighted)
            activation = parts.last_activation if last else parts.activation
            self.blocks.append(HorizontalBlock(attend, join=_joining(last=last), activation=activation))

    def forward(self, x: Input, neighbourhood: Neighbourhood, *, generator: torch.Generator | None = None) -> Tensor:
        """Embeddings (n, out); in training mode dropout draws from ``generator``."""
        h = self.blocks[0](x, neighbourhood, generator=generator)
        for block in self.blocks[1:]:
            h = block(h, neighbourhood, generator=generator)
        return cast(Tensor, h)

    @torch.no_grad()
    def embed(self, x: Input, neighbourhood: Neighbourhood) -> Tensor:
        """Embeddings (n, out) without dropout and without gradients."""
        with evaluating(self):
            return self.forward(x, neighbourhood)

    @torch.no_grad()
    def embed_in_pieces(self, x: Input, neighbourhood: Neighbourhood) -> Tensor:
        """What `embed` gives (but for rounding), in memory for two blocks' (n, width) and a piece of the edges."""
        h: Input = x
        with evaluating(self):
            for each in self.blocks:
                block = cast(HorizontalBlock, each)
                projected = block.attend.transform(h)
                del h  # its memory is used again
                h = block.in_pieces(projected, neighbourhood)
        return cast(Tensor, h)

    @torch.no_grad()
    def attention(self, x: Input, neighbourhood: Neighbourhood) -> tuple[Tensor, ...]:
        """Attention weights of every block, (E, heads) each, without dropout."""
        weights, h = [], x
        with evaluating(self):
            for block in self.blocks:
                weights.append(cast(HorizontalBlock, block).attention(h, neighbourhood))
                h = block(h, neighbourhood)
        return tuple(weights)


class VerticalNet(nn.Module):
    """MPXGAT-V for all nodes.

    inputs              columns of the node features; the number of nodes if the input is `OneHot`
    horizontal_inputs   columns of the horizontal embeddings
    """

    def __init__(
        self,
        inputs: int,
        horizontal_inputs: int,
        widths: Widths,
        *,
        generator: torch.Generator,
        dropout: float = 0.6,
        style: Style = PAPER,
        weighted: bool = False,
    ):
        super().__init__()
        parts, heads = style.vertical, widths.heads
        self.blocks = nn.ModuleList()
        for width, out, last in widths.per_block(inputs):
            block = VerticalBlock(
                _attention(parts.transform, width, out, heads, dropout, generator, weighted=weighted),
                f=parts.f(horizontal_inputs, out, heads, generator),
                gather=parts.gather,
                g=parts.g(heads, generator),
                join=_joining(last=last),
                activation=parts.last_activation if last else parts.activation,
            )
            self.blocks.append(block)

    def forward(
        self, x: Input, h_H: Tensor, neighbourhood: Neighbourhood, *, generator: torch.Generator | None = None
    ) -> Tensor:
        """Embeddings (n, out) from inputs x and horizontal embeddings h^H (n, k), rows of length 1."""
        h = self.blocks[0](x, h_H, neighbourhood, generator=generator)
        for block in self.blocks[1:]:
            h = block(h, h_H, neighbourhood, generator=generator)
        return cast(Tensor, h)

    @torch.no_grad()
    def embed(self, x: Input, h_H: Tensor, neighbourhood: Neighbourhood) -> Tensor:
        """Embeddings (n, out) without dropout and without gradients."""
        with evaluating(self):
            return self.forward(x, h_H, neighbourhood)

    @torch.no_grad()
    def attention(self, x: Input, h_H: Tensor, neighbourhood: Neighbourhood) -> tuple[Tensor, ...]:
        """Attention weights of every block, (E, heads) each, without dropout."""
        weights, h = [], x
        with evaluating(self):
            for block in self.blocks:
                weights.append(cast(VerticalBlock, block).attention(h, neighbourhood))
                h = block(h, h_H, neighbourhood)
        return tuple(weights)

    @property
    def beta(self) -> tuple[Tensor | None, ...]:
        """β of every block as learned, (heads,) each, before ReLU; None where g has none."""
        return tuple(cast(VerticalBlock, block).beta for block in self.blocks)


def unit_rows(h: Tensor) -> Tensor:
    """Every row divided by its length (a row of zeros stays), cut off from gradients: (n, k) -> (n, k)."""
    return F.normalize(h.detach())


def _attention(
    transform: MakeTransform,
    inputs: int,
    out: int,
    heads: int,
    dropout: float,
    generator: torch.Generator,
    *,
    weighted: bool,
) -> MultiHeadAttention:
    return MultiHeadAttention(
        transform(inputs, out, heads, generator),
        heads,
        AttentionDropout(dropout),
        EdgeTerm(heads, generator) if weighted else None,
    )


def _joining(*, last: bool) -> Joining:
    return average_heads if last else concatenate_heads


@contextmanager
def evaluating(net: nn.Module) -> Iterator[None]:
    """Dropout off inside, and back to the mode before afterwards."""
    mode = net.training
    net.eval()
    try:
        yield
    finally:
        net.train(mode)
