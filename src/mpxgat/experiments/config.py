"""Fields of a TOML table, taken one by one; what is missing, of the wrong type or left over is named with its place."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from mpxgat import datasets, io
from mpxgat.errors import DatasetError, InputError, MpxgatError, SettingError, quoted
from mpxgat.experiments.records import CellKey, cell_key
from mpxgat.graph import MultiplexGraph
from mpxgat.io.files import read_toml
from mpxgat.splits import check_protocol
from mpxgat.synthetic import social

_REQUIRED: Any = object()


class Fields:
    """The fields of one table. ``place`` says where it is in the file, such as "cell 3"; "" for the top."""

    def __init__(self, values: Mapping[str, Any], path: Path, place: str):
        self.values = values
        self.place = place
        self._path = path
        self._taken: set[str] = set()

    def problem(self, message: str) -> InputError:
        """An error at this place, to be raised."""
        return InputError(f"{self.place}: {message}" if self.place else message, self._path)

    @contextmanager
    def at_this_place(self) -> Iterator[None]:
        """What goes wrong in the block goes wrong at this place."""
        try:
            yield
        except MpxgatError as problem:
            raise self.problem(str(problem)) from None

    def text(self, name: str, default: str = _REQUIRED) -> str:
        """A text."""
        return str(self._take(name, default, _is_text, "a text"))

    def optional_text(self, name: str) -> str | None:
        """A text, or None without the field."""
        return self.text(name) if self._has(name) else None

    def whole(self, name: str, default: int = _REQUIRED) -> int:
        """A whole number from 1 to 2³¹ - 1."""
        return int(self._take(name, default, lambda v: type(v) is int and 1 <= v < 2**31, "a whole number from 1 on"))

    def optional_whole(self, name: str) -> int | None:
        """Such a whole number, or None without the field."""
        return self.whole(name) if self._has(name) else None

    def optional_number(self, name: str) -> float | None:
        """A number, or None without the field."""
        return float(self._take(name, _REQUIRED, _is_number, "a number")) if self._has(name) else None

    def texts(self, name: str, default: Sequence[str] = _REQUIRED) -> list[str]:
        """A list of texts."""
        return list(self._take(name, default, lambda v: _all(v, _is_text), "a list of texts"))

    def numbers(self, name: str, default: Sequence[float] = _REQUIRED) -> list[int | float]:
        """A list of numbers, as they are written."""
        return list(self._take(name, default, lambda v: _all(v, _is_number), "a list of numbers"))

    def table(self, name: str) -> Fields:
        """A table; without fields if there is none."""
        value = self._take(name, {}, lambda v: isinstance(v, dict), "a table")
        return Fields(value, self._path, f"{self.place}, {name}" if self.place else name)

    def tables(self, name: str) -> list[Fields]:
        """A list of tables, their places counted from 1."""
        rows = self._take(name, [], lambda v: _all(v, lambda x: isinstance(x, dict)), f"tables [[{name}]]")
        return [Fields(row, self._path, f"{name} {number}") for number, row in enumerate(rows, 1)]

    def subtables(self) -> dict[str, Fields]:
        """All fields, each of them a table."""
        return {name: self.table(name) for name in self.values}

    def finish(self) -> None:
        """InputError for a field that nobody took."""
        for name in self.values:
            if name not in self._taken:
                raise self.problem(f"no field {quoted(name)} is known here; known are {', '.join(sorted(self._taken))}")

    def _has(self, name: str) -> bool:
        self._taken.add(name)
        return name in self.values

    def _take(self, name: str, default: Any, fits: Callable[[Any], bool], expected: str) -> Any:
        if not self._has(name):
            if default is _REQUIRED:
                raise self.problem(f"no field {quoted(name)}, expected {expected}")
            return default
        value = self.values[name]
        if not fits(value):
            raise self.problem(f"{name} is {quoted(value)}, expected {expected}")
        return value


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    if isinstance(value, int):
        return not isinstance(value, bool) and abs(value) <= sys.float_info.max
    return isinstance(value, float)


def _all(values: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(values, list) and all(fits(value) for value in values)


# The graph of a cell (a data set, its largest layers, or a planted network) and its label in a record.
#
# Labels: ``arxiv``, ``arxiv[top 3 layers]``, ``social(people=600,overlap=0.5)``. This file alone writes and reads them.


TOP_LAYERS = "top_layers"
_TOP = re.compile(r"(?P<dataset>.+)\[top (?P<layers>\d+) layers\]")
_PLANTED = re.compile(r"social\((?P<arguments>(\w+=[-+.\de]+,?)*)\)")
_ARGUMENTS = {name: p.default for name, p in inspect.signature(social).parameters.items() if name != "seed"}
_PEOPLE_OF_A_TRIAL = 200


@dataclass(frozen=True)
class GraphSpec:
    """What graph a cell is about.

    dataset     a data set's name or a file; None for a planted network
    top_layers  only so many layers, those with the most nodes, and of them the largest connected component
    planted     arguments of `mpxgat.synthetic.social` besides the seed, in its order; the cell's seed plants it
    """

    dataset: str | None = None
    top_layers: int | None = None
    planted: tuple[tuple[str, int | float], ...] = ()

    @classmethod
    def of_social(cls, arguments: Mapping[str, object]) -> GraphSpec:
        """A planted network; SettingError for an argument that `social` does not have or take."""
        values: dict[str, int | float] = {}
        for name, value in arguments.items():
            if name not in _ARGUMENTS:
                raise SettingError(f"social has no argument {quoted(name)}; known are {', '.join(_ARGUMENTS)}")
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise SettingError(f"{name} is {quoted(value)}, expected a number")
            values[name] = float(value) if isinstance(_ARGUMENTS[name], float) else value
        return cls(planted=tuple((name, values[name]) for name in _ARGUMENTS if name in values))

    @classmethod
    def parse(cls, label: str) -> GraphSpec:
        """The graph that a label stands for; SettingError for a planted network with arguments that are none."""
        if match := _PLANTED.fullmatch(label):
            parts = [part.split("=") for part in match["arguments"].split(",") if part]
            try:
                return cls.of_social({name: int(text) if text.isdigit() else float(text) for name, text in parts})
            except ValueError:
                raise SettingError(f"no graph is called {quoted(label)}, expected such as social(people=600)") from None
        if match := _TOP.fullmatch(label):
            return cls(match["dataset"], int(match["layers"]))
        return cls(label)

    @property
    def label(self) -> str:
        """The same text for the same graph."""
        if self.dataset is None:
            return f"social({','.join(f'{name}={value}' for name, value in self.planted)})"
        return self.dataset if self.top_layers is None else f"{self.dataset}[top {self.top_layers} layers]"

    @property
    def is_whole_dataset(self) -> bool:
        """Whether this is a data set or file as it is."""
        return self.dataset is not None and self.top_layers is None

    def varied(self, argument: str, value: int | float) -> GraphSpec:
        """The graph with another number of layers (``top_layers``) or another argument of `social`."""
        if self.dataset is None:
            return self.of_social({**dict(self.planted), argument: value})
        if argument != TOP_LAYERS or isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise SettingError(
                f"{argument} = {value} on a data set, expected {TOP_LAYERS} and a whole number from 1 on"
            )
        return replace(self, top_layers=value)

    def check(self) -> None:
        """DatasetError or SettingError for a graph that there cannot be; reads no data."""
        if self.dataset is None:
            arguments = dict(self.planted)
            few = max(_PEOPLE_OF_A_TRIAL, 2 * int(arguments.get("communities", 0)))
            arguments["people"] = min(arguments.get("people", _ARGUMENTS["people"]), few)
            social(**arguments)  # type: ignore[arg-type]  # it checks its arguments itself
        elif not _is_path(self.dataset):
            datasets.dataset(self.dataset)
        elif not Path(self.dataset).is_file():
            raise DatasetError(f"no file {quoted(self.dataset, 300)}, expected one, or a data set's name")

    def load(self, seed: int) -> MultiplexGraph:
        """Read the data, or plant the network with a seed."""
        if self.dataset is None:
            return social(seed=seed, **dict(self.planted))  # type: ignore[arg-type]
        graph = io.read(self.dataset) if _is_path(self.dataset) else datasets.load(self.dataset)
        return graph if self.top_layers is None else largest_layers(graph, self.top_layers)


@lru_cache(maxsize=4)  # cells go seed by seed, and each comes back to the same few data sets
def load_graph(label: str, seed: int) -> MultiplexGraph:
    """The graph of a cell. The seed matters to planted networks only."""
    spec = GraphSpec.parse(label)
    if spec.dataset is not None and seed:
        return load_graph(label, 0)
    return spec.load(seed)


def largest_layers(graph: MultiplexGraph, count: int) -> MultiplexGraph:
    """The ``count`` layers with the most nodes (the first among equals), their largest connected component."""
    if not 1 <= count <= graph.n_layers:
        raise SettingError(f"{TOP_LAYERS} is {count}, expected 1 to {graph.n_layers}, the layers of the data set")
    chosen = np.argsort(-np.diff(graph.layer_start), kind="stable")[:count]
    return graph.subgraph(np.isin(graph.node_layer, chosen)).largest_component()


def _is_path(text: str) -> bool:
    return "/" in text or "\\" in text or bool(Path(text).suffix)


# An experiment as values: cells (model, graph, settings, published figure), seeds, and a smaller version of it.


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
        from mpxgat.models.mpxgat import PUBLISHED

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


# Experiments from TOML files, whose cells say model, graph, settings and the published figure.
#
# `read_config` reads a file and says what is wrong with its shape; `check_experiment` asks models and data sets whether
# they know what it names. Both name the file and the cell. docs/experiments.md explains the fields.


CONFIGS = Path(__file__).parent / "configs"  # part of the package, so that an installed one has them too
_KINDS = ("intra", "inter", "overall")
_SCALES = ("linear", "log")
_MOST_SEEDS = 10_000


def read_config(path: Path) -> Experiment:
    """The experiment in a TOML file; InputError names file, cell and field of what does not fit."""
    top = Fields(read_toml(path), path, "")
    title = top.text("title")
    protocol = top.text("protocol", "marked")
    seeds = _seeds(top, 5)
    measures = tuple(top.texts("measures", ("intra", "inter")))
    sweep_fields = top.table("sweep")
    entries = top.tables("cell")
    graphs = top.tables("graph")
    quick_fields = top.table("quick")
    top.finish()
    if not entries:
        raise top.problem("no [[cell]], expected at least one")
    for measure in measures:
        if measure.partition(".")[0] not in _KINDS:
            raise top.problem(
                f"the measure {quoted(measure)}, expected one of {', '.join(_KINDS)}, or such as inter.mrr"
            )
    if bool(sweep_fields.values) != bool(graphs):
        raise top.problem("[sweep] and [[graph]] stand together, found only one of them")
    sweep = _sweep(sweep_fields) if graphs else None
    cells = _swept_cells(entries, graphs, sweep) if sweep else [_cell(entry, _graph(entry)) for entry in entries]
    quick = _quick(quick_fields, {cell.model for cell in cells})
    experiment = Experiment(path, title, protocol, tuple(range(seeds)), measures, tuple(cells), sweep, quick)
    with quick_fields.at_this_place():
        if not experiment.quick_version().cells:
            raise SettingError("it leaves no cell, expected data sets and values of the experiment")
    return experiment


def _seeds(fields: Fields, default: int) -> int:
    seeds = fields.whole("seeds", default)
    if seeds > _MOST_SEEDS:
        raise fields.problem(f"seeds is {seeds}, expected at most {_MOST_SEEDS}")
    return seeds


def _sweep(fields: Fields) -> Sweep:
    sweep = Sweep(fields.text("argument"), fields.text("label"), fields.text("scale", _SCALES[0]))
    if sweep.scale not in _SCALES:
        raise fields.problem(f"scale is {quoted(sweep.scale)}, expected {' or '.join(_SCALES)}")
    fields.finish()
    return sweep


def _quick(fields: Fields, models: Container[str]) -> Quick:
    quick = Quick(
        seeds=_seeds(fields, Quick.seeds),
        datasets=tuple(fields.texts("datasets", ())),
        values=tuple(fields.numbers("values", ())),
        social=fields.table("social").values,
        settings={model: dict(table.values) for model, table in fields.table("settings").subtables().items()},
    )
    fields.finish()
    for model in quick.settings:
        if model not in models:
            raise fields.problem(f"settings of {quoted(model)}, which is no model of a cell")
    return quick


def _graph(fields: Fields) -> GraphSpec:
    """``dataset`` (with ``top_layers``, if given) or ``social``."""
    planted = fields.table("social").values
    if planted:
        with fields.at_this_place():
            return GraphSpec.of_social(planted)
    return GraphSpec(fields.text("dataset"), fields.optional_whole(TOP_LAYERS))


def _swept_cells(entries: Sequence[Fields], graphs: Sequence[Fields], sweep: Sweep) -> list[Cell]:
    """Every cell on every graph at every value."""
    specs = []
    for fields in graphs:
        base, values = _graph(fields), fields.numbers("values")
        fields.finish()
        with fields.at_this_place():
            specs += [(base.varied(sweep.argument, value), value) for value in values]
    models = [_cell(entry, GraphSpec()) for entry in entries]
    return [replace(cell, graph=graph, x=float(value)) for graph, value in specs for cell in models]


def _cell(fields: Fields, graph: GraphSpec) -> Cell:
    model = fields.text("model")
    cell = Cell(
        place=fields.place,
        graph=graph,
        model=model,
        label=fields.text("label", model),
        published=fields.optional_text("published"),
        settings=dict(fields.table("settings").values),
        figures=_figures(fields.table("figures")),
        against=fields.optional_text("against"),
        published_p=fields.optional_number("published_p"),
    )
    fields.finish()
    return cell


def _figures(fields: Fields) -> dict[str, Figure]:
    figures = {}
    for measure in list(fields.values):
        numbers = fields.numbers(measure)
        if len(numbers) not in (1, 2):
            raise fields.problem(f"{measure} has {len(numbers)} numbers, expected [mean] or [mean, standard deviation]")
        figures[measure] = Figure(*map(float, numbers))
    return figures


# ---- checking --------------------------------------------------------------------------------------------


def check_experiment(experiment: Experiment) -> None:
    """InputError that names file and cell for a protocol, model, setting, data set or comparison that there is not."""
    try:
        check_protocol(experiment.protocol)
    except SettingError as problem:
        raise InputError(str(problem), experiment.path) from None
    for cell in experiment.cells:
        try:
            cell.graph.check()
            cell.key(experiment.protocol, 0)
        except MpxgatError as problem:
            raise InputError(f"{_described(cell)}: {problem}", experiment.path) from None
    _check_comparisons(experiment.cells, experiment.path)


def _check_comparisons(cells: Sequence[Cell], path: Path) -> None:
    """No cell stands twice, and every ``against`` is there."""
    labels = [(cell.graph, cell.label) for cell in cells]
    for cell in cells:
        if labels.count((cell.graph, cell.label)) > 1:
            raise InputError(f"{_described(cell)}: two cells of this name, expected a label of its own for each", path)
        if cell.against is not None and (cell.graph, cell.against) not in labels:
            raise InputError(
                f"{_described(cell)}: against {quoted(cell.against)}, which is no cell on this graph", path
            )


def _described(cell: Cell) -> str:
    return f"{cell.place} ({cell.label} on {cell.graph.label})"
