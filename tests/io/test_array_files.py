"""Named arrays in one file: what comes back, and what is refused."""

import json

import numpy as np
import pytest
from safetensors.numpy import load, save

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
    assert header == {"kind": "kind", "x": 1}
    assert all(
        np.array_equal(arrays[name], array) and arrays[name].dtype == array.dtype for name, array in ARRAYS.items()
    )


@pytest.mark.parametrize(
    "changed", [np.zeros((2, 3), np.float32), ARRAYS["a"].reshape(3, 2), ARRAYS["a"].view(np.int32)]
)
def test_other_numbers_than_were_written_are_refused(path, changed):
    rewritten(path, a=np.ascontiguousarray(changed))
    with pytest.raises(InputError, match="the file is damaged: its numbers are not those that were written"):
        read_arrays(path, "kind")


def test_a_file_of_an_earlier_version_has_no_checksum_and_is_read(path):
    rewritten(path, header=json.dumps({"kind": "kind", "x": 2}).encode())
    assert read_arrays(path, "kind")[0]["x"] == 2


@pytest.mark.parametrize("header", [b"[" * 100_000, b"\xff", b"[]", b'{"kind": 1}', b"{}"])
def test_a_header_that_is_none_is_named(path, header):
    rewritten(path, header=header)
    with pytest.raises(InputError, match=r"not a file of kind kind|of kind 1, expected kind"):
        read_arrays(path, "kind")
