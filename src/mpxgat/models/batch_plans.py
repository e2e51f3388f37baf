"""Training in batches of links: which links a step takes, what of the network it is computed on, and embeddings of all
nodes without all at once.

Two plans. Around the links of a layer neighbours are sampled. The network between layers falls into units, small
cliques, so its batches are whole units: nothing is sampled, and nothing outside a batch could send a message into it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mpxgat.models.link_training import LinkTrainee, NegativeSampler, Stream, ValidationLinks, as_tensor
from mpxgat.models.shared_embedding import embed_own_nodes
from mpxgat.nn.decoder import link_loss
from mpxgat.nn.neighbourhood import Neighbourhood
from mpxgat.nn.stack import HorizontalNet, VerticalNet, evaluating
from mpxgat.nn.transform import Input, OneHot, SomeRows
from mpxgat.sampling.components import Components
from mpxgat.sampling.subgraphs import Subgraph
from mpxgat.sampling.surroundings import Surroundings
from mpxgat.training.owners import Owners

Net = HorizontalNet | VerticalNet
# Links that a node draws, hop by hop. More, or a second hop, cost a multiple and did not predict better: in a planted
# layer of 4,000 nodes, batches of 128, validation AUC after 5 epochs .81, with (10,) .79, (5, 3) .81, (10, 5) .79.
FAN_OUTS = (5,)
_ENDS = 4  # a link has two, and comes with a non-link
_NODES_AT_ONCE = 1 << 15  # of whole units, when all are embedded
_PIECES = 128  # that nodes are shared out in, at least


@dataclass(frozen=True, eq=False)
class Network:
    """The links that carry messages, and what the nodes are known by; tensors are on one device.

    inputs      what a net is given besides the neighbourhood, one row for each node
    links       (m, 2)
    weights     (m,) or None
    """

    n_nodes: int
    inputs: tuple[Input, ...]
    links: NDArray[np.int32]
    weights: Tensor | None
    device: torch.device

    def whole(self) -> Neighbourhood:
        """Who sends to whom."""
        links = torch.from_numpy(self.links.astype(np.int64)).to(self.device)
        return Neighbourhood.from_links(self.n_nodes, links, self.weights)

    def encode(self, net: Net, part: Subgraph, generator: torch.Generator | None = None) -> Tensor:
        """Embeddings (k, out) of the nodes of a part, which hear of nothing else."""
        nodes = torch.from_numpy(part.nodes).to(self.device)
        weights = None
        if self.weights is not None:
            weights = self.weights.index_select(0, torch.from_numpy(part.rows).to(self.device))
        around = Neighbourhood.from_links(len(part.nodes), torch.from_numpy(part.links).to(self.device), weights)
        run = cast(Callable[..., Tensor], net)
        return run(*(_rows(each, nodes) for each in self.inputs), around, generator=generator)


def _rows(value: Input, nodes: Tensor) -> Input:
    assert not isinstance(value, SomeRows)
    return SomeRows(nodes) if isinstance(value, OneHot) else value.index_select(0, nodes)


class Plan(ABC):
    """Batches of a network's links; ``size`` links each."""

    def __init__(self, network: Network, size: int):
        self.network = network
        self.size = size

    @property
    def steps(self) -> int:
        """Batches in an epoch, about; at least 1."""
        return max(1, -(-len(self.network.links) // self.size))

    @abstractmethod
    def batches(self, rng: np.random.Generator) -> Iterable[NDArray[np.int64]]:
        """Rows of all links, each once, cut into an epoch's batches."""

    @abstractmethod
    def around(self, ends: NDArray[np.int64], rng: np.random.Generator) -> Subgraph:
        """What is computed to embed ``ends``."""

    @abstractmethod
    def embed(self, net: Net) -> Tensor:
        """Embeddings (n, out) of all nodes: every neighbour heard, no dropout, no gradients."""

    @abstractmethod
    def pieces(self) -> list[NDArray[np.int64]]:
        """All nodes in pieces, ascending in each; a worker of several that train together keeps whole pieces."""

    @abstractmethod
    def embed_own(self, net: Net, owners: Owners) -> Tensor:
        """Embeddings (own, out) of a worker's own nodes as `embed` gives them, if ``net`` has their rows."""

    @property
    def _piece(self) -> int:
        """Nodes in a piece: some hundred pieces, or more where these would be large."""
        return min(_NODES_AT_ONCE, -(-self.network.n_nodes // _PIECES))


class SampledPlan(Plan):
    """Links in random order, neighbours drawn around their ends; see `Surroundings.draw` for the fan-outs."""

    def __init__(self, network: Network, size: int, fan_outs: Sequence[int] = FAN_OUTS):
        super().__init__(network, size)
        self._fan_outs = fan_outs
        self._surroundings = Surroundings.of(network.n_nodes, network.links)

    def batches(self, rng: np.random.Generator) -> Iterable[NDArray[np.int64]]:
        """All about equal, so that none is left over that is too small to learn from."""
        return np.array_split(rng.permutation(len(self.network.links)), self.steps) if len(self.network.links) else []

    @staticmethod
    def extent(n_nodes: int, links: NDArray[np.int32], size: int) -> tuple[int, int]:
        """About how many nodes and links a batch is computed on: every end draws as one of a link does on average."""
        degree = np.bincount(links.ravel(), minlength=1).astype(np.float64)
        edge = float(_ENDS * size)
        nodes, drawn = edge, 0.0
        for fan_out in FAN_OUTS:
            edge *= float(np.minimum(degree, fan_out) @ degree / max(degree.sum(), 1))
            nodes, drawn = nodes + edge, drawn + edge
        return _different(nodes, n_nodes), _different(drawn, len(links))

    def around(self, ends: NDArray[np.int64], rng: np.random.Generator) -> Subgraph:
        """Sampled."""
        return self._surroundings.draw(ends, self._fan_outs, rng)

    def embed(self, net: Net) -> Tensor:
        """Block by block."""
        assert isinstance(net, HorizontalNet)
        (x,) = self.network.inputs
        return net.embed_in_pieces(x, self.network.whole())

    def pieces(self) -> list[NDArray[np.int64]]:
        """Nodes that follow each other."""
        nodes = np.arange(self.network.n_nodes)
        return [nodes[start : start + self._piece] for start in range(0, len(nodes), max(self._piece, 1))]

    def embed_own(self, net: Net, owners: Owners) -> Tensor:
        """Block by block, all workers at the same time."""
        assert isinstance(net, HorizontalNet)
        (x,) = self.network.inputs
        with evaluating(net):
            return embed_own_nodes(net, x, self._surroundings, self.network.weights, owners)


class UnitPlan(Plan):
    """Whole units, told by ``unit`` (n,): every link joins two nodes of one.

    The ends of non-links, drawn from all nodes as in full batch, bring their units along. Non-links among the nodes of
    the batch alone would be cheaper, but a node without a known counterpart would never be trained.
    """

    def __init__(self, network: Network, size: int, unit: NDArray[np.int32]):
        super().__init__(network, size)
        self._units = Components.of(unit, network.links)

    def batches(self, rng: np.random.Generator) -> Iterable[NDArray[np.int64]]:
        """All links of a unit are in one batch."""
        return self._units.batches(self.size, rng)

    @staticmethod
    def extent(unit: NDArray[np.int32], links: NDArray[np.int32], size: int) -> tuple[int, int]:
        """About how many nodes and links a batch is computed on: the links' ends, and the unit of every other end."""
        unit_size = np.bincount(unit, minlength=1).astype(np.float64)
        mean = float(unit_size @ unit_size / max(len(unit), 1))  # of a node's unit
        nodes = (_ENDS - 2) * size * mean
        drawn = nodes * (mean - 1) / 2  # cliques
        return _different(2 * size + nodes, len(unit)), _different(size + drawn, len(links))

    def around(self, ends: NDArray[np.int64], rng: np.random.Generator) -> Subgraph:
        """All nodes and links of their units: exact."""
        return self._units.around(ends)

    @torch.no_grad()
    def embed(self, net: Net) -> Tensor:
        """Some units after the other."""
        whole = None
        with evaluating(net):
            for part in self._units.pieces(_NODES_AT_ONCE):
                rows = self.network.encode(net, part)
                if whole is None:
                    whole = rows.new_empty(self.network.n_nodes, rows.shape[1])
                whole[torch.from_numpy(part.nodes).to(rows.device)] = rows
        assert whole is not None, "a network has nodes"
        return whole

    def pieces(self) -> list[NDArray[np.int64]]:
        """Whole units."""
        return [part.nodes for part in self._units.pieces(max(self._piece, 1))]

    @torch.no_grad()
    def embed_own(self, net: Net, owners: Owners) -> Tensor:
        """Unit by unit; nobody needs anything of another worker."""

        def with_own_rows(*inputs: object, generator: torch.Generator | None) -> Tensor:
            given = (SomeRows(places_of[x.nodes]) if isinstance(x, SomeRows) else x for x in inputs)
            return cast(Callable[..., Tensor], net)(*given, generator=generator)

        own, places_of = None, torch.from_numpy(owners.place)
        with evaluating(net):
            for places in owners.own_pieces():
                if not len(places):
                    continue
                part = self._units.around(owners.own[places])
                rows = self.network.encode(cast(Net, with_own_rows), part)
                own = rows.new_empty(len(owners.own), rows.shape[1]) if own is None else own
                own[torch.from_numpy(owners.place[part.nodes])] = rows
        return torch.empty(0, 0) if own is None else own


def _different(draws: float, among: int) -> int:
    """About how many different ones come up in so many draws."""
    return math.ceil(among * -math.expm1(-draws / max(among, 1)))


class BatchTrainee(LinkTrainee):
    """A `Trainee` for `mpxgat.training.loop.train`: one step for each batch of links."""

    def __init__(
        self,
        net: Net,
        plan: Plan,
        parts: ValidationLinks,
        sampler: NegativeSampler,
        stream: Stream,
        device: torch.device,
    ):
        super().__init__(net, lambda generator: plan.embed(net), parts, sampler, stream, device)
        self._net, self._plan = net, plan
        self._training = parts.training

    def losses(self, epoch: int) -> Iterator[Tensor]:
        """Every link once, each batch with as many fresh non-links; chance comes from the epoch's own stream."""
        stream = self._stream.at(epoch)
        rng, generator = stream.at(0).numpy(), stream.at(1).torch(self._device)
        for rows in self._plan.batches(rng):
            links = self._training[rows].astype(np.int64)
            non_links = self._sampler.draw(len(links), rng)
            part = self._plan.around(np.concatenate([links.ravel(), non_links.ravel()]), rng)
            embeddings = self._plan.network.encode(self._net, part, generator)
            places = (as_tensor(part.places(pairs), self._device) for pairs in (links, non_links))
            yield link_loss(embeddings, *places)
