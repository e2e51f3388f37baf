"""Training in batches of links: which links a step takes, what of the network it is computed on, and embeddings of all
nodes without all at once.

Two plans. Around the links of a layer neighbours are sampled (`SampledPlan`, `Surroundings`). The network between
layers falls into units, small cliques, so its batches are whole units (`UnitPlan`, `Components`): nothing is sampled,
and nothing outside a batch could send a message into it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mpxgat.nn.attention import Neighbourhood
from mpxgat.nn.mpxgat import HorizontalNet, Net, evaluating
from mpxgat.nn.ops import link_loss
from mpxgat.nn.projection import Input, OneHot, SomeRows
from mpxgat.pairs import NODE_DTYPE, group_members
from mpxgat.training.links import LinkTrainee, NegativeSampler, Network, Stream, ValidationLinks, as_tensor

Nodes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Subgraph:
    """What a step of training is computed on.

    nodes   (k,) ascending, none twice
    rows    (m,) ascending: which of the network's links
    links   (m, 2) the same links, their ends as places in ``nodes``
    """

    nodes: Nodes
    rows: NDArray[np.int64]
    links: NDArray[np.int64]

    @classmethod
    def of(cls, nodes: Nodes, rows: NDArray[np.int64], links: NDArray[np.integer[Any]]) -> Subgraph:
        """From nodes as above, and rows of ``links`` (all of the network's) whose ends are among them."""
        return cls(nodes, rows, np.searchsorted(nodes, links[rows]))

    def places(self, nodes: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """Where ``nodes``, in an array of any shape, stand in this subgraph; they must be in it."""
        return np.searchsorted(self.nodes, nodes)


def ranges(start: NDArray[np.int64], size: NDArray[np.int64]) -> NDArray[np.int64]:
    """start[0], start[0]+1, … (size[0] of them), then those from start[1], and so on."""
    before = np.cumsum(size) - size
    return np.repeat(start - before, size) + np.arange(size.sum())


# ---- sampled neighbours --------------------------------------------------------------------------------------------
#
# Neighbours of nodes, their neighbours and so on, some drawn by chance, without a Python loop. The links drawn go both
# ways in the subgraph, so it is undirected like the network, and a neural network of any depth runs on it unchanged
# (Zeng et al. 2021, *Decoupling the depth and scope of graph neural networks*). What a draw costs depends on the nodes
# and links drawn, neither on the size of the network nor on the degree of a hub.


EVERYONE = np.iinfo(np.int64).max  # a fan-out that leaves no neighbour out


@dataclass(frozen=True, eq=False)
class Surroundings:
    """The links of a network, listed by node.

    links       (m, 2) each undirected and given once
    offsets     (n+1,) those of node i stand at offsets[i] … offsets[i+1]-1 of the following
    others      (2m,) the other end
    rows        (2m,) which of ``links`` it is
    """

    links: NDArray[np.integer[Any]]
    offsets: NDArray[np.int64]
    others: NDArray[np.int32]
    rows: NDArray[np.int64]

    @classmethod
    def of(cls, n_nodes: int, links: NDArray[np.integer[Any]]) -> Surroundings:
        """Of nodes 0…n-1."""
        ends = links.T.ravel().astype(NODE_DTYPE)
        by_node = group_members(ends, np.zeros(len(ends), dtype=np.int8), n_nodes)
        place = by_node.indices.astype(np.int64)
        half = len(links)
        rows = np.where(place < half, place, place - half)
        others = ends[np.where(place < half, place + half, place - half)]
        return cls(links, by_node.indptr.astype(np.int64), others, rows)

    def draw(self, seeds: NDArray[np.integer[Any]], fan_outs: Sequence[int], rng: np.random.Generator) -> Subgraph:
        """All seeds (repetitions do not matter), and what is reached from them in ``len(fan_outs)`` hops.

        In hop h every node reached in the hop before draws ``fan_outs[h]`` of its links, uniformly and *without*
        replacement; all of them if it has no more.
        """
        reached = np.unique(seeds).astype(np.int64)
        edge, found = reached, [np.empty(0, dtype=np.int64)]
        for fan_out in fan_outs:
            drawn = self._draw(edge, fan_out, rng)
            found.append(self.rows[drawn])
            edge = np.setdiff1d(self.others[drawn], reached).astype(np.int64)
            reached = np.union1d(reached, edge)
        return Subgraph.of(reached, np.unique(np.concatenate(found)), self.links)

    def _draw(self, nodes: Nodes, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Places in ``others`` and ``rows`` of at most ``count`` links of each node."""
        start, size = self.offsets[nodes], self.offsets[nodes + 1] - self.offsets[nodes]
        many = size > count
        every = ranges(start[~many], size[~many])
        if not many.any():
            return every
        some = start[many, None] + _distinct(size[many], count, rng)
        return np.concatenate([every, some.ravel()])


def _distinct(size: NDArray[np.int64], count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """(k, count) different numbers below ``size`` (k,) in each row, all sets equally likely; size exceeds count.

    Floyd's way (Bentley and Floyd 1987), all rows at once: the j-th draw is from the first size - count + j numbers
    and one more; if it was drawn before, that one more, which cannot have been, takes its place.
    """
    chosen = np.empty((len(size), count), dtype=np.int64)
    for place in range(count):
        last = size - count + place
        drawn = (rng.random(len(size)) * (last + 1)).astype(np.int64)
        again = (chosen[:, :place] == drawn[:, None]).any(axis=1)
        chosen[:, place] = np.where(again, last, drawn)
    return chosen


# ---- whole components of a network ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Lists:
    """Members of groups: those of group g are members[offsets[g] : offsets[g+1]], ascending."""

    offsets: NDArray[np.int64]
    members: NDArray[np.int64]

    @classmethod
    def of(cls, group: NDArray[np.integer[Any]], n_groups: int) -> _Lists:
        lists = group_members(group.astype(NODE_DTYPE), np.zeros(len(group), dtype=np.int8), n_groups)
        return cls(lists.indptr.astype(np.int64), lists.indices.astype(np.int64))

    def sizes(self, groups: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        sizes: NDArray[np.int64] = self.offsets[groups + 1] - self.offsets[groups]
        return sizes

    def of_groups(self, groups: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """Members of all these groups, group by group."""
        members: NDArray[np.int64] = self.members[ranges(self.offsets[groups], self.sizes(groups))]
        return members


@dataclass(frozen=True, eq=False)
class Components:
    """Nodes in groups with no link between two groups. Groups are meant to be small: one is never divided.

    links   (m, 2)
    group   (n,) of every node, numbered from 0
    """

    links: NDArray[np.integer[Any]]
    group: NDArray[np.integer[Any]]
    _nodes: _Lists
    _rows: _Lists

    @classmethod
    def of(cls, group: NDArray[np.integer[Any]], links: NDArray[np.integer[Any]]) -> Components:
        """Groups that contain the components of the links; a group may be several components, or a single node."""
        assert np.array_equal(group[links[:, 0]], group[links[:, 1]]), "a link joins two groups"
        n_groups = int(group.max(initial=-1)) + 1
        return cls(links, group, _Lists.of(group, n_groups), _Lists.of(group[links[:, 0]], n_groups))

    def batches(self, size: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
        """Rows of all links in random order, cut into batches of about ``size``; all links of a group in one of them.

        Batches are about equal, so that none is left over that is too small to learn from.
        """
        groups = rng.permutation(np.flatnonzero(np.diff(self._rows.offsets)))
        return [self._rows.of_groups(part) for part in _packed(groups, self._rows.sizes(groups), size)]

    def around(self, seeds: NDArray[np.integer[Any]]) -> Subgraph:
        """The whole groups of all seeds."""
        return self._subgraph(np.unique(self.group[seeds]))

    def pieces(self, size: int) -> Iterator[Subgraph]:
        """All groups, in subgraphs of about ``size`` nodes."""
        groups = np.arange(len(self._nodes.offsets) - 1)
        return (self._subgraph(part) for part in _packed(groups, self._nodes.sizes(groups), size))

    def _subgraph(self, groups: NDArray[np.integer[Any]]) -> Subgraph:
        nodes, rows = np.sort(self._nodes.of_groups(groups)), np.sort(self._rows.of_groups(groups))
        return Subgraph.of(nodes, rows, self.links)


def _packed(groups: NDArray[np.integer[Any]], sizes: NDArray[np.int64], size: int) -> list[NDArray[np.integer[Any]]]:
    """Runs of groups whose sizes sum to about ``size``, all about equal; none of them empty."""
    total = int(sizes.sum())
    if not total:
        return []
    run = (np.cumsum(sizes) - sizes) * -(-total // size) // total
    return np.split(groups, np.flatnonzero(np.diff(run)) + 1)


# ---- plans ---------------------------------------------------------------------------------------------------------


# Links that a node draws, hop by hop. More, or a second hop, cost a multiple and did not predict better: in a planted
# layer of 4,000 nodes, batches of 128, validation AUC after 5 epochs .81, with (10,) .79, (5, 3) .81, (10, 5) .79.
FAN_OUTS = (5,)
_ENDS = 4  # a link has two, and comes with a non-link
_NODES_AT_ONCE = 1 << 15  # of whole units, when all are embedded
_PIECES = 128  # that nodes are shared out in, at least


def encode(network: Network, net: Net, part: Subgraph, generator: torch.Generator | None = None) -> Tensor:
    """Embeddings (k, out) of the nodes of a part of a network, which hear of nothing else."""
    nodes = torch.from_numpy(part.nodes).to(network.device)
    weights = None
    if network.weights is not None:
        weights = network.weights.index_select(0, torch.from_numpy(part.rows).to(network.device))
    around = Neighbourhood.from_links(len(part.nodes), torch.from_numpy(part.links).to(network.device), weights)
    run = cast(Callable[..., Tensor], net)
    return run(*(_rows(each, nodes) for each in network.inputs), around, generator=generator)


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

    @property
    def _piece(self) -> int:
        """Nodes in a piece: some hundred pieces, or more where these would be large."""
        return min(_NODES_AT_ONCE, -(-self.network.n_nodes // _PIECES))


class SampledPlan(Plan):
    """Links in random order, neighbours drawn around their ends; see `Surroundings.draw` for the fan-outs."""

    def __init__(self, network: Network, size: int, fan_outs: Sequence[int] = FAN_OUTS):
        super().__init__(network, size)
        self._fan_outs = fan_outs
        self.surroundings = Surroundings.of(network.n_nodes, network.links)

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
        return self.surroundings.draw(ends, self._fan_outs, rng)

    def embed(self, net: Net) -> Tensor:
        """Block by block."""
        assert isinstance(net, HorizontalNet)
        (x,) = self.network.inputs
        return net.embed_in_chunks(x, self.network.whole())

    def pieces(self) -> list[NDArray[np.int64]]:
        """Nodes that follow each other."""
        nodes = np.arange(self.network.n_nodes)
        return [nodes[start : start + self._piece] for start in range(0, len(nodes), max(self._piece, 1))]


class UnitPlan(Plan):
    """Whole units, told by ``unit`` (n,): every link joins two nodes of one.

    The ends of non-links, drawn from all nodes as in full batch, bring their units along. Non-links among the nodes of
    the batch alone would be cheaper, but a node without a known counterpart would never be trained.
    """

    def __init__(self, network: Network, size: int, unit: NDArray[np.int32]):
        super().__init__(network, size)
        self.units = Components.of(unit, network.links)

    def batches(self, rng: np.random.Generator) -> Iterable[NDArray[np.int64]]:
        """All links of a unit are in one batch."""
        return self.units.batches(self.size, rng)

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
        return self.units.around(ends)

    @torch.no_grad()
    def embed(self, net: Net) -> Tensor:
        """Some units after the other."""
        whole = None
        with evaluating(net):
            for part in self.units.pieces(_NODES_AT_ONCE):
                rows = encode(self.network, net, part)
                if whole is None:
                    whole = rows.new_empty(self.network.n_nodes, rows.shape[1])
                whole[torch.from_numpy(part.nodes).to(rows.device)] = rows
        assert whole is not None, "a network has nodes"
        return whole

    def pieces(self) -> list[NDArray[np.int64]]:
        """Whole units."""
        return [part.nodes for part in self.units.pieces(max(self._piece, 1))]


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
            embeddings = encode(self._plan.network, self._net, part, generator)
            places = (as_tensor(part.places(pairs), self._device) for pairs in (links, non_links))
            yield link_loss(embeddings, *places)
