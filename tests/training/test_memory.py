import pytest

from mpxgat import system as memory
from mpxgat.errors import TrainingError


def test_what_does_not_fit_is_told_before():
    with pytest.raises(TrainingError, match=r"training it would need about \d+.\d GiB of memory and .* are available"):
        memory.check_fits(1 << 60, "training it")
    memory.check_fits(1 << 10, "training it")


def test_an_unknown_system_is_no_obstacle(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: None)
    memory.check_fits(1 << 60, "training it")


def test_more_of_anything_needs_more():
    base = {"n_nodes": 1000, "n_links": 5000, "parameters": 10**6, "width": 512, "heads": 4, "blocks": 3}
    for name in base:
        assert memory.training_bytes(**{**base, name: 2 * base[name]}) > memory.training_bytes(**base)


def test_a_limit_on_address_space_counts(monkeypatch):
    resource = pytest.importorskip("resource")
    without = memory.available_bytes()
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (1 << 30, 1 << 30))
    limited = memory.available_bytes()
    if without is None or limited is None:
        pytest.skip("this system does not tell")
    assert limited < 1 << 30
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (1, 1))
    assert memory.available_bytes() == 0


def test_more_of_anything_in_a_batch_needs_more():
    base = {
        "parameters": 10**6, "tables": 1024, "batch_nodes": 5000, "batch_links": 9000, "width": 512, "heads": 4,
        "blocks": 3, "held": 10**6,
    }  # fmt: skip
    for name in base:
        assert memory.batch_bytes(**{**base, name: 2 * base[name]}) > memory.batch_bytes(**base)


def test_whether_it_fits_is_what_is_checked(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 1000)
    assert memory.fits(1000)
    assert not memory.fits(1001)
    with pytest.raises(TrainingError, match="available; do less"):
        memory.check_fits(1001, "it", "do less")
    monkeypatch.setattr(memory, "available_bytes", lambda: None)
    assert memory.fits(1 << 60)
