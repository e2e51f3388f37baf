"""Named arrays in one file: what comes back, and what is refused."""

import json

import numpy as np
import pytest
from safetensors.numpy import load, save

import mpxgat
from mpxgat.errors import InputError
from mpxgat.io.arrays import read_arrays, write_arrays

ARRAYS = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.empty(0, dtype=np.int64), "c": np.array(True)}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a.safetensors"
    write_arrays(path, "kind", {"x": 1}, ARRAYS)
    return path


def rewritten(path, header=None, **arrays):
    """The file with another header or other arrays, as if nothing had happened."""
    content = load(path.read_bytes())
    if header is not None:
        content["header"] = np.frombuffer(header, dtype=np.uint8)
    path.write_bytes(save(content | arrays))


def test_header_and_arrays_come_back(path):
    header, arrays = read_arrays(path, "kind")
    assert header == {"kind": "kind", "x": 1, "version": mpxgat.__version__}
    assert all(
        np.array_equal(arrays[name], array) and arrays[name].dtype == array.dtype for name, array in ARRAYS.items()
    )


@pytest.mark.parametrize(
    "changed", [np.zeros((2, 3), np.float32), ARRAYS["a"].reshape(3, 2), ARRAYS["a"].view(np.int32)]
)
def test_other_numbers_than_were_written_are_refused(path, changed):
    rewritten(path, a=np.ascontiguousarray(changed))
    with pytest.raises(InputError, match="damaged or was edited: its content does not fit its checksum"):
        read_arrays(path, "kind")


def test_an_edited_header_is_refused(path):
    rewritten(path, header=json.dumps({"kind": "kind", "x": 2, "version": mpxgat.__version__}).encode())
    with pytest.raises(InputError, match="damaged or was edited"):
        read_arrays(path, "kind")


def test_every_bit_counts(path):
    whole = path.read_bytes()
    assert len(whole) < 1000
    for bit in range(8 * len(whole)):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        with pytest.raises(InputError):
            read_arrays(path, "kind")


def test_any_tool_reads_the_file(path):
    assert np.array_equal(load(path.read_bytes())["a"], ARRAYS["a"])


def test_a_file_of_another_version_is_refused_in_a_line(path):
    with pytest.raises(InputError, match="of kind kind, expected model-3"):
        read_arrays(path, "model-3")
    write_arrays(path, "model-2", {}, ARRAYS)
    with pytest.raises(InputError, match=f"{path}: made by another version of mpxgat; make it again"):
        read_arrays(path, "model-3")
    header = np.frombuffer(b'{"kind": "model-3", "checksum": 7}', dtype=np.uint8)  # as the first layout was
    path.write_bytes(save(ARRAYS | {"header": header}))
    with pytest.raises(InputError, match="made by another version of mpxgat"):
        read_arrays(path, "model-3")


@pytest.mark.parametrize("header", [b"[" * 100_000, b"\xff", b"[]", b'{"kind": 1}', b"{}"])
def test_a_header_that_is_none_is_named(path, header):
    rewritten(path, header=header)
    with pytest.raises(InputError, match=r"not a file of kind kind|damaged or was edited"):
        read_arrays(path, "kind")
