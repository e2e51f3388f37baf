"""The two readings of MPXGAT: `PAPER`, what the text defines, and `REFERENCE`, what the authors' code does.

A style is the choice of parts; `stack` builds networks of them. `dataclasses.replace` makes another one of these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from mpxgat.errors import SettingError, quoted
from mpxgat.nn.gat_v import (
    Combination,
    GatedTransform,
    Gathering,
    HorizontalTransform,
    beta_per_head,
    from_senders,
    one_beta,
    repeated,
)
from mpxgat.nn.multi_head import Activation
from mpxgat.nn.steady import elu, leaky_relu
from mpxgat.nn.transform import SeparateTransforms, SharedTransform, Transform

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

PRESETS = {style.name: style for style in (PAPER, REFERENCE)}


def preset(name: str) -> Style:
    """The style of that name; SettingError if there is none."""
    if name not in PRESETS:
        raise SettingError(f"no preset {quoted(name)}; the presets are {', '.join(PRESETS)}")
    return PRESETS[name]
