"""`mpxgat match`: which node of one layer is which of another, by a trained model."""

from __future__ import annotations

import math
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
    data_options_in,
    load_data,
    load_matcher,
)
from mpxgat.cli.output import print_json, print_note, print_table, progress
from mpxgat.errors import SettingError, printable, quoted

if TYPE_CHECKING:
    import pyarrow as pa

    from mpxgat.graph import MultiplexGraph, Node
    from mpxgat.matching import Matcher, Matches
    from mpxgat.matching.following import Carried, Followed
    from mpxgat.matching.match import Lower
    from mpxgat.training.parallel import Engine

_THRESHOLD = 0.9
_K = 5
_MOST = 10_000
_SHOWN_ROWS = 100
_SMALL, _ROUNDING = 0.001, 1e-9  # probability as it is shown
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
    data: Annotated[
        str | None,
        typer.Option(
            metavar="DATA",
            help="The network as it is now, a file or a data set with the layers of RUN's: it is matched without "
            "training.",
        ),
    ] = None,
    units: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write all units, with ids that stay: which are new, the same, changed or gone. .parquet or .csv.",
        ),
    ] = None,
    previous: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What --units wrote last time, to compare with; else the units of RUN."),
    ] = None,
    engine: EngineOption = None,
    address: AddressOption = None,
    workers: WorkersOption = None,
    json: JsonOption = False,
) -> None:
    """Who is who: nodes of different layers that are one unit, how surely, and why; known links are left out."""
    from mpxgat.io.link_files import write_tables
    from mpxgat.matching import with_reasons
    from mpxgat.review.decisions import samples_of

    runs_on = chosen_engine(engine, address, workers, jobs=1)
    _check_files(layers, output, units, previous)
    follows = layers is None and any(given is not None for given in (data, units, previous))
    try:
        with progress(f"reading {run}", quiet=json):
            matcher, name = load_matcher(run)
        before = _units_before(matcher, previous, data, threshold, k, runs_on, quiet=json) if follows else {}
        trained_on, carried = matcher.graph, None
        reviewed = samples_of(run, trained_on)
        if data is not None:
            with progress(f"reading {data}", quiet=json):
                matcher, carried = _on_other_data(matcher, run, data)
        found = _matches(matcher, layers, threshold, k, runs_on, quiet=json)
        shown = found if output is not None or json else found.head(_SHOWN_ROWS)
        with progress("looking for reasons", len(shown), quiet=json) as advance:
            table = _with_attributes(matcher, shown, with_reasons(matcher, shown, advance))
    except KeyboardInterrupt:
        print_note("nothing has been written; the same command starts over")
        raise
    followed = _follow(found, before) if follows else None
    table = table if followed is None else _with_units(shown, table, followed)
    head: dict[str, Any] = {
        "run": str(run),
        "model": name,
        **({} if carried is None else {"data": data, "decisions": asdict(carried)}),
        "threshold": threshold,
        "k": k,
        "count": len(found),
        "matched": int(found.chosen.sum()),
        "candidate_recall": getattr(matcher, "candidate_recall", None),
        "samples": [sample.to_record() for sample in reviewed],
        "outcomes": [asdict(outcome) for outcome in found.outcomes],
        "notes": list(found.notes),
        "lower": None if found.lower is None else asdict(found.lower),
        **({} if followed is None else {"units": followed.to_record()}),
    }
    written = {} if output is None else {output: table}
    if units is not None and followed is not None:
        written[units] = followed.to_table()
    write_tables(written)
    if json:
        print_json({**head, "matches": table.to_pylist()} if output is None else {**head, "output": str(output)})
    elif output is None:
        print_table(_SHOWN_COLUMNS, [_shown_row(row) for row in table.to_pylist()])
    if not json:
        _print_outcomes(found)
        _print_recall(head["candidate_recall"])
        if followed is not None:
            _print_units(followed, units)
    if carried is not None and followed is None:
        _print_nodes(trained_on, matcher.graph)
    if carried is not None:
        _print_carried(carried)
    _print_notes(found, len(shown), output)
    for sample in reviewed:
        print_note(str(sample))


def _check_files(
    layers: tuple[str, str] | None, output: Path | None, units: Path | None, previous: Path | None
) -> None:
    from mpxgat.io.link_files import check_link_suffix

    for option, path in (("--units", units), ("--previous", previous)):
        if path is not None and layers is not None:
            raise SettingError(
                f"{option} {quoted(path)} beside --layers, expected one of them: units are of all layers"
            )
    if output is not None and output == units:
        raise SettingError(f"-o and --units are both {quoted(output)}, expected two files")
    for path in (output, units):
        if path is not None:
            check_link_suffix(path)


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


# ---- another version of the network --------------------------------------------------------------------------------


