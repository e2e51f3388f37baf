"""`HorizontalBlock`: one block of MPXGAT-H, graph attention within one layer."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mpxgat.nn.multi_head import Activation, Joining, MultiHeadAttention
from mpxgat.nn.neighbourhood import Neighbourhood
from mpxgat.nn.transform import Input, Projected


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
