"""`mpxgat models`: what models there are, and what the settings of one mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mpxgat.cli.options import JsonOption, complete_models, own_model
from mpxgat.cli.output import print_fields, print_json, print_note, print_table

if TYPE_CHECKING:
    from mpxgat.models.listing import SettingInfo


def models(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="A model's name, or package.module:Class of your own.",
            callback=own_model,
            autocompletion=complete_models,
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """List all models with what each is for; of one, its settings with defaults and meaning."""
    from mpxgat.models import model_names
    from mpxgat.models.listing import model_info

    if name is None:
        known = [model_info(each) for each in model_names()]
        if json:
            print_json({"models": [each.to_record() for each in known]})
            return
        print_table(("model", "what it is"), [(each.name, each.description) for each in known])
        print_note("mpxgat models NAME shows the settings of one; package.module:Class stands for one of your own")
        return
    found = model_info(name)
    if json:
        print_json(found.to_record())
        return
    print_fields({"model": found.name, "what it is": found.description})
    if found.settings:
        print_table(("setting", "default", "meaning"), _rows(found.settings))
        print_note("--set KEY=VALUE changes a setting, in train, evaluate, record and tune")
    else:
        print_note(f"the model {found.name} has no settings")


def _rows(settings: Sequence[SettingInfo]) -> list[tuple[str, str, str]]:
    """A row for each setting; those that are explained together stand in one."""
    groups: dict[str, list[SettingInfo]] = {}
    for setting in settings:
        groups.setdefault(setting.meaning or setting.name, []).append(setting)
    return [
        (", ".join(each.name for each in group), ", ".join(_shown(each.default) for each in group), group[0].meaning)
        for group in groups.values()
    ]


def _shown(value: Any) -> str:
    return "none" if value is None else '""' if value == "" else str(value)
