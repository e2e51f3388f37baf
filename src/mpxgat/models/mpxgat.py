"""MPXGAT: graph attention within every layer, then across layers.

First MPXGAT-H of each layer learns that layer's intra links. Its embeddings are frozen, rows scaled to length 1, and
feed MPXGAT-V, which learns the inter links. Dot products of horizontal embeddings predict intra links, of vertical
ones inter links.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mpxgat.arrays import Arrays
from mpxgat.errors import SettingError, TrainingError, printable, quoted
from mpxgat.graph import MultiplexGraph
from mpxgat.models.batch_plans import Net
from mpxgat.models.batch_sizes import NOTE, batch_sizes, sizes_text
from mpxgat.models.embedding import EmbeddingModel
from mpxgat.models.mpxgat_parts import LayerPart, VerticalPart
from mpxgat.models.mpxgat_settings import PUBLISHED, MPXGATSettings
from mpxgat.models.part import Part, Trained, chosen_device
from mpxgat.nn.neighbourhood import Neighbourhood
from mpxgat.training.checkpoint import Checkpoint
from mpxgat.training.group import Group
from mpxgat.training.loop import EpochReport, Outcome
from mpxgat.training.session import Session
from mpxgat.training.side_by_side import at_once, is_worth_workers, result_of

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
        if name not in PUBLISHED:
            raise SettingError(f"no published settings for {quoted(name)}; known are {', '.join(PUBLISHED)}")
        return cls(seed=seed, **{**PUBLISHED[name], **settings})

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
