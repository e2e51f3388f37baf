"""`mpxgat match` and `mpxgat explain`."""

import json

import numpy as np
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

from mpxgat.build import in_layer_order, with_apart
from mpxgat.cli import explain, match
from mpxgat.cli.options import data_options_in
from mpxgat.errors import MpxgatError
from mpxgat.io import write
from mpxgat.models import load_model
from mpxgat.pairs import KnownUnits
from mpxgat.synthetic import social
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

    def test_where_nothing_is_matched_a_lower_threshold_is_named(self):
        result = run("match", "run", "--threshold", 0.99)
        assert "no pair reaches 0.99; the highest is 0.97; --threshold 0.5 would give 3\n" in result.stderr
        assert answer("match", "run", "--threshold", 0.99)["lower"] == {"highest": 0.97, "threshold": 0.5, "matches": 3}
        assert answer("match", "run")["lower"] is None

    @pytest.mark.parametrize(("chance", "shown"), [(0.8999, "0.899"), (0.5, "0.5"), (0.0123, "0.012"), (4e-5, "4e-05")])
    def test_the_highest_probability_is_rounded_down(self, matcher, chance, shown):
        matcher.table = {(0, 2): chance}
        assert f"no pair reaches 0.9; the highest is {shown}" in run("match", "run").stderr

    def test_units_are_written_and_told(self, tmp_path):
        result = run("match", "run", "-o", tmp_path / "matches.csv", "--units", tmp_path / "units.csv")
        assert result.exit_code == 0, result.output
        assert "nodes: 8 new, 0 gone, 0 now in another unit\n" in result.stderr
        units = pd.read_csv(tmp_path / "units.csv")
        assert units[units["unit"] == "x:a"]["node"].tolist() == ["a", "a", "c"]
        assert pd.read_csv(tmp_path / "matches.csv")["unit"].tolist() == ["x:a"] * 3

    def test_units_of_last_time_keep_their_ids(self, tmp_path, matcher):
        files = ("-o", tmp_path / "matches.parquet", "--units")
        assert run("match", "run", *files, tmp_path / "units.csv", "--threshold", 0.96).exit_code == 0
        found = answer("match", "run", "--previous", tmp_path / "units.csv", *files, tmp_path / "again.parquet")
        assert found["units"]["merged"] == 1
        assert {status: found["units"][status]["units"] for status in ("new", "same", "changed", "gone")} == {
            "new": 0, "same": 3, "changed": 1, "gone": 1,
        }  # fmt: skip
        rows = pd.read_parquet(tmp_path / "again.parquet")
        assert rows[rows["node_status"] == "moved"][["unit", "previous_unit", "node"]].values.tolist() == [
            ["x:a", "z:c", "c"]
        ]
        shown = run("match", "run", "--previous", tmp_path / "units.csv")
        assert "--units FILE writes which they are" in shown.stderr
        assert "1 of the units that are gone" in shown.stderr

    def test_an_output_that_cannot_be_written_leaves_neither(self, tmp_path):
        (tmp_path / "units.csv").mkdir()
        said = refusal("match", "run", "-o", tmp_path / "matches.csv", "--units", tmp_path / "units.csv")
        assert "cannot write" in said
        assert [path.name for path in tmp_path.iterdir()] == ["units.csv"]

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (("--units", "u.csv", "--layers", "x", "y"), "--units 'u.csv' beside --layers, expected one"),
            (("--previous", "u.csv", "--layers", "x", "y"), "--previous 'u.csv' beside --layers"),
            (("--units", "u.txt"), "'u.txt', expected a name that ends in .csv or .parquet"),
            (("-o", "u.csv", "--units", "u.csv"), "-o and --units are both 'u.csv', expected two files"),
            (("--previous", "nowhere.csv"), "nowhere.csv: "),
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


# ---- the network as it is next month -------------------------------------------------------------------------------

QUICK = ("--model", "evidence", "--set", "embeddings=none", "--set", "splits=2", "--set", "trees=5")


@pytest.fixture(scope="module")
def months(tmp_path_factory):
    """A run on one month's network, and the folder that it is in with the next month's."""
    folder = tmp_path_factory.mktemp("months")
    graph = social(people=150, layers=3, seed=0, known=0.6, mean_degree=12)
    one, two = graph.subgraph(np.arange(graph.n_nodes) % 20 > 0), graph.subgraph(np.arange(graph.n_nodes) % 19 > 0)
    write(one, folder / "one.parquet")
    write(in_layer_order(two, two.layers[::-1]), folder / "two.parquet")
    (folder / "wrong.csv").write_text(pairs_apart(one, two))
    result = run_command(
        "train", folder / "one.parquet", "-o", folder / "run", *QUICK, "--different", folder / "wrong.csv"
    )
    assert result.exit_code == 0, result.output
    return folder, one, two


