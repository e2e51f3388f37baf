"""`mpxgat train`, and `mpxgat info` of its runs."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from mpxgat.build import with_apart
from mpxgat.errors import MpxgatError
from mpxgat.features import encode_features
from mpxgat.io import read, write
from mpxgat.models.mpxgat import MPXGAT
from mpxgat.runs import RunFolder
from mpxgat.synthetic import social
from tests.cli.runs import SMALL, network, run

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return network(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def trained(data, tmp_path_factory):
    """The folder of a run, and what the command printed."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    return folder, run("train", data, "-o", folder, *SMALL)


def test_a_run_ends_with_a_table(trained):
    folder, result = trained
    assert result.exit_code == 0, result.output
    for text in ("layer 1 of 3: friends", "between layers", "β", "best validation AUC"):
        assert text in result.stdout
    assert result.stderr == f"the model is in {folder / 'model.safetensors'}\n"
    assert RunFolder(folder).model().settings["hidden"] == 4


def test_processes_make_no_difference(data, trained, tmp_path):
    result = run("train", data, "-o", tmp_path / "run", *SMALL, "--jobs", 2, "--json")
    assert result.stderr == ""
    value = json.loads(result.stdout)
    assert value["finished"] is True
    assert value["training"]["parts"]["between layers"]["epochs"] == 4
    for name in ("model.safetensors", "history.json", "config.json"):
        assert (tmp_path / "run" / name).read_bytes() == (trained[0] / name).read_bytes()


def test_a_folder_with_a_run_is_not_trained_in_again(data, trained):
    result = run("train", data, "-o", trained[0], *SMALL)
    assert isinstance(result.exception, MpxgatError)
    assert "holds a run already; continue it with --resume, or name another folder" in str(result.exception)


def test_resuming_a_finished_run_says_so(data, trained):
    for settings in (SMALL, ()):  # what is not given is as it was begun
        result = run("train", data, "-o", trained[0], *settings, "--resume")
        assert result.exit_code == 0
        assert "is finished: nothing to do" in result.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--set", "hidden=5"), "the setting hidden = 4, now 5"),
        (("--epochs", "9"), "the setting epochs = 4, now 9"),
        (("--seed", "5"), "the seed 0, now 5"),
        (("--model", "rules"), "the model 'mpxgat', now 'rules'"),
    ],
)
def test_resuming_with_something_else_is_refused(data, trained, options, said):
    result = run("train", data, "-o", trained[0], "--resume", *options)
    assert isinstance(result.exception, MpxgatError)
    assert said in str(result.exception)


def test_resuming_where_no_run_is_begins_one(data, tmp_path):
    result = run("train", data, "-o", tmp_path / "run", "--model", "rules", "--resume")
    assert result.exit_code == 0
    assert "this is its beginning" in result.stderr
    assert RunFolder(tmp_path / "run").model().name == "rules"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--model", "mpxgat", "--set", "colour=red"), "no setting 'colour'"),
        (("--model", "mpxgat", "--set", "name=red"), "no setting 'name'"),
        (("--model", "mpxgat", "--set", "self=red"), "no setting 'self'"),
        (("--model", "mpxgat", "--set", "cls=red"), "no setting 'cls'"),
        (("--model", "mpxgat", "--set", "heads=0"), "heads is 0, expected at least 1"),
        (("--model", "mpxgat", "--set", "heads=many"), "heads is 'many', expected a whole number"),
        (("--model", "mpxgat", "--set", "lr=-1"), "lr is -1"),
        (("--epochs", "20", "--set", "lr=1"), "settings are given (lr, epochs) but no model; add --model mpxgat"),
        (("--published", "arxiv"), "settings are given (hidden, out"),
        (("--batch", "7"), "settings are given (batch)"),
        (("--set", "heads"), "expected KEY=VALUE"),
        (("--model", "mpxgatt"), "did you mean mpxgat"),
        (("--published", "aucs"), "no published settings for 'aucs'"),
        (("--config", "none.toml"), "no such file"),
    ],
)
def test_bad_settings_are_named_before_data_is_read(tmp_path, options, said):
    result = run("train", tmp_path / "none.edges", "-o", tmp_path / "run", *options)
    assert isinstance(result.exception, MpxgatError)
    assert said in str(result.exception)
    assert not list(tmp_path.iterdir())


