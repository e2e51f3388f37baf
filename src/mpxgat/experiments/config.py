"""Experiments from TOML files, whose cells say model, graph, settings and the published figure.

`read_config` reads a file and says what is wrong with its shape; `check_experiment` asks models and data sets whether
they know what it names. Both name the file and the cell. docs/experiments.md explains the fields.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from pathlib import Path

from mpxgat.errors import InputError, MpxgatError, SettingError, quoted
from mpxgat.experiments.experiment import Cell, Experiment, Figure, Quick, Sweep
from mpxgat.experiments.fields import Fields
from mpxgat.experiments.graphs import TOP_LAYERS, GraphSpec
from mpxgat.io.toml_files import read_toml
from mpxgat.splits import check_protocol

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
