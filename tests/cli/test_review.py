"""`mpxgat review`, and what other commands make of its decisions."""

import json
import os
import re
import signal
import subprocess
import sys
from urllib.request import urlopen

import pytest

from mpxgat.errors import InputError, MpxgatError, SettingError, TrainingError
from mpxgat.io import write
from mpxgat.models import load_model
from mpxgat.report.reports import run_stages
from mpxgat.review.decisions import Decision, DecisionsFile
from mpxgat.runs import RunFolder
from mpxgat.splits import held_out_units
from mpxgat.synthetic import social
from tests.cli.runs import network, run

QUICK = (
    "--model",
    "evidence",
    "--set",
    "embeddings=none",
    "--set",
    "splits=2",
    "--set",
    "trees=20",
    "--set",
    "rounds=2",
)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("review")
    whole = social(people=120, layers=2, seed=0, mean_degree=12, overlap=0.9)
    write(held_out_units(whole, seed=0).train, folder / "net.parquet")
    assert run("train", folder / "net.parquet", "-o", folder / "run", *QUICK).exit_code == 0
    return folder / "run"


@pytest.fixture
def reviewed(trained):
    """The run, without decisions before and after."""
    yield trained
    for path in trained.glob("*decisions*"):
        path.unlink()


def decide(path, *answers):
    """Add answers about pairs of the run; gives its file of decisions."""
    file = DecisionsFile(path, RunFolder(path).model().graph)
    for pair, answer, *sample in answers:
        file.append(Decision(tuple(pair), answer, *sample))
    return file


def matches(path, *options):
    result = run("match", path, "--threshold", 0.1, "--json", *options)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def pairs_of(path, found):
    graph = RunFolder(path).model().graph
    return [
        (graph.index(row["node"], row["node_layer"]), graph.index(row["candidate"], row["candidate_layer"]))
        for row in found["matches"]
    ]


def test_match_uses_decisions_at_once(reviewed):
    before = pairs_of(reviewed, matches(reviewed))
    one, other = before[:2]
    decide(reviewed, (one, "accept"), (other, "reject"))
    after = pairs_of(reviewed, matches(reviewed))
    assert one not in after  # known now
    assert other not in after
    assert not set(one) & {node for pair in after for node in pair}
    assert "decisions used: 1 pairs accepted, 1 rejected" in run("match", reviewed).stderr
    nodes = RunFolder(reviewed).model().graph.nodes
    assert "known links join the two" in run("explain", reviewed, nodes[one[0]].id, nodes[one[1]].id).stdout
    assert "they are known to be different" in run("explain", reviewed, nodes[other[0]].id, nodes[other[1]].id).stdout
    decide(reviewed, (one, "undo"), (other, "undo"))
    assert pairs_of(reviewed, matches(reviewed)) == before


def test_decisions_go_with_the_run_to_other_data(reviewed):
    one, other = pairs_of(reviewed, matches(reviewed))[:2]
    decide(reviewed, (one, "accept"), (other, "reject"))
    found = matches(reviewed, "--data", reviewed.parent / "net.parquet")
    assert found["decisions"] == {"carried": 2, "absent": 0, "contradicted": 0}
    assert not {one, other} & set(pairs_of(reviewed, found))


def test_a_random_sample_gives_the_precision(reviewed):
    drawn = pairs_of(reviewed, matches(reviewed))[:4]
    assert matches(reviewed)["samples"] == []
    decide(reviewed, *((pair, "reject" if place == 0 else "accept", "random", 0.1) for place, pair in enumerate(drawn)))
    (sample,) = matches(reviewed)["samples"]
    assert (sample["threshold"], sample["reviewed"], sample["accepted"], sample["precision"]) == (0.1, 4, 3, 0.75)
    said = "precision of the run's matches at threshold 0.1: 75.0% (95% interval 30.1% to 95.4%), by 4 drawn at random"
    assert said in run("match", reviewed).stderr


