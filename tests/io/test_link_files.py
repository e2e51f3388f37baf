"""Lists of pairs of nodes: what comes back, and what a spreadsheet must not calculate."""

import csv

import numpy as np
import pyarrow as pa
import pytest

from mpxgat.errors import InputError
from mpxgat.io.csv_tables import with_formulas, without_formulas
from mpxgat.io.embedding_files import write_embeddings
from mpxgat.io.link_files import read_pairs, write_links
from tests.examples import graph_of

FORMULAS = ['=HYPERLINK("x")', "+1+cmd", "-2+3", "@ann", "-", "+", "\t=1", "\r=1", "'=1", "''@ann", "-5e3", "=", "-1-1"]
PLAIN = ["-5", "+7", "-1.5", "ann", "'tis", "''", "'-5", "a=b", "7", "", "ann@home", "é", "'"]


def test_texts_come_back_and_none_is_a_formula():
    table = pa.table({"a": FORMULAS + PLAIN, "n": np.arange(len(FORMULAS + PLAIN)) - 3.0})
    safe = without_formulas(table)
    assert safe["a"].to_pylist() == [f"'{text}" for text in FORMULAS] + PLAIN
    assert safe["n"].equals(table["n"])
    assert with_formulas(safe["a"]).to_pylist() == FORMULAS + PLAIN
    again = without_formulas(safe)
    assert with_formulas(with_formulas(again["a"])).to_pylist() == FORMULAS + PLAIN


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_pairs_of_any_ids_come_back(tmp_path, suffix):
    graph = graph_of("=x.=1+1 =x.-5", "=x.@ann =x.'@ann", "y.a y.b")
    pairs = np.concatenate([graph.intra, [[0, 5]]])
    ends = {
        f"{end}{what}": [getattr(graph.nodes[int(node)], name) for node in pairs[:, side]]
        for side, end in enumerate(("source", "target"))
        for what, name in (("", "id"), ("_layer", "layer"))
    }
    path = tmp_path / f"links{suffix}"
    write_links(pa.table(ends), path)
    assert np.array_equal(read_pairs(path, graph), pairs)


def test_people_open_files_without_formulas(tmp_path):
    graph = graph_of("x.=1+1 x.-5", "x.@ann x.b")
    write_links(pa.table({"source": graph.ids, "score": [-0.5, 1.0, 2.0, 3.0]}), tmp_path / "a.csv")
    write_embeddings(graph, np.zeros((4, 1), np.float32), -np.ones((4, 1), np.float32), tmp_path / "b.csv")
    for name, number in (("a.csv", "-0.5"), ("b.csv", "-1")):
        with open(tmp_path / name, newline="") as stream:
            rows = list(csv.reader(stream))[1:]
        assert [row[0] for row in rows] == ["-5", "'=1+1", "'@ann", "b"]
        assert rows[0][-1] == number


def test_an_id_written_without_apostrophe_is_read_too(tmp_path):
    graph = graph_of("x.=1+1 x.@ann")
    path = tmp_path / "mine.csv"
    path.write_text("source,source_layer,target,target_layer\n=1+1,x,@ann,x\n")
    assert read_pairs(path, graph).tolist() == [[0, 1]]
    path.write_text("source,source_layer,target,target_layer\n=1+1,x,'ann,x\n")
    with pytest.raises(InputError, match=r"mine\.csv:2: target: unknown node ''ann', expected one of layer 'x'"):
        read_pairs(path, graph)
