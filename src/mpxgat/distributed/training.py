"""Training that workers share: every batch is cut into shares, and each worker computes some of them.

The rows of identity tables (a table has one for each node) live with the workers that own the nodes: a worker asks for
the rows that its share reads, and sends their gradients back. All other parameters are everyone's. Gradients are added
in the order of the shares, so the number of workers changes nothing: one alone computes them one after another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mpxgat.distributed.group import Alone, Group, as_first, from_everyone
from mpxgat.distributed.sharding import Nodes, Owners, embed_own
from mpxgat.errors import TrainingError, printable
from mpxgat.metrics import auc
from mpxgat.nn.mpxgat import Net
from mpxgat.nn.ops import link_loss, pair_scores
from mpxgat.nn.projection import Input, OneHot, SomeRows, table
from mpxgat.training.batches import Plan, encode
from mpxgat.training.checkpoint import Checkpoint, Parameters, TrainingState
from mpxgat.training.links import LinkTrainee, NegativeSampler, Stream, ValidationLinks, as_tensor
from mpxgat.training.loop import EpochReport
from mpxgat.training.parallel import Session

_MOMENTS = ("first", "second", "step")
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


def share(
    net: Net,
    plan: Plan,
    parts: ValidationLinks,
    sampler: NegativeSampler,
    stream: Stream,
    shares: int,
    checkpoint: Checkpoint | None,
    group: Group | None,
) -> tuple[SharedTrainee, SharedCheckpoint | None]:
    """What a worker of a group trains, and where it keeps its state; ``net`` is left with the worker's own rows."""
    tables = table_names(net, plan.network.inputs)
    owners = Owners(plan.network.n_nodes, plan.pieces(), group or Alone())
    keep_own_rows(net, tables, owners)
    trainee = SharedTrainee(net, plan, parts, sampler, stream, owners, tables, shares)
    return trainee, SharedCheckpoint(checkpoint, owners, tables) if checkpoint else None


class SharedPart(Protocol):
    """A network that workers can train together, such as a part of MPXGAT."""

    @property
    def label(self) -> str: ...
    @property
    def file_name(self) -> str: ...
    @property
    def workers(self) -> int: ...
    def learn(
        self, checkpoint: Checkpoint | None, report: Callable[[EpochReport], None], group: Group | None = None
    ) -> Any: ...


def learn_together(parts: Sequence[SharedPart], session: Session, batches: str) -> list[Any]:
    """One part after another by a group of workers; the checkpoints that they leave have what they learned."""
    with TemporaryDirectory() as folder:
        # Workers may start in another folder.
        kept = replace(session, checkpoints=(session.checkpoints or Path(folder)).absolute())
        places = [kept.checkpoint(part.file_name, batch=batches) for part in parts]
        checkpoints = [place for place in places if place is not None]
        if not all(checkpoint.is_finished() for checkpoint in checkpoints):
            workers = min(session.engine.jobs, parts[0].workers)
            session.engine.together(workers, partial(learn_in_group, parts, checkpoints))
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


def learn_in_group(parts: Sequence[SharedPart], checkpoints: Sequence[Checkpoint], group: Group) -> None:
    """What every worker of a group does."""
    for part, checkpoint in zip(parts, checkpoints, strict=True):
        part.learn(checkpoint, lambda report: None, group)


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
        super().__init__(net, lambda generator: embed_own(plan, net, owners), parts, sampler, stream, device)
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

        embeddings = encode(self._plan.network, cast(Net, net), part, stream.at(1).torch())
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


# ---- checkpoints ---------------------------------------------------------------------------------------------------
#
# A file for each worker, and an ordinary one when the training is finished. Every worker writes its rows to a file of
# its own that tells epoch and worker, and removes its last one only after all have written: wherever the group is
# killed, the files of one epoch are complete. A group of any size can read them.


