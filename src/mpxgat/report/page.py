"""One HTML file that needs no network: its style, its scripts and its data are inside.

Data stand in the page as JSON in elements of their own, written so that no text in them can end the element. A policy
in the head of the page forbids the browser every request, so that a mistake could not make one either.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files

from mpxgat import __version__
from mpxgat.errors import SettingError, quoted
from mpxgat.report.fragment import Fragment

_ANCHOR = re.compile(r"[a-z][a-z0-9-]*")
# unsafe-eval: Vega makes functions of its own expressions. Nothing but what is in the page can be evaluated.
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' 'unsafe-eval'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)
_ESCAPED = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def page(title: str, fragments: Sequence[Fragment], *, lead: str = "", libraries: Iterable[str] = ()) -> str:
    """The page as text; the same fragments give the same bytes.

    title       plain text
    lead        HTML below the title
    libraries   scripts that the fragments' scripts call
    """
    _check_anchors(fragments)
    scripts = [_scope(library) for library in libraries]
    scripts += [asset("page.js"), *(_scope(text) for text in _different(f.script for f in fragments))]
    styles = [asset("page.css"), *_different(f.style for f in fragments)]
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f'<meta name="generator" content="mpxgat {__version__}">',
            '<link rel="icon" href="data:,">',
            f"<title>{escape(title)}</title>",
            *(f"<style>\n{_inside(style, 'style')}\n</style>" for style in styles),
            "</head>",
            "<body>",
            '<a class="skip" href="#content">Skip to the content</a>',
            f"<header>\n<h1>{escape(title)}</h1>\n{lead}\n</header>",
            _contents(fragments),
            '<main id="content">',
            *(_section(fragment) for fragment in fragments),
            "</main>",
            f"<footer>Made with mpxgat {__version__}. This page makes no network request.</footer>",
            *(_data(fragment.anchor, fragment.data) for fragment in fragments if fragment.data),
            *(f"<script>\n{_inside(script, 'script')}\n</script>" for script in scripts),
            "</body>",
            "</html>",
            "",
        ]
    )


def asset(name: str) -> str:
    """The text of a file in the folder ``assets``."""
    return (files("mpxgat.report") / "assets" / name).read_text(encoding="utf-8")


def json_in_page(value: object) -> str:
    """JSON in which nothing can be taken for HTML or for the end of a line of JavaScript."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # A half of a character that stands alone cannot be written as UTF-8.
    return re.sub("[<>&\u2028\u2029\ud800-\udfff]", lambda found: _escaped(found.group()), text)


def _escaped(character: str) -> str:
    return _ESCAPED.get(character) or f"\\u{ord(character):04x}"


def _check_anchors(fragments: Sequence[Fragment]) -> None:
    seen: set[str] = set()
    for fragment in fragments:
        if not _ANCHOR.fullmatch(fragment.anchor) or fragment.anchor in seen:
            raise SettingError(
                f"a section's anchor is {quoted(fragment.anchor)}, expected lower-case letters, digits and hyphens, "
                "and no anchor twice"
            )
        seen.add(fragment.anchor)


def _contents(fragments: Sequence[Fragment]) -> str:
    entries = "\n".join(f'<li><a href="#{f.anchor}">{escape(f.title)}</a></li>' for f in fragments)
    return f'<nav aria-label="Contents">\n<ol>\n{entries}\n</ol>\n</nav>'


def _section(fragment: Fragment) -> str:
    heading = f'<h2 id="{fragment.anchor}-title">{escape(fragment.title)}</h2>'
    opening = f'<section id="{fragment.anchor}" aria-labelledby="{fragment.anchor}-title">'
    return f"{opening}\n{heading}\n{fragment.html}\n</section>"


def _data(anchor: str, data: Mapping[str, object]) -> str:
    return f'<script type="application/json" id="{anchor}-data">{json_in_page(data)}</script>'


def _scope(script: str) -> str:
    """The script with names of its own: a bundle's short names must not meet those of other scripts."""
    return f"(() => {{\n{script}\n}})();"


def _inside(text: str, element: str) -> str:
    """A style or script of ours, which must not hold the end of its element."""
    if f"</{element}" in text.lower() or "<!--" in text:
        raise SettingError(f"a {element} of the page holds the end of its element")
    return text


def _different(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(text for text in texts if text))