def pairs_apart(one, two):
    """Two open pairs of the first month, of which the second lacks a node of one."""
    there = set(two.nodes)
    lines = ["source,source_layer,target,target_layer"]
    for stays in (True, False):
        for u, v in zip(one.layer_nodes(0), one.layer_nodes(1), strict=False):
            pair = (one.nodes[int(u)], one.nodes[int(v)])
            if KnownUnits.of(one).decided(np.array([u]), np.array([v]))[0]:
                continue
            if ((pair[0] in there) and (pair[1] in there)) == stays:
                lines.append(",".join(text for node in pair for text in node))
                break
    assert len(lines) == 3
    return "\n".join(lines) + "\n"


def test_the_model_is_applied_to_other_data(months, tmp_path):
    folder, one, two = months
    options = ("--threshold", 0.3, "--units", tmp_path / "units.csv")
    found = answer("match", folder / "run", "--data", folder / "two.parquet", *options)
    assert found["data"] == str(folder / "two.parquet")
    assert found["decisions"] == {"carried": 1, "absent": 1, "contradicted": 0}
    assert found["matched"] > 0
    extended = load_model(folder / "run" / "model.safetensors").extend(in_layer_order(two, one.layers))
    same = [(row["node"], row["candidate"]) for row in extended.match_all(0.3).to_table().to_pylist()]
    assert len(set(same) & {(row["node"], row["candidate"]) for row in found["matches"]}) > 0.9 * len(same)
    there, before = set(two.nodes), set(one.nodes)
    assert found["units"]["nodes"]["new"] == len(there - before)
    assert found["units"]["nodes"]["gone"] == len(before - there)
    units = pd.read_csv(tmp_path / "units.csv")
    assert len(units) == len(there | before)
    assert set(units["status"]) == {"new", "same", "changed", "gone"}
    assert {row["unit"] for row in found["matches"]} <= set(units["unit"])


def test_the_month_after_keeps_the_ids(months, tmp_path):
    folder, _, _ = months
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    data = ("match", folder / "run", "--data", folder / "two.parquet", "--threshold", 0.3)
    assert run(*data, "--units", first).exit_code == 0
    result = run(*data, "--previous", first, "--units", second, "-o", tmp_path / "matches.csv")
    assert result.exit_code == 0, result.output
    assert "nodes: 0 new, 0 gone, 0 now in another unit\n" in result.stderr
    assert "1 pair(s) known to be different stay so, 1 of nodes that are gone\n" in result.stderr
    one, two = pd.read_csv(first), pd.read_csv(second)
    kept = one[one["node_status"] != "gone"].set_index(["node", "node_layer"])["unit"]
    assert two.set_index(["node", "node_layer"])["unit"].to_dict() == kept.to_dict()
    assert set(two["status"]) == {"same"}


def test_two_layers_of_other_data_have_no_units(months):
    folder, one, two = months
    found = answer("match", folder / "run", "--data", folder / "two.parquet", "--layers", "friends", "work")
    assert "units" not in found
    assert {row["node_layer"] for row in found["matches"]} == {"friends"}
    shown = run("match", folder / "run", "--data", folder / "two.parquet", "--layers", "friends", "work")
    new, gone = len({*two.nodes} - {*one.nodes}), len({*one.nodes} - {*two.nodes})
    assert f"nodes: {new} new, {gone} gone\n" in shown.stderr


def test_other_layers_are_named(months, tmp_path):
    write(social(people=20, layers=2, seed=0), tmp_path / "other.parquet")
    said = refusal("match", months[0] / "run", "--data", tmp_path / "other.parquet")
    assert said.startswith("the layers 'friends', 'work', expected those that were learned on: 'friends', 'work', ")


def test_a_model_that_cannot_be_applied_to_other_data_is_named(tmp_path):
    data, trained = network(tmp_path), tmp_path / "run"
    assert run_command("train", data, "-o", trained, "--model", "isorank").exit_code == 0
    said = refusal("match", trained, "--data", data)
    assert said == "the model 'isorank' cannot be applied to other data; models that can: auto, evidence"


@pytest.mark.parametrize(
    ("label", "options"),
    [
        ("net.csv", (False, [])),
        ("net.csv --directed", (True, [])),
        ("my net.csv --directed --features a:category --features 'b c=d'", (True, ["a:category", "b c=d"])),
        ("ann's net.csv --features city", (False, ["city"])),
    ],
)
def test_options_in_the_label_of_data(label, options):
    assert data_options_in(label) == options
