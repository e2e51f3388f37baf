import pytest

from mpxgat import system as address_space
from mpxgat.io import read


def test_room_is_checked_only_where_there_is_a_limit(monkeypatch):
    monkeypatch.setattr(address_space, "address_space_left", lambda: None)
    address_space.check_room(1 << 60)
    monkeypatch.setattr(address_space, "address_space_left", lambda: 5 << 20)
    address_space.check_room(5 << 20)
    with pytest.raises(MemoryError, match="6 MB are needed, and a limit on memory leaves 5 MB"):
        address_space.check_room(6 << 20)


def test_a_table_that_does_not_fit_is_told_before_it_is_parsed(monkeypatch, tmp_path):
    path = tmp_path / "net.edges"
    path.write_text("1 a b\n2 a b\n")
    assert read(path).n_intra == 2
    monkeypatch.setattr(address_space, "address_space_left", lambda: 1 << 20)
    with pytest.raises(MemoryError, match="a limit on memory leaves 1 MB"):
        read(path)
