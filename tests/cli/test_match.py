"""`mpxgat match` and `mpxgat explain`."""

import json

import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

from mpxgat.build import with_apart
from mpxgat.cli import explain, match
from mpxgat.errors import MpxgatError
from tests.cli.runs import network
from tests.cli.runs import run as run_command
from tests.examples import graph_of
from tests.matching.doubles import TableMatcher

COLUMNS = [
    "node",
    "node_layer",
    "candidate",
    "candidate_layer",
    "probability",
    "rank",
    "runner_up",
    "chosen",
    "reasons",
]
GRAPH = graph_of("x.a x.b", "y.a y.b", "z.c z.d", "w.e w.f", "x.b y.b", "y.b z.d", layers="xyzw")

app = typer.Typer()
app.command("match")(match.match)
app.command("explain")(explain.explain)


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def answer(*arguments):
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def refusal(*arguments):
    result = run(*arguments)
    assert isinstance(result.exception, MpxgatError), result.output
    assert "\n" not in str(result.exception)
    return str(result.exception)


@pytest.fixture
def matcher(monkeypatch):
    places = {"xa": 0, "ya": 2, "zc": 4}
    table = {("xa", "ya"): 0.97, ("ya", "zc"): 0.95, ("xa", "zc"): 0.3}
    model = TableMatcher(GRAPH, {(places[u], places[v]): chance for (u, v), chance in table.items()})
    monkeypatch.setattr("mpxgat.runs.RunFolder.model", lambda self: model)
    return model


@pytest.mark.usefixtures("matcher")
class TestMatch:
    def test_all_layers(self):
        found = answer("match", "run")
        assert (found["run"], found["model"], found["threshold"], found["k"]) == ("run", "table", 0.9, 5)
        assert found["count"] == found["matched"] == len(found["matches"]) == 3
        assert list(found["matches"][0]) == COLUMNS
        assert [row["probability"] for row in found["matches"]] == [0.97, 0.95, 0.95]
        assert found["outcomes"][0] == {
            "layer_a": "x", "layer_b": "y", "open_nodes": 2, "matched": 2,
            "below_threshold": 0, "outdone": 0, "no_candidate": 0,
        }  # fmt: skip
        assert found["notes"][0].startswith("layer 'w' has no known link")

    def test_how_many_true_partners_are_candidates_is_told_if_the_model_knows(self, matcher):
        assert answer("match", "run")["candidate_recall"] is None
        assert "among the candidates" not in run("match", "run").output
        matcher.candidate_recall = 0.9714
        assert answer("match", "run")["candidate_recall"] == 0.9714
        assert "of the links that training hid again, 97.1% were among the candidates" in run("match", "run").output

    def test_two_layers_with_their_candidates(self):
        found = answer("match", "run", "--layers", "z", "x", "--threshold", 0.5, "-k", 2)
        assert [(row["node"], row["candidate"], row["chosen"]) for row in found["matches"]] == [("c", "a", False)]
        assert found["matched"] == 0
        assert answer("match", "run", "--layers", "z", "x", "--threshold", 0.2)["matched"] == 1

    @pytest.mark.parametrize("name", ["matches.csv", "matches.csv.gz", "matches.parquet"])
    def test_written_to_a_file(self, tmp_path, name):
        result = run("match", "run", "-o", tmp_path / name)
        assert result.exit_code == 0
        assert f"wrote 3 rows, 3 of them matches, to {tmp_path / name}\n" in result.stderr
        frame = pd.read_parquet(tmp_path / name) if name.endswith("parquet") else pd.read_csv(tmp_path / name)
        assert frame.to_dict("records") == answer("match", "run")["matches"]
        found = answer("match", "run", "-o", tmp_path / name)
        assert found["output"] == str(tmp_path / name)
        assert "matches" not in found

    def test_shown_in_the_terminal_with_what_is_left_unmatched(self, monkeypatch):
        monkeypatch.setenv("COLUMNS", "160")
        result = run("match", "run")
        for text in ("node candidate p next", "✓", "follows from", "below threshold", "x – y", "no candidate"):
            assert text in " ".join(result.stdout.split())
        assert "layer 'w' has no known link to any other layer" in result.stderr

    def test_a_long_table_is_cut(self, monkeypatch):
        monkeypatch.setattr(match, "_SHOWN_ROWS", 1)
        assert "2 more; -o writes all of them to a file" in run("match", "run").stderr

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (("--layers", "x", "q"), "no layer 'q'; the layers are 'x', 'y', 'z', 'w'"),
            (("--layers", "x", "x"), "one and the same"),
            (("-o", "x.txt"), "expected a name that ends in .csv or .parquet"),
        ],
    )
    def test_bad_questions_are_named(self, options, said):
        assert said in refusal("match", "run", *options)

    @pytest.mark.parametrize("options", [("--threshold", 1.5), ("-k", 0)])
    def test_numbers_out_of_range(self, options):
        assert run("match", "run", *options).exit_code == 2


