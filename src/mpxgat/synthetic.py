"""Planted multiplexes whose truth is known, for demonstrations, tests and measurements of scale.

The model is a degree-corrected planted partition. Every person has a community and a propensity to have ties,
Pareto distributed, the same in all layers. A tie joins two people of one community, or two of different ones, drawn in
proportion to their propensities. Some ties form a pool that all layers share; the others belong to one layer.

Who is who is known from the inter links and from the attribute ``person``, which models do not read. Ids and the order
of nodes reveal nothing: each layer numbers its nodes by a permutation of its own. People may have profiles with
usernames, cities and dates of joining besides (`mpxgat.synthetic_names`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from mpxgat.build import link_by_id, with_inter_links
from mpxgat.errors import GraphError, SettingError, quoted
from mpxgat.graph import MultiplexGraph
from mpxgat.pairs import BACKWARD, BOTH_WAYS, FORWARD, NODE_DTYPE, canonical_links, pair_keys
from mpxgat.synthetic_names import profiles

_LAYER_NAMES = ("friends", "work", "messages", "family")
_MAX_NODES = 2**31 - 1
# A round draws a little more than is missing; what repeats is drawn again. Dense networks stop short after these.
_MAX_ROUNDS = 40


def social(
    people: int = 1000,
    layers: int = 3,
    seed: int = 0,
    *,
    overlap: float = 0.5,
    communities: int | None = None,
    mixing: float = 0.2,
    mean_degree: float = 8.0,
    exponent: float = 2.5,
    presence: float = 0.7,
    known: float = 1.0,
    names: bool = False,
    directed: float = 0.0,
) -> MultiplexGraph:
    """A multiplex social network with known truth; the same arguments give the same bytes.

    people, layers  how many; a layer without anyone in it vanishes
    overlap         share of a layer's ties that two people have in every layer where both are; some of the others
                    coincide by chance, the more so the smaller the communities
    communities     how many groups of about equal size; by default half the square root of ``people``
    mixing          share of ties that join two communities (0 if there is only one)
    mean_degree     ties of a node in its layer, on average; fewer where a layer is too small or too dense for them
    exponent        of the degrees' power law, above 2; smaller means heavier tails
    presence        probability that a person is in a layer; everyone is in one at least
    known           share of the inter links that the graph has, taken uniformly; `truth` has all of them
    names           whether nodes have profiles; everything else is the same with them and without
    directed        share of the ties that go one way, which is drawn once for two people: the same in every layer

    Attributes of the nodes: ``person`` and ``community``. With names also ``username`` (different ones within a layer;
    two of one person are similar with a probability of .60, of most others at least one is a nickname; two people have
    the same first name with .15), ``city`` (half the people live where their community is at home; some say another
    city in another layer, or spell it otherwise) and ``joined`` (a date, as 2019-04-30; who joins one layer early joins
    others rather early). Of these 10, 15 and 20 % are missing, which is an empty text.
    SettingError for an argument outside its range.
    """
    _check_counts(people, layers, seed, communities)
    for name, value in (("overlap", overlap), ("mixing", mixing), ("known", known), ("directed", directed)):
        _check_number(name, value, 0 <= value <= 1, "a number from 0 to 1")
    _check_number("presence", presence, 0 < presence <= 1, "a number above 0, at most 1")
    _check_number("mean_degree", mean_degree, 0 <= mean_degree < math.inf, "a number from 0 on")
    _check_number("exponent", exponent, 2 < exponent < math.inf, "a number above 2")

    rng = np.random.default_rng(seed)
    n_communities = max(1, round(math.sqrt(people) / 2)) if communities is None else communities
    community = np.sort(rng.integers(n_communities, size=people))  # sorted: a community is a range of people
    propensity = _power_law(people, exponent, rng)
    present = _presence(people, layers, presence, rng)  # (layers, people)

    sizes = present.sum(axis=1)
    # With this many ties, the part of the pool that a layer sees is `overlap` of the ties it should have.
    pool_size = overlap * (mean_degree * sizes / 2).sum() / ((sizes / people) ** 2).sum()
    everyone = _Crowd(np.arange(people), community, propensity)
    pool = everyone.ties(round(pool_size), mixing, np.empty(0, dtype=np.int64), rng)
    ties = [
        _layer_ties(_Crowd(np.flatnonzero(here), community, propensity), pool, here, mean_degree, mixing, rng)
        for here in present
    ]
    graph = _assemble(present, ties, community, rng)
    if names:
        graph = _with_profiles(graph, community, seed)
    if directed:  # last, and with chances of its own: the network is the same with any share
        graph = _with_direction(graph, directed, np.random.default_rng([seed, 2]))
    if known == 1:
        return graph
    kept = rng.choice(graph.n_inter, size=round(known * graph.n_inter), replace=False)
    return with_inter_links(graph, graph.inter[np.sort(kept)])


def truth(graph: MultiplexGraph) -> NDArray[np.int32]:
    """(k, 2) all true inter links of a graph made by `social`, known or not, as sorted node positions."""
    if "person" not in graph.attributes:
        raise GraphError("the nodes have no attribute 'person', expected a graph made by mpxgat.synthetic")
    return link_by_id(graph, graph.attributes["person"]).inter


@dataclass(frozen=True)
class _Crowd:
    """Some of the people, ascending, so that members of a community stand side by side.

    ``community`` and ``propensity`` are those of all people; ties are numbered first * len(community) + second,
    with first < second.
    """

    members: NDArray[np.int64]
    community: NDArray[np.int64]
    propensity: NDArray[np.float64]

    def ties(self, count: int, mixing: float, taken: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """``count`` distinct new ties (fewer if there is no room), none of them in ``taken``."""
        own = self.community[self.members]
        if len(own) < 2:
            return np.empty(0, dtype=np.int64)
        n_across = round(mixing * count) if own[0] != own[-1] else 0
        within = self._distinct(count - n_across, taken, rng, across=False)
        across = self._distinct(n_across, taken, rng, across=True)
        return np.concatenate([within, across])

    def _distinct(
        self, count: int, taken: NDArray[np.int64], rng: np.random.Generator, *, across: bool
    ) -> NDArray[np.int64]:
        found = np.empty(0, dtype=np.int64)
        for _ in range(_MAX_ROUNDS):
            missing = count - len(found)
            if missing <= 0:
                break
            seen = np.sort(np.concatenate([taken, found]))
            drawn = self._draw(missing + missing // 8 + 16, rng, across=across)
            ascending, first = np.unique(drawn, return_index=True)
            place = np.searchsorted(seen, ascending)  # a search goes several times faster in order than at random
            new = np.ones(len(ascending), dtype=bool)
            inside = place < len(seen)
            new[inside] = seen[place[inside]] != ascending[inside]
            in_turn = np.sort(first[new])  # the order of drawing, so that cutting off favours no one
            found = np.concatenate([found, drawn[in_turn[:missing]]])
        return found

    def _draw(self, size: int, rng: np.random.Generator, *, across: bool) -> NDArray[np.int64]:
        """Up to ``size`` ties, possibly repeated: both ends in proportion to propensity."""
        own = self.community[self.members]
        total = np.concatenate([[0.0], np.cumsum(self.propensity[self.members])])
        one = _pick(total, rng.random(size) * total[-1])
        if across:
            other = _pick(total, rng.random(size) * total[-1])
            proper = own[one] != own[other]
        else:
            border = np.concatenate([[0], np.cumsum(np.bincount(own))])
            start, stop = total[border[own[one]]], total[border[own[one] + 1]]
            other = _pick(total, start + rng.random(size) * (stop - start))
            # Rounding may step over the border of the community, so compare that too.
            proper = (one != other) & (own[one] == own[other])
        ends = self.members[np.stack([one, other], axis=1)[proper]]
        keys: NDArray[np.int64] = ends.min(axis=1) * len(self.community) + ends.max(axis=1)
        return keys


def _pick(total: NDArray[np.float64], point: NDArray[np.float64]) -> NDArray[np.int64]:
    """The interval of the running total that each point falls into."""
    order = np.argsort(point)
    place = np.empty(len(point), dtype=np.int64)
    place[order] = np.searchsorted(total, point[order], side="right") - 1
    return np.minimum(place, len(total) - 2)


def _layer_ties(
    crowd: _Crowd,
    pool: NDArray[np.int64],
    here: NDArray[np.bool_],
    mean_degree: float,
    mixing: float,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Ties of one layer: those of the pool whose two people are here, and fresh ones up to the mean degree."""
    one, other = np.divmod(pool, len(here))
    shared = pool[here[one] & here[other]]
    n_here = len(crowd.members)
    count = min(round(mean_degree * n_here / 2), n_here * (n_here - 1) // 2)
    return np.concatenate([shared, crowd.ties(max(count - len(shared), 0), mixing, shared, rng)])


def _power_law(people: int, exponent: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Pareto numbers from 1 to the square root of ``people``, beyond which ties would mostly repeat."""
    steepness = exponent - 1
    highest = 1 - people ** (-steepness / 2)
    drawn: NDArray[np.float64] = (1 - rng.random(people) * highest) ** (-1 / steepness)
    return drawn


def _presence(people: int, layers: int, presence: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """(layers, people) who is where; whoever would be nowhere gets one layer."""
    present = rng.random((layers, people)) < presence
    nowhere = np.flatnonzero(~present.any(axis=0))
    present[rng.integers(layers, size=len(nowhere)), nowhere] = True
    return present


def _assemble(
    present: NDArray[np.bool_],
    ties: list[NDArray[np.int64]],
    community: NDArray[np.int64],
    rng: np.random.Generator,
) -> MultiplexGraph:
    """The graph with all inter links. Within a layer, ids follow a random order of its people.

    Nodes come in order and links are checked by construction, so there is no need of `mpxgat.build`.
    """
    n_layers, people = present.shape
    order = [rng.permutation(np.flatnonzero(here)) for here in present]
    size = np.array([len(part) for part in order])
    first = np.concatenate([[0], np.cumsum(size)])
    person = np.concatenate(order)
    ends = []
    for number, part in enumerate(order):
        node_of = np.full(people, -1, dtype=NODE_DTYPE)
        node_of[part] = first[number] + np.arange(len(part))
        ends.append(node_of[np.stack(np.divmod(ties[number], people), axis=1)])
    names = [*_LAYER_NAMES[:n_layers], *(f"layer-{number + 1}" for number in range(len(_LAYER_NAMES), n_layers))]
    graph = MultiplexGraph(
        layers=tuple(name for name, count in zip(names, size, strict=True) if count),
        layer_start=np.concatenate([[0], np.cumsum(size[size > 0])]).astype(np.int64),
        ids=pa.concat_arrays([_ids(number, len(part)) for number, part in enumerate(order)]),
        intra=canonical_links(np.concatenate(ends), None, len(person))[0],
        inter=np.empty((0, 2), dtype=NODE_DTYPE),
        attributes={"person": _texts(person), "community": _texts(community[person])},
    )
    return link_by_id(graph, graph.attributes["person"])


def _with_profiles(graph: MultiplexGraph, community: NDArray[np.int64], seed: int) -> MultiplexGraph:
    person = graph.attributes["person"].cast(pa.int64()).to_numpy()
    rng = np.random.default_rng([seed, 1])  # a stream of their own, so that the network is the same without them
    return replace(graph, attributes={**graph.attributes, **profiles(person, graph.node_layer, community, rng)})


def _with_direction(graph: MultiplexGraph, share: float, rng: np.random.Generator) -> MultiplexGraph:
    """A share of the ties goes one way, the same for two people in every layer."""
    person = graph.attributes["person"].cast(pa.int64()).to_numpy()[graph.intra]  # (m, 2)
    n_people = int(person.max(initial=0)) + 1
    ties, tie = np.unique(pair_keys(person, n_people), return_inverse=True)
    one_way, upwards = rng.random(len(ties)) < share, rng.random(len(ties)) < 0.5
    forward = upwards[tie] == (person[:, 0] < person[:, 1])
    arcs = np.where(one_way[tie], np.where(forward, FORWARD, BACKWARD), BOTH_WAYS).astype(np.uint8)
    return replace(graph, intra_arcs=arcs)


def _ids(layer: int, count: int) -> pa.LargeStringArray:
    """``a-000000``, ``a-000001``, … for layer 0, ``b-…`` for layer 1; after ``z`` comes ``aa``."""
    prefix = ""
    layer += 1
    while layer:
        layer, letter = divmod(layer - 1, 26)
        prefix = chr(ord("a") + letter) + prefix
    digits = pc.utf8_lpad(_texts(np.arange(count)), width=max(6, len(str(count))), padding="0")
    return pc.binary_join_element_wise(pa.scalar(prefix, pa.large_string()), digits, pa.scalar("-", pa.large_string()))


def _texts(numbers: NDArray[np.int64]) -> pa.LargeStringArray:
    return pa.array(numbers).cast(pa.large_string())


def _check_counts(people: int, layers: int, seed: int, communities: int | None) -> None:
    _check_whole("people", people, people >= 1, "at least 1")
    _check_whole("layers", layers, layers >= 1, "at least 1")
    _check_whole("seed", seed, seed >= 0, "at least 0")
    if people * layers > _MAX_NODES:
        raise SettingError(f"people times layers is {people * layers}, expected at most {_MAX_NODES}")
    if communities is not None:
        most = max(people // 2, 1)
        _check_whole("communities", communities, 1 <= communities <= most, f"from 1 to {most} (half the people)")


def _check_whole(name: str, value: int, valid: bool, expected: str) -> None:
    if not valid or not isinstance(value, int | np.integer):
        raise SettingError(f"{name} is {quoted(value)}, expected a whole number, {expected}")


def _check_number(name: str, value: float, valid: bool, expected: str) -> None:
    if not valid:
        raise SettingError(f"{name} is {quoted(value)}, expected {expected}")
