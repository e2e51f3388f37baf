"""`mpxgat review`: a local page on which a person says of pairs whether they are one unit."""

from __future__ import annotations

import getpass
import webbrowser
from typing import TYPE_CHECKING, Annotated

import typer

from mpxgat.cli.options import RunArgument, load_matcher, with_decisions_of
from mpxgat.cli.output import print_note, progress
from mpxgat.errors import GraphError, SettingError, printable, quoted

if TYPE_CHECKING:
    from pathlib import Path

    from mpxgat.review.session import Session

_INFORMATIVE, _RANDOM = "informative", "random"
_ORDERS = (_INFORMATIVE, "surest", _RANDOM)
_THRESHOLD = 0.9


def review(
    run: RunArgument,
    order: Annotated[
        str,
        typer.Option(
            help="Which pairs come first: informative (an answer tells most), surest (the most probable), or random "
            "(a sample of the matches, which gives their precision)."
        ),
    ] = _INFORMATIVE,
    threshold: Annotated[
        float | None,
        typer.Option(
            min=0.0, max=1.0, help="With --order random: of the matches that are drawn.", show_default=str(_THRESHOLD)
        ),
    ] = None,
    who: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Who answers, for decisions.csv.", show_default="your login name"),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Of the local server; 0 takes a free one.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only show the address, do not open it.")] = False,
) -> None:
    """Ask a person about pairs, on a page of this machine; every answer is kept in the run's decisions.csv."""
    from mpxgat.review.server import ReviewServer

    if order not in _ORDERS:
        raise SettingError(f"no order {quoted(order)}, expected {', '.join(_ORDERS)}")
    if threshold is not None and order != _RANDOM:
        raise SettingError(f"--threshold {threshold:g} with the order {order}, expected --order {_RANDOM}")
    session = _session(
        run, order, _THRESHOLD if threshold is None else threshold, _login_name() if who is None else who
    )
    with ReviewServer(session, port) as server:
        print_note(f"review at {server.address}", limit=1000)
        print_note("the page is for whoever has this address; Ctrl-C ends it, answers are kept")
        if not no_browser and not webbrowser.open(server.address):
            print_note("no browser could be opened; open the address yourself")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print_note(session.summary(), limit=2000)


def _session(run: Path, order: str, threshold: float, who: str) -> Session:
    from mpxgat.review.queue import make_queue
    from mpxgat.review.session import Session

    with progress(f"reading {run}"):
        matcher, name = load_matcher(run, decided=False)
        graph = matcher.graph
        if graph.n_layers < 2:
            raise GraphError("the run's network has one layer, so there is nobody to be matched")
        if order != _RANDOM:  # a sample is of what the run matches by itself
            matcher = with_decisions_of(run, matcher)
    with progress("looking for pairs worth an answer"):
        queue = make_queue(matcher, order, threshold)
    if not len(queue):
        why = "; ".join(queue.silence) or f"the model {printable(name)} holds no open pair to be probable enough"
        raise GraphError(f"there is no pair to review: {why}")
    return Session(run, graph, matcher, queue, who)


def _login_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # no such user, or a system without users
        return ""
