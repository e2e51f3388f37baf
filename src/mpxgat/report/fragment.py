"""A piece of a page: what it shows, how it looks, what it does, and the data it does it with."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Fragment:
    """One section of a page.

    anchor      its id in the page: lower-case letters and hyphens
    title       as plain text, shown as heading and in the table of contents
    html        what is inside the section; ids of nodes, layers and files are escaped already
    style       CSS, needed once in a page
    script      JavaScript, run after the page is there; reads its data by ``pageData(anchor)``
    data        what can be written as JSON, for the script
    """

    anchor: str
    title: str
    html: str
    style: str = ""
    script: str = ""
    data: dict[str, object] = field(default_factory=dict)
