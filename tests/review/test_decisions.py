"""The file of decisions: what is written is read, whatever the ids; nothing is lost, nothing is rewritten."""

import subprocess
import sys
from pathlib import Path

import pytest

from mpxgat.errors import DataWarning, InputError, OutputError
from mpxgat.io.link_files import read_pairs
from mpxgat.review.decisions import Decision, DecisionsFile, drawn, samples, standing
from tests.examples import graph_of
from tests.report.networks import HOSTILE, HOSTILE_LAYERS, network_of

GRAPH = graph_of("x.a x.b", "x.b x.c", "y.a y.b", "y.b y.c", "z.a z.b", layers="xyz")
XA, XB, YA, YB, ZA = (GRAPH.index(*node) for node in (("a", "x"), ("b", "x"), ("a", "y"), ("b", "y"), ("a", "z")))
HEADER = "source,source_layer,target,target_layer,decision,order,threshold,probability,who,note,when\n"
TIME = "2026-01-02T03:04:05Z"
LINE = f"a,x,b,y,accept,surest,,0.5,ann,,{TIME}\n"


def file_with(folder, *lines):
    (folder / "decisions.csv").write_text(HEADER + "".join(lines))
    return DecisionsFile(folder, GRAPH)


def test_without_a_file_there_are_none(tmp_path):
    assert DecisionsFile(tmp_path, GRAPH).read() == []


def test_what_is_appended_is_read_at_once_by_all(tmp_path):
    one, other = (DecisionsFile(tmp_path, GRAPH) for _ in range(2))
    told = Decision((XA, YB), "reject", "random", 0.9, 0.93, "ann", "other birthday", TIME)
    with one.locked():
        one.append(told)
    (read,) = other.read()
    assert read == Decision((XA, YB), "reject", "random", 0.9, 0.93, "ann", "other birthday", TIME, line=2)
    one.append(Decision((XA, YB), "undo"))
    assert [each.answer for each in other.read()] == ["reject", "undo"]
    assert (tmp_path / "decisions.csv").read_text().startswith(HEADER)


@pytest.mark.parametrize(
    "node", [*HOSTILE, "=1+1", "'=1", "two\nlines", "\r", 'json:"x"', "json:", "a,b", " ", "\u2028"]
)
def test_any_id_and_note_come_back(tmp_path, node):
    layer = HOSTILE_LAYERS[0]
    graph = network_of(["y", layer], [(node, layer, "n", layer), ("m", "y", "n", "y")])
    pair = (graph.index("m", "y"), graph.index(node, layer))
    file = DecisionsFile(tmp_path, graph)
    for answer in ("accept", "undo"):
        file.append(Decision(pair, answer, who=node, note=node))
    for each in DecisionsFile(tmp_path, graph).read():
        assert (each.pair, each.who, each.note) == (pair, node, node)
    assert (tmp_path / "decisions.csv").read_bytes().count(b"\n") == 3


def test_a_text_that_a_spreadsheet_would_calculate_is_marked(tmp_path):
    file = DecisionsFile(tmp_path, GRAPH)
    file.append(Decision((XA, YA), "accept", note="=HYPERLINK(1)"))
    assert ",'=HYPERLINK(1)," in (tmp_path / "decisions.csv").read_text()


def test_other_commands_read_it_as_a_list_of_pairs(tmp_path):
    file = file_with(tmp_path, LINE)
    assert read_pairs(file.path, GRAPH).tolist() == [[XA, YB]]