def test_the_report_says_so_too(trained):
    model = RunFolder(trained).model()
    words = "precision of the run's matches at threshold 0.9: 75.0%"
    for stage in run_stages(model, "net", None, reviewed=[words]):
        if stage.title == "matching":
            (section,) = stage.sections()
            assert "Precision of the run's matches at threshold 0.9: 75.0%." in section.summary


def test_a_contradiction_is_one_line(reviewed):
    one, other = pairs_of(reviewed, matches(reviewed))[:2]
    decide(reviewed, (one, "accept"), ((one[0], other[1]), "accept"))
    result = run("match", reviewed)
    assert isinstance(result.exception, InputError)
    assert re.search(
        r"decisions\.csv:3: .* of one layer would be one unit; take one of them back", str(result.exception)
    )


class TestAgain:
    def test_the_same_training_on_the_network_with_the_decisions(self, reviewed, tmp_path):
        one, other = pairs_of(reviewed, matches(reviewed))[:2]
        decide(reviewed, (one, "accept"), (other, "reject"))
        result = run("train", reviewed, "--again", "-o", tmp_path / "again")
        assert result.exit_code == 0, result.output
        before, after = (RunFolder(path) for path in (reviewed, tmp_path / "again"))
        graph = load_model(after.model_path).graph
        assert list(one) in graph.inter.tolist()
        assert graph.apart.tolist() == [list(other)]
        assert after.config().settings == before.config().settings
        assert (after.config().model, after.config().seed) == ("evidence", before.config().seed)
        assert after.config().data == f"{reviewed} --again"
        assert run("train", reviewed, "--again", "-o", tmp_path / "again", "--resume").exit_code == 0  # nothing to do
        assert one not in pairs_of(tmp_path / "again", matches(tmp_path / "again"))

    def test_without_decisions(self, trained, tmp_path):
        result = run("train", trained, "--again", "-o", tmp_path / "again")
        assert isinstance(result.exception, TrainingError)
        assert "has no decisions to learn from; make some with: mpxgat review" in str(result.exception)
        assert not (tmp_path / "again").exists()

    @pytest.mark.parametrize(
        "options",
        [("--model", "rules"), ("--set", "trees=3"), ("--seed", 0), ("--directed",), ("--features", "a:number")],
    )
    def test_with_options_that_the_run_has(self, trained, tmp_path, options):
        result = run("train", trained, "--again", "-o", tmp_path / "again", *options)
        assert isinstance(result.exception, SettingError)
        assert "--again takes model, settings, seed and network from the run" in str(result.exception)

    def test_of_something_else_than_a_run(self, tmp_path):
        assert isinstance(run("train", tmp_path, "--again", "-o", tmp_path / "again").exception, InputError)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--order", "best"), "no order 'best', expected informative, surest, random"),
        (("--threshold", 0.5), "--threshold 0.5 with the order informative, expected --order random"),
        (("--order", "random", "--threshold", 1.0), "there is no pair to review"),
    ],
)
def test_reviews_that_cannot_begin(trained, options, said):
    result = run("review", trained, "--no-browser", *options)
    assert isinstance(result.exception, MpxgatError)
    assert said in str(result.exception)


def test_a_model_that_does_not_match(tmp_path):
    assert run("train", network(tmp_path), "-o", tmp_path / "run", "--model", "rules").exit_code == 0
    result = run("review", tmp_path / "run", "--no-browser")
    assert "the model 'rules' cannot match nodes" in str(result.exception)


def test_it_serves_until_it_is_interrupted(trained):
    # Ctrl-C must reach it, also where these tests run in the background of a shell, which ignores it there.
    program = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    program += "from mpxgat.__main__ import main; sys.argv[0] = 'mpxgat'; main()"
    command = [sys.executable, "-c", program, "review", str(trained), "--no-browser", "--who", "ann"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ) as process:
        address = process.stderr.readline().removeprefix("review at ").strip()
        assert "Ctrl-C ends it" in process.stderr.readline()
        with urlopen(address, timeout=20) as page:
            assert page.status == 200
        process.send_signal(signal.SIGINT)
        assert "0 accepted, 0 rejected, 0 skipped" in process.stderr.read()
        assert process.wait(20) == 0
