"""`mpxgat evaluate` and `mpxgat split`."""

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from mpxgat.cli.app import app
from mpxgat.errors import MpxgatError
from mpxgat.io import read, write
from mpxgat.models.mpxgat import MPXGAT
from mpxgat.models.rules import Rules
from mpxgat.splits import load_split
from mpxgat.synthetic import social


def run(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


def failure(*arguments):
    result = run(*arguments)
    assert isinstance(result.exception, MpxgatError), result.output
    return str(result.exception)


@pytest.fixture
def net(tmp_path):
    write(social(60, 2, 0), tmp_path / "net.parquet")
    return tmp_path / "net.parquet"


@pytest.fixture
def saved(net, tmp_path):
    assert run("split", net, "-o", tmp_path / "net.split", "--protocol", "units", "--seed", 7).exit_code == 0
    return tmp_path / "net.split"


def test_json_says_what_was_evaluated(net):
    result = run("evaluate", net, "--seeds", 2, "--first-seed", 100, "--json")
    assert result.exit_code == 0, result.exception
    record = json.loads(result.stdout)
    assert (record["dataset"], record["model"], record["protocol"]) == (str(net), "rules", "marked")
    assert record["seeds"] == [100, 101]
    assert result.stderr == ""


@pytest.mark.filterwarnings("ignore::mpxgat.errors.DataWarning")
def test_attributes_become_features_before_links_are_hidden(tmp_path):
    path, saved = tmp_path / "people.parquet", tmp_path / "people.split"
    write(social(60, 2, 0, names=True), path)
    assert run("split", path, "-o", saved, "--protocol", "units", "--seed", 7).exit_code == 0
    small = ("--model", "mpxgat", "--set", "hidden=4", "--set", "out=4", "--epochs", 3, "--json")
    options = ("--features", "city=town", "--features", "joined"), ("--features", "city", "--features", "joined")
    assert "no column 'town' among the nodes' attributes" in failure("evaluate", path, *small, *options[0])
    hidden = ("--protocol", "units", "--first-seed", 7)
    results = [
        run("evaluate", path, *small, *hidden),
        run("evaluate", path, *small, *hidden, *options[1]),
        run("evaluate", saved, *small, *options[1]),
    ]
    assert "features: city:category (" in results[1].stderr
    plain, known, again = (json.loads(result.stdout) for result in results)
    assert known["dataset"] == f"{path} --features city --features joined"
    assert again["dataset"] == "people.split --features city --features joined"
    assert known["inter"] == again["inter"]
    assert known["inter"] != plain["inter"]
    rules = run("evaluate", path, *options[1])
    assert rules.stderr.count("note: the model rules does not use the features of this network") == 1


def test_layers_are_trained_side_by_side_in_networks_worth_it_to_the_same_figures(net, monkeypatch):
    small = ("--model", "mpxgat", "--set", "hidden=4", "--set", "out=4", "--set", "heads=1", "--epochs", 2, "--json")
    asked = []

    def noted(self, graph, session):
        asked.append(session.engine.jobs)
        learn(self, graph, session)

    learn = MPXGAT._learn
    monkeypatch.setattr(MPXGAT, "_learn", noted)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    alone = json.loads(run("evaluate", net, *small).stdout)
    monkeypatch.setattr("mpxgat.cli.evaluate._WORTH_PROCESSES", 50)
    together = json.loads(run("evaluate", net, *small).stdout)
    json.loads(run("evaluate", net, *small, "--jobs", 1).stdout)
    assert asked == [1, 2, 1]
    for part in ("intra", "inter", "overall"):
        assert together[part] == alone[part]


def test_a_saved_split_gives_the_same_figures_as_its_seed(net, saved):
    from_file, from_seed = (
        json.loads(run("evaluate", *arguments, "--json").stdout)
        for arguments in ((saved,), (net, "--protocol", "units", "--first-seed", 7))
    )
    for part in ("protocol", "seeds", "intra", "inter", "overall"):
        assert from_file[part] == from_seed[part]


@pytest.mark.parametrize("option", [("--protocol", "marked"), ("--first-seed", "7"), ("--format", "parquet")])
def test_a_saved_split_takes_no_option_that_would_make_another(saved, option):
    said = failure("evaluate", saved, *option)
    assert f"{option[0]} '{option[1]}' with a saved split" in said


def test_wrong_names_are_told_before_anything_is_read(tmp_path):
    absent = tmp_path / "absent.csv"
    assert "no protocol 'leaky'" in failure("evaluate", absent, "--protocol", "leaky")
    assert "no protocol 'leaky'" in failure("split", absent, "-o", tmp_path / "x.split", "--protocol", "leaky")
    assert "no model 'rule'; did you mean rules?" in failure("evaluate", absent, "--model", "rule")


def test_what_cannot_be_measured_is_a_dash(tmp_path):
    path = tmp_path / "one.edges"
    path.write_text("".join(f"1 {number} {number + 1}\n" for number in range(50)))
    result = run("evaluate", path)
    assert result.exit_code == 0, result.exception
    assert "nan" not in result.stdout
    assert any(line.split() == ["inter", "auc", "-"] for line in result.stdout.splitlines())


# ---- few anchors known -------------------------------------------------------------------------------


@pytest.fixture
def own_lists(tmp_path):
    """A network of two layers that knows more than the lists tell."""
    graph = social(60, 2, 0)
    write(graph, tmp_path / "own.csv")
    pairs = [[graph.nodes[int(node)].id for node in pair] for pair in graph.inter]
    for name, part in (("known", pairs[:10]), ("hidden", pairs[10:20])):
        (tmp_path / f"{name}.csv").write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in part))
    return tmp_path / "own.csv", "--protocol", "anchors", "--known", tmp_path / "known.csv"


