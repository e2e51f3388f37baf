"""The files of a report: the page, the records of its figures and tables beside it, and pictures for papers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mpxgat.errors import OutputError, printable
from mpxgat.io.files import Content, write_files
from mpxgat.report.page import page
from mpxgat.report.records import csv_file, json_file
from mpxgat.report.section import Section
from mpxgat.report.vega import chart_script, to_png, to_svg


def write_report(path: Path, title: str, lead: str, sections: Sequence[Section]) -> Path:
    """Write the page, and in the folder beside it that `records_folder` names each figure's records as JSON and CSV.

    All are written or none; files of an older report are replaced.
    """
    drawn = any(section.figures for section in sections)
    text = page(
        title, [section.fragment for section in sections], lead=lead, libraries=[chart_script()] if drawn else []
    )
    folder = records_folder(path)
    files: dict[Path, Content] = {}
    for section in sections:
        for name, rows in section.records().items():
            files[folder / f"{name}.json"] = json_file(rows)
            files[folder / f"{name}.csv"] = csv_file(rows)
    if files:
        _make(folder)
    files[path] = text.encode()  # last: where the page is, everything is
    write_files(files)
    return path


def records_folder(path: Path) -> Path:
    """``report.html`` has its records in ``report_data``."""
    return path.with_name(f"{path.stem}_data")


def write_figures(folder: Path, sections: Sequence[Section]) -> list[Path]:
    """Write each figure as SVG and PNG into a folder; the same records give the same bytes."""
    _make(folder)
    files: dict[Path, Content] = {}
    for section in sections:
        for figure in section.figures:
            files[folder / f"{figure.name}.svg"] = to_svg(figure.on_paper())
            files[folder / f"{figure.name}.png"] = to_png(figure.on_paper())
    return write_files(files)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as problem:  # ValueError: a NUL character in the path
        reason = printable(getattr(problem, "strerror", None) or problem)
        raise OutputError(f"{printable(folder, 300)}: cannot make it: {reason}") from None
