"""What tests of evidence share."""

import pytest

from mpxgat.models.evidence import similarity


@pytest.fixture(params=["all pairs", "similar pairs only"])
def _ordinary_or_large_layers(request, monkeypatch):
    """Both ways to compute similarities."""
    if request.param == "similar pairs only":
        monkeypatch.setattr(similarity, "LARGE_LAYER", 1)