def _on_other_data(matcher: Matcher, run: Path, data: str) -> tuple[Matcher, Carried]:
    """The model, applied to a network with what was decided about the run's; SettingError if it cannot be applied."""
    from mpxgat.build import in_layer_order
    from mpxgat.features import encode_features
    from mpxgat.matching.following import carry_over
    from mpxgat.models.base import model_class, model_names
    from mpxgat.review.decisions import ACCEPT, DecisionsFile, standing
    from mpxgat.runs import RunFolder

    config = RunFolder(run).config()
    if not hasattr(matcher, "extend"):
        matchers = [name for name in model_names() if hasattr(model_class(name), "candidates")]
        able = ", ".join(name for name in matchers if hasattr(model_class(name), "extend"))
        raise SettingError(f"the model {quoted(config.model)} cannot be applied to other data; models that can: {able}")
    known = matcher.graph
    directed, features = data_options_in(config.data)
    graph = in_layer_order(load_data(data, directed=directed)[0], known.layers)
    if features:
        graph = encode_features(graph, features, like=known)
    # Who is who is told by the new data, and by a review; who is not may have been said by --different as well.
    nodes, reviewed = known.nodes, standing(DecisionsFile(run, known).read())
    accepted = [(nodes[a], nodes[b]) for (a, b), decision in reviewed.items() if decision.answer == ACCEPT]
    apart = [(nodes[one], nodes[other]) for one, other in known.apart.tolist()]
    graph, carried = carry_over(graph, accepted, apart)
    return matcher.extend(graph), carried


def _units_before(
    matcher: Matcher,
    previous: Path | None,
    data: str | None,
    threshold: float,
    k: int,
    engine: Engine,
    *,
    quiet: bool,
) -> dict[Node, str]:
    """The units to compare with: those of a file, or else the run's own if there are other data; or none."""
    from mpxgat.io.link_files import read_units

    if previous is not None:
        return read_units(previous)
    return {} if data is None else _follow(_matches(matcher, None, threshold, k, engine, quiet=quiet), {}).unit_of


def _follow(found: Matches, before: dict[Node, str]) -> Followed:
    from mpxgat.matching.following import follow

    return follow(found, before)


def _with_units(found: Matches, table: pa.Table, followed: Followed) -> pa.Table:
    """With the unit that each match is in."""
    import pyarrow as pa

    nodes = found.graph.nodes
    units = [followed.unit_of[nodes[node]] for node in found.pairs[:, 0].tolist()]
    name = "unit" if "unit" not in table.column_names else "unit, followed"
    return table.append_column(name, pa.array(units, pa.large_string()))


# ---- what is printed -----------------------------------------------------------------------------------------------


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


def _print_units(followed: Followed, units: Path | None) -> None:
    rows = [(status, every, several) for status, (every, several) in followed.units.items()]
    print_table(("units", "all", "of several nodes"), rows)
    if followed.merged:
        print_note(f"{followed.merged:,} of the units that are gone have become part of others")
    if followed.split:
        print_note(f"{followed.split:,} of the units that are new have been part of others")
    nodes = followed.nodes
    print_note(f"nodes: {nodes['new']:,} new, {nodes['gone']:,} gone, {nodes['moved']:,} now in another unit")
    if units is None:
        print_note("--units FILE writes which they are")
    else:
        print_note(f"wrote all units to {printable(units, 300)}")


def _print_nodes(before: MultiplexGraph, now: MultiplexGraph) -> None:
    one, other = set(before.nodes), set(now.nodes)
    print_note(f"nodes: {len(other - one):,} new, {len(one - other):,} gone")


def _print_carried(carried: Carried) -> None:
    """What became of decisions, if there are any."""
    counts = {"of nodes that are gone": carried.absent, "contradicted by known links": carried.contradicted}
    lost = "".join(f", {count:,} {why}" for why, count in counts.items() if count)
    if carried.carried or lost:
        print_note(f"{carried.carried:,} pair(s) known to be different stay so{lost}")


def _words(lower: Lower, threshold: float) -> str:
    """What to do where nothing is matched."""
    shown = math.floor(lower.highest / _SMALL + _ROUNDING) * _SMALL  # rounded up it would seem to reach the threshold
    highest = f"{shown:.3g}" if shown else f"{lower.highest:.1g}"
    said = f"no pair reaches {threshold:g}; the highest is {highest}"
    if lower.threshold is None:
        return said
    return f"{said}; --threshold {lower.threshold:g} would give {lower.matches:,}"


def _print_notes(found: Matches, shown: int, output: Path | None) -> None:
    for note in found.notes:
        print_note(note)
    if found.lower is not None:
        print_note(_words(found.lower, found.threshold))
    if output is not None:
        what = f"{len(found):,} rows, {int(found.chosen.sum()):,} of them matches,"
        print_note(f"wrote {what} to {printable(output, 300)}")
    elif shown < len(found):
        print_note(f"{len(found) - shown:,} more; -o writes all of them to a file")
