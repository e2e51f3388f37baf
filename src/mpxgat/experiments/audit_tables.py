"""What audits found, in words: tables and one chart of all data sets, from the records that `mpxgat audit` writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mpxgat.errors import InputError, OutputError, printable
from mpxgat.experiments.layouts import markdown_lines
from mpxgat.experiments.tables import PAPERS_DATASETS
from mpxgat.io.files import read_json, write_files

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Record = Mapping[str, Any]
KIND = "mpxgat-audit-1"
_MISSING = "–"
_HARD = "leak_free_hard_pairs"
_NAMES = (
    "authors_real", "authors_fake", "authors_leak_free",
    "leak_free", "ours_real", "ours_fake",
    "untrained_real", "untrained_fake", "untrained_leak_free",
)  # fmt: skip
# The figures of a record by kind of link, in this order.
KINDS: Mapping[str, Sequence[str]] = {"intra": _NAMES, "inter": (*_NAMES[:4], _HARD, *_NAMES[4:])}
# In words, in the order of the table on a terminal.
WAYS = {
    "authors_real": "authors' training, authors' scoring: test links carry messages",
    "authors_fake": "the same, random non-links in place of the test links",
    "authors_leak_free": "authors' training, leak-free scoring",
    "ours_real": "our training, authors' scoring",
    "ours_fake": "the same, random non-links in place of the test links",
    "leak_free": "our training, leak-free scoring: the ordinary evaluation",
    _HARD: "of this, pairs that transitivity and uniqueness leave open",
    "untrained_real": "not trained, authors' scoring",
    "untrained_fake": "the same, random non-links in place of the test links",
    "untrained_leak_free": "not trained, leak-free scoring",
    "published": "published",
}
_COLUMNS = {
    "authors_real": "authors' training: test links",
    "authors_fake": "fake links",
    "authors_leak_free": "leak-free",
    "ours_real": "our training: test links",
    "ours_fake": "fake links",
    "leak_free": "leak-free",
    _HARD: "hard pairs",
    "untrained_real": "not trained: test links",
    "untrained_fake": "fake links",
    "untrained_leak_free": "leak-free",
    "published": "published",
}


def read_records(folder: Path) -> list[Record]:
    """The records ``*.json`` in a folder, the paper's data sets first; InputError for none or a damaged one."""
    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise InputError("no *.json here, expected what `mpxgat audit DATA -o FOLDER` keeps as audit.json", folder)
    records = []
    for path in paths:
        record = read_json(path, KIND)
        if not {"dataset", "seeds", *KINDS} <= record.keys() or any(
            not {*names, "std", "published"} <= set(record[kind]) for kind, names in KINDS.items()
        ):
            raise InputError("figures are missing, expected an audit of both kinds of link", path)
        records.append(record)
    return sorted(records, key=_order)


def _order(record: Record) -> tuple[int, str]:
    name = str(record["dataset"])
    return (PAPERS_DATASETS.index(name) if name in PAPERS_DATASETS else len(PAPERS_DATASETS)), name


# ---- tables --------------------------------------------------------------------------------------------------------


def figure_text(values: Mapping[str, Any], name: str) -> str:
    """Mean, and ± standard deviation over the seeds where there are several."""
    mean, spread = values.get(name), values["std"].get(name)
    if mean is None:
        return _MISSING
    if name == "published":
        return f"{mean:.2f}"
    return f"{mean:.3f}" + ("" if spread is None else f" ± {spread:.3f}")


def rows_by_way(record: Record) -> list[list[str]]:
    """A row for each way, in words, and its figures within and between layers."""
    return [[words, *(figure_text(record[kind], name) for kind in KINDS)] for name, words in WAYS.items()]


def markdown_audits(records: Sequence[Record]) -> str:
    """A row for each data set and kind of link."""
    rows = [
        [str(record["dataset"]), str(len(record["seeds"])), kind, *(figure_text(record[kind], n) for n in _COLUMNS)]
        for record in records
        for kind in KINDS
    ]
    return markdown_lines(["data set", "seeds", "links", *_COLUMNS.values()], rows)


# ---- the chart -----------------------------------------------------------------------------------------------------

