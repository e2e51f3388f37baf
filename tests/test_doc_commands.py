"""The program that runs what the documentation shows must notice a command that fails."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "run_doc_commands.py"


@pytest.fixture
def check(tmp_path):
    def run(*texts):
        names = []
        for number, text in enumerate(texts):
            path = tmp_path / f"page{number}.md"
            path.write_text(text, encoding="utf-8")
            names.append(str(path))
        return subprocess.run([sys.executable, SCRIPT, *names], capture_output=True, text=True, timeout=60, check=False)

    return run


def test_commands_of_a_file_share_one_folder(check):
    result = check("Text\n```console\n$ echo one > made.txt\n$ grep -q one made.txt\noutput\n```\n")
    assert result.returncode == 0, result.stdout
    assert result.stdout.count("ok") == 2


def test_each_file_starts_in_an_empty_folder(check):
    result = check("```console\n$ touch left.txt\n```\n", '```console\n$ test -z "$(ls -A)"\n```\n')
    assert result.returncode == 0, result.stdout


def test_first_failure_ends_the_run_with_its_output(check):
    result = check("```console\n$ echo before; echo reason >&2; exit 7\n$ echo never\n```\n")
    assert result.returncode == 1
    assert "line 2" in result.stdout
    assert "exit code 7" in result.stdout
    assert "before\nreason" in result.stdout
    assert "$ echo never" not in result.stdout


def test_a_failing_first_part_of_a_pipe_fails(check):
    assert check("```console\n$ false | cat\n```\n").returncode == 1


def test_continued_lines_are_one_command(check):
    result = check("```console\n$ test one = \\\n>   one && \\\n  test 2 = 2\nshown output\n```\n")
    assert result.returncode == 0, result.stdout
    assert result.stdout.count("ok") == 1


def test_python_blocks_run_among_the_commands(check):
    before = "```console\n$ echo 41 > n\n```\n"
    program = "```python\nvalue = int(open('n').read()) + 1\nopen('n', 'w').write(str(value))\n```\n"
    after = "```console\n$ grep -q 42 n\n```\n"
    assert check(before + program + after).returncode == 0
    failing = check("```python\nraise ValueError('seen')\n```\n")
    assert failing.returncode == 1
    assert "ValueError: seen" in failing.stdout


def test_the_folder_of_this_python_comes_first(check):
    result = check(f'```console\n$ test "$(command -v python)" = {Path(sys.executable).parent / "python"}\n```\n')
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    "command", ["make test", "git clone somewhere", "pip install x", "python -m pip install x", "cd x", "export A=1"]
)
def test_what_is_not_run_is_listed_with_a_reason(check, command):
    result = check(f"```console\n$ {command}\n```\n")
    assert result.returncode == 0
    assert f"$ {command}\n    not run here: " in result.stdout


def test_a_command_that_only_begins_alike_is_run(check):
    assert check("```console\n$ makes-nothing\n```\n").returncode == 1


def test_other_blocks_are_text(check):
    result = check("```toml\n$ exit 1\n```\n\n    $ exit 1\n\n$ exit 1\n")
    assert result.returncode == 0
    assert "exit 1" not in result.stdout


@pytest.mark.parametrize("text", ["```bash\nls\n```\n", "```console\n$ true\n"], ids=["shell block", "open block"])
def test_a_document_that_cannot_be_checked_is_an_error(check, text):
    result = check(text)
    assert result.returncode == 2
    assert "line 1" in result.stderr
    assert "Traceback" not in result.stderr


def test_missing_file(tmp_path):
    call = [sys.executable, SCRIPT, tmp_path / "absent.md"]
    result = subprocess.run(call, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 2
    assert "absent.md" in result.stderr
