"""MPXGAT as in the paper: MPXGAT-H within every layer, MPXGAT-V across layers, block by block.

Letters and order are the paper's; n nodes, E edges, shapes at the end of the line. Node i receives, j in N(i) sends,
and i is in N(i). Heads are independent; hidden blocks concatenate them, the last block averages them.

A block of MPXGAT-H (`HorizontalBlock`; own parameters for every layer of the multiplex):

    s_i   = W_i h_i + b_i
    t_j   = W_j h_j + b_j
    e_ij  = LeakyReLU( <v_i, s_i> + <v_j, t_j> )
    a_ij  = dropout( softmax_j e_ij )
    h'_i  = σ( Σ_j a_ij t_j )

A block of MPXGAT-V (`VerticalBlock`, the paper's GAT-V; one for all nodes, over the inter links), with a_ij as above:

    m_ij^V = a_ij t_j
    m_ij^H = f(h_i^H, h_j^H)                     h^H: horizontal embeddings, frozen, rows of length 1
    h'_i   = σ( Σ_j g(m_ij^V, m_ij^H) )

f and g are the framework's two open functions. The paper takes

    x_i = h_i^H Z + b,  f(h_i^H, h_j^H) = LeakyReLU(<x_i, v^H>) x_i                  `ReceiverMessage`
    g(m^V, m^H) = (1 - ReLU(β)) m^V + ReLU(β) m^H,  β learned                        `WeightedSum`

The functions of `mpxgat.nn.projection` and `mpxgat.nn.attention` compute all this without ever making anything of size
(E, heads, out).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from mpxgat.errors import SettingError, quoted
from mpxgat.nn.attention import (
    Neighbourhood,
    attend,
    attend_in_chunks,
    attention_dropout,
    edge_messages,
    edge_softmax,
    neighbour_sums,
    receiver_sums,
    sent_messages,
)
from mpxgat.nn.ops import add_row, elu, glorot, glorot_deviation, leaky_relu, repeat_row, uniform
from mpxgat.nn.projection import (
    Input,
    LinearMessages,
    Messages,
    Projected,
    RowMessages,
    head_dots,
    project_separately,
    project_together,
)

Activation = Callable[[Tensor], Tensor]


# ---- attention: what both kinds of block share ---------------------------------------------------------------------


class SeparateTransforms(nn.Module):
    """Two matrices, two biases, two attention vectors: the paper's text."""

    def __init__(self, inputs: int, out: int, heads: int, generator: torch.Generator):
        super().__init__()
        self.W_i = glorot((inputs, heads * out), generator)
        self.W_j = glorot((inputs, heads * out), generator)
        self.b_i = nn.Parameter(torch.zeros(heads * out))
        self.b_j = nn.Parameter(torch.zeros(heads * out))
        self.v_i = glorot((heads, out), generator)
        self.v_j = glorot((heads, out), generator)

    def forward(self, h: Input, sent: Tensor | None = None) -> Projected:
        """<v_i, s_i> (n, heads), <v_j, t_j> (n, heads) and t (n, heads, out), of h (n, inputs) or one-hot rows."""
        return project_separately(h, self.W_i, self.b_i, self.v_i, self.W_j, self.b_j, self.v_j, sent)


class SharedTransform(nn.Module):
    """One matrix for receiver and sender, W_i = W_j: the authors' code. In MPXGAT-H it has no bias of its own."""

    b: nn.Parameter | None

    def __init__(self, inputs: int, out: int, heads: int, generator: torch.Generator, *, bias: bool = False):
        super().__init__()
        self.W = glorot((inputs, heads * out), generator)
        self.b = uniform((heads * out,), inputs, generator) if bias else None
        self.v_i = glorot((heads, out), generator)
        self.v_j = glorot((heads, out), generator)

    def forward(self, h: Input, sent: Tensor | None = None) -> Projected:
        """As `SeparateTransforms`, with s = t = W h [+ b]."""
        return project_together(h, self.W, self.b, self.v_i, self.v_j, sent)


def biased_transform(inputs: int, out: int, heads: int, generator: torch.Generator) -> SharedTransform:
    """The linear maps of the authors' MPXGAT-V: W Glorot, b uniform in ±1/√inputs."""
    return SharedTransform(inputs, out, heads, generator, bias=True)


