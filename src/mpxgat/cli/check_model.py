"""`mpxgat check-model`: does a model keep what every model promises?"""

from __future__ import annotations

from functools import partial

import typer

from mpxgat.cli.options import EpochsOption, OwnModelArgument, SetOption, parse_settings
from mpxgat.cli.output import print_note, print_table, progress


def check_model(
    model: OwnModelArgument,
    sets: SetOption = None,
    epochs: EpochsOption = None,
) -> None:
    """Check a model against the contract of all models: no leak, same seed same scores, saved and loaded the same.

    It is fitted some thirty times on small networks; --epochs and --set make that short. Exit code 1 if a check fails.
    """
    from mpxgat.models import contract, make_model

    settings = parse_settings(sets or [], None, None, epochs)
    make_model(model, **settings)  # a wrong name or setting is reported before anything is checked
    with progress(f"checking {model}", len(contract.CHECKS)) as advance:
        found = contract.check_model(partial(make_model, model, **settings), advance)
    print_table(("check", "", ""), [(each.name, "failed" if each.problem else "ok", each.problem) for each in found])
    failed = sum(bool(each.problem) for each in found)
    print_note(f"{len(found) - failed} of {len(found)} checks passed")
    if failed:
        raise typer.Exit(1)
