"""Training that workers share: every batch is cut into shares, and each worker computes some of them.

The rows of identity tables (a table has one for each node) live with the workers that own the nodes: a worker asks for
the rows that its share reads, and sends their gradients back. All other parameters are everyone's. Gradients are added
in the order of the shares, so the number of workers changes nothing: one alone computes them one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mpxgat.metrics import auc
from mpxgat.models.batch_plans import Net, Plan
from mpxgat.models.link_training import LinkTrainee, NegativeSampler, Stream, ValidationLinks, as_tensor
from mpxgat.nn.decoder import link_loss, pair_scores
from mpxgat.nn.transform import Input, OneHot, SomeRows, table
from mpxgat.training.group import from_everyone
from mpxgat.training.owners import Nodes, Owners

_PAIRS_AT_ONCE = 1 << 20


class _Gradients(NamedTuple):
    """What a share gives."""

    everyones: Tensor  # (1 + p,) its part of the loss, and the gradients of what is everyone's
    nodes: Nodes  # (k,) whose rows it read
    rows: Tensor  # (k, m) their gradients, of all tables side by side


def table_names(net: Net, inputs: Sequence[Input]) -> list[str]:
    """The parameters of a net with a row for each node: matrices of the first block, if nodes are known by number."""
    if not any(isinstance(each, OneHot) for each in inputs):
        return []
    first = "blocks.0.attend.transform."
    return [name for name, _ in net.named_parameters() if name.startswith(first + "W")]


def keep_own_rows(net: Net, tables: Sequence[str], owners: Owners) -> None:
    """Leave a net with the rows of a worker's own nodes."""
    own = torch.from_numpy(owners.own)
    for name in tables:
        module, _, leaf = name.rpartition(".")
        rows = net.get_parameter(name).detach().index_select(0, own)
        setattr(net.get_submodule(module), leaf, nn.Parameter(rows))