class TestTornLines:
    @pytest.mark.parametrize("kept", range(1, len(LINE) - 1))
    def test_one_that_was_cut_off_anywhere_is_told_and_passed_over(self, tmp_path, kept):
        file = file_with(tmp_path, LINE, LINE[:kept])
        with pytest.warns(DataWarning, match="line 3: cut off, as by a crash, and passed over"):
            assert len(file.read()) == 1

    @pytest.mark.parametrize("torn", ['"an open quote,x', "a,x,b", "a,x,b,y,accept,surest,,0.5,ann,,2026-01-0"])
    def test_what_is_added_later_is_not_lost(self, tmp_path, torn):
        file = file_with(tmp_path, LINE, torn)
        file.append(Decision((XB, YA), "reject"))
        with pytest.warns(DataWarning, match="line 3"):
            assert [each.pair for each in file.read()] == [(XA, YB), (XB, YA)]
        assert f"\n{torn}\n" in file.path.read_text()  # nothing is rewritten

    def test_one_that_only_lacks_its_line_end_counts(self, tmp_path):
        file = file_with(tmp_path, LINE.removesuffix("\n"))
        assert len(file.read()) == 1
        file.append(Decision((XB, YA), "reject"))
        assert len(file.read()) == 2

    def test_one_that_ends_within_a_character(self, tmp_path):
        file = file_with(tmp_path, LINE)
        with file.path.open("ab") as stream:
            stream.write("é".encode()[:1])
        with pytest.warns(DataWarning, match="line 3"):
            assert len(file.read()) == 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (LINE.replace("accept", "maybe"), "2: 'maybe', expected accept, reject, skip, undo"),
        (LINE.replace("b,y", "q,y"), "2: no node 'q' in layer 'y' of this run"),
        (LINE.replace("b,y", "b,x"), "2: both nodes are in layer 'x', expected two layers"),
        (LINE.replace("0.5", "1.5"), "2: probability '1.5', expected a number from 0 to 1"),
        (LINE.replace("0.5", "nan"), "2: probability 'nan', expected a number from 0 to 1"),
    ],
)
def test_a_whole_line_that_is_wrong_is_named(tmp_path, line, said):
    with pytest.raises(InputError) as caught:
        file_with(tmp_path, line).read()
    assert said in str(caught.value)


def test_another_table_is_refused(tmp_path):
    (tmp_path / "decisions.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="1: the columns 'a', 'b', expected source, source_layer"):
        DecisionsFile(tmp_path, GRAPH).read()


def test_edited_by_a_spreadsheet(tmp_path):
    """With a byte-order mark and other line ends."""
    (tmp_path / "decisions.csv").write_bytes(b"\xef\xbb\xbf" + (HEADER + LINE).replace("\n", "\r\n").encode())
    assert [each.pair for each in DecisionsFile(tmp_path, GRAPH).read()] == [(XA, YB)]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")
def test_a_full_disk_is_told(tmp_path):
    file = file_with(tmp_path, LINE)
    file.path.unlink()
    file.path.symlink_to("/dev/full")
    with pytest.raises(OutputError, match="cannot write: No space left on device"):
        file.append(Decision((XA, YA), "accept"))


def test_the_latest_answer_counts_and_an_undo_takes_it_back():
    pair, other = (XA, YB), (XB, YA)
    said = [Decision(pair, "accept"), Decision(other, "skip"), Decision(pair, "reject"), Decision(other, "undo")]
    assert {each.pair: each.answer for each in standing(said).values()} == {pair: "reject"}
    assert standing([*said, Decision(pair, "undo")]) == {}


def test_a_sample_counts_the_random_order_only():
    pairs = [(XA, YA), (XA, YB), (XB, YA), (XB, YB), (XA, ZA)]
    answers = ["accept", "reject", "accept", "skip", "accept"]
    said = [Decision(pair, answer, "random", 0.9) for pair, answer in zip(pairs[:4], answers, strict=False)] + [
        Decision(pairs[4], "accept", "informative")
    ]
    (sample,) = samples(said)
    assert sample.to_record() == {
        "threshold": 0.9, "reviewed": 3, "accepted": 2, "skipped": 1,
        "precision": 2 / 3, "low": pytest.approx(0.2077, abs=1e-4), "high": pytest.approx(0.9385, abs=1e-4),
    }  # fmt: skip
    assert "matches at threshold 0.9: 66.7% (95% interval 20.8% to 93.9%)" in str(sample)
    assert samples([*said, Decision(pairs[0], "undo"), Decision(pairs[2], "undo")])[0].share.n == 1
    two = samples([*said, Decision(pairs[4], "reject", "random", 0.5)])
    assert [(each.threshold, each.share.hits, each.share.n) for each in two] == [(0.5, 0, 1), (0.9, 2, 3)]
    assert len(drawn(said)) == 4
    assert samples(said[3:]) == []


WRITER = """
import sys
from pathlib import Path
from mpxgat.review.decisions import Decision, DecisionsFile
from tests.review.test_decisions import GRAPH
file = DecisionsFile(Path(sys.argv[1]), GRAPH)
for number in range(40):
    with file.locked():
        file.append(Decision((0, 3), "accept", who=sys.argv[2], note=str(number)))
"""


def test_two_processes_do_not_overwrite_each_other(tmp_path):
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    writers = [subprocess.Popen([*command, who]) for who in ("ann", "bea")]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    said = DecisionsFile(tmp_path, GRAPH).read()
    assert len(said) == 80
    for who in ("ann", "bea"):
        assert [each.note for each in said if each.who == who] == [str(number) for number in range(40)]
