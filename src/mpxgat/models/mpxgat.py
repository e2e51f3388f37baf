"""MPXGAT: graph attention within every layer, then across layers; with the paper's two ablations.

First MPXGAT-H of each layer learns that layer's intra links. Its embeddings are frozen, rows scaled to length 1, and
feed MPXGAT-V, which learns the inter links. Dot products of horizontal embeddings predict intra links, of vertical
ones inter links. The networks are in `mpxgat.nn.mpxgat`, their training in `mpxgat.models.mpxgat_parts`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mpxgat.errors import SettingError, quoted
from mpxgat.graph import MultiplexGraph, NodeLike
from mpxgat.io.arrays import Arrays
from mpxgat.models.base import AUTO, FULL, EmbeddingModel, Settings, import_named, importable_name
from mpxgat.models.mpxgat_parts import (
    GATPart,
    LayerPart,
    Part,
    Trained,
    VerticalPart,
    batch_sizes,
    learn_parts,
    sizes_text,
)
from mpxgat.nn.attention import Neighbourhood
from mpxgat.nn.mpxgat import MakeG, MakeMap, Net, Style, Widths, preset
from mpxgat.training.checkpoint import Parameters
from mpxgat.training.links import Stream, chosen_device
from mpxgat.training.loop import Schedule
from mpxgat.training.parallel import Session

Attention = list[tuple[int, NDArray[np.float32]]]
_SEPARATOR = "/"
_RANDOM_ROWS = 2**31  # a stream of random numbers that no part of the model has
# Settings that came after the first results were on record.
_UNTOLD = ("batch", "shares", "f", "g", "horizontal", "vertical")


@dataclass(frozen=True)
class MPXGATSettings(Settings):
    """Settings of both sub-models. A ``vertical_*`` that is None is as the horizontal one.

    The defaults were chosen on validation links of the paper's data sets, seed 100 (docs/results.md); the paper's own
    settings are in `PUBLISHED`.

    preset          "paper" (the text's equations) or "reference" (the authors' code), see `mpxgat.nn.mpxgat`
    f, g            the framework's two open functions as "package.module:Class"; None is the preset's
    horizontal      "trained" by MPXGAT-H, or "random" vectors (the paper's second ablation; intra scores are chance)
    vertical        "gat-v", or "gat": the standard GAT, without horizontal part (the paper's first ablation)
    hidden, out     width of each head in hidden blocks, and of the embeddings
    heads, blocks   attention heads; depth
    dropout         on attention weights, while training
    one_hot_scale, vertical_one_hot_scale   standard deviation that the rows of one-hot inputs start with in each
                    sub-model; 0 is Glorot's start, so small for many nodes that the loss stays at ln 2 for long
    lr, weight_decay, epochs    Adam's learning rate and weight decay; epochs at most
    warm_up         epochs in which the learning rate rises to ``lr``, three quarters of all at most
    check_every, patience       epochs between validations; validations without a better one before stopping
    validation      share of the training links kept out of training to stop on
    device          where to compute: "cpu", "cuda", …
    batch           links in a step of training: "full" (all of them), a whole number, or "auto" (all while they fit the
                    memory, else as many as do); in batches `check_every` and `patience` count steps, see
                    `mpxgat.training.loop.Schedule.in_batches`
    vertical_hidden, vertical_out, vertical_heads, vertical_lr, vertical_weight_decay   the same between layers; None:
                    as within them
    shares          parts that every batch is cut into, each computed by itself; as many workers can train one layer
                    together (`--engine ray`, `--jobs`), each keeping the rows of some of the nodes
    """

    preset: str = "paper"
    hidden: int = 32
    out: int = 64
    heads: int = 4
    blocks: int = 3
    dropout: float = 0.3
    lr: float = 1e-2
    weight_decay: float = 0.0
    vertical_hidden: int | None = None
    vertical_out: int | None = None
    vertical_heads: int | None = None
    vertical_lr: float | None = None
    vertical_weight_decay: float | None = None
    epochs: int = 400
    check_every: int = 10
    patience: int = 20
    validation: float = 0.1
    device: str = "cpu"
    batch: int | str = AUTO
    shares: int = 1
    f: str | None = None
    g: str | None = None
    horizontal: str = "trained"
    vertical: str = "gat-v"
    one_hot_scale: float = 2.0
    vertical_one_hot_scale: float = 4.0
    warm_up: int = 300

    def __post_init__(self) -> None:
        self.check_share("dropout", "validation")
        self.check_at_least(0, "one_hot_scale", "vertical_one_hot_scale")
        self.check_batch()
        self.check_choice("horizontal", "trained", "random")
        self.check_choice("vertical", "gat-v", "gat")
        self.check_at_least(1, "shares")
        if self.shares > 1 and isinstance(self.batch, str):
            raise SettingError(f"shares is {self.shares} and batch {self.batch}, expected a number of links to share")
        if self.shares > 1 and self.device != "cpu":
            raise SettingError(f"shares is {self.shares} and device {quoted(self.device)}, expected cpu")
        # These check their own ranges.
        _ = self.style, self.horizontal_widths, self.vertical_widths
        _ = self.horizontal_schedule, self.vertical_schedule

    def to_dict(self) -> dict[str, Any]:
        """Plain values; those of `_UNTOLD` only where they are not the default, as in results on record."""
        return {k: v for k, v in super().to_dict().items() if k not in _UNTOLD or v != getattr(MPXGATSettings, k)}

    @property
    def style(self) -> Style:
        """The parts that blocks are made of."""
        chosen = {name: import_named(value) for name in ("f", "g") if (value := getattr(self, name)) is not None}
        return replace(preset(self.preset), **chosen)

    @property
    def horizontal_widths(self) -> Widths:
        """Shape of MPXGAT-H."""
        return Widths(self.hidden, self.out, self.heads, self.blocks)

    @property
    def vertical_widths(self) -> Widths:
        """Shape of MPXGAT-V."""
        return Widths(
            _or(self.vertical_hidden, self.hidden),
            _or(self.vertical_out, self.out),
            _or(self.vertical_heads, self.heads),
            self.blocks,
        )

    @property
    def horizontal_schedule(self) -> Schedule:
        """Training of MPXGAT-H."""
        return self._schedule(self.lr, self.weight_decay)

    @property
    def vertical_schedule(self) -> Schedule:
        """Training of MPXGAT-V."""
        return self._schedule(_or(self.vertical_lr, self.lr), _or(self.vertical_weight_decay, self.weight_decay))

    def _schedule(self, lr: float, weight_decay: float) -> Schedule:
        warm_up = min(self.warm_up, 3 * self.epochs // 4)
        return Schedule(self.epochs, self.check_every, self.patience, lr, weight_decay, warm_up)


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value


# What the paper says of all its trainings; how it stops is not known: validation every 10 epochs, patience of 500.
PAPERS_TRAINING: dict[str, Any] = {
    "blocks": 3, "dropout": 0.6, "epochs": 1500, "check_every": 10, "patience": 50, "warm_up": 0, "one_hot_scale": 0.0,
    "vertical_one_hot_scale": 0.0,
}  # fmt: skip
# The settings known for the paper's three data sets.
PUBLISHED: dict[str, dict[str, Any]] = {
    "drosophila": {
        "hidden": 128, "out": 128, "heads": 3, "lr": 5e-4, "weight_decay": 5e-4,
        "vertical_hidden": 128, "vertical_heads": 4, "vertical_lr": 1e-3, "vertical_weight_decay": 5e-4,
        **PAPERS_TRAINING,
    },
    "arxiv": {
        "hidden": 256, "out": 128, "heads": 4, "lr": 5e-4, "weight_decay": 5e-5,
        "vertical_hidden": 256, "vertical_heads": 3, "vertical_lr": 5e-4, "vertical_weight_decay": 5e-5,
        **PAPERS_TRAINING,
    },
    "fftwyt": {
        "hidden": 128, "out": 128, "heads": 5, "lr": 1e-5, "weight_decay": 5e-2,
        "vertical_hidden": 256, "vertical_heads": 3, "vertical_lr": 5e-4, "vertical_weight_decay": 5e-5,
        **PAPERS_TRAINING,
    },
}  # fmt: skip


def published_settings(name: str) -> dict[str, Any]:
    """Those of a data set; SettingError if none are known."""
    if name not in PUBLISHED:
        raise SettingError(f"no published settings for {quoted(name)}; known are {', '.join(PUBLISHED)}")
    return PUBLISHED[name]


class MPXGAT(EmbeddingModel):
    """The paper's model. Settings by name: see `MPXGATSettings`.

    >>> import mpxgat as mx
    >>> graph = mx.synthetic.social(people=80, layers=2, seed=0)
    >>> model = mx.MPXGAT(hidden=8, out=8, heads=2, epochs=20, seed=0).fit(graph)
    >>> model.horizontal.shape == model.vertical.shape == (graph.n_nodes, 8)
    True
    """

    name = "mpxgat"
    description = "the paper's model: attention within layers, then across them"
    reads = frozenset({"weights", "features"})
    named_settings = ("f", "g")
    _settings: MPXGATSettings

    def __init__(
        self,
        *,
        preset: str = MPXGATSettings.preset,
        hidden: int = MPXGATSettings.hidden,
        out: int = MPXGATSettings.out,
        heads: int = MPXGATSettings.heads,
        blocks: int = MPXGATSettings.blocks,
        dropout: float = MPXGATSettings.dropout,
        lr: float = MPXGATSettings.lr,
        weight_decay: float = MPXGATSettings.weight_decay,
        vertical_hidden: int | None = None,
        vertical_out: int | None = None,
        vertical_heads: int | None = None,
        vertical_lr: float | None = None,
        vertical_weight_decay: float | None = None,
        epochs: int = MPXGATSettings.epochs,
        check_every: int = MPXGATSettings.check_every,
        patience: int = MPXGATSettings.patience,
        validation: float = MPXGATSettings.validation,
        device: str = MPXGATSettings.device,
        batch: int | str = MPXGATSettings.batch,
        shares: int = MPXGATSettings.shares,
        f: MakeMap | str | None = None,
        g: MakeG | str | None = None,
        horizontal: str = MPXGATSettings.horizontal,
        vertical: str = MPXGATSettings.vertical,
        one_hot_scale: float = MPXGATSettings.one_hot_scale,
        vertical_one_hot_scale: float = MPXGATSettings.vertical_one_hot_scale,
        warm_up: int = MPXGATSettings.warm_up,
        seed: int = 0,
    ):
        super().__init__(seed=seed)
        f, g = (each if each is None or isinstance(each, str) else importable_name(each) for each in (f, g))
        self._settings = MPXGATSettings.among(locals())
        self._parts: list[Part] = []
        self._parameters: list[Parameters] = []

    @classmethod
    def for_dataset(cls, name: str, *, seed: int = 0, **settings: Any) -> Self:
        """The model with the settings published for one of the paper's data sets; given ones take their place."""
        return cls(seed=seed, **{**published_settings(name), **settings})

    @property
    def beta(self) -> list[list[float]]:
        """β as learned, for each block of MPXGAT-V a list over heads; ReLU(β) is the horizontal part's weight.

        Empty where the vertical network has none.
        """
        _, net = self.vertical_network()
        betas: Sequence[Tensor | None] = getattr(net, "beta", ())
        return [[] if beta is None else beta.tolist() for beta in betas]

    def training_summary(self) -> dict[str, Any]:
        """Links in a step ("full" or a number), epochs run, best epoch, its validation AUC for every part, and β."""
        parts = super().training_summary()["parts"]
        batches = {part.label: {"batch": FULL if part.batch is None else part.batch} for part in self._parts}
        return {"parts": {label: batches[label] | numbers for label, numbers in parts.items()}, "beta": self.beta}

    def attention(self, node: NodeLike) -> dict[str, Attention]:
        """Whom a node listens to, "horizontal" and "vertical": sender (itself too) and weights (blocks, heads).

        Nobody horizontally where no horizontal network was trained.
        """
        position = self.graph.index(node)
        number = int(self.graph.node_layer[position])
        start = int(self.graph.layer_start[number])
        within = self._heard_by(number, position - start) if len(self._parts) > 1 else []
        return {
            "horizontal": [(start + sender, weights) for sender, weights in within],
            "vertical": self._heard_by(len(self._parts) - 1, position),
        }

    def attention_by_part(self) -> Iterator[tuple[str, Neighbourhood, tuple[Tensor, ...]]]:
        """For each trained network, the one between layers last: its label, who hears whom, and the weights of every
        block, (E, heads) each, without dropout.
        """
        for part, parameters in zip(self._parts, self._parameters, strict=True):
            around = part.neighbourhood()
            yield part.label, around, part.attention(parameters, around)

    def networks(self) -> Iterator[tuple[Part, Net]]:
        """Every trained network with the part it was trained as, the one between layers last; for looking inside."""
        _ = self.graph
        for part, parameters in zip(self._parts, self._parameters, strict=True):
            yield part, part.net(parameters)

    def vertical_network(self) -> tuple[Part, Net]:
        """The trained vertical network and the part (links, inputs) it was trained as; for looking inside."""
        _ = self.graph
        return self._parts[-1], self._parts[-1].net(self._parameters[-1])

    def _heard_by(self, position: int, node: int) -> Attention:
        part = self._parts[position]
        around: Neighbourhood = part.neighbourhood()
        weights = part.attention(self._parameters[position], around)
        edges = range(int(around.offsets[node]), int(around.offsets[node + 1]))
        return [(int(around.senders[e]), np.stack([block[e].numpy() for block in weights])) for e in edges]

    # ---- learning --------------------------------------------------------------------------------------

    def _learn(self, graph: MultiplexGraph, session: Session) -> None:
        chosen_device(self._settings.device)
        layers = self._layer_parts(graph)
        empty = np.empty((graph.n_nodes, self._settings.out), dtype=np.float32)
        sizes = batch_sizes([*layers, self._part_between(graph, empty)], session)
        layers = [replace(part, batch=size) for part, size in zip(layers, sizes[:-1], strict=True)]
        trained = learn_parts(layers, session, sizes_text(sizes))
        self._horizontal = self._embed_within(graph, layers, trained)
        hidden = [part.validation_scores(each.parameters) for part, each in zip(layers, trained, strict=True)]
        self._calibrate(graph, self._horizontal, np.concatenate([np.zeros(0), *hidden]))
        between = replace(self._part_between(graph, self._horizontal), batch=sizes[-1])
        trained += learn_parts([between], session, sizes_text(sizes))
        self._parts, self._parameters = [*layers, between], [each.parameters for each in trained]
        self._outcomes = {part.label: each.outcome for part, each in zip(self._parts, trained, strict=True)}
        self._vertical = between.embed(between.net(self._parameters[-1]))

    def _layer_parts(self, graph: MultiplexGraph) -> list[Part]:
        """The horizontal networks to train."""
        if self._settings.horizontal == "random":
            return []
        return [LayerPart.of(graph, number, self._settings, self.seed) for number in range(graph.n_layers)]

    def _embed_within(
        self, graph: MultiplexGraph, layers: Sequence[Part], trained: Sequence[Trained]
    ) -> NDArray[np.float32]:
        if not layers:
            return random_vectors(graph.n_nodes, self._settings.out, self.seed)
        return np.concatenate([part.embed(part.net(t.parameters)) for part, t in zip(layers, trained, strict=True)])

    def _part_between(self, graph: MultiplexGraph, horizontal: NDArray[np.float32]) -> Part:
        kind = GATPart if self._settings.vertical == "gat" else VerticalPart
        return kind.of(graph, horizontal, self._settings, self.seed)

    # ---- saving ----------------------------------------------------------------------------------------

    def _state(self) -> Arrays:
        state = super()._state()
        for part, parameters in zip(self._parts, self._parameters, strict=True):
            state |= {f"{part.file_name}{_SEPARATOR}{k}": v.numpy() for k, v in parameters.items()}
        return state

    def _notes(self) -> dict[str, Any]:
        return super()._notes() | {"batches": [part.batch for part in self._parts]}

    def _restore(self, graph: MultiplexGraph, state: Arrays, notes: Mapping[str, Any]) -> None:
        super()._restore(graph, state, notes)
        parts = [*self._layer_parts(graph), self._part_between(graph, state["horizontal"])]
        self._parts = [_in_batches(part, size) for part, size in zip(parts, notes["batches"], strict=True)]
        self._parameters = []
        for part in self._parts:
            prefix = part.file_name + _SEPARATOR
            parameters = {k.removeprefix(prefix): torch.from_numpy(v) for k, v in state.items() if k.startswith(prefix)}
            part.net(parameters)  # says so if they do not fit
            self._parameters.append(parameters)


def _in_batches(part: Part, size: Any) -> Part:
    """A part with the batch size that a file tells; ValueError if that is none."""
    if size is not None and (not isinstance(size, int) or size < 1):
        raise ValueError(f"a batch of {size} links")
    return replace(part, batch=size)


def random_vectors(n_nodes: int, out: int, seed: int) -> NDArray[np.float32]:
    """(n, out) numbers drawn uniformly from [0, 1), as the authors do: what MPXGAT-V reaches with them it owes to the
    inter links alone (and to telling nodes apart).
    """
    return Stream((seed, _RANDOM_ROWS)).numpy().random((n_nodes, out), dtype=np.float32)
