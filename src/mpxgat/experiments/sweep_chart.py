"""The chart of a sweep: AUC within and between layers over the swept value, a line for each model.

Drawn by matplotlib, an optional dependency: charts are for print and web alike, and it writes SVG and PNG of the same
figure with nothing else installed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpxgat.errors import MissingExtraError, OutputError, printable
from mpxgat.experiments.config import Experiment
from mpxgat.experiments.tables import ResultsTable
from mpxgat.io.files import write_files

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which people with any kind of sight tell apart. The rules are the black yardstick.
_STYLES: Mapping[str, Mapping[str, Any]] = {
    "rules": {"color": "#000000", "marker": "s", "linestyle": "--"},
    "mpxgat": {"color": "#D55E00", "marker": "o", "linewidth": 2.2},
    "multiplexsage": {"color": "#0072B2", "marker": "^"},
    "graphsage": {"color": "#56B4E9", "marker": "D"},
    "gatne": {"color": "#009E73", "marker": "v"},
}
_OTHER_STYLES: Sequence[Mapping[str, Any]] = (
    {"color": "#CC79A7", "marker": "P"},
    {"color": "#E69F00", "marker": "X"},
    {"color": "#777777", "marker": "*"},
)
_PANEL_WIDTH, _PANEL_HEIGHT, _HEAD = 4.6, 3.2, 1.1  # inches
_DODGE = 0.006  # of the axis, between the lines of neighbouring models: whiskers stand side by side
_DOTS_PER_INCH = 150
_TOP = 1.02  # room for a marker at 1


def require_plots() -> None:
    """MissingExtraError unless matplotlib is installed."""
    if find_spec("matplotlib") is None:
        raise MissingExtraError("matplotlib", "plots", "drawing charts")


def write_chart(experiment: Experiment, table: ResultsTable, folder: Path) -> list[Path]:
    """Write ``NAME.svg`` and ``NAME.png`` from the values of a sweep's table; the same values give the same bytes."""
    from matplotlib import rc_context

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise OutputError(f"{printable(folder, 300)}: cannot make it: {printable(problem.strerror)}") from None
    with rc_context({"svg.hashsalt": experiment.name, "font.size": 9.5, "axes.titlesize": 10.5}):
        figure = draw(experiment, table)
        svg, png = (folder / f"{experiment.name}.{suffix}" for suffix in ("svg", "png"))
        return write_files(
            {
                svg: lambda path: figure.savefig(path, format="svg", metadata={"Date": None}),
                png: lambda path: figure.savefig(path, format="png", dpi=_DOTS_PER_INCH),
            }
        )


def draw(experiment: Experiment, table: ResultsTable) -> Figure:
    """A row of panels for each graph, a panel for each measure."""
    from matplotlib.figure import Figure

    assert experiment.sweep is not None
    graphs = list(dict.fromkeys(cell.graph.dataset for cell in experiment.cells))
    rows, columns = len(graphs), len(experiment.measures)
    size = (_PANEL_WIDTH * columns, _PANEL_HEIGHT * rows + _HEAD)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False, sharey="row")
    for graph, line in zip(graphs, panels, strict=True):
        values = [v for v, cell in zip(table.values, experiment.cells, strict=True) if cell.graph.dataset == graph]
        for measure, axes in zip(experiment.measures, line, strict=True):
            _panel(axes, values, measure, log=experiment.sweep.scale == "log")
            axes.set_title(", ".join(filter(None, (graph, _KINDS.get(measure, measure)))), loc="left")
            axes.set_xlabel(experiment.sweep.label)
        line[0].set_ylabel("AUC of hidden links")
        line[0].set_ylim(top=_TOP)  # when all panels of the row are drawn: it ends their common scaling
    spread = f"mean ± standard deviation of {len(experiment.seeds)} seeds" if len(experiment.seeds) > 1 else "one seed"
    figure.suptitle(f"{experiment.title}: {spread}", x=0.01, ha="left", fontsize=11)
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure


_KINDS = {"intra": "links within a layer", "inter": "links between layers"}


def _panel(axes: Axes, values: Sequence[Mapping[str, Any]], measure: str, *, log: bool) -> None:
    labels = list(dict.fromkeys(value["label"] for value in values))
    swept = sorted({value["x"] for value in values})
    if log:
        axes.set_xscale("log")
        axes.minorticks_off()
    axes.set_xticks(swept, labels=[f"{x:g}" for x in swept])
    axes.axhline(0.5, color="#999999", linewidth=0.8, zorder=0)
    axes.annotate("chance", (1, 0.5), xycoords=("axes fraction", "data"), ha="right", va="bottom", color="#777777")
    others = cycle(_OTHER_STYLES)
    for number, label in enumerate(labels):
        points = [(v["x"], v["measures"][measure]) for v in values if v["label"] == label and v["measures"][measure]]
        shift = (number - (len(labels) - 1) / 2) * _DODGE
        axes.errorbar(
            [_dodged(x, swept, shift, log=log) for x, _ in points],
            [summary["mean"] for _, summary in points],
            yerr=_whiskers([summary for _, summary in points]),
            label=label,
            capsize=2.5,
            elinewidth=1,
            markersize=4.5,
            **(_STYLES[label] if label in _STYLES else next(others)),
        )
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e5e5e5", linewidth=0.7)
    axes.set_axisbelow(True)


def _whiskers(summaries: Sequence[Mapping[str, float]]) -> list[list[float]]:
    """Lengths down and up: a standard deviation, but not beyond 0 and 1, where no measure lies."""
    below = [min(each["std"], each["mean"]) for each in summaries]
    above = [min(each["std"], 1 - each["mean"]) for each in summaries]
    return [below, above]


def _dodged(x: float, swept: Sequence[float], shift: float, *, log: bool) -> float:
    """``x`` moved by a share of the axis."""
    low, high = swept[0], swept[-1]
    return float(x * (high / low) ** shift if log else x + shift * (high - low))
