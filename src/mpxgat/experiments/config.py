"""Experiments: cells (model, graph, settings, published figure) and seeds, from TOML files.

`read_config` reads a file and says what is wrong with its shape; `check_experiment` asks models and data sets whether
they know what it names. Both name the file and the cell. docs/experiments.md explains the fields.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mpxgat.errors import InputError, MpxgatError, SettingError, quoted
from mpxgat.experiments.graphs import TOP_LAYERS, GraphSpec
from mpxgat.experiments.records import CellKey, cell_key
from mpxgat.io.files import read_toml
from mpxgat.models.base import check_imported
from mpxgat.splits import protocol_text

CONFIGS = Path(__file__).parent / "configs"  # part of the package, so that an installed one has them too
_KINDS = ("intra", "inter", "overall")
_RANKED_WAYS = ("forward", "backward")  # which have no AUC
_SCALES = ("linear", "log")
_MOST_SEEDS = 10_000
QUICK_FIRST_SEED = 100  # a quick look is no report: it leaves the seeds for reporting alone
_REQUIRED: Any = object()


@dataclass(frozen=True)
class PublishedFigure:
    """A published mean and, where printed, its standard deviation."""

    mean: float
    std: float | None = None

    def text(self) -> str:
        """As the paper prints it."""
        return f"{self.mean:.2f}" + (f" ± {self.std:.2f}" if self.std is not None else "")


@dataclass(frozen=True)
class Cell:
    """A model on a graph, for every seed.

    place           of the cell in the file, for messages
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
    figures: Mapping[str, PublishedFigure] = field(default_factory=dict)
    against: str | None = None
    published_p: float | None = None
    x: float | None = None

    def all_settings(self) -> dict[str, Any]:
        """Published settings, if any, and those of the cell."""
        if self.published is None:
            return dict(self.settings)
        from mpxgat.models.mpxgat import published_settings

        return {**published_settings(self.published), **self.settings}

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

    def only(self, names: Sequence[str]) -> Experiment:
        """The cells of these data sets."""
        return replace(self, cells=tuple(cell for cell in self.cells if cell.graph.dataset in names))

    def with_model(self, name: str) -> Experiment:
        """With one more model on every graph, at its defaults, below the others; one that is there stays as it is."""
        cells: list[Cell] = []
        for (graph, x), group in _by_graph(self.cells).items():
            cells += group
            if not any(cell.label == name for cell in group):
                cells.append(Cell(f"--model {name}", graph, name, name, x=x))
        return replace(self, cells=tuple(cells))

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


def _by_graph(cells: Sequence[Cell]) -> dict[tuple[GraphSpec, float | None], list[Cell]]:
    groups: dict[tuple[GraphSpec, float | None], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.graph, cell.x), []).append(cell)
    return groups


def _quick_cell(cell: Cell, quick: Quick) -> Cell:
    graph = cell.graph
    if graph.dataset is None:
        graph = GraphSpec.of_social({**dict(graph.planted), **quick.social})
    untrained = {"epochs": 0} if cell.settings.get("epochs") == 0 else {}  # stays so
    settings = {**cell.settings, **quick.settings.get(cell.model, {}), **untrained}
    return replace(cell, graph=graph, settings=settings)


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


def read_config(path: Path) -> Experiment:
    """The experiment in a TOML file; InputError names file, cell and field of what does not fit."""
    top = Fields(read_toml(path), path, "")
    title = top.text("title")
    protocol = _protocol(top)
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
        kind, _, name = measure.partition(".")
        if kind not in (*_KINDS, *_RANKED_WAYS) or (kind in _RANKED_WAYS and not name):
            raise top.problem(
                f"the measure {quoted(measure)}, expected one of {', '.join(_KINDS)}, or such as inter.mrr, forward.mrr"
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


def _protocol(fields: Fields) -> str:
    """The protocol's text, as results are on record under: ``known`` is the share of known units, of anchors."""
    name, known = fields.text("protocol", "marked"), fields.optional_number("known")
    with fields.at_this_place():
        return protocol_text(name, known)


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


def _figures(fields: Fields) -> dict[str, PublishedFigure]:
    figures = {}
    for measure in list(fields.values):
        numbers = fields.numbers(measure)
        if len(numbers) not in (1, 2):
            raise fields.problem(f"{measure} has {len(numbers)} numbers, expected [mean] or [mean, standard deviation]")
        figures[measure] = PublishedFigure(*map(float, numbers))
    return figures


def check_experiment(experiment: Experiment) -> None:
    """InputError that names file and cell for a model, setting, data set or comparison that there is not."""
    for cell in experiment.cells:
        try:
            cell.graph.check()
            check_imported(cell.model)
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


class Fields:
    """The fields of one TOML table, read one by one; what is missing, of the wrong type or left over is named.

    ``place`` says where the table is in the file, such as "cell 3"; "" for the top.
    """

    def __init__(self, values: Mapping[str, Any], path: Path, place: str):
        self.values = values
        self.place = place
        self._path = path
        self._known: set[str] = set()

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
        return str(self._value(name, default, _is_text, "a text"))

    def optional_text(self, name: str) -> str | None:
        """A text, or None without the field."""
        return self.text(name) if self._has(name) else None

    def whole(self, name: str, default: int = _REQUIRED) -> int:
        """A whole number from 1 to 2³¹ - 1."""
        return int(self._value(name, default, lambda v: type(v) is int and 1 <= v < 2**31, "a whole number from 1 on"))

    def optional_whole(self, name: str) -> int | None:
        """Such a whole number, or None without the field."""
        return self.whole(name) if self._has(name) else None

    def number(self, name: str) -> float:
        """A number."""
        return float(self._value(name, _REQUIRED, _is_number, "a number"))

    def optional_number(self, name: str) -> float | None:
        """A number, or None without the field."""
        return self.number(name) if self._has(name) else None

    def texts(self, name: str, default: Sequence[str] = _REQUIRED) -> list[str]:
        """A list of texts."""
        return list(self._value(name, default, lambda v: _all(v, _is_text), "a list of texts"))

    def numbers(self, name: str, default: Sequence[float] = _REQUIRED) -> list[int | float]:
        """A list of numbers, as they are written."""
        return list(self._value(name, default, lambda v: _all(v, _is_number), "a list of numbers"))

    def table(self, name: str) -> Fields:
        """A table; without fields if there is none."""
        value = self._value(name, {}, lambda v: isinstance(v, dict), "a table")
        return Fields(value, self._path, f"{self.place}, {name}" if self.place else name)

    def tables(self, name: str) -> list[Fields]:
        """A list of tables, their places counted from 1."""
        rows = self._value(name, [], lambda v: _all(v, lambda x: isinstance(x, dict)), f"tables [[{name}]]")
        return [Fields(row, self._path, f"{name} {number}") for number, row in enumerate(rows, 1)]

    def subtables(self) -> dict[str, Fields]:
        """All fields, each of them a table."""
        return {name: self.table(name) for name in self.values}

    def finish(self) -> None:
        """InputError for a field that was not read."""
        for name in self.values:
            if name not in self._known:
                raise self.problem(f"no field {quoted(name)} is known here; known are {', '.join(sorted(self._known))}")

    def _has(self, name: str) -> bool:
        self._known.add(name)
        return name in self.values

    def _value(self, name: str, default: Any, fits: Callable[[Any], bool], expected: str) -> Any:
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
