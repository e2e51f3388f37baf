"""`mpxgat completion`: scripts for shells, and what the program answers when a shell asks."""

import os
import shutil
import subprocess
import sys

import pytest


@pytest.fixture
def ask(tmp_path):
    """Run a program in a folder, with the command `mpxgat` of this Python first on its path."""
    command = tmp_path / "bin" / "mpxgat"
    command.parent.mkdir()
    command.write_text(f"#!{sys.executable}\nfrom mpxgat.cli.app import main\n\nmain()\n")
    command.chmod(0o755)
    place = tmp_path / "here"
    place.mkdir()
    (place / "auc.edges").touch()
    (place / "aufolder").mkdir()

    def run(*words, **variables):
        path = os.pathsep.join([str(command.parent), os.environ["PATH"]])
        environment = {**os.environ, "PATH": path, **variables}
        return subprocess.run(words, cwd=place, env=environment, capture_output=True, text=True, check=True).stdout

    return run


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes(ask):
    def completed(*words):
        script = (
            'eval "$(mpxgat completion bash)"; '
            f"COMP_WORDS=(mpxgat {' '.join(words)}); COMP_CWORD={len(words)}; _mpxgat_completion mpxgat; "
            "printf '%s\\n' \"${COMPREPLY[@]}\""
        )
        return ask("bash", "-c", script).split()

    assert completed("conv") == ["convert"]
    assert completed("train", "au") == ["aucs", "auc.edges", "aufolder/"]
    assert completed("evaluate", "aucs", "--model", "mpxgat-") == ["mpxgat-random"]
    assert completed("completion", "''") == ["bash", "zsh", "fish"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_are_answered(ask, shell):
    assert f"complete_{shell}" in ask("mpxgat", "completion", shell)
    asked = {
        "_MPXGAT_COMPLETE": f"complete_{shell}",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        "_TYPER_COMPLETE_ARGS": "mpxgat train --mod",
    }
    answer = ask("mpxgat", **asked)
    assert "--model" in answer
    assert answer.count("\n") == 1  # one word, however long its help


def test_completing_imports_no_module_of_the_users(ask, tmp_path):
    (tmp_path / "here" / "own_traced.py").write_text("open('imported', 'w')\n")
    asked = {"_MPXGAT_COMPLETE": "complete_bash", "COMP_CWORD": "4"}
    assert ask("mpxgat", COMP_WORDS="mpxgat train --model own_traced:Model au", **asked).split()[0] == "aucs"
    assert not (tmp_path / "here" / "imported").exists()
