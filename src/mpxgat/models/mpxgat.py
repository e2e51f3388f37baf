"""The settings of MPXGAT: what they are, what they may be, and the published ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mpxgat.errors import SettingError, TrainingError, printable, quoted
from mpxgat.graph import MultiplexGraph
from mpxgat.io.arrays import Arrays
from mpxgat.models.base import AUTO, EmbeddingModel, Settings, check_batch
from mpxgat.models.mpxgat_parts import (
    NOTE,
    LayerPart,
    Part,
    Trained,
    VerticalPart,
    batch_sizes,
    chosen_device,
    sizes_text,
)
from mpxgat.nn.attention import Input, Neighbourhood
from mpxgat.nn.mpxgat import HorizontalNet, HorizontalStyle, Style, Widths, preset
from mpxgat.training.batches import Net
from mpxgat.training.checkpoint import Checkpoint
from mpxgat.training.links import Stream
from mpxgat.training.loop import EpochReport, Outcome, Schedule
from mpxgat.training.parallel import Session, at_once, is_worth_workers, result_of

if TYPE_CHECKING:
    from mpxgat.distributed.group import Group


@dataclass(frozen=True)
class MPXGATSettings(Settings):
    """Settings of both sub-models. A ``vertical_*`` that is None is as the horizontal one.

    The defaults were chosen on the small data sets ckm and celegans, seeds 100 and 101; `PUBLISHED` has the paper's.

    preset          "paper" (the text's equations) or "reference" (the authors' code), see `mpxgat.nn.mpxgat`
    hidden, out     width of each head in hidden blocks, and of the embeddings
    heads, blocks   attention heads; depth
    dropout         on attention weights, while training
    lr, weight_decay, epochs    Adam, and its largest number of epochs
    check_every, patience       epochs between validations; validations without a better one before stopping
    validation      share of the training links kept out of training to stop on
    device          where to compute: "cpu", "cuda", …
    batch           links in a step of training: "full" (all of them), a whole number, or "auto" (all while they fit the
                    memory, else as many as do); in batches `check_every` and `patience` count steps, see
                    `mpxgat.training.loop.Schedule.in_batches`
    shares          parts that every batch is cut into, each computed by itself; as many workers can train one layer
                    together (`--engine ray`, `--jobs`), each keeping the rows of some of the nodes
    """

    preset: str = "paper"
    hidden: int = 64
    out: int = 64
    heads: int = 4
    blocks: int = 3
    dropout: float = 0.6
    lr: float = 5e-3
    weight_decay: float = 5e-5
    vertical_hidden: int | None = None
    vertical_out: int | None = None
    vertical_heads: int | None = None
    vertical_lr: float | None = None
    vertical_weight_decay: float | None = None
    epochs: int = 1500
    check_every: int = 10
    patience: int = 50
    validation: float = 0.1
    device: str = "cpu"
    batch: int | str = AUTO
    shares: int = 1

    def __post_init__(self) -> None:
        self.check_share("dropout", "validation")
        check_batch(self.batch)
        self.check_at_least(1, "shares")
        if self.shares > 1 and isinstance(self.batch, str):
            raise SettingError(f"shares is {self.shares} and batch {self.batch}, expected a number of links to share")
        if self.shares > 1 and self.device != "cpu":
            raise SettingError(f"shares is {self.shares} and device {quoted(self.device)}, expected cpu")
        # These check their own ranges.
        _ = self.style, self.horizontal_widths, self.vertical_widths
        _ = self.horizontal_schedule, self.vertical_schedule

    def to_dict(self) -> dict[str, Any]:
        """Plain values; ``batch`` and ``shares`` only where they were chosen: runs and results from before there was a
        choice are known again.
        """
        untold = {("batch", AUTO), ("shares", 1)}
        return {name: value for name, value in super().to_dict().items() if (name, value) not in untold}

    @property
    def style(self) -> Style:
        """The parts that blocks are made of."""
        return preset(self.preset)

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
        return Schedule(self.epochs, self.check_every, self.patience, self.lr, self.weight_decay)

    @property
    def vertical_schedule(self) -> Schedule:
        """Training of MPXGAT-V."""
        lr, weight_decay = _or(self.vertical_lr, self.lr), _or(self.vertical_weight_decay, self.weight_decay)
        return Schedule(self.epochs, self.check_every, self.patience, lr, weight_decay)


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value


# The settings known for the paper's three data sets: 3 blocks, dropout 0.6, Adam, at most 1500 epochs.
PUBLISHED: dict[str, dict[str, Any]] = {
    "drosophila": {
        "hidden": 128, "out": 128, "heads": 3, "lr": 5e-4, "weight_decay": 5e-4,
        "vertical_hidden": 128, "vertical_heads": 4, "vertical_lr": 1e-3, "vertical_weight_decay": 5e-4,
    },
    "arxiv": {
        "hidden": 256, "out": 128, "heads": 4, "lr": 5e-4, "weight_decay": 5e-5,
        "vertical_hidden": 256, "vertical_heads": 3, "vertical_lr": 5e-4, "vertical_weight_decay": 5e-5,
    },
    "fftwyt": {
        "hidden": 128, "out": 128, "heads": 5, "lr": 1e-5, "weight_decay": 5e-2,
        "vertical_hidden": 256, "vertical_heads": 3, "vertical_lr": 5e-4, "vertical_weight_decay": 5e-5,
    },
}  # fmt: skip


def published_settings(name: str) -> dict[str, Any]:
    """Those of a data set; SettingError if none are known."""
    if name not in PUBLISHED:
        raise SettingError(f"no published settings for {quoted(name)}; known are {', '.join(PUBLISHED)}")
    return PUBLISHED[name]


# MPXGAT: graph attention within every layer, then across layers.
#
# First MPXGAT-H of each layer learns that layer's intra links. Its embeddings are frozen, rows scaled to length 1, and
# feed MPXGAT-V, which learns the inter links. Dot products of horizontal embeddings predict intra links, of vertical
# ones inter links.


Attention = list[tuple[int, NDArray[np.float32]]]
_SEPARATOR = "/"
_BATCHES = "batches"  # where not all parts were trained in full batch


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
    _settings_class: ClassVar[type[MPXGATSettings]] = MPXGATSettings
    _vertical_part: ClassVar[type[VerticalPart]] = VerticalPart

    def __init__(self, /, *, seed: int = 0, **settings: Any):
        super().__init__(seed=seed)
        self._settings = self._settings_class.of(**settings)
        self._parts: list[Part] = []
        self._trained: list[Trained] = []

    @classmethod
    def for_dataset(cls, name: str, *, seed: int = 0, **settings: Any) -> Self:
        """The model with the settings published for one of the paper's data sets; given ones take their place."""
        return cls(seed=seed, **{**published_settings(name), **settings})

    @property
    def settings(self) -> dict[str, Any]:
        """All settings, defaults included."""
        return self._settings.to_dict()

    @property
    def beta(self) -> list[list[float]]:
        """β as learned, for each block of MPXGAT-V a list over heads; ReLU(β) is the horizontal part's weight.

        Empty where the vertical network has none.
        """
        _, net = self.vertical_network()
        betas: Sequence[Tensor | None] = getattr(net, "beta", ())
        return [[] if beta is None else beta.tolist() for beta in betas]

    @property
    def history(self) -> dict[str, list[dict[str, float]]]:
        """For every part, a row for each validation: epoch, loss, validation AUC, mean β of each block."""
        return {part.label: trained.outcome.history for part, trained in zip(self._parts, self._trained, strict=True)}

    def training_summary(self) -> dict[str, Any]:
        """Links in a step ("full" or a number), epochs run, best epoch, its validation AUC for every part, and β."""
        parts = {
            part.label: {
                "batch": "full" if part.batch is None else part.batch,
                "epochs": t.outcome.epochs,
                "best_epoch": t.outcome.best_epoch,
                "best": t.outcome.best_value,
            }
            for part, t in zip(self._parts, self._trained, strict=True)
        }
        return {"parts": parts, "beta": self.beta}

    def attention(self, node: int) -> dict[str, Attention]:
        """Whom a node listens to, "horizontal" and "vertical": sender (itself too) and weights (blocks, heads).

        Nobody horizontally where no horizontal network was trained.
        """
        number = int(self.graph.node_layer[node])
        start = int(self.graph.layer_start[number])
        within = self._heard_by(number, node - start) if len(self._parts) > 1 else []
        return {
            "horizontal": [(start + sender, weights) for sender, weights in within],
            "vertical": self._heard_by(len(self._parts) - 1, node),
        }

    def attention_by_part(self) -> Iterator[tuple[str, Neighbourhood, tuple[Tensor, ...]]]:
        """For each trained network, the one between layers last: its label, who hears whom, and the weights of every
        block, (E, heads) each, without dropout.
        """
        for part, trained in zip(self._parts, self._trained, strict=True):
            around = part.neighbourhood()
            yield part.label, around, part.attention(trained.parameters, around)

    def vertical_network(self) -> tuple[Part, Net]:
        """The trained vertical network and the part (links, inputs) it was trained as; for looking inside."""
        _ = self.graph
        return self._parts[-1], self._parts[-1].net(self._trained[-1].parameters)

    def _heard_by(self, position: int, node: int) -> Attention:
        part = self._parts[position]
        around: Neighbourhood = part.neighbourhood()
        weights = part.attention(self._trained[position].parameters, around)
        edges = range(int(around.offsets[node]), int(around.offsets[node + 1]))
        return [(int(around.senders[e]), np.stack([block[e].numpy() for block in weights])) for e in edges]

    # ---- learning --------------------------------------------------------------------------------------

    def _learn(self, graph: MultiplexGraph, session: Session) -> None:
        chosen_device(self._settings.device)
        layers = self._layer_parts(graph)
        empty = np.empty((graph.n_nodes, self._settings.out), dtype=np.float32)
        sizes = batch_sizes([*layers, self._vertical_part.of(graph, empty, self._settings, self.seed)], session)
        layers = [replace(part, batch=size) for part, size in zip(layers, sizes[:-1], strict=True)]
        trained = _learn_parts(layers, session, sizes_text(sizes))
        self._horizontal = self._embed_horizontally(graph, layers, trained)
        across = self._vertical_part.of(graph, self._horizontal, self._settings, self.seed)
        across = replace(across, batch=sizes[-1])
        trained += _learn_parts([across], session, sizes_text(sizes))
        self._parts, self._trained = [*layers, across], trained
        self._vertical = across.embed(across.net(trained[-1].parameters))

    def _layer_parts(self, graph: MultiplexGraph) -> list[Part]:
        """The horizontal networks to train."""
        return [LayerPart.of(graph, number, self._settings, self.seed) for number in range(graph.n_layers)]

    def _embed_horizontally(
        self, graph: MultiplexGraph, layers: Sequence[Part], trained: Sequence[Trained]
    ) -> NDArray[np.float32]:
        embeddings = [part.embed(part.net(t.parameters)) for part, t in zip(layers, trained, strict=True)]
        return np.concatenate(embeddings)

    # ---- saving ----------------------------------------------------------------------------------------

    def _state(self) -> Arrays:
        state = {"horizontal": self.horizontal, "vertical": self.vertical}
        for part, trained in zip(self._parts, self._trained, strict=True):
            state |= {f"{part.file_name}{_SEPARATOR}{k}": v.numpy() for k, v in trained.parameters.items()}
        return state

    def _notes(self) -> dict[str, Any]:
        sizes = [part.batch for part in self._parts]
        notes = {} if all(size is None for size in sizes) else {_BATCHES: sizes}
        return notes | {
            "outcomes": [
                {
                    "epochs": t.outcome.epochs,
                    "best_epoch": t.outcome.best_epoch,
                    "best_value": t.outcome.best_value,
                    "history": t.outcome.history,
                }
                for t in self._trained
            ]
        }

    def _restore(self, graph: MultiplexGraph, state: Arrays, notes: Mapping[str, Any]) -> None:
        self._horizontal, self._vertical = state["horizontal"], state["vertical"]
        across = self._vertical_part.of(graph, self._horizontal, self._settings, self.seed)
        parts = [*self._layer_parts(graph), across]
        sizes = notes.get(_BATCHES, [None] * len(parts))
        self._parts = [replace(part, batch=size) for part, size in zip(parts, sizes, strict=True)]
        self._trained = []
        for part, outcome in zip(self._parts, notes["outcomes"], strict=True):
            prefix = part.file_name + _SEPARATOR
            parameters = {k.removeprefix(prefix): torch.from_numpy(v) for k, v in state.items() if k.startswith(prefix)}
            part.net(parameters)  # says so if they do not fit
            self._trained.append(Trained(parameters, Outcome(**outcome)))


