"""`mpxgat info`: what a multiplex looks like, or a run of `mpxgat train`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mpxgat.cli.options import DirectedOption, FormatOption, JsonOption, is_path, load_data
from mpxgat.cli.output import Percent, print_fields, print_json, print_note, print_table, progress
from mpxgat.cli.train import print_training
from mpxgat.errors import SettingError, quoted

if TYPE_CHECKING:
    from mpxgat.runs import RunConfig, RunFolder
    from mpxgat.stats import GraphStats


_SHOWN_PAIRS = 20
_SHOWN_LAYERS = 10

InfoArgument = Annotated[
    str,
    typer.Argument(metavar="DATA", help="A data set's name (see `mpxgat datasets`), a file, or the folder of a run."),
]


def info(
    data: InfoArgument, directed: DirectedOption = False, format: FormatOption = None, json: JsonOption = False
) -> None:
    """Sizes, degrees and overlap of a multiplex, with a data set's licence and citation; or how a run went."""
    if _is_folder(data) and _show_run(Path(data), format, json=json):
        return
    with progress(f"reading {data}", quiet=json):
        graph, label = load_data(data, format, directed=directed)
        stats = graph.stats()
    about = {"name": label, **_about(data)}
    if json:
        print_json({**about, **stats.to_dict()})
        return
    print_fields(about)
    _print_sizes(stats)
    _print_layers(stats)
    _print_overlap(stats)


def _is_folder(text: str) -> bool:
    try:
        return Path(text).is_dir()
    except (OSError, ValueError):  # a name too long for the system, or one it forbids
        return False


def _show_run(path: Path, format: str | None, *, json: bool) -> bool:
    """Tell about the run in a folder; whether there is one."""
    from mpxgat.runs import RunFolder

    folder = RunFolder(path)
    if not folder.holds_run():
        return False
    if format is not None:
        raise SettingError(f"a format was given ({quoted(format)}), but {quoted(path)} is a run, expected a file")
    if json:
        print_json(folder.to_record())
    else:
        _print_run(folder)
    return True


def _print_run(folder: RunFolder) -> None:
    """A run in words and tables."""
    config = folder.config()
    print_fields(
        {
            "run": folder.path,
            "state": _state(folder),
            "data": config.data,
            "checksum": config.fingerprint,
            "graph": _graph_in_words(config),
            "model": config.model,
            "seed": config.seed,
            "versions": ", ".join(f"{name} {version}" for name, version in config.versions.items()),
            "same seed": _promise(config),
        }
    )
    if config.settings:
        print_table(
            ("setting", "value"),
            [(name, "-" if value is None else str(value)) for name, value in config.settings.items()],
        )
    print_training(folder)


def _promise(config: RunConfig) -> str:
    """What the same seed gives where the run was begun, and the grounds for it."""
    known = config.reproducibility
    grounds = ", ".join(f"{name} {known.get(name)}" for name in ("threads", "MKL_CBWR", "processor"))
    return f"{known.get('promise')} ({grounds})"


def _state(folder: RunFolder) -> str:
    if folder.finished:
        return "finished"
    parts = folder.progress()
    done = sum(part.finished for part in parts)
    return f"not finished: {done} part(s) trained, {len(parts) - done} begun; continue with mpxgat train … --resume"


def _graph_in_words(config: RunConfig) -> str:
    graph = config.graph
    return (
        f"{len(graph['layers'])} layers, {graph['nodes']:,} nodes, "
        f"{graph['intra_links']:,} intra links, {graph['inter_links']:,} inter links"
        + (f", {graph['apart']:,} pair(s) known to be different" if "apart" in graph else "")
    )


def _about(label: str) -> dict[str, Any]:
    """What is known of a data set besides its network; nothing for a file."""
    from mpxgat.datasets import dataset, names

    if is_path(label) or label not in names():
        return {}
    known = dataset(label)
    return {
        "title": known.title,
        "prepared": known.prepared,
        "licence": known.licence,
        "citation": known.citation,
        "homepage": known.homepage,
    }


def _print_sizes(stats: GraphStats) -> None:
    shares = ", ".join(f"{share:.1%} in {count}" for count, share in stats.units_by_layers.items())
    features = f"{stats.horizontal_features} horizontal, {stats.vertical_features} vertical"
    print_fields(
        {
            "layers": stats.layers,
            "units": f"{stats.units:,} ({shares})" if shares else stats.units,
            "nodes": stats.nodes,
            "intra links": f"{stats.intra_links:,} ({'weighted' if stats.weighted else 'unweighted'})",
            **_direction(stats),
            "inter links": stats.inter_links,
            **({"pairs known to be different": stats.apart} if stats.apart else {}),
            **({"features": features} if stats.horizontal_features or stats.vertical_features else {}),
        }
    )


def _direction(stats: GraphStats) -> dict[str, str]:
    """Which layers are directed, and the share of their links that go both ways; nothing if none is."""
    directed = [f"{quoted(row.name)} ({row.mutual:.1%} mutual)" for row in stats.per_layer if row.directed]
    shown = directed[:_SHOWN_LAYERS]
    if len(directed) > len(shown):
        shown.append(f"{len(directed) - len(shown)} more")
    return {"directed layers": ", ".join(shown)} if directed else {}


def _print_layers(stats: GraphStats) -> None:
    print_table(
        ("layer", "nodes", "intra links", "density", "mean degree", "max degree", "isolated"),
        [
            (row.name, row.nodes, row.intra_links, row.density, row.mean_degree, row.max_degree, row.isolated)
            for row in stats.per_layer
        ],
    )


def _print_overlap(stats: GraphStats) -> None:
    """The pairs of layers that share most units; all of them are in the JSON."""
    if not stats.overlap:
        return
    pairs = sorted(stats.overlap, key=lambda row: -row.units_shared)
    print_table(
        ("layer", "and layer", "units shared", "of the smaller", "links shared", "of possible"),
        [
            (
                row.layer_a,
                row.layer_b,
                row.units_shared,
                Percent(row.share_of_smaller),
                row.links_shared,
                row.links_possible,
            )
            for row in pairs[:_SHOWN_PAIRS]
        ],
    )
    if len(pairs) > _SHOWN_PAIRS:
        print_note(f"{len(pairs) - _SHOWN_PAIRS} more pairs of layers share fewer units; --json has all of them")
