"""What tests of the evidence model share."""

import pytest

from mpxgat.models.evidence import candidates


@pytest.fixture(params=["all pairs", "similar pairs only"])
def _ordinary_or_large_layers(request, monkeypatch):
    """Both ways to compute similarities."""
    if request.param == "similar pairs only":
        monkeypatch.setattr(candidates, "LARGE_LAYER", 1)