class Attention(nn.Module):
    """Σ_j a_ij t_j for every node and head.

    weighted    whether edge weights enter the logit: e_ij = LeakyReLU(… + u w_ij), u learned for each head, w_ii = 1.
                The softmax compares the neighbours of one node, so u tells how much more a heavier link counts.
    """

    u: nn.Parameter | None

    def __init__(
        self, transform: nn.Module, heads: int, dropout: float, generator: torch.Generator, *, weighted: bool = False
    ):
        super().__init__()
        if not 0 <= dropout < 1:
            raise SettingError(f"dropout is {dropout}, expected at least 0 and less than 1")
        self.transform = transform
        self.heads = heads
        self.dropout = dropout
        self.u = glorot((1, heads), generator) if weighted else None

    def forward(
        self,
        h: Input,
        neighbourhood: Neighbourhood,
        generator: torch.Generator | None = None,
        scale: Tensor | None = None,
    ) -> Tensor:
        """(n, heads, out); each sum times ``scale`` (n, heads) if given; in training, dropout uses ``generator``."""
        edges = neighbourhood.head_edges(self.heads)
        kept = self._kept(neighbourhood, generator)  # 0 or 1/(1-p)  (E*heads,)
        l_i, r_j, t, b = self.transform(h, sent_messages(kept, edges))  # <v_i, s_i>, <v_j, t_j>, and t_j - b, b
        return attend(l_i, r_j, t, edges, b=b, u=self._u(neighbourhood), keep=kept, scale=scale)  # Σ_j a_ij t_j

    def messages(self, h: Input, neighbourhood: Neighbourhood, generator: torch.Generator | None = None) -> Tensor:
        """Each m_ij = a_ij t_j by itself, for a g that has to see them: (E, heads, out)."""
        edges = neighbourhood.head_edges(self.heads)
        kept = self._kept(neighbourhood, generator)
        return edge_messages(self.transform(h), neighbourhood, edges, self._u(neighbourhood), kept)

    @torch.no_grad()
    def weights(self, h: Input, neighbourhood: Neighbourhood) -> Tensor:
        """a_ij without dropout: (E, heads), in the order of the neighbourhood's edges."""
        edges = neighbourhood.head_edges(self.heads)
        l_i, r_j, *_ = self.transform(h)
        return edges.per_edge(edge_softmax(l_i, r_j, edges, self._u(neighbourhood)))

    def in_chunks(self, projected: Projected, neighbourhood: Neighbourhood) -> Iterator[tuple[slice, Tensor]]:
        """The sums of one range of nodes after another, (r, heads, out) each, without dropout and gradients.

        projected   what ``transform`` makes of all nodes
        """
        return attend_in_chunks(projected, neighbourhood, None if self.u is None else self.u.squeeze(0))

    def _kept(self, neighbourhood: Neighbourhood, generator: torch.Generator | None) -> Tensor | None:
        if not self.training or self.dropout == 0:
            return None
        like = next(self.parameters())
        return attention_dropout(self.dropout, neighbourhood.head_edges(self.heads), like, generator)

    def _u(self, neighbourhood: Neighbourhood) -> Tensor | None:
        return None if self.u is None else repeat_row(self.u.squeeze(0), neighbourhood.n_nodes)


class Block(nn.Module):
    """What follows the sum over j in both kinds of block: heads joined, the output's bias if there is one, σ."""

    bias: nn.Parameter | None

    def __init__(self, attend: Attention, out: int, activation: Activation, *, last: bool, bias: bool):
        super().__init__()
        self.attend = attend
        self.activation = activation
        self.last = last
        self.bias = nn.Parameter(torch.zeros((out,) if last else (attend.heads, out))) if bias else None

    def joined(self, out: Tensor) -> Tensor:
        """(n, heads, out) -> (n, heads*out), or (n, out) in the last block; may change ``out`` in place."""
        if self.last:
            out = out.mean(1)
        if self.bias is not None:
            out = add_row(out, self.bias)
        return self.activation(out).flatten(1)

    def attention(self, h: Input, neighbourhood: Neighbourhood) -> Tensor:
        """a_ij without dropout: (E, heads), in the order of the neighbourhood's edges."""
        return self.attend.weights(h, neighbourhood)


# ---- MPXGAT-H ------------------------------------------------------------------------------------------------------


