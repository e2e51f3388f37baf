"""Ids as numbers: the fast way for whole numbers must agree with the general one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpxgat.build import encode

NUMBERS = st.integers(0, 10**18).map(str) | st.integers(0, 120).map(str)
TEXTS = NUMBERS | st.sampled_from(["007", "+7", "-7", "-0", "7.0", " 7", "", "é", "٣", "0x989680", "0XFFFFFFFFFFFFFF"])


def check(columns: list[list[str]]) -> None:
    values = [value for column in columns for value in column]
    ids, code = encode([pa.array(column, pa.string()) for column in columns])
    assert ids.type == pa.large_string()
    assert ids.to_pylist() == sorted(set(values), key=str.encode)
    assert [ids[int(number)].as_py() for number in code] == values


@settings(max_examples=200, derandomize=True, deadline=None, database=None)
@given(st.lists(st.lists(NUMBERS, max_size=12), max_size=3))
def test_whole_numbers_sort_as_text(columns: list[list[str]]) -> None:
    check(columns)


@settings(max_examples=200, derandomize=True, deadline=None, database=None)
@given(st.lists(st.lists(TEXTS, max_size=12), max_size=3))
def test_numbers_written_otherwise_stay_texts(columns: list[list[str]]) -> None:
    check(columns)


@pytest.mark.parametrize("hexadecimal", ["0x989680", "0XF4240", "0xFFFFFFFFFFFFFF"])
def test_hexadecimal_ids_stay_what_they_are(hexadecimal: str) -> None:
    check([["7", hexadecimal]])
    check([["7", hexadecimal, "07"]])
    column = pa.array(["x", "7", hexadecimal, "x"]).slice(1, 2)
    assert encode([column])[0].to_pylist() == sorted(["7", hexadecimal])


@pytest.mark.parametrize("first", [["b", "a"], ["2", "10"]])
def test_dictionaries_and_plain_columns_may_mix(first: list[str]) -> None:
    ids, code = encode([pa.array(first).dictionary_encode(), pa.chunked_array([["10"], ["a", "2"]])])
    assert [ids[int(number)].as_py() for number in code] == [*first, "10", "a", "2"]
    assert code.dtype == np.int32
