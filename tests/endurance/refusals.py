"""How a command should refuse: exit code 2, one clear line, nothing half-written."""

from __future__ import annotations

from pathlib import Path

from tests.endurance.launcher import Ended

_OURS = (".lock", ".running", ".checkpoints")  # what a run, a search and a folder of results keep hidden


def wrong_refusal(ended: Ended, *said: str) -> list[str]:
    """What is wrong with the end of a command that should have refused; ``said`` are words its line must hold.

    Notes may come before the line; the cells of a benchmark fail one by one, each with a line of its own.
    """
    lines = ended.err.splitlines()
    problems = []
    if ended.code != 2:
        problems.append(f"exit code {ended.code}, expected 2")
    if "Traceback" in ended.err or "Exception ignored" in ended.err:
        problems.append("a traceback")
    elif not lines or not lines[-1].startswith(("error: ", "failed: ", '{"error": ')):  # the last with --json
        problems.append("no line that says what is wrong")
    elif sum(line.startswith("error: ") for line in lines) > 1:
        problems.append("more than one line of errors")
    elif not all(words in lines[-1] for words in said):
        problems.append(f"the line does not say {said}")
    return [f"{problem}: {ended.err[-300:]!r}" for problem in problems]


def leftovers(folder: Path) -> list[str]:
    """Temporary files that writers have left under a folder, in words."""
    hidden = [path for path in folder.rglob(".*") if path.name not in _OURS]
    return [f"left behind: {path.name}" for path in hidden]


def contents(folder: Path) -> dict[str, bytes]:
    """Everything in the files under a folder, by path; locks have nothing in them."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