class HorizontalBlock(Block):
    """Graph attention within a layer: h'_i = σ( Σ_j a_ij t_j )."""

    def forward(self, h: Input, neighbourhood: Neighbourhood, generator: torch.Generator | None = None) -> Tensor:
        """From h (n, inputs) or one-hot rows to (n, heads*out), or (n, out) in the last block."""
        out = self.attend(h, neighbourhood, generator)  # Σ_j a_ij t_j  (n, heads, out)
        return self.joined(out)

    def in_chunks(self, projected: Projected, neighbourhood: Neighbourhood) -> Tensor:
        """What `forward` makes of projected inputs, a chunk of the nodes at a time, without dropout and gradients.

        It needs hardly more memory than its result.
        """
        whole = None
        for nodes, out in self.attend.in_chunks(projected, neighbourhood):
            rows = self.joined(out)
            if whole is None:
                whole = rows.new_empty(neighbourhood.n_nodes, rows.shape[1])
            whole[nodes] = rows
        assert whole is not None, "a network has nodes"
        return whole


# ---- MPXGAT-V ------------------------------------------------------------------------------------------------------


class ReceiverMessage(nn.Module):
    """f of the paper: x_i = h_i^H Z + b, m_ij^H = LeakyReLU(<x_i, v^H>) x_i; own Z, b and v^H for every head.

    Any module made as ``f(inputs, out, heads, generator)`` and called with the horizontal embeddings of both ends,
    (E, inputs) each, can stand in its place; it returns (E, heads, out). `summed` is optional: the sum over j, faster.
    """

    def __init__(self, inputs: int, out: int, heads: int, generator: torch.Generator):
        super().__init__()
        self.Z = glorot((inputs, heads * out), generator)
        self.b = nn.Parameter(torch.zeros(heads * out))
        self.v_H = glorot((heads, out), generator)

    def forward(self, h_i: Tensor, h_j: Tensor) -> Tensor:
        return self.messages(h_i).tensor()  # (E, heads, out)

    def summed(self, h_H: Tensor, neighbourhood: Neighbourhood) -> Messages:
        """Σ_j m_i^H = |N(i)| m_i^H: as the formula says, many known counterparts weigh the horizontal part more."""
        return self.messages(h_H).scaled(neighbourhood.sizes[:, None])

    def messages(self, h: Tensor) -> LinearMessages:
        """LeakyReLU(<x, v^H>) x, with x = h Z + b left to the place where it is added; h (m, inputs)."""
        # <x, v> = h <Z, v> + <b, v>: a narrow product
        a = h @ head_dots(self.Z, self.v_H)  # (m, heads)
        a = leaky_relu(add_row(a, head_dots(self.b[None], self.v_H).squeeze(0)))
        return LinearMessages(a, h, self.Z, self.b)


class MeanMessage(ReceiverMessage):
    """The paper's f, averaged instead of summed over j: m_i^H counts once, however many counterparts are known."""

    def summed(self, h_H: Tensor, neighbourhood: Neighbourhood) -> Messages:
        return self.messages(h_H)


class SenderMessage(ReceiverMessage):
    """f of the authors' code: m_ij^H = LeakyReLU(<x_j, v^H>) x_j, the sender's; b starts uniform in ±1/√inputs."""

    def __init__(self, inputs: int, out: int, heads: int, generator: torch.Generator):
        super().__init__(inputs, out, heads, generator)
        self.b = uniform((heads * out,), inputs, generator)

    def forward(self, h_i: Tensor, h_j: Tensor) -> Tensor:
        return self.messages(h_j).tensor()

    def summed(self, h_H: Tensor, neighbourhood: Neighbourhood) -> Messages:
        sums = neighbour_sums(self.messages(h_H).tensor(), neighbourhood)  # Σ_j m_j^H  (n, heads, out)
        return RowMessages(sums.new_ones(sums.shape[:2]), sums)


class WeightedSum(nn.Module):
    """g of the paper: (1 - ReLU(β)) m^V + ReLU(β) m^H; β (1,) for all heads or (heads,), one for each.

    Any module made as ``g(out, heads, generator)`` and called with both messages, (E, heads, out) each, can
    stand in its place.
    """

    def __init__(self, beta: Tensor):
        super().__init__()
        self.beta = nn.Parameter(beta)

    def forward(self, m_V: Tensor, m_H: Tensor) -> Tensor:
        share = self.beta.relu()[:, None]  # (1 or heads, 1)
        return (1 - share) * m_V + share * m_H


def one_beta(out: int, heads: int, generator: torch.Generator) -> WeightedSum:
    """One β for the block, started at 0.5: both parts weigh the same, and ReLU lets its gradient through."""
    return WeightedSum(torch.tensor([0.5]))


