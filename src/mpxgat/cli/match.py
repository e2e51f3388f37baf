"""`mpxgat match`: which node of one layer is which of another, by a trained model."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mpxgat.cli.options import (
    AddressOption,
    EngineOption,
    JsonOption,
    RunArgument,
    WorkersOption,
    chosen_engine,
    load_matcher,
)
from mpxgat.cli.output import print_json, print_note, print_table, progress
from mpxgat.errors import printable

if TYPE_CHECKING:
    import pyarrow as pa

    from mpxgat.matching import Matcher, Matches
    from mpxgat.training.parallel import Engine

_THRESHOLD = 0.9
_K = 5
_MOST = 10_000
_SHOWN_ROWS = 100
_SHOWN_COLUMNS = ("node", "candidate", "p", "next", "", "reasons")
_OUTCOME_COLUMNS = ("layers", "open nodes", "matched", "below threshold", "outdone", "no candidate")


def match(
    run: RunArgument,
    layers: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="A B",
            help="Only these two layers: the K best candidates in B of every node of A; the column chosen tells "
            "which are matches. Without it: the matches of all layers.",
        ),
    ] = None,
    threshold: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Leave nodes unmatched rather than match below this probability.")
    ] = _THRESHOLD,
    k: Annotated[int, typer.Option("-k", min=1, max=_MOST, help="Candidates looked at for a node in a layer.")] = _K,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The file to write: .parquet or .csv.")] = None,
    engine: EngineOption = None,
    address: AddressOption = None,
    workers: WorkersOption = None,
    json: JsonOption = False,
) -> None:
    """Who is who: nodes of different layers that are one unit, how surely, and why; known links are left out."""
    from mpxgat.io.link_files import check_link_suffix, write_links
    from mpxgat.matching import with_reasons
    from mpxgat.review.decisions import samples_of

    runs_on = chosen_engine(engine, address, workers, jobs=1)
    if output is not None:
        check_link_suffix(output)
    try:
        with progress(f"reading {run}", quiet=json):
            matcher, name = load_matcher(run)
            reviewed = samples_of(run, matcher.graph)
        found = _matches(matcher, layers, threshold, k, runs_on, quiet=json)
        shown = found if output is not None or json else found.head(_SHOWN_ROWS)
        with progress("looking for reasons", len(shown), quiet=json) as advance:
            table = _with_attributes(matcher, shown, with_reasons(matcher, shown, advance))
    except KeyboardInterrupt:
        print_note("nothing has been written; the same command starts over")
        raise
    head: dict[str, Any] = {
        "run": str(run),
        "model": name,
        "threshold": threshold,
        "k": k,
        "count": len(found),
        "matched": int(found.chosen.sum()),
        "candidate_recall": getattr(matcher, "candidate_recall", None),
        "samples": [sample.to_record() for sample in reviewed],
        "outcomes": [asdict(outcome) for outcome in found.outcomes],
        "notes": list(found.notes),
    }
    if output is not None:
        write_links(table, output)
    if json:
        print_json({**head, "matches": table.to_pylist()} if output is None else {**head, "output": str(output)})
    elif output is None:
        print_table(_SHOWN_COLUMNS, [_shown_row(row) for row in table.to_pylist()])
    if not json:
        _print_outcomes(found)
        _print_recall(head["candidate_recall"])
    _print_notes(found, len(shown), output)
    for sample in reviewed:
        print_note(str(sample))


def _matches(
    matcher: Matcher, layers: tuple[str, str] | None, threshold: float, k: int, engine: Engine, *, quiet: bool
) -> Matches:
    from mpxgat.matching import match_all, match_layers
    from mpxgat.matching.match import layer_pairs

    graph = matcher.graph
    if layers is not None:
        first, second = (graph.layer_index(layer) for layer in layers)
        with progress("matching", quiet=quiet):
            return match_layers(matcher, first, second, k, threshold=threshold)
    with progress("matching", len(layer_pairs(graph)), quiet=quiet) as advance:
        if not engine.always:
            return match_all(matcher, threshold, k, advance)
        from mpxgat.models.evidence.matching import find_candidates

        return match_all(find_candidates(matcher, k, engine, advance), threshold, k)


def _with_attributes(matcher: Matcher, found: Matches, table: pa.Table) -> pa.Table:
    """With a column for each attribute that was compared: what the two nodes have there."""
    import pyarrow as pa

    attributes_of = getattr(matcher, "attributes_of", None)
    for column, words in (attributes_of(found.pairs) if attributes_of else {}).items():
        name = column if column not in table.column_names else f"{column}, compared"
        table = table.append_column(name, pa.array(words, pa.large_string()))
    return table


def _shown_row(row: dict[str, Any]) -> tuple[object, ...]:
    """A row as the terminal shows it: a node with its layer, a mark at matches."""
    node, candidate = (f"{row[name]} ({row[f'{name}_layer']})" for name in ("node", "candidate"))
    return node, candidate, row["probability"], row["runner_up"], "✓" if row["chosen"] else "", row["reasons"]


def _print_outcomes(found: Matches) -> None:
    """How many nodes of each pair of layers are matched, and why the others are not."""
    rows = []
    for one in found.outcomes:
        counts = (one.open_nodes, one.matched, one.below_threshold, one.outdone, one.no_candidate)
        rows.append((f"{printable(one.layer_a)} – {printable(one.layer_b)}", *counts))
    print_table(_OUTCOME_COLUMNS, rows, title="Nodes of both layers without a known counterpart")


def _print_recall(recall: float | None) -> None:
    if recall is not None:
        print_note(f"of the links that training hid again, {recall:.1%} were among the candidates")


def _print_notes(found: Matches, shown: int, output: Path | None) -> None:
    for note in found.notes:
        print_note(note)
    if output is not None:
        what = f"{len(found):,} rows, {int(found.chosen.sum()):,} of them matches,"
        print_note(f"wrote {what} to {printable(output, 300)}")
    elif shown < len(found):
        print_note(f"{len(found) - shown:,} more; -o writes all of them to a file")
