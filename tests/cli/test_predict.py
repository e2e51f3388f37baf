"""`mpxgat predict`."""

import json

import pandas as pd
import pytest

from mpxgat.errors import MpxgatError
from mpxgat.io import write
from mpxgat.runs import RunFolder
from mpxgat.synthetic import social
from tests.cli.runs import network, run

COLUMNS = ["source", "source_layer", "target", "target_layer", "kind", "score", "probability", "rank"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    assert run("train", network(folder), "-o", folder / "run", "--model", "rules").exit_code == 0
    return folder / "run"


@pytest.fixture(scope="module")
def model(trained):
    return RunFolder(trained).model()


def links(*arguments):
    result = run("predict", *arguments, "--json")
    assert result.exit_code == 0, result.output
    value = json.loads(result.stdout)
    assert value["count"] == len(value["links"])
    return value["links"]


def refusal(*arguments):
    result = run("predict", *arguments)
    assert isinstance(result.exception, MpxgatError), result.output
    assert "\n" not in str(result.exception)
    return str(result.exception)


def test_top_of_all_layers(trained):
    found = links(trained, "--top", 3)
    assert [(row["kind"], row["rank"]) for row in found] == [(k, n) for k in ("intra", "inter") for n in (1, 2, 3)]
    assert list(found[0]) == COLUMNS


def test_top_of_two_layers_or_of_one(trained):
    for layers, kind in ((("work", "friends"), "inter"), (("work", "work"), "intra")):
        found = links(trained, "--top", 4, "--layers", *layers)
        assert len(found) == 4
        assert {(row["source_layer"], row["target_layer"], row["kind"]) for row in found} == {(*layers, kind)}


def test_a_node_with_an_id_of_one_layer(trained, model):
    node = model.graph.nodes[0]
    found = links(trained, "--node", node.id)
    assert {row["source_layer"] for row in found} == {node.layer}
    assert [row["rank"] for row in found if row["target_layer"] == node.layer] == list(range(1, 11))
    assert len(links(trained, "--node", node.id, "--top", 2)) <= 6


def test_a_node_in_several_layers(tmp_path):
    path = tmp_path / "net.edges"
    path.write_text("1 a b 1\n1 b c 1\n1 c d 1\n2 a e 1\n2 e f 1\n2 f a 1\n")
    run("train", path, "-o", tmp_path / "run", "--model", "degree")
    assert {row["source_layer"] for row in links(tmp_path / "run", "--node", "a")} == {"1"}  # all linked in layer 2
    assert {row["source_layer"] for row in links(tmp_path / "run", "--node", "e")} == {"2"}
    assert links(tmp_path / "run", "--node", "a", "--layer", "2") == []
    assert "no node 'b' in layer '2'" in refusal(tmp_path / "run", "--node", "b", "--layer", "2")


def pairs_file(model, path, pairs=((0, 5), (70, 3))):
    nodes = model.graph.nodes
    rows = [(*nodes[u], *nodes[v], "more") for u, v in pairs]
    frame = pd.DataFrame(rows, columns=["source", "source_layer", "target", "target_layer", "further"])
    if path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("name", ["pairs.csv", "pairs.parquet"])
def test_given_pairs(trained, model, tmp_path, name):
    found = links(trained, "--pairs", pairs_file(model, tmp_path / name))
    assert [row["score"] for row in found] == model.score([(0, 5), (70, 3)]).tolist()
    assert [row["target"] for row in found] == [model.graph.nodes[5].id, model.graph.nodes[3].id]


@pytest.mark.parametrize("name", ["links.csv", "links.csv.gz", "links.parquet"])
def test_written_to_a_file(trained, tmp_path, name):
    result = run("predict", trained, "--top", 5, "-o", tmp_path / name)
    assert result.exit_code == 0
    assert result.stdout == ""
    assert result.stderr == f"wrote 10 links to {tmp_path / name}\n"
    frame = pd.read_parquet(tmp_path / name) if name.endswith("parquet") else pd.read_csv(tmp_path / name)
    frame = frame.astype(object).where(frame.notna(), None)  # rules give no probabilities
    assert frame.to_dict("records") == links(trained, "--top", 5)
    value = json.loads(run("predict", trained, "--top", 5, "-o", tmp_path / name, "--json").stdout)
    assert value["output"] == str(tmp_path / name)


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("learned")
    options = ("--model", "anchored", "--set", "splits=2", "--set", "epochs=3", "--set", "dimensions=16")
    write(social(people=250, layers=3, seed=0), folder / "net.parquet")
    assert run("train", folder / "net.parquet", "-o", folder / "run", *options).exit_code == 0
    return folder / "run"


def test_links_within_layers_have_probabilities(learned):
    found = links(learned, "--top", 5, "--layers", "work", "work")
    chances = [row["probability"] for row in found]
    assert all(0 < chance < 1 for chance in chances)
    assert chances == sorted(chances, reverse=True)
    likelier = links(learned, "--top", 5, "--layers", "work", "work", "--missing", 0.016)
    assert [row["score"] for row in likelier] == [row["score"] for row in found]
    assert all(more["probability"] >= less for more, less in zip(likelier, chances, strict=True))
    assert likelier[-1]["probability"] > chances[-1]


def test_no_share_of_missing_links_above_one(trained):
    assert "a share of 1.5 of the links is missing" in refusal(trained, "--top", 3, "--missing", 1.5)


def test_a_table_is_shown_and_a_long_one_is_cut(trained):
    result = run("predict", trained, "--top", 60)
    for column in COLUMNS:
        assert column in result.stdout
    assert result.stderr == "20 more; -o writes all of them to a file\n"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "none of them given, expected one of"),
        (("--pairs", "x.csv", "--node", "a"), "--pairs and --node given"),
        (("--pairs", "x.csv", "--top", 3), "--pairs and --top given"),
        (("--top", 3, "--layer", "work"), "--layer given without --node"),
        (("--node", "a", "--layers", "work", "work"), "--layers given with --node"),
        (("--top", 3, "--layers", "work", "wrok"), "no layer 'wrok'; the layers are 'friends', 'work', 'messages'"),
        (("--node", "nobody"), "no node 'nobody' in any layer"),
        (("--top", 3, "-o", "x.txt"), "expected a name that ends in .csv or .parquet"),
        (("--pairs", "none.csv"), "none.csv: no such file"),
        (("--pairs", "none.txt"), "expected a name that ends in .csv or .parquet"),
    ],
)
def test_bad_questions_are_named(trained, options, said):
    assert said in refusal(trained, *options)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("source,source_layer,target\na,b,c\n", "pairs.csv:1: no column 'target_layer'"),
        ("source,source_layer,target,target_layer\n{ok}\nnobody,friends,{a}\n", "3: source: unknown node 'nobody'"),
        ("source,source_layer,target,target_layer\n{ok}\n{a},nobody,work\n", "3: target: unknown node 'nobody'"),
        ("source,source_layer,target,target_layer\n{a},{a}\n", ":2: a node with itself"),
        ("source,source_layer,target,target_layer\n{a},x,wrok\n", ":2: target: unknown layer 'wrok'"),
    ],
)
def test_bad_pairs_are_named_with_their_line(trained, model, tmp_path, rows, said):
    first, second = (",".join(model.graph.nodes[n]) for n in (0, 1))
    path = tmp_path / "pairs.csv"
    path.write_text(rows.format(a=first, ok=f"{first},{second}"))
    assert said in refusal(trained, "--pairs", path)


def test_a_run_that_is_not_finished_is_named(trained, tmp_path):
    (tmp_path / "config.json").write_bytes((trained / "config.json").read_bytes())
    assert "the run is not finished; continue with: mpxgat train" in refusal(tmp_path, "--top", 3)