def beta_per_head(out: int, heads: int, generator: torch.Generator) -> WeightedSum:
    """A β for every head with Glorot start; one that starts below 0 stays there, as ReLU has no gradient."""
    return WeightedSum(glorot((1, heads), generator).detach().squeeze(0))


class VerticalBlock(Block):
    """Attention across layers that also reads the horizontal embeddings: h'_i = σ( Σ_j g(m_ij^V, m_ij^H) )."""

    def __init__(
        self,
        attend: Attention,
        f: nn.Module,
        g: nn.Module,
        out: int,
        activation: Activation,
        *,
        last: bool,
        bias: bool,
    ):
        super().__init__(attend, out, activation, last=last, bias=bias)
        self.f = f
        self.g = g

    def forward(
        self, h: Input, h_H: Tensor, neighbourhood: Neighbourhood, generator: torch.Generator | None = None
    ) -> Tensor:
        """From h (n, inputs) or one-hot rows and h^H (n, k) to (n, heads*out), or (n, out) in the last block."""
        if isinstance(self.g, WeightedSum) and hasattr(self.f, "summed"):
            # g is linear, so the two sums over j are taken apart.
            share = repeat_row(self.g.beta.relu().expand(self.attend.heads), neighbourhood.n_nodes)  # (n, heads)
            out = self.attend(h, neighbourhood, generator, scale=1 - share)  # (1 - ReLU(β)) Σ_j m_ij^V
            m_H: Messages = cast(ReceiverMessage, self.f).summed(h_H, neighbourhood)  # Σ_j m_ij^H
            out = m_H.scaled(share).added_to(out)  # + ReLU(β) Σ_j m_ij^H
        else:
            m_V = self.attend.messages(h, neighbourhood, generator)  # (E, heads, out)
            m_H = self.f(h_H[neighbourhood.receivers], h_H[neighbourhood.senders])  # (E, heads, out)
            out = receiver_sums(self.g(m_V, m_H), neighbourhood)  # (n, heads, out)
        return self.joined(out)

    @property
    def beta(self) -> Tensor | None:
        """β of every head as learned, before ReLU: (heads,); None if g has none."""
        if not isinstance(self.g, WeightedSum):
            return None
        return self.g.beta.detach().expand(self.attend.heads).clone()


# ---- the two readings of MPXGAT ------------------------------------------------------------------------------------


class MakeMap(Protocol):
    """Makes a transform or f: columns of its input, width and number of heads, where initial values come from."""

    def __call__(self, inputs: int, out: int, heads: int, generator: torch.Generator, /) -> nn.Module: ...


class MakeG(Protocol):
    """Makes g."""

    def __call__(self, out: int, heads: int, generator: torch.Generator, /) -> nn.Module: ...


@dataclass(frozen=True)
class Style:
    """A choice of parts; `dataclasses.replace` makes another one of it.

    bias    whether a learned bias, started at 0, is added to the output of every block before σ
    """

    name: str
    horizontal_transform: MakeMap
    vertical_transform: MakeMap
    f: MakeMap
    g: MakeG
    activation: Activation
    last_vertical_activation: Activation
    bias: bool


def identity(values: Tensor) -> Tensor:
    """No activation."""
    return values


# What the text defines.
PAPER = Style(
    name="paper",
    horizontal_transform=SeparateTransforms,
    vertical_transform=SeparateTransforms,
    f=ReceiverMessage,
    g=one_beta,
    activation=leaky_relu,
    last_vertical_activation=leaky_relu,
    bias=False,
)

# What the authors' code does: MPXGAT-H is PyTorch Geometric's GATConv three times.
REFERENCE = Style(
    name="reference",
    horizontal_transform=SharedTransform,
    vertical_transform=biased_transform,
    f=SenderMessage,
    g=beta_per_head,
    activation=elu,
    last_vertical_activation=identity,
    bias=True,
)

PRESETS = {PAPER.name: PAPER, REFERENCE.name: REFERENCE}


def preset(name: str) -> Style:
    """The style of that name; SettingError if there is none."""
    if name not in PRESETS:
        raise SettingError(f"no preset {quoted(name)}; the presets are {', '.join(PRESETS)}")
    return PRESETS[name]