def test_what_fails_before_training_leaves_no_run(data, tmp_path):
    assert isinstance(run("train", tmp_path / "none.edges", "-o", tmp_path / "run").exception, MpxgatError)
    assert not list(tmp_path.iterdir())
    nowhere = ("--model", "mpxgat", "--set", "device=nowhere")
    assert isinstance(run("train", data, "-o", tmp_path / "run", *nowhere).exception, MpxgatError)
    assert os.listdir(tmp_path / "run") == [".lock"]
    assert not RunFolder(tmp_path / "run").holds_run()


def test_info_explains_a_finished_run(trained):
    folder, _ = trained
    shown = run("info", folder).stdout
    for text in ("finished", "mpxgat", "hidden", "3 layers", "torch", "layer 2 of 3: work", "β", "best validation"):
        assert text in shown
    value = json.loads(run("info", folder, "--json").stdout)
    assert value["settings"]["hidden"] == 4
    assert value["graph"]["layers"] == ["friends", "work", "messages"]
    assert len(value["training"]["parts"]) == 4


def test_info_names_what_is_wrong_with_a_run(trained, tmp_path):
    result = run("info", trained[0], "--format", "mpx")
    assert "is a run, expected a file" in str(result.exception)
    (tmp_path / "config.json").write_text('{"kind": "mpx')
    result = run("info", tmp_path)
    assert isinstance(result.exception, MpxgatError)
    assert f"{tmp_path / 'config.json'}: damaged, or no JSON" in str(result.exception)


def test_an_interrupted_run_says_how_to_go_on_and_info_how_far_it_is(data, trained, tmp_path, monkeypatch):
    learn = MPXGAT._learn

    def stopped(self, graph, session):
        def report(part, epoch):
            if part.startswith("layer 2") and epoch.epoch == 3:
                raise KeyboardInterrupt

        learn(self, graph, type(session)(session.checkpoints, session.identity, report, save_every=session.save_every))

    folder = tmp_path / "a run"
    with monkeypatch.context() as patch:
        patch.setattr(MPXGAT, "_learn", stopped)
        result = run("train", data, "-o", folder, *SMALL, "--save-every", 0)
    assert result.exit_code == 130
    assert result.stdout == ""
    assert result.stderr == f"the run is not finished; continue with: mpxgat train {data} -o '{folder}' --resume\n"
    shown = run("info", folder).stdout
    assert "not finished: 1 part(s) trained, 1 begun" in shown
    assert json.loads(run("info", folder, "--json").stdout)["training"]["parts"]["horizontal-0002"]["epochs"] == 2
    assert run("train", data, "-o", folder, "--resume").exit_code == 0
    assert (folder / "model.safetensors").read_bytes() == (trained[0] / "model.safetensors").read_bytes()