def shown(result):
    """The rows of a table by their labels."""
    assert result.exit_code == 0, result.exception
    return dict(line.rstrip().rsplit("  ", 1) for line in result.stdout.splitlines() if "  " in line.strip())


def test_a_share_of_the_units_is_known(net, tmp_path):
    record = json.loads(run("evaluate", net, "--protocol", "anchors", "--known", 0.3, "--seeds", 2, "--json").stdout)
    assert record["protocol"] == "anchors 0.3"
    assert record["intra"]["auc"]["mean"] is None
    assert record["intra"]["positives"] == [0, 0]
    assert record["ranks"].keys() == {"forward", "backward", "mean"}
    assert record["ranks"]["mean"]["mrr"] == record["inter"]["mrr"]
    assert len(record["ranks"]["forward"]["hits@30"]["values"]) == 2
    saved = tmp_path / "few.split"
    made = json.loads(run("split", net, "-o", saved, "--protocol", "anchors", "--known", 0.3, "--json").stdout)
    assert made["protocol"] == "anchors 0.3"
    assert made["intra"]["test"] == 0
    again = json.loads(run("evaluate", saved, "--json").stdout)
    assert again["ranks"]["forward"]["mrr"]["values"] == record["ranks"]["forward"]["mrr"]["values"][:1]


def test_the_table_shows_ranks_both_ways_and_dashes(net):
    rows = {label.strip(): value for label, value in shown(run("evaluate", net, "--protocol", "anchors")).items()}
    assert rows["intra auc"].strip() == "-"
    assert {
        f"hits@{k}, {way}" for k in (1, 5, 10, 30) for way in ("friends to work", "work to friends", "mean")
    } <= rows.keys()
    assert 0 < float(rows["mrr, friends to work"]) <= 1
    assert "mrr, mean" not in shown(run("evaluate", net, "--protocol", "units"))


def test_lists_of_ones_own(own_lists, tmp_path):
    result = run("evaluate", *own_lists, "--hidden", tmp_path / "hidden.csv", "--json")
    assert re.search(r"note: the network's own \d+ inter links are not used, the lists take their place", result.stderr)
    record = json.loads(result.stdout)
    assert (record["protocol"], record["inter"]["positives"]) == ("anchors listed", [10])
    saved = tmp_path / "lists.split"
    assert run("split", *own_lists, "--hidden", tmp_path / "hidden.csv", "-o", saved).exit_code == 0
    assert load_split(saved).train.n_inter == 10
    again = json.loads(run("evaluate", saved, "--json").stdout)
    assert again["ranks"] == record["ranks"]


def test_wrong_lists_are_named_by_file_and_line(own_lists, tmp_path):
    hidden = tmp_path / "hidden.csv"
    hidden.write_text("a,b\nnobody,nobody\n")
    assert failure("evaluate", *own_lists, "--hidden", hidden).startswith(f"{hidden}:2: unknown node 'nobody'")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--known", "0.2"), "--known '0.2' with the protocol marked, expected --protocol anchors"),
        (("--protocol", "units", "--hidden", "x.csv"), "--hidden 'x.csv' with the protocol units, expected --protocol"),
        (("--protocol", "anchors", "--known", "x.csv"), "--known 'x.csv' and no --hidden, expected a share"),
        (("--protocol", "anchors", "--hidden", "x.csv"), "--hidden 'x.csv' without a list of known pairs"),
        (("--protocol", "anchors", "--known", "0.2", "--hidden", "x.csv"), "without a list of known pairs"),
        (("--protocol", "anchors", "--known", "20"), "a share of 20.0 of the units is known, expected a number from 0"),
    ],
)
def test_options_that_do_not_go_together_are_told_before_anything_is_read(tmp_path, options, said):
    assert said in failure("evaluate", tmp_path / "absent.csv", *options)
    assert said in failure("split", tmp_path / "absent.csv", "-o", tmp_path / "x.split", *options)


@pytest.mark.parametrize("option", [("--known", "0.2"), ("--hidden", "x.csv")])
def test_a_saved_split_takes_no_lists(saved, option):
    assert f"{option[0]} '{option[1]}' with a saved split" in failure("evaluate", saved, *option)


def test_a_saved_split_has_its_direction(saved):
    assert "--directed with a saved split" in failure("evaluate", saved, "--directed")


def test_pairs_known_to_be_different_are_in_every_training_graph(net, saved, tmp_path, monkeypatch):
    graph = read(net)
    first, second = (graph.unit[graph.layer_nodes(layer)] for layer in (0, 1))
    row, column = map(int, np.argwhere(first[:, None] != second)[5])
    ends = graph.ids[row].as_py(), graph.ids[len(first) + column].as_py()
    listed = tmp_path / "different.csv"
    listed.write_text(f"{','.join(graph.layers)}\n{','.join(ends)}\n")
    seen, learn = [], Rules._learn
    monkeypatch.setattr(Rules, "_learn", lambda self, graph, session: seen.append(graph) or learn(self, graph, session))
    for protocol in ("marked", "units", "anchors"):
        assert run("evaluate", net, "--different", listed, "--protocol", protocol).exit_code == 0
    assert [each.apart.tolist() for each in seen] == 3 * [[[row, len(first) + column]]]
    assert "with a saved split, which is made already" in failure("evaluate", saved, "--different", listed)