class SharedTrainee(LinkTrainee):
    """A `Trainee` for `mpxgat.training.loop.train`, of which every worker has one; all train at the same time.

    net     with the rows of the worker's own nodes in ``tables``
    shares  that every batch is cut into
    """

    def __init__(
        self,
        net: Net,
        plan: Plan,
        parts: ValidationLinks,
        sampler: NegativeSampler,
        stream: Stream,
        owners: Owners,
        tables: Sequence[str],
        shares: int,
    ):
        device = plan.network.device
        super().__init__(net, lambda generator: plan.embed_own(net, owners), parts, sampler, stream, device)
        self._net, self._plan, self._owners, self._shares = net, plan, owners, shares
        self._training = parts.training
        self._judged = [] if parts.links is None or parts.non_links is None else [parts.links, parts.non_links]
        self._tables = {name: net.get_parameter(name) for name in tables}
        self._everyones = [each for name, each in net.named_parameters() if name not in self._tables]

    @property
    def steps(self) -> int:
        """In an epoch, about."""
        return self._plan.steps

    def losses(self, epoch: int) -> Iterator[Tensor]:
        """Every link once; chance comes from the share's own stream."""
        stream, group = self._stream.at(epoch), self._owners.group
        for step, rows in enumerate(self._plan.batches(stream.at(0).numpy())):
            shares = np.array_split(rows, self._shares)
            found = []
            for first in range(0, self._shares, group.size):  # all workers take a turn, if only to answer others
                number = first + group.rank
                mine = shares[number] if number < self._shares else rows[:0]
                found.append(self._gradients(mine, len(rows), stream.at(1, step, number)))
            yield self._step(found)

    def validate(self) -> float | None:
        """As one worker alone would."""
        if not self._judged:
            return None
        own = self._encode(None)
        return auc(*(self._scores(own, pairs) for pairs in self._judged))

    def _gradients(self, rows: NDArray[np.int64], batch: int, stream: Stream) -> _Gradients:
        """Of the mean loss of a batch of so many links, the part that the links of a share have in it."""
        links, rng = self._training[rows].astype(np.int64), stream.at(0).numpy()
        non_links = self._sampler.draw(len(links), rng)
        part = self._plan.around(np.concatenate([links.ravel(), non_links.ravel()]), rng)
        read = self._read(part.nodes)
        if not len(links):
            nothing = torch.zeros(1 + sum(each.numel() for each in self._everyones))
            no_rows = torch.empty(0, sum(each.shape[1] for each in read.values()))
            return _Gradients(nothing, part.nodes[:0], no_rows)

        def net(*inputs: object, generator: torch.Generator | None) -> Tensor:
            given = tuple(OneHot(len(each.nodes)) if isinstance(each, SomeRows) else each for each in inputs)
            result = torch.func.functional_call(self._net, read, given, {"generator": generator})
            return cast(Tensor, result)

        embeddings = self._plan.network.encode(cast(Net, net), part, stream.at(1).torch())
        places = (as_tensor(part.places(pairs), self._device) for pairs in (links, non_links))
        loss = link_loss(embeddings, *places) * (len(links) / batch)
        wanted = [*self._everyones, *read.values()]
        found = torch.autograd.grad(loss, wanted, allow_unused=True)
        full = [torch.zeros_like(each) if grad is None else grad for grad, each in zip(found, wanted, strict=True)]
        dense, tables = full[: len(self._everyones)], full[len(self._everyones) :]
        everyones = torch.cat([loss.detach().view(1), *(grad.flatten() for grad in dense)])
        return _Gradients(everyones, part.nodes, torch.cat(tables, 1) if tables else everyones[:0])

    def _read(self, nodes: Nodes) -> dict[str, Tensor]:
        """The rows of some nodes in every table."""
        if not self._tables:
            return {}
        own = [each.detach() for each in self._tables.values()]
        columns = torch.split(self._owners.fetch(own, nodes), [each.shape[1] for each in own], 1)
        return {name: rows.contiguous().requires_grad_() for name, rows in zip(self._tables, columns, strict=True)}

    def _step(self, found: Sequence[_Gradients]) -> Tensor:
        """The batch's loss, whose backward pass gives every parameter the sum of all shares' gradients."""
        group = self._owners.group
        turns = from_everyone(group, torch.stack([each.everyones for each in found]))
        summed = turns[0][0].clone()
        for number in range(1, self._shares):
            summed += turns[number % group.size][number // group.size]
        sizes = [each.numel() for each in self._everyones]
        gradients = [
            grad.view_as(each) for grad, each in zip(torch.split(summed[1:], sizes), self._everyones, strict=True)
        ]
        pull = torch.stack([(each * grad).sum() for each, grad in zip(self._everyones, gradients, strict=True)]).sum()
        if self._tables:
            pull = pull + self._pull_of_tables(found)
        return pull - pull.detach() + summed[0]

    def _pull_of_tables(self, found: Sequence[_Gradients]) -> Tensor:
        group = self._owners.group
        turn = [np.full(len(each.nodes), place * group.size + group.rank) for place, each in enumerate(found)]
        nodes, rows = np.concatenate([each.nodes for each in found]), torch.cat([each.rows for each in found])
        places, sums = self._owners.add_up(nodes, np.concatenate(turn), rows)
        widths = [each.shape[1] for each in self._tables.values()]
        pull = torch.zeros(())
        for each, grad in zip(self._tables.values(), torch.split(sums, widths, 1), strict=True):
            pull = pull + (table(each, SomeRows(places)) * grad).sum()
        return pull

    def _scores(self, own: Tensor, pairs: NDArray[np.integer]) -> NDArray[np.float32]:
        """Of all pairs, each worker scoring some, if it has the embeddings of its own nodes."""
        group = self._owners.group
        mine = np.array_split(pairs, group.size)[group.rank]
        scores = [own.new_empty(0)]
        for start in range(0, max(-(-len(pairs) // group.size), 1), _PAIRS_AT_ONCE):
            some = mine[start : start + _PAIRS_AT_ONCE]
            nodes, place = np.unique(some, return_inverse=True)
            scores.append(pair_scores(self._owners.fetch([own], nodes), torch.from_numpy(place.reshape(-1, 2))))
        found: NDArray[np.float32] = torch.cat(from_everyone(group, torch.cat(scores))).numpy()
        return found
