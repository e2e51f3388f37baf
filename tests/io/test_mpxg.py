"""Graphs mapped from `.mpxg` files: nothing is copied, and nothing in a file is believed."""

from __future__ import annotations

import mmap
import os
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import ipc

from mpxgat.build import with_apart
from mpxgat.errors import InputError
from mpxgat.graph import Features, MultiplexGraph
from mpxgat.io import mpxg as arrow_files
from mpxgat.io import read, write
from mpxgat.io.mpxg import KIND, _graph_of
from mpxgat.synthetic import social


@pytest.fixture
def graph() -> MultiplexGraph:
    planted = social(60, 3, 100, known=0.5)
    rng = np.random.default_rng(100)
    return replace(
        planted,
        intra_weight=rng.random(planted.n_intra),
        inter_weight=rng.random(planted.n_inter) + 2,
        horizontal_features=Features(("a", "b"), rng.random((planted.n_nodes, 2), dtype=np.float32)),
        vertical_features=Features((), np.empty((planted.n_nodes, 0), dtype=np.float32)),
    )


def batch_of(path: Path) -> pa.RecordBatch:
    """As anybody with an Arrow library reads it."""
    return ipc.open_file(path.read_bytes()).get_batch(0)


def error(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


def with_ids(graph: MultiplexGraph, ids: list[str]) -> MultiplexGraph:
    return replace(graph, ids=pa.array(ids, pa.large_string()))


# ---- what a good file gives ----------------------------------------------------------------------------


def test_pairs_known_to_be_different_are_a_column_where_there_are_any(graph: MultiplexGraph, tmp_path: Path) -> None:
    strange = np.array([[0, graph.n_nodes - 1]], dtype=np.int32)
    plain, apart = tmp_path / "plain.mpxg", tmp_path / "apart.mpxg"
    write(graph, plain)
    write(with_apart(graph, strange), apart)
    assert batch_of(apart).schema.names == [*batch_of(plain).schema.names, "apart"]
    found = read(apart)
    assert found == with_apart(graph, strange)
    assert not found.apart.flags.owndata
    contradiction = replace(graph, apart=graph.inter[:1])
    write(contradiction, apart)
    assert "are said to be different, but a known link makes them one unit" in error(apart)


def test_all_parts_come_back_and_the_same_graph_gives_the_same_bytes(graph: MultiplexGraph, tmp_path: Path) -> None:
    assert write(graph, tmp_path / "one.mpxg") == [tmp_path / "one.mpxg"]
    found = read(tmp_path / "one.mpxg")
    assert found == graph
    assert found.vertical_features == graph.vertical_features
    write(found, tmp_path / "two.mpxg")
    assert (tmp_path / "one.mpxg").read_bytes() == (tmp_path / "two.mpxg").read_bytes()


def test_a_part_of_a_mapped_graph_can_be_written(graph: MultiplexGraph, tmp_path: Path) -> None:
    write(graph, tmp_path / "whole.mpxg")
    whole = read(tmp_path / "whole.mpxg")
    later = replace(  # texts that do not begin where their buffers do
        graph.layer(graph.layers[-1]),
        ids=whole.ids[whole.layer_start[-2] :],
        attributes={name: column[whole.layer_start[-2] :] for name, column in whole.attributes.items()},
    )
    write(later, tmp_path / "part.mpxg")
    assert read(tmp_path / "part.mpxg") == graph.layer(graph.layers[-1])


def test_arrays_are_views_of_the_file(graph: MultiplexGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(graph, tmp_path / "graph.mpxg")
    maps = []

    class Spied(mmap.mmap):
        def __init__(self, *_: object, **__: object):
            maps.append(np.frombuffer(self, dtype=np.uint8))

    monkeypatch.setattr(arrow_files.mmap, "mmap", Spied)
    found = read(tmp_path / "graph.mpxg")
    assert found.horizontal_features is not None
    arrays = [found.layer_start, found.intra, found.inter, found.intra_weight, found.horizontal_features.values]
    texts = [found.ids, *found.attributes.values()]
    arrays += [np.frombuffer(buffer, dtype=np.uint8) for text in texts for buffer in text.buffers()[1:]]
    assert len(maps) == 1
    assert all(np.shares_memory(maps[0], array) for array in arrays)
    assert not any(array.flags.writeable for array in arrays)


def test_a_graph_outlives_the_removal_of_its_file(graph: MultiplexGraph, tmp_path: Path) -> None:
    write(graph, tmp_path / "graph.mpxg")
    found = read(tmp_path / "graph.mpxg")
    write(graph.unweighted(), tmp_path / "graph.mpxg")  # puts another file in its place
    (tmp_path / "graph.mpxg").unlink()
    assert found == graph


def test_any_arrow_library_reads_it(graph: MultiplexGraph, tmp_path: Path) -> None:
    write(graph, tmp_path / "graph.mpxg")
    row = batch_of(tmp_path / "graph.mpxg").to_pylist()[0]
    assert row["layers"] == list(graph.layers)
    assert row["intra"] == graph.intra.tolist()
    assert dict(zip(row["attribute_names"], row["attributes"], strict=True)).keys() == graph.attributes.keys()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_is_read(graph: MultiplexGraph, tmp_path: Path) -> None:
    write(graph, tmp_path / "graph.mpxg")
    os.mkfifo(tmp_path / "pipe.mpxg")
    content = (tmp_path / "graph.mpxg").read_bytes()
    feeder = threading.Thread(target=(tmp_path / "pipe.mpxg").write_bytes, args=(content,), daemon=True)
    feeder.start()
    assert read(tmp_path / "pipe.mpxg") == graph
    feeder.join()


# ---- graphs that keep their checksum but not their promises --------------------------------------------


def swapped(links: np.ndarray, row: int = 0) -> np.ndarray:
    links = links.copy()
    links[[row, row + 1]] = links[[row + 1, row]]
    return links


def turned(links: np.ndarray) -> np.ndarray:
    links = links.copy()
    links[-1] = links[-1, ::-1]
    return links


def twice(links: np.ndarray) -> np.ndarray:
    return np.repeat(links, np.where(np.arange(len(links)) == len(links) // 2, 2, 1), axis=0)


def beside(links: np.ndarray, row: int, pair: tuple[int, int]) -> np.ndarray:
    links = links.copy()
    links[row] = pair
    return links


BROKEN = {
    "links out of order": lambda g: replace(g, intra=swapped(g.intra)),
    "last links out of order": lambda g: replace(g, inter=swapped(g.inter, g.n_inter - 2)),
    "ends out of order": lambda g: replace(g, intra=turned(g.intra)),
    "a link twice": lambda g: replace(g, intra=twice(g.intra), intra_weight=None),
    "a self-loop": lambda g: replace(g, intra=beside(g.intra, -1, (g.n_nodes - 1,) * 2)),
    "a node too many": lambda g: replace(g, intra=beside(g.intra, -1, (g.n_nodes - 1, g.n_nodes))),
    "a negative node": lambda g: replace(g, intra=beside(g.intra, 0, (-1, 1))),
    "an intra link between layers": lambda g: replace(
        g, intra=beside(g.intra, int((g.intra[:, 0] == 0).sum()) - 1, (0, g.n_nodes - 1))
    ),
    "an inter link within a layer": lambda g: replace(g, inter=beside(g.inter, 0, (0, 1)), inter_weight=None),
    "a unit with two nodes in a layer": lambda g: replace(
        g, inter=np.array([[0, g.n_nodes - 2], [0, g.n_nodes - 1]], dtype=np.int32), inter_weight=None
    ),
    "no number": lambda g: replace(g, intra_weight=np.where(np.arange(g.n_intra) == 3, np.nan, g.intra_weight)),
    "a weight too few": lambda g: replace(g, intra_weight=g.intra_weight[1:]),
    "an infinite weight": lambda g: replace(g, inter_weight=np.full(g.n_inter, np.inf)),
    "ids out of order": lambda g: with_ids(g, g.ids.to_pylist()[::-1]),
    "an id twice": lambda g: with_ids(g, g.ids.to_pylist()[:1] + g.ids.to_pylist()[:-1]),
    "an empty id": lambda g: with_ids(g, ["", *g.ids.to_pylist()[1:]]),
    "an endless id": lambda g: with_ids(g, [*g.ids.to_pylist()[:-1], "z" * 70_000]),
    "an id too few": lambda g: with_ids(g, g.ids.to_pylist()[1:]),
    "an empty layer": lambda g: replace(g, layers=(*g.layers, "none"), layer_start=np.append(g.layer_start, g.n_nodes)),
    "a layer too few": lambda g: replace(g, layers=g.layers[1:]),
    "falling layers": lambda g: replace(g, layer_start=g.layer_start[[0, 2, 1, 3]]),
    "a layer without a name": lambda g: replace(g, layers=("", *g.layers[1:])),
    "two layers of one name": lambda g: replace(g, layers=(g.layers[0], *g.layers[:-1])),
    "features of too few": lambda g: replace(
        g, horizontal_features=Features(("a", "b"), g.horizontal_features.values[1:])
    ),
    "an attribute of too few": lambda g: replace(g, attributes={"person": g.attributes["person"][1:]}),
}


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_a_broken_promise_is_named(name: str, graph: MultiplexGraph, tmp_path: Path) -> None:
    write(BROKEN[name](graph), tmp_path / "graph.mpxg")
    error(tmp_path / "graph.mpxg")


def test_links_are_looked_at_across_the_parts_in_which_they_are_looked_at(
    graph: MultiplexGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mpxgat.build._ROWS_AT_ONCE", 4)
    for row in range(6):
        write(replace(graph, intra=swapped(graph.intra, row)), tmp_path / "graph.mpxg")
        assert "out of order" in error(tmp_path / "graph.mpxg")
    write(graph, tmp_path / "graph.mpxg")
    assert read(tmp_path / "graph.mpxg") == graph


# ---- files that are something else, or made to do harm -------------------------------------------------


def rewritten(path: Path, batch: pa.RecordBatch, **options: object) -> Path:
    with pa.OSFile(str(path), "wb") as sink:
        settings = ipc.IpcWriteOptions(**options)
        with ipc.new_file(sink, batch.schema, options=settings) as writer:
            writer.write_batch(batch)
    return path


@pytest.fixture
def written(graph: MultiplexGraph, tmp_path: Path) -> Path:
    write(graph, tmp_path / "graph.mpxg")
    return tmp_path / "graph.mpxg"


def test_every_flipped_bit_of_the_data_is_noticed(written: Path, graph: MultiplexGraph) -> None:
    content = written.read_bytes()
    weights = graph.intra_weight
    assert weights is not None
    place = content.index(weights.tobytes())
    for offset in range(0, weights.nbytes, 41):
        damaged = bytearray(content)
        damaged[place + offset] ^= 1 << (offset % 8)
        written.write_bytes(damaged)
        assert "checksum" in error(written)


@pytest.mark.parametrize("codec", ["zstd", "lz4"])
def test_a_compressed_file_is_refused_before_it_is_unpacked(
    written: Path, codec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = batch_of(written)
    rewritten(written, content)
    assert read(written)
    rewritten(written, content, compression=codec)
    monkeypatch.setattr(arrow_files.ipc, "read_record_batch", lambda *_: pytest.fail("it was unpacked"))
    assert "compressed" in error(written)


def test_another_arrow_file_is_told_apart(tmp_path: Path) -> None:
    path = rewritten(tmp_path / "table.mpxg", pa.record_batch({"a": [1, 2]}))
    assert "kind none, expected mpxg-1" in error(path)


def test_other_columns_are_refused(written: Path) -> None:
    batch = batch_of(written)
    assert "columns" in error(rewritten(written, batch.drop_columns(["inter"])))
    narrow = batch.schema.field("layer_start").with_type(pa.large_list(pa.int32()))
    place = batch.schema.get_field_index("layer_start")
    other = batch.set_column(place, narrow, batch.column("layer_start").cast(narrow.type))
    assert "columns" in error(rewritten(written, other.replace_schema_metadata(batch.schema.metadata)))


def test_no_row_several_rows_and_missing_values_are_refused(written: Path) -> None:
    batch = batch_of(written)
    empty = batch.slice(0, 0)
    double = pa.Table.from_batches([batch, batch]).combine_chunks().to_batches()[0]
    for wrong in (empty, double):
        assert "rows" in error(rewritten(written, wrong))
    columns = batch.to_pydict()
    columns["layers"][0][0] = None
    assert "missing" in error(rewritten(written, pa.record_batch(columns, schema=batch.schema)))


@pytest.mark.parametrize("name", ["layers", "ids", "intra", "attributes"])
def test_a_missing_part_is_named(name: str, written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = batch_of(written)
    columns = batch.to_pydict() | {name: [None]}
    changed = pa.record_batch(columns, schema=batch.schema.remove_metadata())
    arrow_files.write_batch(written, KIND, changed)
    assert f"the part {name} is missing" in error(written)


def test_names_of_attributes_must_fit(graph: MultiplexGraph, written: Path) -> None:
    batch = batch_of(written)
    for names in (["person"], ["person", "person"]):
        columns = batch.to_pydict() | {"attribute_names": [names]}
        arrow_files.write_batch(written, KIND, pa.record_batch(columns, schema=batch.schema.remove_metadata()))
        assert "names of attributes" in error(written)
    assert _graph_of(batch) == graph


def test_text_that_is_not_utf8_is_refused(written: Path, graph: MultiplexGraph) -> None:
    content = written.read_bytes()
    text = graph.ids[0].as_py().encode()
    written.write_bytes(content.replace(text, b"\xff" * len(text)))
    assert "damaged" in error(written)
