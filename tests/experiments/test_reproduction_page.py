"""The figures in docs/reproduction.md are those on record."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RECORDS = sorted((ROOT / "experiments" / "results" / "audit").glob("*.json"))


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_every_audit_on_record_has_its_row(path):
    found = json.loads(path.read_text(encoding="utf-8"))
    figures = [f"{found[name]:.3f} ± {found['std'][name]:.3f}" for name in ("reference_real", "reference_fake")] + [
        f"{found['leak_free']:.3f}",
        f"{found['leak_free_hard_pairs']:.3f}",
    ]
    assert f"| {' | '.join(figures)} |" in (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")


def test_there_is_an_audit_on_record():
    assert RECORDS