@dataclass(frozen=True)
class SharedCheckpoint:
    """The place of one worker's state, beside the ``whole`` one of a training that is not shared.

    tables      names of the parameters with a row for each node, of which a worker has those of its own
    """

    whole: Checkpoint
    owners: Owners
    tables: Sequence[str]

    def due(self, seconds: float) -> bool:
        """Whether it is time to save, so many seconds after the last time: the first worker decides."""
        return bool(as_first(self.owners.group, int(self.whole.due(seconds))))

    def save(self, state: TrainingState) -> None:
        """Write this worker's part; all of it in one file if the training is finished, or there is no other worker."""
        group = self.owners.group
        in_one = state.finished or group.size == 1
        if in_one:
            gathered = replace(state, parameters=self._gathered(state.parameters))
            if group.rank == 0:
                self.whole.save(gathered)
        else:
            self._file(state.epoch, group.rank, group.size).save(state)
        as_first(group, 0)  # all have written
        for path, epoch, rank, size in self._found():
            mine = rank == group.rank if size == group.size else group.rank == 0
            if mine and (in_one or epoch < state.epoch):
                path.unlink(missing_ok=True)
        if not in_one and group.rank == 0:
            self.whole.path.unlink(missing_ok=True)

    def load(self) -> TrainingState | None:
        """What this worker needs of the latest state that is complete; None if there is none."""
        epoch, size = self._latest()
        state = self.whole.load()
        if state is not None and state.epoch >= epoch:
            return self._own_of([(state, 0, 1)])
        parts = []
        for rank in range(size):
            part = self._file(epoch, rank, size).load()
            assert part is not None, "it was there"
            parts.append((part, rank, size))
        return self._own_of(parts) if parts else None

    def _latest(self) -> tuple[int, int]:
        """Epoch and number of workers of the latest files that are complete, as the first worker sees it, or 0, 0."""
        ranks: dict[tuple[int, int], set[int]] = {}
        for _, epoch, rank, size in self._found():
            ranks.setdefault((epoch, size), set()).add(rank)
        complete = [key for key, found in ranks.items() if len(found) == key[1]]
        epoch, size = max(complete, default=(0, 0))
        return as_first(self.owners.group, epoch), as_first(self.owners.group, size)

    def _own_of(self, parts: Sequence[tuple[TrainingState, int, int]]) -> TrainingState:
        """The state with this worker's rows, taken from those that others, or one alone, have left.

        parts   every worker's state, its number, and how many they were
        """

        def rows_of(tensors: Sequence[Tensor]) -> Tensor:
            if not tensors[0].dim():
                return tensors[0]
            rows = tensors[0].new_empty(len(self.owners.own), *tensors[0].shape[1:])
            for tensor, (_, rank, size) in zip(tensors, parts, strict=True):
                nodes = self.owners.nodes_of(rank, size)
                here = self.owners.worker[nodes] == self.owners.group.rank
                rows[torch.from_numpy(self.owners.place[nodes[here]])] = tensor[torch.from_numpy(here)]
            return rows

        def picked(kind: str) -> Parameters:
            first: Parameters = getattr(like, kind)
            return {
                name: rows_of([getattr(part, kind)[name] for part, *_ in parts]) if self._is_table(name) else value
                for name, value in first.items()
            }

        like = parts[0][0]
        best = None if like.best is None else picked("best")
        return replace(like, parameters=picked("parameters"), moments=picked("moments"), best=best)

    def _gathered(self, parameters: Parameters) -> Parameters:
        """With all rows, at the first worker; others have what they had."""
        group, owners = self.owners.group, self.owners
        found = dict(parameters)
        for name in self.tables:
            own = parameters[name]
            parts = group.swap([own if worker == 0 else own[:0] for worker in range(group.size)])
            if group.rank == 0:
                found[name] = own.new_empty(owners.n_nodes, *own.shape[1:])
                for rank, rows in enumerate(parts):
                    found[name][torch.from_numpy(owners.nodes_of(rank, group.size))] = rows
        return found

    def _is_table(self, name: str) -> bool:
        table, _, moment = name.rpartition(".")
        return name in self.tables or (moment in _MOMENTS and table in self.tables)

    def _file(self, epoch: int, rank: int, size: int) -> Checkpoint:
        path = self.whole.path.with_suffix(f".epoch{epoch}.worker{rank + 1}of{size}.safetensors")
        return replace(self.whole, path=path)

    def _found(self) -> list[tuple[Path, int, int, int]]:
        """All files of parts: path, epoch, worker, number of workers."""
        name = re.compile(re.escape(self.whole.path.stem) + r"\.epoch(\d+)\.worker(\d+)of(\d+)\.safetensors")
        found = []
        for path in self.whole.path.parent.glob(f"{self.whole.path.stem}.epoch*"):
            if match := name.fullmatch(path.name):
                epoch, number, size = map(int, match.groups())
                found.append((path, epoch, number - 1, size))
        return found
