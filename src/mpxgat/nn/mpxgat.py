"""Horizontal messages m^H of all nodes, held as factors: the product is made only where it is added.

A message is a scale for every node and head times a row: ``m = scale * rows``. Scales (n, heads) are small, rows are
the largest tensors of a vertical block (n, heads, out), so every factor that can go into the scale does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Protocol, cast

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F  # noqa: N812

from mpxgat.errors import SettingError, quoted
from mpxgat.nn.attention import (
    AttentionDropout,
    Input,
    Neighbourhood,
    Projected,
    SeparateTransforms,
    SharedTransform,
    Transform,
    attend,
    attend_in_pieces,
    edge_softmax,
    glorot,
    head_dots,
    needed_messages,
    neighbour_sums,
)
from mpxgat.nn.ops import add_row, column_sums, elu, leaky_relu, product, repeat_row

_PIECE = 1024  # rows: a few megabytes


class Messages(Protocol):
    """What f returns."""

    def scaled(self, factor: Tensor) -> Messages:
        """The same messages times ``factor`` (n, heads) or (n, 1)."""
        ...

    def added_to(self, out: Tensor) -> Tensor:
        """``out`` (n, heads, out) plus the messages; may change it in place."""
        ...

    def tensor(self) -> Tensor:
        """The messages themselves, (n, heads, out)."""
        ...


@dataclass(frozen=True, eq=False)
class RowMessages:
    """``scale * rows``."""

    scale: Tensor  # (n, heads)
    rows: Tensor  # (n, heads, out)

    def scaled(self, factor: Tensor) -> RowMessages:
        return replace(self, scale=self.scale * factor)

    def added_to(self, out: Tensor) -> Tensor:
        return out + self.tensor()

    def tensor(self) -> Tensor:
        return self.scale.unsqueeze(-1) * self.rows


@dataclass(frozen=True, eq=False)
class LinearMessages:
    """``scale * (x Z + b)``. The rows are computed again in the backward pass instead of being kept."""

    scale: Tensor  # (n, heads)
    x: Tensor  # (n, k)
    Z: Tensor  # (k, heads*out)
    b: Tensor  # (heads*out,)

    def scaled(self, factor: Tensor) -> LinearMessages:
        return replace(self, scale=self.scale * factor)

    def added_to(self, out: Tensor) -> Tensor:
        result: Tensor = _AddLinear.apply(out, self.scale, self.x, self.Z, self.b)  # type: ignore[no-untyped-call]
        return result

    def tensor(self) -> Tensor:
        rows = add_row(product(self.x, self.Z), self.b)
        return self.scale.unsqueeze(-1) * rows.view(*self.scale.shape, -1)


class _AddLinear(torch.autograd.Function):
    """``out + scale * (x Z + b)`` in place, a piece of rows at a time: the rows x Z + b never leave the cache."""

    @staticmethod
    def forward(ctx: Any, out: Tensor, scale: Tensor, x: Tensor, Z: Tensor, b: Tensor) -> Tensor:
        ctx.mark_dirty(out)
        ctx.save_for_backward(scale, x, Z, b)
        for part in _parts(len(out)):
            rows = product(x[part], Z).add_(b)
            out[part].addcmul_(scale[part].unsqueeze(-1), rows.view_as(out[part]))
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        scale, x, Z, b = ctx.saved_tensors
        grad_scale, grad_Z, grad_b = torch.empty_like(scale), torch.zeros_like(Z), torch.zeros_like(b)
        grad_x = torch.empty_like(x) if ctx.needs_input_grad[2] else None
        for part in _parts(len(grad)):
            rows = product(x[part], Z).add_(b).view_as(grad[part])
            torch.sum(rows.mul_(grad[part]), -1, out=grad_scale[part])
            grad_rows = torch.mul(grad[part], scale[part].unsqueeze(-1), out=rows).flatten(1)
            grad_Z += product(x[part].T, grad_rows)
            grad_b += column_sums(grad_rows)
            if grad_x is not None:
                grad_x[part] = product(grad_rows, Z.T)
        return grad, grad_scale, grad_x, grad_Z, grad_b


def _parts(count: int) -> Iterator[slice]:
    return (slice(start, start + _PIECE) for start in range(0, count, _PIECE))


# `MultiHeadAttention`: the part that both kinds of block share, from node inputs to sums of messages.


Activation = Callable[[Tensor], Tensor]
Joining = Callable[[Tensor, Activation], Tensor]


def concatenate_heads(out: Tensor, activation: Activation) -> Tensor:
    """σ of all heads side by side, for hidden blocks: (n, heads, d) -> (n, heads*d)."""
    return activation(out).flatten(1)


def average_heads(out: Tensor, activation: Activation) -> Tensor:
    """σ of the heads' mean, for the last block: (n, heads, d) -> (n, d)."""
    return activation(out.mean(1))


