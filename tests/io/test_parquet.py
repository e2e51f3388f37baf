"""Parquet files that claim or unpack to far more than they are."""

import io

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from mpxgat.errors import InputError
from mpxgat.io.parquet import Footer, ParquetColumns, Piece, claims_of, parquet_bytes, read_numbers, read_parquet_table


def written(columns, **options):
    sink = io.BytesIO()
    parquet.write_table(pa.table(columns), sink, **options)
    return sink.getvalue()


def repeated(n, text):
    return pa.DictionaryArray.from_arrays(np.zeros(n, dtype=np.int32), pa.array([text]))


def first_chunk(content):
    return parquet.ParquetFile(io.BytesIO(content)).metadata.row_group(0).column(0)


def piece_of(chunk):
    start = min(place for place in (chunk.dictionary_page_offset, chunk.data_page_offset) if place)
    return Piece(start, chunk.total_compressed_size)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
def test_pages_are_counted_as_their_writer_counted_them(version, compression):
    column = pa.array([f"node {number % 700}" for number in range(50_000)])
    content = written({"a": column}, compression=compression, data_page_version=version, data_page_size=5000)
    chunk = first_chunk(content)
    claims = claims_of(content, piece_of(chunk))
    assert 700 * 6 < claims.dictionary < 700 * 20
    heads = chunk.total_uncompressed_size - claims.unpacked  # which the writer counts in
    assert 0 < heads < 0.3 * chunk.total_uncompressed_size
    plain = written({"a": column}, compression=compression, use_dictionary=False)
    assert claims_of(plain, piece_of(first_chunk(plain))).dictionary == 0


def test_heads_that_are_none_are_refused_and_nothing_else_happens():
    content = written({"a": pa.array(["x", "y"] * 500)}, write_statistics=True)
    piece = piece_of(first_chunk(content))
    rng = np.random.default_rng(0)
    read = 0
    for _ in range(2000):
        damaged = bytearray(content)
        damaged[piece.start + rng.integers(60)] = rng.integers(256)
        try:
            claims_of(bytes(damaged), piece)
            read += 1
        except ValueError:
            continue
    assert 0 < read < 2000
    with pytest.raises(ValueError, match="outside of the file"):
        claims_of(content, Piece(len(content) - 5, 10))
    with pytest.raises(ValueError, match="without end"):
        claims_of(b"\x15" + b"\xff" * 20, Piece(0, 20))


@pytest.mark.parametrize("options", [{}, {"compression": "none", "use_dictionary": False}, {"write_statistics": False}])
def test_the_footer_says_where_columns_lie_as_arrow_reads_it(options):
    columns = {"a": pa.array([f"node {n % 7}" for n in range(1000)]), "b": pa.array([[n] for n in range(1000)])}
    content = written({**columns, "c": pa.array([True, None] * 500)}, row_group_size=90, **options)
    footer, metadata = Footer(content), parquet.ParquetFile(io.BytesIO(content)).metadata
    assert (metadata.num_row_groups, metadata.num_columns) == (12, 3)
    for group in range(12):
        for column in range(3):
            assert footer.piece(group, column) == piece_of(metadata.row_group(group).column(column))
    with pytest.raises(ValueError, match="a column without pages"):
        footer.piece(12, 0)


def test_statistics_that_do_not_fit_the_schema_are_damage_and_no_end_of_the_process(tmp_path):
    content = written({"name": pa.array(["x", None, "y"])})
    optional, required = (bytes([0x25, kind, 0x18, 4]) + b"name" for kind in (2, 0))
    assert content.count(optional) == 1
    table = ParquetColumns(content.replace(optional, required), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="the Parquet file is damaged"):
        table.read("name")


def test_a_footer_longer_than_the_file_or_than_anyone_writes_is_refused():
    content = written({"a": pa.array([1])})
    for size, said in ((len(content), "longer than the file"), (2**31 - 1, "expected at most")):
        with pytest.raises(ValueError, match=said):
            Footer(content[:-8] + size.to_bytes(4, "little") + b"PAR1")


def test_a_struct_that_says_something_twice_is_refused():
    once, twice = b"\x15\x02\x15\x04\x15\x06\x00", b"\x15\x02\x15\x04\x15\x06\x05\x06\x00\x00"
    assert read_numbers(once, 0, lambda path: True) == ({(1,): 1, (2,): 2, (3,): 3}, len(once))
    with pytest.raises(ValueError, match="twice"):
        read_numbers(twice, 0, lambda path: True)
    with pytest.raises(ValueError, match="a struct has a field 32768"):
        read_numbers(b"\x11" * 100_000, 0, lambda path: True)  # each byte is a field


def varint(number):
    """A whole number as Thrift writes it."""
    number, octets = number << 1, []
    while number > 127:
        octets.append(number & 127 | 128)
        number >>= 7
    return bytes([*octets, number])


def test_pages_are_believed_not_the_footer():
    content = written({"a": pa.array(["xyz"] * 1000)}, use_dictionary=False, compression="zstd")
    piece = piece_of(first_chunk(content))
    true = varint(claims_of(content, piece).unpacked)
    place = content.index(b"\x15" + true, piece.start) + 1
    lie = content[:place] + varint(2**31 - 1) + content[place + len(true) :]
    assert claims_of(lie, Piece(piece.start, piece.length + 5 - len(true))).unpacked == 2**31 - 1


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
