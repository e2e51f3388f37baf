"""Parquet files that claim or unpack to far more than they are."""

import io

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from mpxgat.errors import InputError
from mpxgat.io.parquet_columns import ParquetColumns
from mpxgat.io.parquet_pages import claims_of
from mpxgat.io.parquet_tables import parquet_bytes, read_parquet_table


def written(columns, **options):
    sink = io.BytesIO()
    parquet.write_table(pa.table(columns), sink, **options)
    return sink.getvalue()


def repeated(n, text):
    return pa.DictionaryArray.from_arrays(np.zeros(n, dtype=np.int32), pa.array([text]))


def first_chunk(content):
    chunk = parquet.ParquetFile(io.BytesIO(content)).metadata.row_group(0).column(0)
    start = min(place for place in (chunk.dictionary_page_offset, chunk.data_page_offset) if place)
    return start, chunk


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
def test_pages_are_counted_as_their_writer_counted_them(version, compression):
    column = pa.array([f"node {number % 700}" for number in range(50_000)])
    content = written({"a": column}, compression=compression, data_page_version=version, data_page_size=5000)
    start, chunk = first_chunk(content)
    claims = claims_of(content, start, chunk.total_compressed_size)
    assert 700 * 6 < claims.dictionary < 700 * 20
    heads = chunk.total_uncompressed_size - claims.unpacked  # which the writer counts in
    assert 0 < heads < 0.3 * chunk.total_uncompressed_size
    plain = written({"a": column}, compression=compression, use_dictionary=False)
    start, chunk = first_chunk(plain)
    assert claims_of(plain, start, chunk.total_compressed_size).dictionary == 0


def test_heads_that_are_none_are_refused_and_nothing_else_happens():
    content = written({"a": pa.array(["x", "y"] * 500)}, write_statistics=True)
    start, chunk = first_chunk(content)
    rng = np.random.default_rng(0)
    read = 0
    for _ in range(2000):
        damaged = bytearray(content)
        damaged[start + rng.integers(60)] = rng.integers(256)
        try:
            claims_of(bytes(damaged), start, chunk.total_compressed_size)
            read += 1
        except ValueError:
            continue
    assert 0 < read < 2000
    with pytest.raises(ValueError, match="outside of the file"):
        claims_of(content, len(content) - 5, 10)
    with pytest.raises(ValueError, match="without end"):
        claims_of(b"\x15" + b"\xff" * 20, 0, 20)


def varint(number):
    """A whole number as Thrift writes it."""
    number, octets = number << 1, []
    while number > 127:
        octets.append(number & 127 | 128)
        number >>= 7
    return bytes([*octets, number])


def test_pages_are_believed_not_the_footer():
    content = written({"a": pa.array(["xyz"] * 1000)}, use_dictionary=False, compression="zstd")
    start, chunk = first_chunk(content)
    true = varint(claims_of(content, start, chunk.total_compressed_size).unpacked)
    place = content.index(b"\x15" + true, start) + 1
    lie = content[:place] + varint(2**31 - 1) + content[place + len(true) :]
    assert claims_of(lie, start, chunk.total_compressed_size + 5 - len(true)).unpacked == 2**31 - 1


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        ({"a": repeated(20_000_000, "x")}, {}),
        ({"a": repeated(10_000, "x" * 60_000)}, {"store_schema": False}),
        ({"a": repeated(10_000, "x" * 60_000)}, {"store_schema": True}),
        ({"a": pa.array(["x" * 300_000_000])}, {"use_dictionary": False}),
    ],
    ids=["rows", "texts", "texts of a dictionary type", "pages"],
)
def test_a_column_that_unpacks_to_much_more_is_refused(columns, options, tmp_path):
    content = written(columns, compression="zstd", **options)
    assert len(content) < 400_000
    with pytest.raises(InputError, match=r"with column 'a' this file of \d+ bytes unpacks to \d+, expected at most"):
        ParquetColumns(content, tmp_path / "a.parquet").read("a")


def test_columns_count_together_and_those_that_nobody_asks_for_do_not(tmp_path):
    columns = {f"a{number}": repeated(1000, "x" * 60_000) for number in range(6)}
    table = ParquetColumns(written({**columns, "b": pa.array(range(1000))}, compression="zstd"), tmp_path / "a.parquet")
    assert len(table.read("b")) == len(table.read("a0")) == len(table.read("a0")) == 1000
    with pytest.raises(InputError, match="with column"):
        [table.read(name) for name in columns]


def test_a_list_beside_a_column_of_its_name_is_not_read_along(tmp_path):
    content = written({"a": pa.array([1]), "a.b": pa.array([[1, 2]])})
    with pytest.raises(InputError, match="lists in a column called like another one"):
        ParquetColumns(content, tmp_path / "a.parquet").read("a")
    plain = written({"a": pa.array([1]), "a.b": pa.array(["x"])})
    assert ParquetColumns(plain, tmp_path / "a.parquet").read("a").to_pylist() == [1]


def test_a_table_that_says_the_same_again_and_again_is_written_so_that_it_can_be_read(tmp_path):
    table = pa.table({"a": ["x" * 30_000] * 10_000})
    (tmp_path / "a.parquet").write_bytes(parquet_bytes(table))
    assert read_parquet_table(tmp_path / "a.parquet").text("a")[9_999].as_py() == "x" * 30_000


def test_lack_of_memory_is_not_called_damage(tmp_path, monkeypatch):
    table = ParquetColumns(written({"a": pa.array([1])}), tmp_path / "a.parquet")

    def too_much(source, name):
        raise pa.ArrowMemoryError("malloc of size 90112 failed")

    monkeypatch.setattr(table, "_column", too_much)
    with pytest.raises(MemoryError):
        table.read("a")