class EdgeTerm(nn.Module):
    """The edge weight's term of the attention logit: + u_k w_ij in head k, u learned; a self-loop weighs 1.

    The softmax compares the neighbours of one node, so u tells how much a heavier link counts for more.
    """

    def __init__(self, heads: int, generator: torch.Generator):
        super().__init__()
        self.u = glorot((1, heads), generator)

    def forward(self, n_nodes: int) -> Tensor:
        """The vector u, once for every node: (n, heads)."""
        return repeat_row(self.u.squeeze(0), n_nodes)


class MultiHeadAttention(nn.Module):
    """``Σ_j a_ij t_j`` for every node and head.

    transform   makes the logits' halves and the messages t, for ``heads`` heads
    dropout     on the attention weights
    edge_term   adds the edge weights to the logit; without it they are not read
    """

    def __init__(self, transform: Transform, heads: int, dropout: AttentionDropout, edge_term: EdgeTerm | None = None):
        super().__init__()
        self.heads = heads
        self.transform = transform
        self.dropout = dropout
        self.edge_term = edge_term

    def forward(
        self,
        h: Input,
        neighbourhood: Neighbourhood,
        *,
        generator: torch.Generator | None = None,
        scale: Tensor | None = None,
    ) -> Tensor:
        """From h (n, inputs) or one-hot to (n, heads, out); each sum times ``scale`` (n, heads) if it is given."""
        edges = neighbourhood.head_edges(self.heads)
        keep = self.dropout(edges, next(self.parameters()), generator)  # (E*heads,)
        left, right, t, b = self.transform(h, needed_messages(keep, edges))  # (n, heads) twice, (n, heads, out)
        return attend(left, right, t, edges, b=b, u=self._u(neighbourhood), keep=keep, scale=scale)

    @torch.no_grad()
    def weights(self, h: Input, neighbourhood: Neighbourhood) -> Tensor:
        """a_ij without dropout: (E, heads), in the order of the neighbourhood's edges."""
        edges = neighbourhood.head_edges(self.heads)
        left, right, *_ = self.transform(h)
        return edges.per_edge(edge_softmax(left, right, edges, self._u(neighbourhood)))

    def in_pieces(self, projected: Projected, neighbourhood: Neighbourhood) -> Iterator[tuple[slice, Tensor]]:
        """The sums of a range of nodes after the other, (r, heads, out) each, without dropout and gradients.

        projected   what ``transform`` makes of all nodes
        """
        u = None if self.edge_term is None else self.edge_term.u.squeeze(0)
        return attend_in_pieces(projected, neighbourhood, u)

    def _u(self, neighbourhood: Neighbourhood) -> Tensor | None:
        return None if self.edge_term is None else self.edge_term(neighbourhood.n_nodes)


# `HorizontalBlock`: one block of MPXGAT-H, graph attention within one layer.


class HorizontalBlock(nn.Module):
    """Graph attention as MPXGAT-H uses it:

        s_i  = W_i h_i + b_i
        t_j  = W_j h_j + b_j
        e_ij = LeakyReLU( <v_i, s_i> + <v_j, t_j> )
        a_ij = dropout( softmax_j e_ij )
        h'_i = σ( Σ_j a_ij t_j )

    attend      all but σ, for every head
    join        `concatenate_heads` or `average_heads`
    activation  σ; may change its argument in place
    """

    def __init__(self, attend: MultiHeadAttention, *, join: Joining, activation: Activation):
        super().__init__()
        self.attend = attend
        self.join = join
        self.activation = activation

    def forward(self, h: Input, neighbourhood: Neighbourhood, *, generator: torch.Generator | None = None) -> Tensor:
        """From h (n, inputs) or one-hot to (n, heads*out) or (n, out); in training dropout draws from ``generator``."""
        out = self.attend(h, neighbourhood, generator=generator)  # (n, heads, out)
        return self.join(out, self.activation)

    def in_pieces(self, projected: Projected, neighbourhood: Neighbourhood) -> Tensor:
        """What `forward` makes of inputs that ``attend.transform`` has projected, a piece of the nodes at a time.

        Without dropout and gradients; needs hardly more memory than its result.
        """
        whole = None
        for nodes, out in self.attend.in_pieces(projected, neighbourhood):
            joined = self.join(out, self.activation)
            if whole is None:
                whole = joined.new_empty(neighbourhood.n_nodes, joined.shape[1])
            whole[nodes] = joined
        assert whole is not None, "a network has nodes"
        return whole

    def attention(self, h: Input, neighbourhood: Neighbourhood) -> Tensor:
        """a_ij without dropout: (E, heads), in the order of the neighbourhood's edges."""
        return self.attend.weights(h, neighbourhood)


