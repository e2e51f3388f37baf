"""`Part`: a network that is trained by itself, in full batch or in batches of links.

A part is a plain value (it can be sent to another process) that knows its links, inputs and settings.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mpxgat.errors import SettingError, quoted
from mpxgat.models.batch_plans import BatchTrainee, Net, Network, Plan
from mpxgat.models.link_training import LinkTrainee, NegativeSampler, Stream, ValidationLinks, cut_validation
from mpxgat.models.mpxgat_settings import MPXGATSettings
from mpxgat.models.shared_training import SharedTrainee, keep_own_rows, table_names
from mpxgat.nn.neighbourhood import Neighbourhood
from mpxgat.nn.stack import Widths
from mpxgat.nn.transform import Input, OneHot
from mpxgat.training.checkpoint import Checkpoint, Parameters
from mpxgat.training.group import Alone, Group
from mpxgat.training.loop import EpochReport, Outcome, Place, Schedule, train
from mpxgat.training.memory import batch_bytes, listed_bytes, rows_bytes, training_bytes
from mpxgat.training.owners import Owners
from mpxgat.training.shared_checkpoint import SharedCheckpoint

_CUT, _START, _EPOCHS = range(3)  # what random numbers are for
_FAR, _SMALL = 4, 1 << 20  # how much larger a network may seem than its parameters: times, and bytes


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

    def learn(
        self, checkpoint: Checkpoint | None, report: Callable[[EpochReport], None], group: Group | None = None
    ) -> Trained:
        """Train with early stopping on links cut from ``links``.

        group   of workers that all call this with the same, if it is shared; only where one is alone the result has
                the parameters of all nodes, elsewhere the checkpoint has them in the end
        """
        device = chosen_device(self.settings.device)
        sampler = self.sampler()
        parts = cut_validation(self.links, self.settings.validation, sampler, self._stream(_CUT).numpy())
        net, schedule = self.new_net().to(device), self.schedule
        network = self.network(parts.training_rows, device)
        trainee: LinkTrainee
        place: Place | None = checkpoint
        if self.is_shared:
            trainee, place = self._shared(net, network, parts, checkpoint, group or Alone())
            schedule = schedule.in_batches(trainee.steps)
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

    def _shared(
        self, net: Net, network: Network, parts: ValidationLinks, checkpoint: Checkpoint | None, group: Group
    ) -> tuple[SharedTrainee, SharedCheckpoint | None]:
        """What a worker of a group trains, and where it keeps its state; ``net`` is left with the worker's own rows."""
        assert self.batch is not None
        plan, tables = self.plan(network, self.batch), table_names(net, network.inputs)
        owners = Owners(self.n_nodes, plan.pieces(), group)
        keep_own_rows(net, tables, owners)
        stream, shares = self._stream(_EPOCHS), self.settings.shares
        trainee = SharedTrainee(net, plan, parts, self.sampler(), stream, owners, tables, shares)
        return trainee, SharedCheckpoint(checkpoint, owners, tables) if checkpoint else None

    def net(self, parameters: Parameters) -> Net:
        """The network with learned parameters, ready to embed; ValueError, before it is made, if they are too few."""
        found = sum(4 * tensor.numel() for tensor in parameters.values())
        if self.learned_bytes() > _FAR * found + _SMALL:
            raise ValueError(f"{found} bytes of parameters, expected about {self.learned_bytes()} for these settings")
        net = self.new_net()
        net.load_state_dict(parameters)
        return net.eval()

    @torch.no_grad()
    def embed(self, net: Net) -> NDArray[np.float32]:
        """(n, out) embeddings; all links carry messages, dropout is off."""
        network = self.network(None, torch.device("cpu"))
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


def chosen_device(name: str) -> torch.device:
    """The device of that name; SettingError if there is none on this machine."""
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError):
        raise SettingError(f"device is {quoted(name)}, expected one that is there, such as cpu") from None
    return device