@pytest.mark.usefixtures("matcher")
class TestExplain:
    def test_a_waterfall(self, monkeypatch):
        monkeypatch.setenv("COLUMNS", "160")
        result = run("explain", "run", "a", "c", "--layers", "y", "z")
        assert result.exit_code == 0, result.output
        lines = [line.split() for line in result.stdout.splitlines()]
        text = " ".join(" ".join(line) for line in lines)
        assert "nodes 'a' (layer 'y') and 'c' (layer 'z')" in text
        assert "probability 0.950" in text
        assert "before any evidence -4.00" in text
        assert "degrees 3 and 4 -0.50" in text
        assert "all together +2.94" in text
        assert "█" in text

    def test_as_json_in_any_order(self):
        found = answer("explain", "run", "c", "a", "--layers", "z", "y")
        assert found["nodes"] == [{"id": "c", "layer": "z"}, {"id": "a", "layer": "y"}]
        assert (found["status"], found["probability"]) == ("open", 0.95)
        assert found["base"] + sum(one["contribution"] for one in found["reasons"]) == pytest.approx(found["score"])
        assert found["reasons"][0] == {"label": "degrees", "finding": "3 and 4", "contribution": -0.5}

    def test_layers_need_not_be_given_where_ids_tell(self):
        assert answer("explain", "run", "c", "e")["status"] == "open"

    def test_known_pairs(self):
        found = answer("explain", "run", "b", "d", "--layers", "x", "z")  # by a chain of links
        assert (found["status"], found["probability"], found["reasons"]) == ("known", 1.0, [])
        assert "known links join the two" in run("explain", "run", "b", "d", "--layers", "x", "z").stdout

    def test_forbidden_pairs(self):
        found = answer("explain", "run", "a", "b", "--layers", "x", "y")
        assert (found["status"], found["probability"], found["score"]) == ("forbidden", 0.0, None)
        assert "two nodes in a layer, 'a' (layer 'x') and 'b' (layer 'x')" in found["why"]

    def test_pairs_known_to_be_different(self, matcher):
        matcher.graph = with_apart(GRAPH, [[GRAPH.index("a", "y"), GRAPH.index("c", "z")]])
        found = answer("explain", "run", "a", "c", "--layers", "y", "z")
        assert (found["status"], found["probability"], found["reasons"]) == ("forbidden", 0.0, [])
        said = "they are known to be different: 'a' (layer 'y') and 'c' (layer 'z') are said to be"
        assert found["why"] == said
        assert said in run("explain", "run", "a", "c", "--layers", "y", "z").stdout.replace("\n", " ")

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (("a", "c"), "the layers 'x', 'y' have a node 'a'; say which two are meant with --layers A B"),
            (("nobody", "c"), "no node 'nobody' in any layer"),
            (("a", "c", "--layers", "x", "y"), "no node 'c' in layer 'y'"),
            (("a", "c", "--layers", "x", "q"), "no layer 'q'"),
            (("c", "d"), "both nodes are in layer 'z', expected nodes of two layers"),
        ],
    )
    def test_bad_nodes_are_named(self, arguments, said):
        assert said in refusal("explain", "run", *arguments)

    def test_control_characters_do_not_reach_the_terminal(self, matcher):
        matcher.graph = graph_of("x.\x1b[31mred x.b", "y.[bold] y.b", layers="xy")
        result = run("explain", "run", "\x1b[31mred", "[bold]")
        assert result.exit_code == 0, result.output
        assert "\x1b" not in result.stdout
        assert "\\x1b[31mred" in result.stdout
        assert "[bold]" in result.stdout


@pytest.mark.parametrize("arguments", [("match",), ("explain", "a", "b")])
def test_a_model_that_cannot_match_is_named(tmp_path, arguments):
    trained = tmp_path / "run"
    assert run_command("train", network(tmp_path), "-o", trained, "--model", "rules").exit_code == 0
    said = refusal(arguments[0], trained, *arguments[1:])
    assert said.startswith("the model 'rules' cannot match nodes; models that can: ")


def test_a_model_of_network_alignment_matches_too(tmp_path):
    trained = tmp_path / "run"
    assert run_command("train", network(tmp_path), "-o", trained, "--model", "isorank").exit_code == 0
    found = answer("match", trained, "--layers", "friends", "work", "-k", 2)
    assert found["model"] == "isorank"
    row = found["matches"][0]
    assert "similarity: " in row["reasons"]
    why = answer("explain", trained, row["node"], row["candidate"], "--layers", "friends", "work")
    assert why["probability"] == pytest.approx(row["probability"])
    assert [reason["label"] for reason in why["reasons"]] == ["similarity"]


def test_no_run_is_named(tmp_path):
    assert "no run here" in refusal("match", tmp_path)


def test_ctrl_c_says_that_nothing_was_written(monkeypatch, tmp_path):
    def interrupted(run):
        raise KeyboardInterrupt

    monkeypatch.setattr(match, "load_matcher", interrupted)
    result = run("match", tmp_path / "run", "-o", tmp_path / "matches.csv")
    assert result.exit_code == 130
    assert result.stderr == "nothing has been written; the same command starts over\n"
    assert list(tmp_path.iterdir()) == []
