"""`VerticalBlock`: one block of MPXGAT-V (GAT-V), attention across layers that also reads the horizontal embedding.

    x_i    = h_i^H Z + b                         f: horizontal embedding -> vertical space
    m_i^H  = LeakyReLU(<x_i, v^H>) x_i
    m_ij^V = a_ij t_j
    h'_i   = σ( Σ_j [ (1 - ReLU(β)) m_ij^V + ReLU(β) m_i^H ] )           g: the bracket; β is learned

f and g are the framework's two open functions: any module with the same call takes their place. A third choice is
whose horizontal part stands in the bracket and how often: a function on messages (`repeated`, `once`, `from_senders`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn

from mpxgat.nn.attention import neighbour_sums
from mpxgat.nn.messages import LinearMessages, Messages, RowMessages
from mpxgat.nn.multi_head import Activation, Joining, MultiHeadAttention
from mpxgat.nn.neighbourhood import Neighbourhood
from mpxgat.nn.steady import add_row, leaky_relu, product, repeat_row
from mpxgat.nn.transform import Input, glorot, head_dots


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