# ---- blocks on top of each other -----------------------------------------------------------------------------------


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
    one_hot_scale   see `scale_rows`
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
        one_hot_scale: float = 0.0,
    ):
        super().__init__()
        self.blocks = nn.ModuleList()
        for width, out, last in widths.per_block(inputs):
            transform = style.horizontal_transform(width, out, widths.heads, generator)
            attend = Attention(transform, widths.heads, dropout, generator, weighted=weighted)
            self.blocks.append(HorizontalBlock(attend, out, style.activation, last=last, bias=style.bias))
        scale_rows(cast(Block, self.blocks[0]).attend.transform, one_hot_scale)

    def forward(self, x: Input, neighbourhood: Neighbourhood, generator: torch.Generator | None = None) -> Tensor:
        """Embeddings (n, out); in training mode dropout draws from ``generator``."""
        h = x
        for block in self.blocks:
            h = block(h, neighbourhood, generator)
        return cast(Tensor, h)

    @torch.no_grad()
    def embed(self, x: Input, neighbourhood: Neighbourhood) -> Tensor:
        """Embeddings (n, out) without dropout and without gradients."""
        with evaluating(self):
            return self.forward(x, neighbourhood)

    @torch.no_grad()
    def embed_in_chunks(self, x: Input, neighbourhood: Neighbourhood) -> Tensor:
        """What `embed` gives (but for rounding), in memory for two blocks' (n, width) and a chunk of the edges."""
        h: Input = x
        with evaluating(self):
            for each in self.blocks:
                block = cast(HorizontalBlock, each)
                projected = block.attend.transform(h)
                del h  # its memory is used again
                h = block.in_chunks(projected, neighbourhood)
        return cast(Tensor, h)

    @torch.no_grad()
    def attention(self, x: Input, neighbourhood: Neighbourhood) -> tuple[Tensor, ...]:
        """Attention weights of every block, (E, heads) each, without dropout."""
        weights, h = [], x
        with evaluating(self):
            for block in self.blocks:
                weights.append(cast(Block, block).attention(h, neighbourhood))
                h = block(h, neighbourhood)
        return tuple(weights)


class VerticalNet(nn.Module):
    """MPXGAT-V for all nodes; every block is fed with the frozen horizontal embeddings (`unit_rows`).

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
        one_hot_scale: float = 0.0,
    ):
        super().__init__()
        heads = widths.heads
        self.blocks = nn.ModuleList()
        for width, out, last in widths.per_block(inputs):
            transform = style.vertical_transform(width, out, heads, generator)
            attend = Attention(transform, heads, dropout, generator, weighted=weighted)
            f, g = style.f(horizontal_inputs, out, heads, generator), style.g(out, heads, generator)
            activation = style.last_vertical_activation if last else style.activation
            self.blocks.append(VerticalBlock(attend, f, g, out, activation, last=last, bias=style.bias))
        scale_rows(cast(Block, self.blocks[0]).attend.transform, one_hot_scale)

    def forward(
        self, x: Input, h_H: Tensor, neighbourhood: Neighbourhood, generator: torch.Generator | None = None
    ) -> Tensor:
        """Embeddings (n, out) from inputs x and horizontal embeddings h^H (n, k), rows of length 1."""
        h = x
        for block in self.blocks:
            h = block(h, h_H, neighbourhood, generator)
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
                weights.append(cast(Block, block).attention(h, neighbourhood))
                h = block(h, h_H, neighbourhood)
        return tuple(weights)

    @property
    def beta(self) -> tuple[Tensor | None, ...]:
        """β of every block as learned, (heads,) each, before ReLU; None where g has none."""
        return tuple(cast(VerticalBlock, block).beta for block in self.blocks)


Net = HorizontalNet | VerticalNet


@torch.no_grad()
def scale_rows(transform: nn.Module, deviation: float) -> None:
    """Let the matrices of a transform start with this standard deviation; 0 leaves them as they are.

    For one-hot inputs, which pick single rows: Glorot's start, made for sums over all inputs, would be the smaller the
    more nodes there are, embeddings and gradients near 0, and the loss at ln 2 for long.
    """
    for name in ("W", "W_i", "W_j"):
        matrix = getattr(transform, name, None)
        if deviation and isinstance(matrix, Tensor):
            matrix.mul_(deviation / glorot_deviation(matrix))


def unit_rows(h: Tensor) -> Tensor:
    """Every row divided by its length (a row of zeros stays), cut off from gradients: (n, k) -> (n, k)."""
    return F.normalize(h.detach())


@contextmanager
def evaluating(net: nn.Module) -> Iterator[None]:
    """Dropout off inside, and back to the mode before afterwards."""
    mode = net.training
    net.eval()
    try:
        yield
    finally:
        net.train(mode)
