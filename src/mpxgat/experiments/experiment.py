"""An experiment as values: cells (model, graph, settings, published figure), seeds, and a smaller version of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mpxgat.errors import SettingError, quoted
from mpxgat.experiments.cells import cell_key
from mpxgat.experiments.graphs import GraphSpec
from mpxgat.experiments.records import CellKey

QUICK_FIRST_SEED = 100  # a quick look is no report: it leaves the seeds for reporting alone


@dataclass(frozen=True)
class Figure:
    """A published mean and, where printed, its standard deviation."""

    mean: float
    std: float | None = None

    def text(self) -> str:
        """As the paper prints it."""
        return f"{self.mean:.2f}" + (f" ± {self.std:.2f}" if self.std is not None else "")


@dataclass(frozen=True)
class Cell:
    """A model on a graph, for every seed.

    place           where it stands in the file, for messages
    published       the data set whose published settings it begins with; ``settings`` take their place
    figures         published figures by measure
    against         label of the cell on the same graph whose mean a Welch test compares with; ``published_p`` its p
    x               value of a sweep's argument
    """

    place: str
    graph: GraphSpec
    model: str
    label: str
    published: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    figures: Mapping[str, Figure] = field(default_factory=dict)
    against: str | None = None
    published_p: float | None = None
    x: float | None = None

    def all_settings(self) -> dict[str, Any]:
        """Published settings, if any, and those of the cell."""
        from mpxgat.models.mpxgat_settings import PUBLISHED

        if self.published is not None and self.published not in PUBLISHED:
            raise SettingError(f"no published settings for {quoted(self.published)}; known are {', '.join(PUBLISHED)}")
        return {**(PUBLISHED[self.published] if self.published else {}), **self.settings}

    def key(self, protocol: str, seed: int) -> CellKey:
        """What its result is on record under: the same as `mpxgat record` makes."""
        return cell_key(self.graph.label, protocol, self.model, self.all_settings(), seed)


@dataclass(frozen=True)
class Sweep:
    """A graph's argument that takes one value after another; name and scale ("linear", "log") of a chart's axis."""

    argument: str
    label: str
    scale: str


@dataclass(frozen=True)
class Quick:
    """A smaller version: other seeds, only these data sets or values, a smaller planted network, other settings."""

    seeds: int = 1
    datasets: tuple[str, ...] = ()
    values: tuple[float, ...] = ()
    social: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """A table or a study. ``note`` says what a reader must know of this version."""

    path: Path
    title: str
    protocol: str
    seeds: tuple[int, ...]
    measures: tuple[str, ...]
    cells: tuple[Cell, ...]
    sweep: Sweep | None
    quick: Quick
    note: str = ""

    @property
    def name(self) -> str:
        """The file's name without suffix."""
        return self.path.stem

    def cell_keys(self) -> list[CellKey]:
        """Every cell for every seed, seed by seed: stopped early, each cell has had its turn."""
        return [cell.key(self.protocol, seed) for seed in self.seeds for cell in self.cells]

    def with_seeds(self, first: int, count: int) -> Experiment:
        """The same on other seeds."""
        return replace(self, seeds=tuple(range(first, first + count)))

    def only(self, wanted: Sequence[str]) -> Experiment:
        """The cells of these data sets."""
        return replace(self, cells=tuple(cell for cell in self.cells if cell.graph.dataset in wanted))

    def quick_version(self) -> Experiment:
        """The smaller version that the file describes, with a note that says in what it is smaller."""
        quick = self.quick
        kept = [
            cell
            for cell in self.cells
            if (not quick.datasets or cell.graph.dataset in quick.datasets)
            and (not quick.values or cell.x in quick.values)
        ]
        cells = tuple(_quick_cell(cell, quick) for cell in kept)
        smaller = replace(self, title=f"{self.title} (quick version)", note=_quick_note(quick, cells), cells=cells)
        return smaller.with_seeds(QUICK_FIRST_SEED, quick.seeds)


def _quick_cell(cell: Cell, quick: Quick) -> Cell:
    graph = cell.graph
    if graph.dataset is None:
        graph = GraphSpec.of_social({**dict(graph.planted), **quick.social})
    return replace(cell, graph=graph, settings={**cell.settings, **quick.settings.get(cell.model, {})})


def _quick_note(quick: Quick, cells: Sequence[Cell]) -> str:
    words = []
    if quick.datasets:
        words.append(f"only {', '.join(quick.datasets)}")
    if quick.social:
        words.append(f"smaller networks ({_assignments(quick.social)})")
    models: dict[str, list[str]] = {}  # by their settings: what several models share is said once
    for model in dict.fromkeys(cell.model for cell in cells if cell.model in quick.settings):
        models.setdefault(_assignments(quick.settings[model]), []).append(model)
    words += [f"{', '.join(names)} with {settings}" for settings, names in models.items()]
    return f"Quick version, not for reporting: {'; '.join(words) or 'fewer seeds'}."


def _assignments(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in settings.items())
