"""`mpxgat datasets`: what can be had by name."""

from __future__ import annotations

from mpxgat.cli.options import JsonOption
from mpxgat.cli.output import print_json, print_note, print_table


def datasets(json: JsonOption = False) -> None:
    """Data sets by name, and whether they are on this machine."""
    from mpxgat import datasets as catalogue

    known = [(catalogue.dataset(name), catalogue.where(name)) for name in catalogue.names()]
    if json:
        rows = [
            {
                "name": entry.name,
                "title": entry.title,
                "note": entry.note,
                "prepared": entry.prepared,
                "here": place is not None,
                "path": None if place is None else str(place),
                "licence": entry.licence,
                "citation": entry.citation,
                "homepage": entry.homepage,
            }
            for entry, place in known
        ]
        print_json({"datasets": rows})
        return
    print_table(
        ("name", "title", "here", "licence", "note"),
        [(entry.name, entry.title, place is not None, entry.licence, entry.note) for entry, place in known],
    )
    if any(place is None for _, place in known):
        print_note(
            "What is not here is fetched when it is first used, or taken from the folder that "
            f"{catalogue.FOLDER_VARIABLE} names."
        )
