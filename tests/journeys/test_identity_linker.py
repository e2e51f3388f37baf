"""Somebody who links accounts of two platforms: five files, matches, a review, and next month's files.

As docs/tutorial-identities.md, docs/review.md and docs/matching.md tell it, by commands; the review's page is asked and
answered as a browser does it (tests/browser has a real one).
"""

import csv
import json
import os
import subprocess
import sys
from collections import Counter
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest

from mpxgat.synthetic import social, truth
from tests.cli.runs import run

LAYERS = ("photos", "blog")
ANSWERS = 6
QUICK = ("--model", "evidence", "--set", "embeddings=none", "--set", "splits=2", "--set", "trees=20")

pytestmark = pytest.mark.usefixtures("one_thread")


def write_csv(path, header, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])


def read_csv(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def society():
    """Two platforms; who is who is known of two people in five."""
    return social(people=240, layers=2, seed=7, mean_degree=12, overlap=0.8, presence=0.9, known=0.4, names=True)


def export(society, folder, there):
    """The five files of a month: links and accounts of each platform, and known pairs, of the nodes that are there."""
    ids = society.ids.to_pylist()
    folder.mkdir()
    for number, layer in enumerate(LAYERS):
        of_layer = society.node_layer == number
        links = [(ids[u], ids[v]) for u, v in society.intra.tolist() if of_layer[u] and there[u] and there[v]]
        write_csv(folder / f"{layer}.csv", ["source", "target"], links)
        names, cities = (society.attributes[name].to_pylist() for name in ("username", "city"))
        accounts = [(ids[u], names[u], cities[u]) for u in np.flatnonzero(of_layer & there).tolist()]
        write_csv(folder / f"{layer}.accounts.csv", ["id", "username", "city"], accounts)
    known = [(ids[u], ids[v]) for u, v in society.inter.tolist() if there[u] and there[v]]
    write_csv(folder / "known.csv", ["id1", "id2"], known)


def true_pairs(society, there):
    """Pairs of accounts of one person that the files of a month do not tell."""
    known = {tuple(pair) for pair in society.inter.tolist()}
    ids = society.ids.to_pylist()
    pairs = (tuple(pair) for pair in truth(society).tolist())
    return {(ids[u], ids[v]) for u, v in pairs if (u, v) not in known and there[u] and there[v]}


def succeed(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, f"{arguments}: {result.output} {result.exception}"
    return result


def convert(folder):
    """The five files of a month as one network."""
    lists = [f"{folder}/{layer}.csv" for layer in LAYERS]
    accounts = [word for layer in LAYERS for word in ("--nodes", f"{folder}/{layer}.accounts.csv")]
    names = ("--layer-names", ",".join(LAYERS))
    succeed("convert", *lists, *accounts, "--anchors", f"{folder}/known.csv", *names, "-o", f"{folder}.parquet")


def matches(path):
    return {(row["node"], row["candidate"]) for row in read_csv(path)}


def check_found(found, right):
    """Two thirds of what is to be found, and three of four matches right: some 95 % and 87 % here."""
    assert len(found & right) > len(right) * 2 / 3
    assert len(found & right) > len(found) * 3 / 4


def review(run_folder, right):
    """Answer some pairs of a review by what is right, then kill its server; gives the pairs of ids and the answers."""
    command = [sys.executable, "-m", "mpxgat", "review", str(run_folder), "--no-browser", "--who", "ann"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ)
    try:
        said = next(line for line in server.stderr if line.startswith("review at "))
        address = urlsplit(said.removeprefix("review at ").strip())
        given = {}
        question = asked(address, "question", {})
        for _ in range(ANSWERS):
            pair = tuple(node["id"] for node in question["nodes"])
            given[pair] = "accept" if pair in right else "reject"
            question = asked(address, "answer", {"pair": question["pair"], "answer": given[pair]})
        return given
    finally:
        server.kill()
        server.communicate()


def asked(address, name, request):
    """The next question of a review's server."""
    connection = HTTPConnection(address.netloc, timeout=60)
    content = json.dumps({"window": "w", **request})
    connection.request("POST", f"{address.path}{name}", content, {"Origin": f"http://{address.netloc}"})
    reply = connection.getresponse()
    found = json.loads(reply.read())
    connection.close()
    assert reply.status == 200, found
    return found["question"]


@pytest.fixture(scope="module")
def months(society, tmp_path_factory):
    """Both months worked through in one folder, and which nodes are there in each."""
    folder = tmp_path_factory.mktemp("linker")
    rng = np.random.default_rng(3)
    there = [rng.random(society.n_nodes) < 0.95 for _ in range(2)]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, nodes in zip(("may", "june"), there, strict=True):
            export(society, folder / name, nodes)
            convert(name)
        compared = ("--compare", "username:text", "--compare", "city:category")
        succeed("train", "may.parquet", "-o", "run", *QUICK, *compared)
        succeed("match", "run", "--threshold", 0.8, "-o", "matches.csv", "--units", "units.csv")
        answers = review(folder / "run", true_pairs(society, there[0]))
        succeed("match", "run", "--threshold", 0.8, "-o", "matches-reviewed.csv")
        data = ("--data", "june.parquet", "--previous", "units.csv")
        files = ("-o", "matches-june.csv", "--units", "units-june.csv")
        told = succeed("match", "run", *data, "--threshold", 0.8, *files)
        record = succeed("match", "run", *data, "--threshold", 0.8, "--json")
    return folder, there, told, json.loads(record.stdout), answers


def test_five_files_become_a_network(months, society):
    folder, there, *_ = months
    record = json.loads(succeed("info", folder / "may.parquet", "--json").stdout)
    assert record["nodes"] == int(there[0].sum())  # those without a link, too
    assert [layer["name"] for layer in record["per_layer"]] == list(LAYERS)


def test_matches_are_mostly_right_and_most_are_found(months, society):
    folder, there, *_ = months
    check_found(matches(folder / "matches.csv"), true_pairs(society, there[0]))


def test_answers_are_kept_and_used_at_once(months):
    folder, *_, answers = months
    rows = read_csv(folder / "run" / "decisions.csv")
    kept = {(row["source"], row["target"]): row["decision"] for row in rows}
    assert kept == answers
    assert len(kept) == ANSWERS
    assert {row["who"] for row in rows} == {"ann"}
    assert not matches(folder / "matches-reviewed.csv") & answers.keys()  # known now, or known to be different


def test_answers_go_with_the_run_to_next_month(months):
    folder, _, _, record, answers = months
    carried = record["decisions"]
    assert sum(carried.values()) == len(answers)
    assert carried["carried"] > 0
    assert not matches(folder / "matches-june.csv") & {pair for pair, said in answers.items() if said == "reject"}


def test_next_month_is_matched_without_training(months, society):
    folder, there, _, record, _ = months
    found = matches(folder / "matches-june.csv")
    check_found(found, true_pairs(society, there[1]))
    ids = society.ids.to_pylist()
    new = {ids[u] for u in np.flatnonzero(there[1] & ~there[0]).tolist()}
    right = {pair for pair in true_pairs(society, there[1]) if new & set(pair)}
    assert len(found & right) > len(right) / 2  # of accounts that the model has never seen
    assert record["matched"] == len(found)


def test_units_keep_their_ids(months):
    folder, *_ = months
    before, after = ({}, {})
    for units, name in ((before, "units.csv"), (after, "units-june.csv")):
        for row in read_csv(folder / name):
            if row["node_status"] != "gone":
                units.setdefault(row["unit"], set()).add((row["node"], row["node_layer"]))
    now = {node for nodes in after.values() for node in nodes}
    merged = {row["previous_unit"] for row in read_csv(folder / "units-june.csv") if row["node_status"] == "moved"}
    for unit, nodes in before.items():
        if nodes & now and unit not in merged:
            assert nodes & after[unit] == nodes & now
    kept = [unit for unit, nodes in before.items() if len(nodes) > 1 and nodes == after.get(unit)]
    assert len(kept) > 100


def test_what_is_new_changed_and_gone_is_listed_and_counted(months, society):
    folder, there, told, record, _ = months
    rows = read_csv(folder / "units-june.csv")
    new, gone = int((there[1] & ~there[0]).sum()), int((there[0] & ~there[1]).sum())
    nodes = Counter(row["node_status"] for row in rows)
    assert (nodes["new"], nodes["gone"]) == (new, gone)
    assert f"nodes: {new} new, {gone} gone, " in told.stderr
    assert record["units"]["nodes"] == {status: nodes[status] for status in ("new", "same", "moved", "gone")}
    for status in ("new", "same", "changed"):
        assert record["units"][status]["units"] == len({row["unit"] for row in rows if row["status"] == status})
    assert {row["status"] for row in rows} == {"new", "same", "changed", "gone"}


def test_the_documents_tell_this_way():
    """The commands above are those of the pages; who renames an option has to look here, too."""
    docs = Path(__file__).parents[2] / "docs"
    pages = "".join((docs / name).read_text() for name in ("tutorial-identities.md", "review.md", "matching.md"))
    options = ("--anchors", "--nodes", "--compare", "--layer-names", "--data", "--previous", "--units")
    for words in ("mpxgat convert", "mpxgat review", *options):
        assert words in pages
