"""The neural parts of MPXGAT, in plain PyTorch: attention, blocks, networks, decoder. They take tensors, not graphs."""

from mpxgat.nn.attention import AttentionDropout, attend, edge_softmax
from mpxgat.nn.decoder import link_loss, pair_scores
from mpxgat.nn.gat_h import HorizontalBlock
from mpxgat.nn.gat_v import (
    Combination,
    GatedTransform,
    HorizontalTransform,
    Shares,
    VerticalBlock,
    WeightedSum,
    from_senders,
    once,
    repeated,
)
from mpxgat.nn.messages import LinearMessages, Messages, RowMessages
from mpxgat.nn.multi_head import EdgeTerm, MultiHeadAttention, average_heads, concatenate_heads
from mpxgat.nn.neighbourhood import Neighbourhood
from mpxgat.nn.presets import PAPER, PRESETS, REFERENCE, HorizontalStyle, Style, VerticalStyle, preset
from mpxgat.nn.stack import HorizontalNet, VerticalNet, Widths, unit_rows
from mpxgat.nn.transform import OneHot, SeparateTransforms, SharedTransform, SomeRows

__all__ = [
    "PAPER",
    "PRESETS",
    "REFERENCE",
    "AttentionDropout",
    "Combination",
    "EdgeTerm",
    "GatedTransform",
    "HorizontalBlock",
    "HorizontalNet",
    "HorizontalStyle",
    "HorizontalTransform",
    "LinearMessages",
    "Messages",
    "MultiHeadAttention",
    "Neighbourhood",
    "OneHot",
    "RowMessages",
    "SeparateTransforms",
    "SharedTransform",
    "Shares",
    "SomeRows",
    "Style",
    "VerticalBlock",
    "VerticalNet",
    "VerticalStyle",
    "WeightedSum",
    "Widths",
    "attend",
    "average_heads",
    "concatenate_heads",
    "edge_softmax",
    "from_senders",
    "link_loss",
    "once",
    "pair_scores",
    "preset",
    "repeated",
    "unit_rows",
]