def test_ctrl_c_stops_worker_processes_too(data, tmp_path):
    folder = tmp_path / "run"
    arguments = [
        "train",
        data,
        "-o",
        folder,
        "--model",
        "mpxgat",
        "--epochs",
        "100000",
        "--set",
        "patience=100000",
        "--jobs",
        "2",
    ]
    command = [sys.executable, "-m", "mpxgat.cli.app", *map(str, arguments), "--save-every", "0"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
        # Tests run in the background of a shell ignore Ctrl-C, and what they start would too.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        deadline = time.monotonic() + 120
        while not list((folder / "checkpoints").glob("horizontal*")) and time.monotonic() < deadline:
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
        try:
            _, said = process.communicate(timeout=60)  # returns when no process holds the pipes any more
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 130
    assert said.startswith(f"the run is not finished; continue with: mpxgat train {data} -o {folder} --resume\n")
    assert "Traceback" not in said


def test_without_settings_the_best_model_is_chosen_and_info_says_which(tmp_path):
    result = run("train", network(tmp_path), "-o", tmp_path / "run")
    assert result.exit_code == 0, result.output
    said = run("info", tmp_path / "run").stdout
    training = json.loads(run("info", tmp_path / "run", "--json").stdout)["training"]
    assert training["chosen"] in ("evidence", "anchored", "rules")
    assert "predicts links by" in said
    assert training["chosen"] in said.split("predicts links by")[1]
    for kind in ("intra", "inter"):
        assert f"{kind} links" in said
        assert f"{training['validation'][kind]['rules']:.3f}"[1:] in said.replace("0.", ".")


def test_a_run_in_batches_tells_so_and_resumes_as_begun(data, trained, tmp_path):
    result = run("train", data, "-o", tmp_path / "run", *SMALL, "--batch", "50")
    assert result.exit_code == 0, result.output
    assert "links in a step" in result.stdout
    assert "links in a step" not in trained[1].stdout
    assert RunFolder(tmp_path / "run").model().settings["batch"] == 50
    parts = json.loads(run("info", tmp_path / "run", "--json").stdout)["training"]["parts"]
    assert {part["batch"] for part in parts.values()} == {50}
    assert run("train", data, "-o", tmp_path / "run", "--resume").exit_code == 0
    other = run("train", data, "-o", tmp_path / "run", "--batch", "60", "--resume")
    assert "begun with the setting batch = 50, now 60" in str(other.exception)
    wrong = run("train", data, "-o", tmp_path / "other", "--model", "mpxgat", "--batch", "half")
    assert "batch is 'half', expected auto, full or a whole number" in str(wrong.exception)


def test_a_file_of_settings_may_name_the_model(data, tmp_path):
    (tmp_path / "mine.toml").write_text('model = "gat"\n[settings]\nhidden = 4\nout = 4\nheads = 1\nepochs = 2\n')
    result = run("train", data, "-o", tmp_path / "run", "--config", tmp_path / "mine.toml")
    assert result.exit_code == 0, result.output
    assert RunFolder(tmp_path / "run").config().model == "gat"
    (tmp_path / "wrong.toml").write_text("model = 3\n")
    wrong = run("train", data, "-o", tmp_path / "other", "--config", tmp_path / "wrong.toml")
    assert "model is '3', expected a model's name" in str(wrong.exception)


def test_info_says_what_the_same_seed_promises(trained):
    known = RunFolder(trained[0]).config().reproducibility
    assert known["threads"] == 1
    assert f"{known['promise']} (threads 1, MKL_CBWR" in " ".join(run("info", trained[0]).stdout.split())


@pytest.mark.parametrize(("model", "said"), [("rules", True), ("mpxgat", False)])
def test_what_a_model_does_not_use_is_said_once(model, said, tmp_path):
    (tmp_path / "net.csv").write_text("source,target,layer,weight\na,b,x,2\nb,c,x,1\na,b,y,1\nb,c,y,3\n")
    settings = [] if model == "rules" else ["--epochs", "1", "--set", "hidden=2"]
    result = run("train", tmp_path / "net.csv", "-o", tmp_path / "run", "--model", model, *settings)
    assert result.exit_code == 0, result.output
    assert result.stderr.count("does not use the weights of this network") == said


def test_direction_that_a_model_does_not_use_is_said_once(tmp_path):
    (tmp_path / "net.csv").write_text("source,target,layer\na,b,x\nb,c,x\na,b,y\nb,c,y\n")
    result = run("train", tmp_path / "net.csv", "--directed", "-o", tmp_path / "run", "--model", "rules")
    assert result.exit_code == 0, result.output
    assert result.stderr.count("the model rules does not use the direction of this network") == 1
    assert RunFolder(tmp_path / "run").config().data == f"{tmp_path / 'net.csv'} --directed"


# ---- pairs known to be different -------------------------------------------------------------------------


def test_what_is_different_is_part_of_the_run(tmp_path):
    graph = social(60, 2, 0, known=0.5)
    write(graph, tmp_path / "net.parquet")
    last = graph.n_nodes - 1
    listed, out = tmp_path / "different.csv", tmp_path / "run"
    listed.write_text(f"{','.join(graph.layers)}\n{graph.ids[0].as_py()},{graph.ids[last].as_py()}\n")
    train = ("train", tmp_path / "net.parquet", "-o", out, "--model", "rules")
    assert run(*train, "--different", listed).exit_code == 0
    model = RunFolder(out).model()
    assert model.graph == with_apart(graph, [[0, last]])
    assert model.score([[0, last]]) < model.score([[1, last - 1]])
    assert "1 pair(s) known to be different" in run("info", out).stdout.replace("\n", " ")
    assert "is finished: nothing to do" in run(*train, "--different", listed, "--resume").stderr
    refused = run(*train, "--resume")
    assert re.search(r"other data .* nodes, 1 pair\(s\) known to be different, checksum", str(refused.exception))
    listed.write_text(f"{','.join(graph.layers)}\nnobody,{graph.ids[last].as_py()}\n")
    assert f"{listed}:2: unknown node 'nobody'" in str(run(*train, "--different", listed, "--resume").exception)


# ---- attributes as features ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """A file of people with usernames, cities and dates of joining."""
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    write(social(people=60, layers=2, seed=0, names=True), path)
    return path


FEATURES = ("--features", "city", "--features", "joined:date")


@pytest.mark.filterwarnings("ignore::mpxgat.errors.DataWarning")
def test_attributes_become_features_of_the_run(people, tmp_path):
    folder = tmp_path / "run"
    result = run("train", people, "-o", folder, *SMALL, *FEATURES)
    assert result.exit_code == 0, result.output
    assert re.search(r"^features: city:category \(\d+\), joined:date \(2\)$", result.stderr, re.MULTILINE)
    assert RunFolder(folder).config().data == f"{people} --features city --features joined:date"
    graph = RunFolder(folder).model().graph
    assert graph == encode_features(read(people), ["city", "joined:date"])
    assert RunFolder(folder).config().fingerprint == graph.fingerprint() != read(people).fingerprint()
    for command in (("embed", "-o", tmp_path / "v.parquet"), ("predict", "--top", 3)):
        assert run(command[0], folder, *command[1:]).exit_code == 0
    again = run("train", people, "-o", folder, *SMALL, *FEATURES, "--resume")
    assert "is finished: nothing to do" in again.stderr
    for others in ((), FEATURES[:2], FEATURES[2:] + FEATURES[:2]):
        problem = run("train", people, "-o", folder, *SMALL, *others, "--resume").exception
        assert isinstance(problem, MpxgatError)
        assert "was begun with other data ('" in str(problem)


@pytest.mark.filterwarnings("ignore::mpxgat.errors.DataWarning")
@pytest.mark.parametrize(("model", "said"), [("rules", True), ("mpxgat", False)])
def test_a_model_that_does_not_read_features_says_so_once(people, tmp_path, model, said):
    settings = SMALL if model == "mpxgat" else ("--model", model)
    result = run("train", people, "-o", tmp_path / "run", *settings, *FEATURES)
    assert result.exit_code == 0, result.output
    assert result.stderr.count(f"the model {model} does not use the features of this network") == said


@pytest.mark.filterwarnings("ignore::mpxgat.errors.DataWarning")
def test_cut_short_with_features_it_says_how_to_go_on(people, tmp_path, monkeypatch):
    def interrupted(self, graph, session):
        raise KeyboardInterrupt

    monkeypatch.setattr(MPXGAT, "fit", interrupted)
    result = run("train", people, "-o", tmp_path / "run", *SMALL, "--directed", *FEATURES)
    rest = f"--directed --features city --features joined:date -o {tmp_path / 'run'} --resume"
    assert f"continue with: mpxgat train {people} {rest}\n" in result.stderr


@pytest.mark.parametrize(
    ("features", "said"),
    [
        ("citty", "no column 'citty' among the nodes' attributes; did you mean 'city'"),
        ("username:number", "is no number, expected a number such as"),
        ("city:colour", "no kind of feature 'colour' in 'city:colour'; known are number, date, category"),
    ],
)
def test_what_cannot_be_a_feature_leaves_no_run(people, tmp_path, features, said):
    result = run("train", people, "-o", tmp_path / "run", *SMALL, "--features", features)
    assert isinstance(result.exception, MpxgatError)
    assert said in str(result.exception)
    assert not list(tmp_path.iterdir())