# `VerticalBlock`: one block of MPXGAT-V (GAT-V), attention across layers that also reads the horizontal embedding.
#
#     x_i    = h_i^H Z + b                         f: horizontal embedding -> vertical space
#     m_i^H  = LeakyReLU(<x_i, v^H>) x_i
#     m_ij^V = a_ij t_j
#     h'_i   = σ( Σ_j [ (1 - ReLU(β)) m_ij^V + ReLU(β) m_i^H ] )           g: the bracket; β is learned
#
# f and g are the framework's two open functions: any module with the same call takes their place. A third choice is
# whose horizontal part stands in the bracket and how often: a function on messages (`repeated`, `once`,
# `from_senders`).


class Shares(NamedTuple):
    """How much the vertical and the horizontal part count, (n, heads) each."""

    vertical: Tensor
    horizontal: Tensor


class HorizontalTransform(Protocol):
    """f: horizontal embeddings (n, k) -> a message m^H for every node."""

    def __call__(self, h_H: Tensor, /) -> Messages: ...


class Combination(Protocol):
    """g: the share of each part in the sum; it may look at the horizontal embeddings (n, k)."""

    def __call__(self, h_H: Tensor, /) -> Shares: ...


Gathering = Callable[[Messages, Neighbourhood], Messages]  # m^H -> Σ_j of it


def repeated(m: Messages, neighbourhood: Neighbourhood) -> Messages:
    """Σ_j m_i^H = |N(i)| m_i^H: the formula as it stands; many known counterparts weigh the horizontal part more."""
    return m.scaled(neighbourhood.sizes[:, None])


def once(m: Messages, neighbourhood: Neighbourhood) -> Messages:
    """The mean over j: m_i^H counts once, however many counterparts are known."""
    return m


def from_senders(m: Messages, neighbourhood: Neighbourhood) -> Messages:
    """Σ_j m_j^H: the senders' horizontal parts (the authors' code)."""
    sums = neighbour_sums(m.tensor(), neighbourhood)
    return RowMessages(sums.new_ones(sums.shape[:2]), sums)


class GatedTransform(nn.Module):
    """f of the paper: x = h^H Z + b, m^H = LeakyReLU(<x, v^H>) x; own Z, b, v for every head."""

    def __init__(self, inputs: int, out: int, heads: int, generator: torch.Generator):
        super().__init__()
        self.Z = glorot((inputs, heads * out), generator)
        self.b = nn.Parameter(torch.zeros(heads * out))
        self.v_H = glorot((heads, out), generator)

    def forward(self, h_H: Tensor) -> Messages:
        # <x, v> = h^H <Z, v> + <b, v>: a narrow product, which leaves x itself to the place where it is added
        a = product(h_H, head_dots(self.Z, self.v_H))  # (n, heads)
        a = leaky_relu(add_row(a, head_dots(self.b[None], self.v_H).squeeze(0)))
        return LinearMessages(a, h_H, self.Z, self.b)


class WeightedSum(nn.Module):
    """g of the paper: (1 - ReLU(β)) vertical + ReLU(β) horizontal; β (1,) for all heads or (heads,) one for each."""

    def __init__(self, beta: Tensor, heads: int):
        super().__init__()
        self.beta = nn.Parameter(beta)
        self.heads = heads

    def forward(self, h_H: Tensor) -> Shares:
        share = repeat_row(self.beta.relu().expand(self.heads), len(h_H))  # (n, heads)
        return Shares(1 - share, share)

    def beta_per_head(self) -> Tensor:
        """β as learned, before ReLU; (heads,), detached."""
        return self.beta.detach().expand(self.heads).clone()


def one_beta(heads: int, generator: torch.Generator) -> WeightedSum:
    """One β for the block, started at 0.5: both parts weigh the same, and ReLU lets its gradient through."""
    return WeightedSum(torch.tensor([0.5]), heads)


