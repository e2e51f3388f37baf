import pytest

from mpxgat.errors import TrainingError
from mpxgat.training import memory


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
