"""The figures in docs/reproduction.md are those on record."""

from pathlib import Path

import pytest

from mpxgat.experiments.audit_tables import markdown_audits, read_records
from mpxgat.experiments.tables import find_section

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reproduction.md"
FOLDER = ROOT / "experiments" / "results" / "audit"
RECORDS = sorted(FOLDER.glob("*.json"))


def shown() -> str:
    before, after = find_section(PAGE, "audit")
    return PAGE.read_text(encoding="utf-8").removeprefix(before).removesuffix(after)


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_every_audit_on_record_has_its_rows(path):
    (record,) = (each for each in read_records(FOLDER) if each["dataset"] == path.stem)
    *_, intra, inter = markdown_audits([record]).splitlines()
    assert f"{intra}\n{inter}\n" in shown()


def test_no_row_stands_for_what_is_not_on_record():
    records = read_records(FOLDER) if RECORDS else []
    assert shown().strip() == markdown_audits(records).strip()


def test_there_is_an_audit_on_record():
    assert RECORDS