def beta_per_head(heads: int, generator: torch.Generator) -> WeightedSum:
    """A β for every head with Glorot start; one that starts below 0 stays there, as ReLU has no gradient."""
    return WeightedSum(glorot((1, heads), generator).detach().squeeze(0), heads)


class VerticalBlock(nn.Module):
    """GAT-V; see the head of this file.

    attend              a_ij t_j and its sum, for every head
    f, gather, g        the horizontal part: m^H, its sum over j, and the shares of both parts
    join, activation    as in `HorizontalBlock`
    """

    def __init__(
        self,
        attend: MultiHeadAttention,
        *,
        f: HorizontalTransform,
        gather: Gathering,
        g: Combination,
        join: Joining,
        activation: Activation,
    ):
        super().__init__()
        self.attend = attend
        self.f = f
        self.gather = gather
        self.g = g
        self.join = join
        self.activation = activation

    def forward(
        self, h: Input, h_H: Tensor, neighbourhood: Neighbourhood, *, generator: torch.Generator | None = None
    ) -> Tensor:
        """From h (n, inputs) or one-hot and h^H (n, k) to (n, heads*out) or (n, out); dropout uses ``generator``."""
        share = self.g(h_H)  # (n, heads) each
        out = self.attend(h, neighbourhood, generator=generator, scale=share.vertical)  # (n, heads, out)
        m = self.gather(self.f(h_H), neighbourhood)  # Σ_j m^H
        out = m.scaled(share.horizontal).added_to(out)  # (n, heads, out)
        return self.join(out, self.activation)

    def attention(self, h: Input, neighbourhood: Neighbourhood) -> Tensor:
        """a_ij without dropout: (E, heads), in the order of the neighbourhood's edges."""
        return self.attend.weights(h, neighbourhood)

    @property
    def beta(self) -> Tensor | None:
        """β of every head as learned, before ReLU: (heads,); None if g has none."""
        return self.g.beta_per_head() if isinstance(self.g, WeightedSum) else None


# The two readings of MPXGAT: `PAPER`, what the text defines, and `REFERENCE`, what the authors' code does.
#
# A style is the choice of parts; `stack` builds networks of them. `dataclasses.replace` makes another one of these.


MakeTransform = Callable[[int, int, int, torch.Generator], Transform]  # inputs, out, heads, generator
MakeHorizontal = Callable[[int, int, int, torch.Generator], HorizontalTransform]  # inputs, out, heads, generator
MakeCombination = Callable[[int, torch.Generator], Combination]  # heads, generator


@dataclass(frozen=True)
class HorizontalStyle:
    """Parts of MPXGAT-H's blocks."""

    transform: MakeTransform
    activation: Activation
    last_activation: Activation


@dataclass(frozen=True)
class VerticalStyle:
    """Parts of MPXGAT-V's blocks; f, gather and g as in `gat_v`."""

    transform: MakeTransform
    activation: Activation
    last_activation: Activation
    f: MakeHorizontal
    gather: Gathering
    g: MakeCombination


@dataclass(frozen=True)
class Style:
    """Both sub-models."""

    name: str
    horizontal: HorizontalStyle
    vertical: VerticalStyle


def identity(values: Tensor) -> Tensor:
    """No activation."""
    return values


PAPER = Style(
    name="paper",
    horizontal=HorizontalStyle(SeparateTransforms, activation=leaky_relu, last_activation=leaky_relu),
    vertical=VerticalStyle(
        SeparateTransforms,
        activation=leaky_relu,
        last_activation=leaky_relu,
        f=GatedTransform,
        gather=repeated,
        g=one_beta,
    ),
)

REFERENCE = Style(
    name="reference",
    horizontal=HorizontalStyle(partial(SharedTransform, bias=False), activation=elu, last_activation=elu),
    vertical=VerticalStyle(
        SharedTransform,
        activation=elu,
        last_activation=identity,
        f=GatedTransform,
        gather=from_senders,
        g=beta_per_head,
    ),
)

PRESETS = {PAPER.name: PAPER, REFERENCE.name: REFERENCE}


def preset(name: str) -> Style:
    """The style of that name; SettingError if there is none."""
    if name not in PRESETS:
        raise SettingError(f"no preset {quoted(name)}; the presets are {', '.join(PRESETS)}")
    return PRESETS[name]


# `HorizontalNet` and `VerticalNet`: blocks on top of each other, from node inputs to embeddings.
#
# The horizontal network of a multiplex takes one `HorizontalNet` for each layer. One `VerticalNet` covers all nodes;
# every one of its blocks is fed with the frozen horizontal embeddings, rows of length 1 (`unit_rows`).


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