def _learn_parts(parts: Sequence[Part], session: Session, batches: str) -> list[Trained]:
    """Train independent parts one after another, or side by side by the session's engine; the result is the same.

    Parts that are shared are trained one after another, each by all workers together.
    """
    if parts and session.engine.jobs > 1 and all(part.is_shared for part in parts):
        return _learn_together(parts, session, batches)
    checkpoints = [session.checkpoint(part.file_name, **{NOTE: batches}) for part in parts]
    count = at_once(session.engine, [part.memory(part.batch) for part in parts])
    if not is_worth_workers(session.engine, count):
        return [
            part.learn(checkpoint, partial(session.report, part.label))
            for part, checkpoint in zip(parts, checkpoints, strict=True)
        ]
    threads = max(1, torch.get_num_threads() // count)
    with session.engine.workers(count) as pool:
        # The longest first: begun last, they would be waited for alone.
        order = sorted(range(len(parts)), key=lambda number: -len(parts[number].links))
        futures = {n: pool.submit(_learn_in_process, parts[n], checkpoints[n], threads) for n in order}
        results = []
        for number, part in enumerate(parts):
            died = f"{part.label}: the process that trained it died"
            trained = result_of(futures[number], died, " A run in a folder goes on with --resume")
            outcome = trained.outcome
            session.report(
                part.label, EpochReport(outcome.epochs, outcome.epochs, float("nan"), outcome.best_value, {})
            )
            results.append(trained)
        return results


def _learn_together(parts: Sequence[Part], session: Session, batches: str) -> list[Trained]:
    """One part after another by a group of workers; the checkpoints that they leave have what they learned."""
    with TemporaryDirectory() as folder:
        # Workers may start in another folder.
        kept = replace(session, checkpoints=(session.checkpoints or Path(folder)).absolute())
        places = [kept.checkpoint(part.file_name, **{NOTE: batches}) for part in parts]
        checkpoints = [place for place in places if place is not None]
        if not all(checkpoint.is_finished() for checkpoint in checkpoints):
            workers = min(session.engine.jobs, parts[0].settings.shares)
            session.engine.together(workers, partial(_learn_in_group, parts, checkpoints))
        for part, checkpoint in zip(parts, checkpoints, strict=True):
            if not checkpoint.path.exists():
                raise TrainingError(
                    f"{part.label}: its workers left no checkpoint in {printable(checkpoint.path.parent, 300)}, "
                    "expected a folder that all machines see"
                )
        return [
            part.learn(checkpoint, partial(session.report, part.label))
            for part, checkpoint in zip(parts, checkpoints, strict=True)
        ]


def _learn_in_group(parts: Sequence[Part], checkpoints: Sequence[Checkpoint], group: Group) -> None:
    for part, checkpoint in zip(parts, checkpoints, strict=True):
        part.learn(checkpoint, lambda report: None, group)


def _learn_in_process(part: Part, checkpoint: Checkpoint | None, threads: int) -> Trained:
    torch.set_num_threads(threads)
    return part.learn(checkpoint, lambda report: None)


# GAT in place of GAT-V: the paper's first ablation.
#
# The vertical model is plain graph attention over the inter links, on one-hot inputs (or vertical features), with no
# horizontal part. The blocks are those of MPXGAT-H: PyTorch Geometric's GATConv gives the same where the two coincide
# (a test holds them together), but is slower and wants the one-hot matrix.


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


# MPXGAT fed with random horizontal embeddings: the paper's second ablation.
#
# What MPXGAT-V reaches with them is what it owes to the inter links alone (and to telling nodes apart).


_RANDOM_ROWS = 2**31  # a stream that no part of the model has


def random_horizontal(graph: MultiplexGraph, out: int, seed: int) -> NDArray[np.float32]:
    """(n, out) directions drawn uniformly, rows of length 1."""
    rows = Stream((seed, _RANDOM_ROWS)).numpy().standard_normal((graph.n_nodes, out))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows.astype(np.float32)


class MPXGATRandom(MPXGAT):
    """MPXGAT-V alone, fed with random directions; intra scores are chance. Settings as MPXGAT."""

    name = "mpxgat-random"
    description = "the paper's second ablation: random in place of trained horizontal embeddings"

    def _layer_parts(self, graph: MultiplexGraph) -> list[Part]:
        return []

    def _embed_horizontally(
        self, graph: MultiplexGraph, layers: Sequence[Part], trained: Sequence[Trained]
    ) -> NDArray[np.float32]:
        return random_horizontal(graph, self._settings.out, self.seed)
