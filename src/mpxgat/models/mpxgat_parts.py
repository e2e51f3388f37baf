"""The networks of MPXGAT that are trained one after another or side by side: MPXGAT-H of each layer, then MPXGAT-V.

A `Part` is a network that is trained by itself, in full batch or in batches of links: a plain value (it can be sent to
another process) that knows its links, inputs and settings.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mpxgat.graph import MultiplexGraph
from mpxgat.models.base import AUTO, FULL, Scores
from mpxgat.nn.attention import Neighbourhood
from mpxgat.nn.mpxgat import REFERENCE, HorizontalNet, Net, VerticalNet, Widths, unit_rows
from mpxgat.nn.projection import Input, OneHot
from mpxgat.system import batch_bytes, check_fits, fits, listed_bytes, rows_bytes, training_bytes
from mpxgat.training.batches import BatchTrainee, Plan, SampledPlan, UnitPlan
from mpxgat.training.checkpoint import Checkpoint, Parameters
from mpxgat.training.links import (
    BetweenLayers,
    LinkTrainee,
    NegativeSampler,
    Network,
    Stream,
    ValidationLinks,
    WithinLayer,
    chosen_device,
    cut_validation,
)
from mpxgat.training.loop import EpochReport, Outcome, Schedule, StateStore, train
from mpxgat.training.parallel import Session, at_once, is_worth_workers, result_of

if TYPE_CHECKING:
    from mpxgat.distributed.group import Group
    from mpxgat.models.mpxgat import MPXGATSettings

_CUT, _START, _EPOCHS = range(3)  # what random numbers are for
_FAR, _SMALL = 4, 1 << 20  # how much larger a network may seem than its parameters: times, and bytes
BETWEEN_LAYERS = "between layers"  # the label of the part between them


def layer_label(graph: MultiplexGraph, number: int) -> str:
    """The label of the part within a layer."""
    return f"layer {number + 1} of {graph.n_layers}: {graph.layers[number]}"


@dataclass(frozen=True, eq=False)
class Trained:
    """What training a part gives."""

    parameters: Parameters
    outcome: Outcome


@dataclass(frozen=True, eq=False)
class Part(ABC):
    """One network to be trained on ``links`` (m, 2) of nodes 0…n-1, with optional weights and features.

    key     unique among the parts; names its checkpoint and its stream of random numbers
    batch   links in a step of training; None is all of them, on the whole network
    """

    key: int
    label: str
    n_nodes: int
    links: NDArray[np.int32]
    weight: NDArray[np.float64] | None
    features: NDArray[np.float32] | None
    settings: MPXGATSettings
    seed: int
    batch: int | None = field(default=None, kw_only=True)

    @property
    @abstractmethod
    def file_name(self) -> str:
        """Name of the checkpoint."""

    @property
    @abstractmethod
    def widths(self) -> Widths:
        """Shape of the network."""

    @property
    @abstractmethod
    def schedule(self) -> Schedule:
        """How it is trained."""

    @abstractmethod
    def new_net(self) -> Net:
        """The network with its initial parameters."""

    @abstractmethod
    def inputs(self) -> tuple[Input | Tensor, ...]:
        """What the network is given besides the neighbourhood."""

    @abstractmethod
    def sampler(self) -> NegativeSampler:
        """Where non-links come from."""

    @abstractmethod
    def plan(self, network: Network, size: int) -> Plan:
        """How it is trained in batches."""

    @abstractmethod
    def extent(self, size: int) -> tuple[int, int]:
        """About how many nodes and links a batch of ``size`` links is computed on, rather more than fewer."""

    @property
    @abstractmethod
    def whole_width(self) -> int:
        """Numbers for each node that there are at once while all are embedded in pieces."""

    def attention(self, parameters: Parameters, around: Neighbourhood) -> tuple[Tensor, ...]:
        """Attention weights of every block, (E, heads) each, dropout off."""
        weights: Callable[..., tuple[Tensor, ...]] = self.net(parameters).attention
        return weights(*self.inputs(), around)

    @property
    def is_shared(self) -> bool:
        """Whether several workers can train it together."""
        return self.batch is not None and self.settings.shares > 1

    @property
    def workers(self) -> int:
        """How many can train it together, at most."""
        return self.settings.shares

    def learn(
        self, checkpoint: Checkpoint | None, report: Callable[[EpochReport], None], group: Group | None = None
    ) -> Trained:
        """Train with early stopping on links cut from ``links``.

        group   of workers that all call this with the same, if it is shared; only where one is alone the result has
                the parameters of all nodes, elsewhere the checkpoint has them in the end
        """
        device = chosen_device(self.settings.device)
        sampler = self.sampler()
        parts = self._cut(sampler)
        net, schedule = self.new_net().to(device), self.schedule
        network = self.network(parts.training_rows, device)
        trainee: LinkTrainee
        place: StateStore | None = checkpoint
        if self.is_shared:
            from mpxgat.distributed.training import share

            assert self.batch is not None
            plan = self.plan(network, self.batch)
            schedule = schedule.in_batches(plan.steps)
            stream, shares = self._stream(_EPOCHS), self.settings.shares
            trainee, place = share(net, plan, parts, sampler, stream, shares, checkpoint, group)
        elif self.batch is None:
            messages = network.whole()

            def encode(generator: torch.Generator | None) -> Tensor:
                embeddings: Tensor = net(*network.inputs, messages, generator=generator)
                return embeddings

            trainee = LinkTrainee(net, encode, parts, sampler, self._stream(_EPOCHS), device)
        else:
            plan = self.plan(network, self.batch)
            schedule = schedule.in_batches(plan.steps)
            trainee = BatchTrainee(net, plan, parts, sampler, self._stream(_EPOCHS), device)
        outcome = train(trainee, schedule, place, report)
        return Trained({name: tensor.cpu() for name, tensor in net.state_dict().items()}, outcome)

    def net(self, parameters: Parameters) -> Net:
        """The network with learned parameters, ready to embed; ValueError, before it is made, if they are too few."""
        found = sum(4 * tensor.numel() for tensor in parameters.values())
        if self.learned_bytes() > _FAR * found + _SMALL:
            raise ValueError(f"{found} bytes of parameters, expected about {self.learned_bytes()} for these settings")
        net = self.new_net()
        net.load_state_dict(parameters)
        return net.eval()

    def _cut(self, sampler: NegativeSampler) -> ValidationLinks:
        return cut_validation(self.links, self.settings.validation, sampler, self._stream(_CUT).numpy())

    def validation_scores(self, parameters: Parameters) -> Scores:
        """(v,) of the links that it was stopped on, if there were any; only training links carry messages."""
        parts = self._cut(self.sampler())
        if parts.links is None:
            return np.zeros(0)
        return parts.scores(self.embed(self.net(parameters), parts.training_rows))

    @torch.no_grad()
    def embed(self, net: Net, rows: NDArray[np.int64] | None = None) -> NDArray[np.float32]:
        """(n, out) embeddings; all links carry messages, or ``links[rows]``, dropout is off."""
        network = self.network(rows, torch.device("cpu"))
        if self.batch is not None:
            return self.plan(network, self.batch).embed(net).numpy()
        embeddings: NDArray[np.float32] = net(*network.inputs, network.whole()).numpy()
        return embeddings

    def neighbourhood(self, rows: NDArray[np.int64] | None = None) -> Neighbourhood:
        """Who sends to whom over ``links[rows]``, or over all links.

        Weights are divided by their mean size: a link of ordinary weight is like a self-loop, which weighs 1.
        """
        return self._network(rows, torch.device("cpu"), ()).whole()

    def network(self, rows: NDArray[np.int64] | None, device: torch.device) -> Network:
        """The nodes with their inputs, and the links ``links[rows]``, or all."""
        return self._network(rows, device, self.inputs())

    def _network(self, rows: NDArray[np.int64] | None, device: torch.device, inputs: tuple[Input, ...]) -> Network:
        links = self.links if rows is None else self.links[rows]
        weights = None
        if self.weight is not None:
            scaled = self.weight / np.abs(self.weight).mean()
            weights = torch.from_numpy((scaled if rows is None else scaled[rows]).astype(np.float32)).to(device)
        moved = tuple(value.to(device) if isinstance(value, Tensor) else value for value in inputs)
        return Network(self.n_nodes, moved, links, weights, device)

    def memory(self, batch: int | None = None, workers: int = 1) -> int:
        """About how many bytes training takes, in full batch or in batches of so many links; if so many workers share
        it, each of them.
        """
        widths, parameters = self.widths, self._n_parameters
        width = widths.heads * max(widths.hidden, widths.out)
        if batch is None:
            return training_bytes(self.n_nodes, len(self.links), parameters, width, widths.heads, widths.blocks)
        tables = 2 * width if self.features is None else 0
        if tables:  # nearly all parameters are theirs
            parameters //= workers
        nodes, links = self.extent(-(-batch // self.settings.shares))
        held = listed_bytes(self.n_nodes, len(self.links)) + rows_bytes(self.n_nodes, self.whole_width)
        return batch_bytes(parameters, tables, nodes, links, width, widths.heads, widths.blocks, held)

    def learned_bytes(self) -> int:
        """About how many bytes its parameters are."""
        return rows_bytes(self._n_parameters, 1)

    @property
    def _n_parameters(self) -> int:
        widths = self.widths
        return 2 * widths.heads * sum(inputs * out for inputs, out, _ in widths.per_block(self._columns))

    def _input(self) -> Input:
        return OneHot(self.n_nodes) if self.features is None else torch.from_numpy(self.features.copy())

    @property
    def _columns(self) -> int:
        return self.n_nodes if self.features is None else self.features.shape[1]

    def start(self) -> torch.Generator:
        """Draws the initial parameters."""
        return self._stream(_START).torch()

    def _stream(self, purpose: int) -> Stream:
        return Stream((self.seed, self.key, purpose))


class LayerPart(Part):
    """MPXGAT-H of one layer; nodes are numbered within the layer."""

    @classmethod
    def of(cls, graph: MultiplexGraph, number: int, settings: MPXGATSettings, seed: int) -> Self:
        """Layer ``number`` of a graph."""
        start, stop = int(graph.layer_start[number]), int(graph.layer_start[number + 1])
        inside = graph.node_layer[graph.intra[:, 0]] == number
        features = graph.horizontal_features
        return cls(
            key=number + 1,
            label=layer_label(graph, number),
            n_nodes=stop - start,
            links=graph.intra[inside] - start,
            weight=None if graph.intra_weight is None else graph.intra_weight[inside],
            features=None if features is None else features.values[start:stop],
            settings=settings,
            seed=seed,
        )

    @property
    def file_name(self) -> str:
        """Layers by number: names may hold anything."""
        return f"horizontal-{self.key:04d}"

    @property
    def widths(self) -> Widths:
        """As set for MPXGAT-H."""
        return self.settings.horizontal_widths

    @property
    def schedule(self) -> Schedule:
        """As set for MPXGAT-H."""
        return self.settings.horizontal_schedule

    def new_net(self) -> HorizontalNet:
        """MPXGAT-H with its initial parameters."""
        return HorizontalNet(
            self._columns,
            self.widths,
            generator=self.start(),
            dropout=self.settings.dropout,
            style=self.settings.style,
            weighted=self.weight is not None,
            one_hot_scale=self.settings.one_hot_scale if self.features is None else 0.0,
        )

    def inputs(self) -> tuple[Input]:
        """Features, or one-hot."""
        return (self._input(),)

    def sampler(self) -> WithinLayer:
        """Pairs of the layer."""
        return WithinLayer.of(self.n_nodes, self.links)

    def plan(self, network: Network, size: int) -> SampledPlan:
        """With neighbours drawn by chance."""
        return SampledPlan(network, size)

    def extent(self, size: int) -> tuple[int, int]:
        """As sampled."""
        return SampledPlan.extent(self.n_nodes, self.links, size)

    @property
    def whole_width(self) -> int:
        """Inputs and outputs of a block."""
        return 2 * self.widths.heads * max(self.widths.hidden, self.widths.out)


@dataclass(frozen=True, eq=False)
class VerticalPart(Part):
    """MPXGAT-V of all nodes, fed with horizontal embeddings (n, k)."""

    horizontal: NDArray[np.float32]
    layer: NDArray[np.int32]
    unit: NDArray[np.int32]

    @classmethod
    def of(cls, graph: MultiplexGraph, horizontal: NDArray[np.float32], settings: MPXGATSettings, seed: int) -> Self:
        """The vertical network of a graph."""
        features = graph.vertical_features
        return cls(
            key=0,
            label=BETWEEN_LAYERS,
            n_nodes=graph.n_nodes,
            links=graph.inter,
            weight=graph.inter_weight,
            features=None if features is None else features.values,
            settings=settings,
            seed=seed,
            horizontal=horizontal,
            layer=graph.node_layer,
            unit=graph.unit,
        )

    @property
    def file_name(self) -> str:
        """There is one."""
        return "vertical"

    @property
    def widths(self) -> Widths:
        """As set for MPXGAT-V."""
        return self.settings.vertical_widths

    @property
    def schedule(self) -> Schedule:
        """As set for MPXGAT-V."""
        return self.settings.vertical_schedule

    def new_net(self) -> Net:
        """MPXGAT-V with its initial parameters."""
        return VerticalNet(
            self._columns,
            self.horizontal.shape[1],
            self.widths,
            generator=self.start(),
            dropout=self.settings.dropout,
            style=self.settings.style,
            weighted=self.weight is not None,
            one_hot_scale=self._one_hot_scale,
        )

    @property
    def _one_hot_scale(self) -> float:
        return self.settings.vertical_one_hot_scale if self.features is None else 0.0

    def inputs(self) -> tuple[Input | Tensor, ...]:
        """Features or one-hot, and the horizontal embeddings, rows of length 1."""
        return self._input(), unit_rows(torch.from_numpy(self.horizontal))

    def sampler(self) -> BetweenLayers:
        """Pairs of different layers."""
        return BetweenLayers(self.layer, self.unit)

    def plan(self, network: Network, size: int) -> UnitPlan:
        """With whole units."""
        return UnitPlan(network, size, self.unit)

    def extent(self, size: int) -> tuple[int, int]:
        """Whole units."""
        return UnitPlan.extent(self.unit, self.links, size)

    @property
    def whole_width(self) -> int:
        """The horizontal embeddings and the result."""
        return int(self.horizontal.shape[1]) + self.widths.out


class GATPart(VerticalPart):
    """The standard GAT of all nodes over the inter links: the paper's first ablation."""

    def new_net(self) -> Net:
        """Whatever the preset: one matrix for receiver and sender, a bias after the sum, ELU after every block."""
        return HorizontalNet(
            self._columns,
            self.widths,
            generator=self.start(),
            dropout=self.settings.dropout,
            style=REFERENCE,
            weighted=self.weight is not None,
            one_hot_scale=self._one_hot_scale,
        )

    def inputs(self) -> tuple[Input | Tensor, ...]:
        """Features, or one-hot."""
        return (self._input(),)


