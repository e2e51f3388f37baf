"""Run what the documentation shows: every command in a ``console`` block, every ``python`` block.

    python scripts/run_doc_commands.py README.md docs/*.md

Each file has one empty temporary folder, in which its commands run in the order of the text, with the folder of
this Python first on PATH. A ``python`` block is a program of its own, as a reader would paste it. The first failure
ends the run with the command's output and exit code 1. What cannot run here is listed with the reason.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TIMEOUT_SECONDS = 900
NOT_RUN = {
    r"make\b": "the targets of the Makefile are steps of continuous integration themselves",
    r"git clone\b": "it would fetch this repository anew",
    r"(python3? -m )?pip install\b": "the set-up has installed the package already",
    r"cd\b": "each file has its own folder",
    r"export\b": "it sets a variable of the reader's shell",
}
# A shell block by another name would look like a checked one and never run.
UNCHECKED_SHELLS = {"bash", "sh", "shell", "zsh"}
_FENCE = re.compile(r"^ {0,3}(?P<fence>```+|~~~+)\s*(?P<language>[\w+-]*)")


class DocumentError(Exception):
    """A document that this program cannot check."""


@dataclass(frozen=True)
class Step:
    """Something a document shows: ``kind`` is "command" or "program", ``line`` where it starts, from 1."""

    kind: str
    line: int
    text: str

    @property
    def reason_not_to_run(self) -> str | None:
        """Why this command is left to other checks, or None."""
        if self.kind == "command":
            for pattern, reason in NOT_RUN.items():
                if re.match(pattern, self.text):
                    return reason
        return None


def steps(text: str) -> Iterator[Step]:
    """All commands and programs of a Markdown text, in order."""
    for language, first_line, lines in _blocks(text):
        if language in UNCHECKED_SHELLS:
            raise DocumentError(
                f"line {first_line - 1}: a block called '{language}' is not checked, expected 'console' with '$ ' "
                "before each command"
            )
        if language == "console":
            yield from _commands(first_line, lines)
        elif language == "python":
            yield Step("program", first_line, "\n".join(lines) + "\n")


def _blocks(text: str) -> Iterator[tuple[str, int, list[str]]]:
    """Fenced blocks: language, number of the first line inside, lines."""
    fence, language, start, inside = "", "", 0, list[str]()
    for number, line in enumerate(text.splitlines(), start=1):
        if fence:
            bare = line.strip()
            if bare.startswith(fence) and set(bare) == {fence[0]}:
                yield language, start, inside
                fence = ""
            else:
                inside.append(line)
        elif match := _FENCE.match(line):
            fence, language, start, inside = match["fence"], match["language"].lower(), number + 1, []
    if fence:
        raise DocumentError(f"line {start - 1}: a block is opened and never closed")


def _commands(first_line: int, lines: Sequence[str]) -> Iterator[Step]:
    """Lines that start with ``$ ``, with the lines that a final backslash adds; the others are output."""
    position = 0
    while position < len(lines):
        start = position
        position += 1
        if not lines[start].startswith("$ "):
            continue
        parts = [lines[start][2:]]
        while parts[-1].endswith("\\") and position < len(lines):
            parts.append(lines[position].removeprefix("> "))
            position += 1
        yield Step("command", first_line + start, "\n".join(parts).strip())


def run_step(step: Step, folder: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run one step in ``folder``; standard output and error come back together."""
    call = ["bash", "-o", "pipefail", "-c", step.text] if step.kind == "command" else [sys.executable, "-c", step.text]
    try:
        return subprocess.run(
            call,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(call, 124, f"still running after {TIMEOUT_SECONDS} seconds\n")


def check_file(path: Path, environment: Mapping[str, str]) -> bool:
    """Run all steps of one document, report each; False at the first failure."""
    print(f"{path}:", flush=True)
    with tempfile.TemporaryDirectory(prefix="doc-commands-") as folder:
        for step in steps(path.read_text(encoding="utf-8")):
            shown = step.text if step.kind == "command" else f"python block of {step.text.count(chr(10))} lines"
            if reason := step.reason_not_to_run:
                print(f"  line {step.line}: $ {shown}\n    not run here: {reason}", flush=True)
                continue
            print(f"  line {step.line}: {'$ ' if step.kind == 'command' else ''}{shown}", flush=True)
            result = run_step(step, Path(folder), environment)
            if result.returncode:
                print(f"    FAILED with exit code {result.returncode}; its output:\n{result.stdout}", flush=True)
                return False
            print("    ok", flush=True)
    return True


def main(arguments: Sequence[str]) -> int:
    """0 if everything ran, 1 at a failure, 2 for a document that cannot be read."""
    if not arguments:
        print("usage: run_doc_commands.py FILE.md…", file=sys.stderr)
        return 2
    binaries = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": os.pathsep.join([binaries, os.environ.get("PATH", os.defpath)])}
    for name in arguments:
        try:
            if not check_file(Path(name), environment):
                return 1
        except (DocumentError, OSError, UnicodeDecodeError) as problem:
            print(f"error: {name}: {problem}", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