# Okabe and Ito's colours, which people with any kind of sight tell apart; hatched bars are of fake links.
_BARS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "authors_real": ("authors' training and scoring", {"color": "#D55E00"}),
    "authors_fake": ("the same, fake links", {"facecolor": "#F5C9A8", "edgecolor": "#D55E00", "hatch": "////"}),
    "untrained_real": ("not trained, authors' scoring", {"color": "#777777"}),
    "untrained_fake": ("not trained, fake links", {"facecolor": "#E4E4E4", "edgecolor": "#777777", "hatch": "////"}),
    "leak_free": ("our training, leak-free scoring", {"color": "#0072B2"}),
}
_PUBLISHED = "published"
_TITLES = {"intra": "links within a layer", "inter": "links between layers"}
_PANEL_WIDTH, _GROUP_HEIGHT, _FRAME = 4.5, 1.25, 1.5  # inches
_BAR = 0.16  # of a group's height
_NUMBERS = 1.13  # where on the axis the figures stand: to the right of all bars, whiskers and lines
_DOTS_PER_INCH = 150


def write_audit_chart(records: Sequence[Record], folder: Path) -> list[Path]:
    """Write ``audit.svg`` and ``audit.png`` of all data sets and both kinds of link; same records, same bytes."""
    from matplotlib import rc_context

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise OutputError(f"{printable(folder, 300)}: cannot make it: {printable(problem.strerror)}") from None
    with rc_context({"svg.hashsalt": "audit", "font.size": 9.5, "axes.titlesize": 10.5, "hatch.linewidth": 0.7}):
        figure = _draw(records)
        return write_files(
            {
                folder / "audit.svg": lambda path: figure.savefig(path, format="svg", metadata={"Date": None}),
                folder / "audit.png": lambda path: figure.savefig(path, format="png", dpi=_DOTS_PER_INCH),
            }
        )


def _draw(records: Sequence[Record]) -> Figure:
    """A panel for each kind of link, in it a group of bars for each data set."""
    from matplotlib.figure import Figure

    size = (_PANEL_WIDTH * len(KINDS), _GROUP_HEIGHT * len(records) + _FRAME)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(1, len(KINDS), sharey=True, squeeze=False)[0]
    for kind, axes in zip(KINDS, panels, strict=True):
        _panel(axes, records, kind)
    seeds = [f"{printable(record['dataset'], 60)} ({len(record['seeds'])})" for record in records]
    panels[0].set_yticks(range(len(records)), labels=seeds)
    panels[0].set_ylim(len(records) - 0.5, -0.5)
    figure.suptitle(
        "AUC, scored the authors' way and leak-free, beside the published figure (number of seeds)",
        x=0.01,
        ha="left",
        fontsize=11,
    )
    named = list(zip(*panels[0].get_legend_handles_labels(), strict=True))
    named.sort(key=lambda each: each[1] == _PUBLISHED)  # last; the others stay in order
    handles, labels = zip(*named, strict=True)
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure


def _panel(axes: Axes, records: Sequence[Record], kind: str) -> None:
    axes.axvline(0.5, color="#555555", linewidth=0.9, linestyle="--")
    axes.annotate("chance", (0.5, 1), xycoords=("data", "axes fraction"), ha="center", va="bottom", color="#555555")
    for number, (name, (words, style)) in enumerate(_BARS.items()):
        there = [(row, record[kind]) for row, record in enumerate(records) if record[kind][name] is not None]
        places = [row + (number - (len(_BARS) - 1) / 2) * _BAR for row, _ in there]
        means = [values[name] for _, values in there]
        spreads = [values["std"].get(name, 0.0) for _, values in there]
        axes.barh(places, means, height=_BAR * 0.88, label=words, **style)
        for place, mean, spread in zip(places, means, spreads, strict=True):
            if spread:
                axes.errorbar(mean, place, xerr=spread, color="#000000", elinewidth=0.9, capsize=2)
            axes.annotate(f"{mean:.3f}".removeprefix("0"), (_NUMBERS, place), va="center", ha="right", fontsize=8)
    published = {row: record[kind]["published"] for row, record in enumerate(records) if record[kind]["published"]}
    if published:
        half = _BAR * (len(_BARS) + 0.6) / 2
        ends = [row - half for row in published], [row + half for row in published]
        axes.vlines(list(published.values()), *ends, color="#000000", linewidth=1.8, label=_PUBLISHED)
    axes.set_title(_TITLES[kind], loc="left", pad=14)
    axes.set_xlim(0, _NUMBERS)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1])
    axes.set_xlabel("AUC")
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right"]].set_visible(False)