# ---- how many links a step takes: all of them while that fits the memory ------------------------------------------


Sizes = list[int | None]  # for each part; None is full batch
NOTE = "batch"  # what a checkpoint's identity calls them
_LEAST = 256
_SMALLER = "smaller hidden, out or heads need less"


def batch_sizes(parts: Sequence[Part], session: Session) -> Sizes:
    """As set; where the setting is "auto", full batch if it fits the memory, else the largest power of two that does.

    The larger a batch, the less is computed twice and the nearer a step is to one of full batch. A training that is
    resumed goes on with the sizes it was begun with, whatever memory there is by now. TrainingError if a part does not
    fit.
    """
    setting = parts[0].settings.batch
    if setting == AUTO:
        begun = session.noted(NOTE, [part.file_name for part in parts])
        known = None if begun is None else _parse(begun, len(parts))
        return known or _auto(parts)
    size = None if isinstance(setting, str) else setting
    workers = min(session.engine.jobs, parts[0].settings.shares)
    for part, held in zip(parts, _held(parts), strict=True):
        advice = "batch = auto needs less, as do smaller hidden, out or heads" if size is None else _SMALLER
        check_fits(held + part.memory(size, workers), f"training {part.label}", advice)
    return [size] * len(parts)


def sizes_text(sizes: Sizes) -> str:
    """For the identity of checkpoints: "full", or the size of every part."""
    words = [FULL if size is None else str(size) for size in sizes]
    return FULL if set(words) <= {FULL} else ", ".join(words)


