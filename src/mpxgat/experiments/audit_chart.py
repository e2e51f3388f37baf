"""The chart of an audit: the same weights scored three ways, beside the published figure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mpxgat.io.files import write_files

_COLOURS = {"reference_real": "#D55E00", "reference_fake": "#E69F00", "leak_free": "#0072B2", "published": "#777777"}
_DOTS_PER_INCH = 150


def write_audit_chart(found: Mapping[str, Any], words: Mapping[str, str], folder: Path) -> list[Path]:
    """Write ``audit.svg`` and ``audit.png``; ``words`` names the figures in the order they are drawn."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    shown = {name: text for name, text in words.items() if found[name] is not None}
    with rc_context({"svg.hashsalt": "audit", "font.size": 9.5}):
        figure = Figure(figsize=(7.6, 0.55 * len(shown) + 1.3), layout="constrained")
        axes = figure.subplots()
        means = [found[name] for name in shown]
        spreads = [found["std"].get(name, 0) for name in shown]
        colours = [_COLOURS[name] for name in shown]
        axes.barh(list(shown.values()), means, xerr=spreads, color=colours, height=0.62, capsize=2.5)
        for row, (mean, spread) in enumerate(zip(means, spreads, strict=True)):
            axes.annotate(
                f"{mean:.3f}".removeprefix("0"), (mean + spread, row), xytext=(5, 0), textcoords="offset points",
                va="center",
            )  # fmt: skip
        axes.invert_yaxis()
        axes.axvline(0.5, color="#555555", linewidth=0.9, linestyle="--")
        axes.annotate("chance", (0.5, 1), xycoords=("data", "axes fraction"), ha="center", va="bottom", color="#555555")
        axes.set_xlim(0, 1.08)
        axes.set_xlabel("inter-layer AUC")
        axes.spines[["top", "right"]].set_visible(False)
        title = f"{found['dataset']}: one training of preset reference, scored three ways"
        figure.suptitle(title, x=0.01, ha="left", fontsize=11)
        return write_files(
            {
                folder / "audit.svg": lambda path: figure.savefig(path, format="svg", metadata={"Date": None}),
                folder / "audit.png": lambda path: figure.savefig(path, format="png", dpi=_DOTS_PER_INCH),
            }
        )
