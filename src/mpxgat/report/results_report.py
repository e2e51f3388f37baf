"""The report of recorded results: models beside each other, data set by data set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mpxgat.errors import InputError
from mpxgat.experiments.records import CellRecord, ResultsFile
from mpxgat.io.files import check_readable
from mpxgat.report.comparison import results_sections
from mpxgat.report.stage import Stage


def read_results(paths: Sequence[Path]) -> list[CellRecord]:
    """All records of JSONL files, each once; InputError if a file is not there, damaged or without results."""
    found: dict[str, CellRecord] = {}
    for path in paths:
        check_readable(path)
        records = ResultsFile(path).read()
        if not records:
            raise InputError("no results here, expected a JSONL file that mpxgat record wrote", path)
        found |= {record.key.text(): record for record in records}
    return list(found.values())


def results_stages(records: Sequence[CellRecord]) -> list[Stage]:
    """The steps to the report."""
    return [Stage("comparing models", lambda: results_sections(records))]