def _parse(text: str, count: int) -> Sizes | None:
    """What `sizes_text` was made of; None if it does not fit: it then belongs to another training."""
    words = [FULL] * count if text == FULL else text.split(", ")
    if len(words) != count or not all(word == FULL or word.isdecimal() for word in words):
        return None
    return [None if word == FULL else int(word) for word in words]


def _auto(parts: Sequence[Part]) -> Sizes:
    sizes: Sizes = []
    for part, held in zip(parts, _held(parts), strict=True):
        if fits(held + part.memory(None)):
            sizes.append(None)
            continue
        size = max(_LEAST, 1 << max(len(part.links) - 1, 1).bit_length() - 1)
        while size > _LEAST and not fits(held + part.memory(size)):
            size //= 2
        check_fits(held + part.memory(size), f"training {part.label}", _SMALLER)
        sizes.append(size)
    return sizes


def _held(parts: Sequence[Part]) -> list[int]:
    """Bytes that are taken when a part's training begins: what was learned before."""
    before, held = 0, []
    for part in parts:
        held.append(before)
        before += part.learned_bytes()
    return held


# ---- training them -------------------------------------------------------------------------------------------------


def learn_parts(parts: Sequence[Part], session: Session, batches: str) -> list[Trained]:
    """Train independent parts one after another, or side by side by the session's engine; the result is the same.

    Parts that are shared are trained one after another, each by all workers together.
    """
    if parts and session.engine.jobs > 1 and all(part.is_shared for part in parts):
        from mpxgat.distributed.training import learn_together

        return learn_together(parts, session, batches)
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
            trained = result_of(futures[number], died, " A run in a folder continues with --resume")
            outcome = trained.outcome
            early = outcome.best_value is not None and outcome.epochs < part.schedule.epochs
            stalled = outcome.epochs - outcome.best_epoch if early else None
            report = EpochReport(outcome.epochs, outcome.epochs, float("nan"), outcome.best_value, {}, stalled)
            session.report(part.label, report)
            results.append(trained)
        return results


def _learn_in_process(part: Part, checkpoint: Checkpoint | None, threads: int) -> Trained:
    torch.set_num_threads(threads)
    return part.learn(checkpoint, lambda report: None)
