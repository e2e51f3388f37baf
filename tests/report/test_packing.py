"""Numbers in a page."""

import base64

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpxgat.report.page import packed
from tests.matching.doubles import steady


def unpacked(found):
    dtype = np.dtype(found["type"]).newbyteorder("<")
    return np.frombuffer(base64.b64decode(found["base64"]), dtype)


@given(st.lists(st.integers(-(2**31), 2**31 - 1)))
@steady
def test_whole_numbers_come_back(numbers):
    assert unpacked(packed(np.array(numbers, dtype=np.int64))).tolist() == numbers


@pytest.mark.parametrize(
    ("most", "name"), [(0, "uint8"), (255, "uint8"), (256, "uint16"), (65_535, "uint16"), (65_536, "int32")]
)
def test_the_smallest_type_is_taken(most, name):
    assert packed(np.array([0, most]))["type"] == name


def test_negative_numbers_need_a_sign():
    assert packed(np.array([-1]))["type"] == "int32"


def test_real_numbers_are_halved_in_size():
    found = packed(np.array([0.5, -1.25]))
    assert found["type"] == "float32"
    assert unpacked(found).tolist() == [0.5, -1.25]


def test_rows_stand_one_after_another():
    assert unpacked(packed(np.array([[1, 2], [3, 4]]).T)).tolist() == [1, 3, 2, 4]


def test_too_large_numbers_are_refused():
    with pytest.raises(OverflowError, match="2147483648"):
        packed(np.array([2**31]))
