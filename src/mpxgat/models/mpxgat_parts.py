"""The parts of MPXGAT that are trained one after another: MPXGAT-H of each layer, then MPXGAT-V.

A part is a plain value (it can be sent to another process) that knows its links, inputs and settings.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mpxgat.errors import SettingError, quoted
from mpxgat.graph import MultiplexGraph
from mpxgat.models.link_training import LinkTrainee, NegativeSampler, Stream, cut_validation
from mpxgat.models.mpxgat_settings import MPXGATSettings
from mpxgat.nn.neighbourhood import Neighbourhood
from mpxgat.nn.stack import HorizontalNet, VerticalNet, Widths, unit_rows
from mpxgat.nn.transform import Input, OneHot
from mpxgat.sampling.negatives import BetweenLayers, WithinLayer
from mpxgat.training.checkpoint import Checkpoint, Parameters
from mpxgat.training.loop import EpochReport, Outcome, Schedule, train
from mpxgat.training.memory import training_bytes

Net = HorizontalNet | VerticalNet
_CUT, _START, _EPOCHS = range(3)  # what random numbers are for


@dataclass(frozen=True, eq=False)
class Trained:
    """What training a part gives."""

    parameters: Parameters
    outcome: Outcome


@dataclass(frozen=True, eq=False)
class Part(ABC):
    """One network to be trained on ``links`` (m, 2) of nodes 0…n-1, with optional weights and features.

    key     unique among the parts; names its checkpoint and its stream of random numbers
    """

    key: int
    label: str
    n_nodes: int
    links: NDArray[np.int32]
    weight: NDArray[np.float64] | None
    features: NDArray[np.float32] | None
    settings: MPXGATSettings
    seed: int

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

    def attention(self, parameters: Parameters, around: Neighbourhood) -> tuple[Tensor, ...]:
        """Attention weights of every block, (E, heads) each, dropout off."""
        weights: Callable[..., tuple[Tensor, ...]] = self.net(parameters).attention
        return weights(*self.inputs(), around)

    def learn(self, checkpoint: Checkpoint | None, report: Callable[[EpochReport], None]) -> Trained:
        """Train with early stopping on links cut from ``links``."""
        device = chosen_device(self.settings.device)
        sampler = self.sampler()
        parts = cut_validation(self.links, self.settings.validation, sampler, self._stream(_CUT).numpy())
        net = self.new_net().to(device)
        inputs = [value if isinstance(value, OneHot) else value.to(device) for value in self.inputs()]
        messages = self.neighbourhood(parts.training_rows).to(device)

        def encode(generator: torch.Generator | None) -> Tensor:
            embeddings: Tensor = net(*inputs, messages, generator=generator)
            return embeddings

        trainee = LinkTrainee(net, encode, parts, sampler, self._stream(_EPOCHS), device)
        outcome = train(trainee, self.schedule, checkpoint, report)
        return Trained({name: tensor.cpu() for name, tensor in net.state_dict().items()}, outcome)

    def net(self, parameters: Parameters) -> Net:
        """The network with learned parameters, ready to embed."""
        net = self.new_net()
        net.load_state_dict(parameters)
        return net.eval()

    @torch.no_grad()
    def embed(self, net: Net) -> NDArray[np.float32]:
        """(n, out) embeddings; all links carry messages, dropout is off."""
        embeddings: NDArray[np.float32] = net(*self.inputs(), self.neighbourhood()).numpy()
        return embeddings

    def neighbourhood(self, rows: NDArray[np.int64] | None = None) -> Neighbourhood:
        """Who sends to whom over ``links[rows]``, or over all links.

        Weights are divided by their mean size: a link of ordinary weight is like a self-loop, which weighs 1.
        """
        links = self.links if rows is None else self.links[rows]
        weights = None
        if self.weight is not None:
            scaled = self.weight / np.abs(self.weight).mean()
            weights = torch.from_numpy((scaled if rows is None else scaled[rows]).astype(np.float32))
        return Neighbourhood.from_links(self.n_nodes, torch.from_numpy(links.astype(np.int64)), weights)

    def memory(self) -> int:
        """About how many bytes training takes."""
        widths = self.widths
        columns = self.n_nodes if self.features is None else self.features.shape[1]
        parameters = 2 * widths.heads * sum(inputs * out for inputs, out, _ in widths.per_block(columns))
        width = widths.heads * max(widths.hidden, widths.out)
        return training_bytes(self.n_nodes, len(self.links), parameters, width, widths.heads, widths.blocks)

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
            label=f"layer {number + 1} of {graph.n_layers}: {graph.layers[number]}",
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
        )

    def inputs(self) -> tuple[Input]:
        """Features, or one-hot."""
        return (self._input(),)

    def sampler(self) -> WithinLayer:
        """Pairs of the layer."""
        return WithinLayer.of(self.n_nodes, self.links)


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
            label="between layers",
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
        )

    def inputs(self) -> tuple[Input | Tensor, ...]:
        """Features or one-hot, and the horizontal embeddings, rows of length 1."""
        return self._input(), unit_rows(torch.from_numpy(self.horizontal))

    def sampler(self) -> BetweenLayers:
        """Pairs of different layers."""
        return BetweenLayers(self.layer, self.unit)


def chosen_device(name: str) -> torch.device:
    """The device of that name; SettingError if there is none on this machine."""
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError):
        raise SettingError(f"device is {quoted(name)}, expected one that is there, such as cpu") from None
    return device
