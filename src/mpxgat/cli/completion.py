"""`mpxgat completion`: the lines that make a shell complete commands, options, models and data sets."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from typing import Annotated

import typer

_PROGRAM, _VARIABLE = "mpxgat", "_MPXGAT_COMPLETE"  # by the variable the shell asks the program what may follow


class Shell(StrEnum):
    """Shells that typer has a script for, but for those of Windows."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


def completion(shell: Annotated[Shell, typer.Argument(help="The shell that is to complete.")]) -> None:
    """Print what a shell needs to complete this program's words; the first line says where to put it."""
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    script = get_completion_script(prog_name=_PROGRAM, complete_var=_VARIABLE, shell=shell.value)
    where = {
        Shell.bash: 'Put this line in ~/.bashrc:  eval "$(mpxgat completion bash)"',
        Shell.zsh: 'Put this line in ~/.zshrc, after compinit:  eval "$(mpxgat completion zsh)"',
        Shell.fish: "Run this once:  mpxgat completion fish > ~/.config/fish/completions/mpxgat.fish",
    }[shell]
    sys.stdout.write(f"# {where}\n{script}\n")


def answer_shells() -> None:
    """Let typer answer if a shell asks; it loads what that takes only when told to."""
    if _VARIABLE in os.environ:
        from typer.completion import completion_init  # type: ignore[attr-defined]

        completion_init()
        os.environ["COLUMNS"] = "1000"  # or typer breaks help texts into lines, which shells take for further words
