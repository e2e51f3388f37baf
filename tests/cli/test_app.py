"""The contract of the command line: exit codes, one line for an error, no traceback, a quick start."""

import json
import os
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

import mpxgat
from mpxgat.cli import info
from mpxgat.cli.app import app, main

COMMAND = [sys.executable, "-m", "mpxgat.cli.app"]


def run(*arguments, **options):
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=60, check=False, **options)


def test_version():
    result = run("--version")
    assert (result.returncode, result.stdout, result.stderr) == (0, f"mpxgat {mpxgat.__version__}\n", "")


def test_help_names_every_command():
    result = run("--help")
    assert result.returncode == 0
    for name in ("info", "convert", "datasets"):
        assert name in result.stdout


def test_no_help_text_has_brackets_which_the_terminal_would_swallow():
    def parameters(command):
        yield from command.params
        for below in getattr(command, "commands", {}).values():
            yield from parameters(below)

    texts = [
        parameter.help for parameter in parameters(typer.main.get_command(app)) if getattr(parameter, "help", None)
    ]
    assert len(texts) > 50
    assert not [text for text in texts if "[" in text]


def test_start_is_quick_because_nothing_heavy_is_imported():
    program = (
        "import sys, mpxgat.cli.app; print([m for m in ('torch', 'scipy', 'networkx', 'pooch') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout == "[]\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "no such file"),
        (b"", "the file is empty"),
        (b"1 a b 1\n1 a\n", ":2: "),
        (b"1 a b nonsense\n", ":1: "),
        (b"\xff\xfe\x00\x001\x00\x00\x00", "UTF-32"),
    ],
    ids=["absent", "empty", "short line", "bad weight", "encoding"],
)
@pytest.mark.parametrize("as_json", [False, True], ids=["table", "json"])
def test_bad_input_is_one_line_and_exit_code_2(tmp_path, content, said, as_json):
    path = tmp_path / "bad.edges"
    if content is not None:
        path.write_bytes(content)
    result = run("info", str(path), *["--json"] * as_json)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    if as_json:
        told = json.loads(result.stderr)
        assert list(told)[:4] == ["error", "hint", "kind", "path"]
        assert (told["kind"], told["path"]) == ("InputError", str(path))
        assert said in told["error"]
    else:
        assert result.stderr.startswith(f"error: {path}")
        assert said in result.stderr


def test_with_json_wrong_usage_and_wrong_settings_are_objects_too():
    usage = run("evaluate", "aucs", "--seeds", "none", "--json")
    assert (usage.returncode, usage.stdout) == (2, "")
    told = json.loads(usage.stderr)
    assert told["kind"] == "UsageError"
    assert told["hint"].startswith("see ")
    assert told["hint"].endswith(" evaluate --help")
    assert "--seeds" in told["error"]
    setting = json.loads(run("evaluate", "aucs", "--model", "rule", "--json").stderr)
    assert setting["error"].startswith("no model 'rule'; ")
    assert setting["hint"].startswith("did you mean rules?")
    assert run("info", "--json", "--help").returncode == 0


def test_control_characters_of_a_file_do_not_reach_the_terminal(tmp_path):
    path = tmp_path / "bad.edges"
    path.write_bytes(b"1 a b \x1b[31mred\n")
    result = run("info", str(path))
    assert result.returncode == 2
    assert "\x1b" not in result.stderr
    assert "\\x1b[31mred" in result.stderr


@pytest.mark.parametrize(
    "arguments", [("nonsense",), ("info",), ("info", "a", "b"), ("info", "--nonsense"), ("convert", "x.edges")]
)
def test_wrong_usage_is_exit_code_2_without_traceback(arguments):
    result = run(*arguments)
    assert result.returncode == 2
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert "Usage" in result.stderr


def test_letters_that_the_terminal_lacks_are_escaped(tmp_path):
    path = tmp_path / "net.edges"
    path.write_text("é→ a b 1\n", encoding="utf-8")
    result = run("info", str(path), env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert result.returncode == 0, result.stderr
    assert r"\xe9\u2192" in result.stdout


def test_a_reader_that_goes_away_is_no_error(tmp_path):
    path = tmp_path / "many.edges"
    path.write_text("".join(f"{layer} a b 1\n" for layer in range(150)))
    command = [*COMMAND, "info", str(path), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""


def test_an_interrupt_is_exit_code_130(monkeypatch, capsys):
    def interrupted(text, format, directed):
        raise KeyboardInterrupt

    monkeypatch.setattr(info, "load_data", interrupted)
    result = CliRunner().invoke(app, ["info", "aucs"])
    assert result.exit_code == 130
    assert result.output == ""
    for arguments in (["aucs"], ["aucs", "--json"]):
        monkeypatch.setattr(sys, "argv", ["mpxgat", "info", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        assert end.value.code == 130
        assert capsys.readouterr() == ("", "stopped\n")


def test_running_out_of_memory_is_one_line_and_exit_code_2(monkeypatch, capsys):
    def too_much(text, format, directed):
        raise MemoryError("cannot have 80 GB")

    monkeypatch.setattr(info, "load_data", too_much)
    monkeypatch.setattr(sys, "argv", ["mpxgat", "info", "aucs"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert capsys.readouterr() == ("", "error: not enough memory (cannot have 80 GB)\n")


@pytest.mark.parametrize(
    "problem",
    [
        RuntimeError("[enforce fail at alloc_cpu.cpp:118] DefaultCPUAllocator: can't allocate memory: you tried …"),
        ImportError("libtorch.so: failed to map segment from shared object"),
        RuntimeError("can't start new thread"),
    ],
)
def test_libraries_that_run_out_of_memory_are_understood(problem, monkeypatch, capsys):
    def too_much(text, format, directed):
        raise problem

    monkeypatch.setattr(info, "load_data", too_much)
    monkeypatch.setattr(sys, "argv", ["mpxgat", "info", "aucs"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert capsys.readouterr() == ("", f"error: not enough memory ({problem})\n")


def test_other_mistakes_of_ours_keep_their_traceback(monkeypatch):
    def broken(text, format, directed):
        raise RuntimeError("a mistake")

    monkeypatch.setattr(info, "load_data", broken)
    monkeypatch.setattr(sys, "argv", ["mpxgat", "info", "aucs"])
    with pytest.raises(RuntimeError, match="a mistake"):
        main()


def test_an_interrupt_before_the_command_begins_is_exit_code_130(monkeypatch, capsys):
    def interrupted(**more):
        raise KeyboardInterrupt

    monkeypatch.setattr("mpxgat.cli.app.app", interrupted)
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 130
    assert capsys.readouterr() == ("", "stopped\n")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
@pytest.mark.parametrize("arguments", [("datasets",), ("datasets", "--json"), ("--help",)])
def test_a_result_that_cannot_be_written_is_one_line_and_exit_code_2(arguments):
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=120, check=False
        )
    assert result.returncode == 2
    said = "cannot write the result: No space left on device"
    if "--json" in arguments:
        assert json.loads(result.stderr) == {"error": said, "hint": None, "kind": "OutputError"}
    else:
        assert result.stderr == f"error: {said}\n"


def test_the_package_is_the_command_too():
    found = subprocess.run([sys.executable, "-m", "mpxgat", "--version"], capture_output=True, text=True, check=True)
    assert mpxgat.__version__ in found.stdout
