import ctypes

from mpxgat.system import keep_freed_memory


def test_glibc_takes_the_settings_and_other_libraries_are_left_alone(monkeypatch):
    assert keep_freed_memory() == hasattr(ctypes.CDLL(None), "gnu_get_libc_version")
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    assert keep_freed_memory() is False
