"""MkDocs hook: in place of ``<!-- commands -->``, every command of the program with its arguments and options.

The text is made from the program itself when the site is built, so it cannot fall behind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from typing import Any

import typer

MARK = "<!-- commands -->"


def on_page_markdown(markdown: str, **kwargs: Any) -> str:
    """Called by MkDocs for every page."""
    return markdown.replace(MARK, reference()) if MARK in markdown else markdown


def reference() -> str:
    """All commands as Markdown, in the order of ``mpxgat --help``."""
    from mpxgat.cli.app import app

    program = typer.main.get_command(app)
    return "\n".join(_commands(program, typer.Context(program, info_name="mpxgat")))


def _commands(group: Any, context: Any) -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command.hidden:
            continue
        inside = typer.Context(command, info_name=name, parent=context)
        if hasattr(command, "list_commands"):
            yield from (f"## {inside.command_path}", "", _text(command.help), "")
            yield from _commands(command, inside)
        else:
            yield from _command(command, inside)


def _command(command: Any, context: Any) -> Iterator[str]:
    heading = "#" * len(context.command_path.split())
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield from (f"{heading} {context.command_path}", "", _text(command.help), "", "```text", usage, "```", "")
    records = [parameter.get_help_record(context) for parameter in command.params]
    yield from ("| argument or option | meaning |", "|---|---|")
    yield from (f"| {_code(shown)} | {_text(meaning)} |" for shown, meaning in filter(None, records))
    yield ""


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>".replace("|", "&#124;")


def _text(text: str | None) -> str:
    """One line of Markdown: blanks joined, what Markdown would read as more than text escaped, code kept."""
    joined = re.sub(r"\s+", " ", (text or "").strip())
    parts = re.split(r"(`[^`]*`)", joined)
    return "".join(part if part.startswith("`") else _plain(part) for part in parts).replace("|", "&#124;")


def _plain(text: str) -> str:
    return re.sub(r"([\[\]*_])", r"\\\1", escape(text, quote=False))
