"""Arguments and options that several commands share, and what they stand for: data, a run, a model, its settings."""

from __future__ import annotations

import os
import shlex
import sys
import tomllib
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mpxgat import __version__
from mpxgat.cli.output import print_note
from mpxgat.errors import DatasetError, GraphError, InputError, SettingError, listed, printable, quoted, warn_of_data

if TYPE_CHECKING:
    from mpxgat.features import FeatureColumn
    from mpxgat.graph import MultiplexGraph
    from mpxgat.matching import Matcher
    from mpxgat.models import Model
    from mpxgat.splits import Split
    from mpxgat.training.parallel import Engine

SPLIT_SUFFIX = ".split"
_PAGE_SUFFIXES = (".html", ".htm")
_MODEL, _SETTINGS = "model", "settings"  # in a file of settings: whose they are, and the table they may stand in
_COMPARE, _ALL = "compare", "all"  # a setting, also a table of its own in such a file; and a guess
_PROCESSES, _RAY = "processes", "ray"


def _show_version(asked: bool) -> None:
    if asked:
        sys.stdout.write(f"mpxgat {__version__}\n")
        raise typer.Exit


def import_own(named: str) -> str:
    """Import a module of the user's own, of "package.module" or "package.module:Name"; the current folder counts.

    Only for what the user names: a folder that one happens to stand in must not decide what is run.
    """
    if "" not in sys.path:
        sys.path.append("")  # last, so that no file in the folder takes the place of an installed package
    module = named.partition(":")[0]
    expected = "expected package.module:Name, the module installed or in the current folder"
    if not all(module.split(".")):
        raise SettingError(f"cannot import {quoted(named)}, {expected}")
    try:
        import_module(module)
    except ImportError as problem:
        absent = isinstance(problem, ModuleNotFoundError) and f"{module}.".startswith(f"{problem.name}.")
        hint = f", {expected}" if absent else ""  # else it is the module that misses something
        raise SettingError(f"cannot import {quoted(named)} ({printable(problem, 200)}){hint}") from None
    except Exception as problem:  # whatever goes wrong in it is the module's own
        raise SettingError(f"cannot import {quoted(named)}: {_told(problem)}") from None
    return named


def _told(problem: Exception) -> str:
    """What a module of the user's own raised, and where."""
    if isinstance(problem, SyntaxError):
        place = f"{problem.filename}:{problem.lineno}"
        return f"{printable(place, 300)}: {type(problem).__name__}: {printable(problem.msg, 200)}"
    frame = traceback.extract_tb(problem.__traceback__)[-1]
    place = f"{frame.filename}:{frame.lineno}"
    return f"{printable(place, 300)}: {type(problem).__name__}: {printable(problem, 200)}"


def own_model(context: typer.Context, name: str | None) -> str | None:
    """What ``--model`` names, imported if it is the user's own."""
    if name is None or ":" not in name or context.resilient_parsing:  # which is when a shell completes a line
        return name
    return import_own(name)


def own_models(context: typer.Context, names: list[str] | None) -> list[str]:
    """The same of several."""
    return [str(own_model(context, name)) for name in names or ()]


def complete_models(incomplete: str) -> list[str]:
    """For the completion of a shell: the names of models that begin so."""
    from mpxgat.models import model_names

    return [name for name in model_names() if name.startswith(incomplete)]


def complete_data(incomplete: str) -> list[str]:
    """For the completion of a shell: data sets and files whose names begin so."""
    from mpxgat.datasets import names

    folder, start = os.path.split(incomplete)
    try:
        with os.scandir(folder or ".") as entries:
            files = [entry.name + "/" * entry.is_dir() for entry in entries if entry.name.startswith(start)]
    except OSError:
        files = []
    found = sorted(os.path.join(folder, name) for name in files if start or not name.startswith("."))
    return [*(name for name in names() if name.startswith(incomplete)), *found]


def model_option(default: str) -> Any:
    """The option ``--model``; a command gives None for it, and `chosen_model` what to take then."""
    text = "A model's name, or package.module:Class for one of your own (found in the current folder too)."
    return typer.Option(
        "--model", metavar="NAME", help=text, show_default=default, callback=own_model, autocompletion=complete_models
    )


VersionOption = Annotated[
    bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
]
ImportOption = Annotated[
    list[str] | None,
    typer.Option(
        "--import", metavar="MODULE", help="Import a module of your own first, which a model or its f and g come from."
    ),
]
OwnModelArgument = Annotated[
    str,
    typer.Argument(metavar="MODEL", help="A model's name, or package.module:Class of your own.", callback=own_model),
]
DataArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATA", help="A data set's name (see `mpxgat datasets`) or a file.", autocompletion=complete_data
    ),
]
RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A folder that `mpxgat train` made.")]
DirectedOption = Annotated[
    bool,
    typer.Option(
        "--directed",
        help="Keep the direction of a data set's ties; in a file that does not state any, links go from the node that "
        "stands first.",
    ),
]
FormatOption = Annotated[
    str | None, typer.Option("--format", help="The file's format, if the suffix does not determine it.")
]
LayoutOption = Annotated[
    str | None,
    typer.Option("--format", help="Of the table: markdown, latex (booktabs) or csv; else the output's suffix tells."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]

SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A setting of the model; may be given several times."),
]
ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config", help="A TOML file with settings: plain keys, or a table named settings; a key model may name it."
    ),
]
PublishedOption = Annotated[
    str | None, typer.Option("--published", metavar="NAME", help="Start from the settings published for a data set.")
]
EpochsOption = Annotated[int | None, typer.Option("--epochs", min=0, help="Train at most so long; as --set epochs=N.")]
BatchOption = Annotated[
    str | None,
    typer.Option(
        "--batch", metavar="auto|full|N", help="Links in a step: all, N, or what the memory allows; as --set batch=N."
    ),
]

CompareOption = Annotated[
    list[str] | None,
    typer.Option(
        "--compare",
        metavar="COLUMN:KIND",
        help="An attribute of the nodes to be compared (username:text, city:category, username=screen_name:text where "
        "layers call it differently); may be given several times. all: a guess, which is shown. No other is read.",
    ),
]

FeaturesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--features",
        metavar="COLUMN[:KIND]",
        help="An attribute of the nodes that becomes features, for models that read some (followers:number, "
        "joined:date, city:category; without a kind it is guessed); may be given several times.",
    ),
]

DEFAULT_PROTOCOL = "marked"
ProtocolOption = Annotated[
    str | None,
    typer.Option(
        "--protocol",
        help="marked (the paper's), units (whole units held out) or anchors (few units known).",
        show_default=DEFAULT_PROTOCOL,
    ),
]
KnownOption = Annotated[
    str | None,
    typer.Option(
        "--known",
        metavar="SHARE|FILE",
        help="With anchors: the share of units that is known, 0.2 by default; or a list of the known pairs, .csv or "
        ".parquet, its columns called by two layers.",
    ),
]
KnownShareOption = Annotated[
    float | None,
    typer.Option("--known", metavar="SHARE", help="With anchors: the share of units that is known, 0.2 by default."),
]
HiddenOption = Annotated[
    Path | None,
    typer.Option("--hidden", metavar="FILE", help="With a list of known pairs: those that are to be found."),
]
EngineOption = Annotated[
    str | None,
    typer.Option("--engine", help="Where work runs in parallel: processes (of this machine; the default) or ray."),
]
AddressOption = Annotated[
    str | None,
    typer.Option("--address", help="With --engine ray: the address of a cluster. Without it, a Ray of this machine."),
]
JobsOption = Annotated[
    int, typer.Option(min=1, help="Layers or inner splits learned in parallel, each in its own process.")
]
WorkersOption = Annotated[
    int | None,
    typer.Option("--workers", min=1, help="With --engine ray: tasks at a time. Default: this machine's processors."),
]


DifferentOption = Annotated[
    Path | None,
    typer.Option(
        "--different",
        metavar="FILE",
        help="Pairs of nodes known to be different units, .csv or .parquet: columns called by two layers, or source, "
        "source_layer, target, target_layer.",
    ),
]


def note_unread(model: Model, graph: MultiplexGraph) -> None:
    """Say once what of the data a model does not use."""
    if unread := model.unread(graph):
        print_note(f"note: the model {model.name} does not use the {' and '.join(unread)} of this network")


def note_attributes(model: Model, graph: MultiplexGraph, features: Sequence[FeatureColumn]) -> None:
    """Say what ``--compare all`` stands for; or that there are attributes which a model could compare."""
    from mpxgat.compare import guess

    compared = model.settings.get(_COMPARE, "")
    if compared == _ALL:
        found = guess(graph)
        print_note(f"--compare {' --compare '.join(map(str, found))}" if found else "nothing to compare was found")
        return
    read = {name for each in features for name in (each.column, each.other)}
    unread = [name for name in graph.attributes if name not in read]
    if not compared and unread and _COMPARE in model.get_params():
        print_note(f"note: the columns {listed(unread)} of the nodes are not read; --compare names those that are")


def parse_features(declared: list[str] | None) -> tuple[FeatureColumn, ...]:
    """What ``--features`` declares; SettingError for an unknown kind, or no column."""
    if not declared:
        return ()
    from mpxgat.features import FeatureColumn

    return tuple(FeatureColumn.parse(each) for each in declared)


def add_features(graph: MultiplexGraph, columns: Sequence[FeatureColumn]) -> MultiplexGraph:
    """The graph with attributes as features; says as what they were read."""
    if not columns:
        return graph
    from mpxgat.features import FeatureEncoding

    encoding = FeatureEncoding.of(graph, columns)
    print_note(f"features: {encoding}", limit=4000)
    return encoding.add_to(graph)


def load_data(text: str, format: str | None = None, *, directed: bool = False) -> tuple[MultiplexGraph, str]:
    """The graph that ``text`` names, and a label for it: the data set's name or the path as given, and --directed.

    A file of that name comes before a data set. A text with a separator or a suffix is a path in any case.
    """
    from mpxgat.datasets import dataset, load, names
    from mpxgat.io import read

    label = data_label(text, directed=directed)
    if is_path(text):
        return read(text, format, directed=directed), label
    if text not in names():
        if _exists(text) or format is not None:
            return read(text, format, directed=directed), label
        try:
            dataset(text)
        except DatasetError as problem:
            raise DatasetError(f"no file {quoted(text)} and {problem}") from None
    if format is not None:
        raise SettingError(f"a format was given ({quoted(format)}), but {quoted(text)} is a data set, expected a file")
    return load(text, directed=directed), label


def data_label(text: str, *, directed: bool, features: Sequence[FeatureColumn] = ()) -> str:
    """What a record calls the data: as it is given to commands."""
    return " ".join([text, *map(shlex.quote, data_options(directed=directed, features=features))])


def data_options(*, directed: bool, features: Sequence[FeatureColumn] = ()) -> list[str]:
    """What makes other data of the same file."""
    return [*(["--directed"] if directed else []), *(word for each in features for word in ("--features", str(each)))]


def data_options_in(label: str) -> tuple[bool, list[str]]:
    """Whether `data_options` that end a label name --directed, and the columns that they make features."""
    try:
        words = shlex.split(label)
    except ValueError:  # a path with a quotation mark in it
        words = label.split()
    features = [column for option, column in pairwise(words) if option == "--features"]
    return "--directed" in words, features


def add_different(graph: MultiplexGraph, path: Path | None) -> MultiplexGraph:
    """The graph in which the pairs in a file, if there is one, are known to be different, too."""
    from mpxgat.io.link_files import read_different

    return graph if path is None else read_different(path, graph)


@dataclass(frozen=True)
class SplitChoice:
    """How links are to be hidden: by a protocol, or by a file of known and one of hidden pairs."""

    protocol: str
    lists: tuple[Path, Path] | None = None

    def splits(self, graph: MultiplexGraph, seeds: range) -> list[Split]:
        """One for each seed; with lists they hide the same, and the seeds are the models' alone."""
        from mpxgat.io.link_files import read_anchors
        from mpxgat.splits import anchored_split, make_split

        if self.lists is None:
            return [make_split(graph, self.protocol, seed) for seed in seeds]
        known, hidden = read_anchors(*self.lists, graph)
        if graph.n_inter:
            warn_of_data(f"the network's own {graph.n_inter:,} inter links are not used, the lists take their place")
        return [anchored_split(graph, known, hidden, seed) for seed in seeds]


def chosen_split(protocol: str | None, known: str | None, hidden: Path | None) -> SplitChoice:
    """What the options ask for; SettingError if there is no such protocol or they do not go together."""
    from mpxgat.splits import ANCHORS, protocol_text

    name = DEFAULT_PROTOCOL if protocol is None else protocol
    protocol_text(name)  # told first
    for option, value in (("--known", known), ("--hidden", hidden)):
        if value is not None and name != ANCHORS:
            raise SettingError(f"{option} {quoted(value)} with the protocol {name}, expected --protocol {ANCHORS}")
    try:
        share = None if known is None else float(known)
    except ValueError:
        if hidden is None:
            raise SettingError(
                f"--known {quoted(known)} and no --hidden, expected a share from 0 to 1, or a list with each option"
            ) from None
        return SplitChoice(name, (Path(str(known)), hidden))
    if hidden is not None:
        raise SettingError(f"--hidden {quoted(hidden)} without a list of known pairs, expected one with --known")
    return SplitChoice(protocol_text(name, share))


def is_path(text: str) -> bool:
    """Whether ``text`` must be a path: it is a file, or it has a separator or a suffix."""
    path = Path(text)
    return "/" in text or "\\" in text or bool(path.suffix) or (_exists(text) and path.is_file())


def _exists(text: str) -> bool:
    try:
        return bool(text) and Path(text).exists()
    except (OSError, ValueError):  # a name too long for the system, or one it forbids
        return False


def check_page(output: Path) -> None:
    """SettingError unless the path has the suffix of a page."""
    if output.suffix.lower() not in _PAGE_SUFFIXES:
        raise SettingError(f"{quoted(output.name)}, expected a name that ends in .html")


def nodes_called(graph: MultiplexGraph, node: str) -> list[int]:
    """Positions of the nodes with this id, layer by layer; GraphError if there is none."""
    import numpy as np
    import pyarrow.compute as pc

    found = np.flatnonzero(pc.equal(graph.ids, node).to_numpy(zero_copy_only=False)).tolist()
    if not found:
        raise GraphError(f"no node {quoted(node)} in any layer of the run's network")
    return [int(position) for position in found]


def load_matcher(run: Path, *, decided: bool = True) -> tuple[Matcher, str]:
    """The trained model in a run's folder and its name; SettingError if it cannot match nodes.

    With ``decided`` the model is on the network with what people decided about pairs (`mpxgat review`).
    """
    from mpxgat.matching import Matcher
    from mpxgat.models.base import model_class, model_names
    from mpxgat.runs import RunFolder

    model = RunFolder(run).model()
    if not isinstance(model, Matcher):
        # A class cannot be asked whether it fulfils a protocol that has properties, so ask for the methods.
        able = ", ".join(name for name in model_names() if hasattr(model_class(name), "candidates"))
        raise SettingError(f"the model {model.name!r} cannot match nodes; models that can: {able or 'none'}")
    return (with_decisions_of(run, model) if decided else model), model.name


def with_decisions_of(run: Path, model: Matcher) -> Matcher:
    """The model of a run on the network with what people decided about pairs; says how much that is."""
    from mpxgat.review.applied import Reviewed, with_graph

    reviewed = Reviewed.of(run, model.graph)
    if not reviewed:
        return model
    print_note(str(reviewed))
    return with_graph(model, reviewed.graph)


def chosen_model(name: str | None, config: Path | None, default: str) -> str:
    """The model named by ``--model``, or else by the file of settings, or else the default."""
    if name is None and config is not None:
        from mpxgat.models.base import check_imported

        name = _read_config(config)[0]
        check_imported(name)  # what only a file names is not imported
    return name or default


def parse_settings(
    sets: list[str],
    config: Path | None,
    published: str | None,
    epochs: int | None,
    batch: str | None = None,
    compare: list[str] | None = None,
) -> dict[str, Any]:
    """All settings given; each source takes the place of those before it: published, config, then the others.

    A value of ``sets`` is what TOML reads in it (a number, true, "a text" …), or else the text itself. Names and values
    are checked by the model itself; here they are only read and put together.
    """
    settings: dict[str, Any] = {}
    if published is not None:
        from mpxgat.models.mpxgat import published_settings

        settings |= published_settings(published)
    if config is not None:
        settings |= _read_config(config)[1]
    settings |= dict(_parse_set(text) for text in sets)
    if epochs is not None:
        settings["epochs"] = epochs
    if batch is not None:
        settings["batch"] = _parse_value(batch)
    if compare:
        settings[_COMPARE] = _canonical(compare)
    if "seed" in settings:
        raise SettingError("seed is no setting of a model, expected it as --seed")
    return settings


def _canonical(compare: list[str]) -> str:
    from mpxgat.compare import parse

    return _ALL if compare == [_ALL] else ", ".join(str(parse(each)) for each in compare)


def _read_config(path: Path) -> tuple[str | None, dict[str, Any]]:
    """The model that a file names, if it does, and the settings in it."""
    from mpxgat.io.files import read_toml

    settings = read_toml(path)
    compared = {}
    if isinstance(settings.get(_COMPARE), dict):
        from mpxgat.compare import read_declarations

        compared = {_COMPARE: ", ".join(map(str, read_declarations(path)))}
        del settings[_COMPARE]
    model = None if isinstance(settings.get(_MODEL), dict) else settings.pop(_MODEL, None)
    if not isinstance(model, str | None):
        raise InputError(f"{_MODEL} is {quoted(model)}, expected a model's name", path)
    if isinstance(settings.get(_SETTINGS), dict):
        others = [name for name in settings if name != _SETTINGS]
        if others:
            raise InputError(f"{quoted(others[0])} stands beside the table [{_SETTINGS}], expected it inside", path)
        settings = settings[_SETTINGS]
    for name, value in settings.items():
        if isinstance(value, dict):
            raise InputError(f"a table [{printable(name)}], expected plain keys or one table [{_SETTINGS}]", path)
    return model, settings | compared


def _parse_set(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    key = key.strip()
    if not equals or not key:
        raise SettingError(f"--set {quoted(text)}, expected KEY=VALUE")
    return key, _parse_value(value.strip())


def _parse_value(text: str) -> Any:
    try:
        parsed = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    value = parsed["value"]
    # Dates and further lines are TOML too, but what was meant is a text.
    return value if len(parsed) == 1 and isinstance(value, bool | int | float | str | list) else text


def chosen_engine(name: str | None, address: str | None, workers: int | None, jobs: int) -> Engine:
    """The engine asked for; SettingError if options do not go together or Ray is not installed."""
    from mpxgat.training.parallel import Processes

    if name not in (None, _PROCESSES, _RAY):
        raise SettingError(f"no engine {quoted(name)}; known are {_PROCESSES}, {_RAY}")
    if name != _RAY:
        for option, value in (("--address", address), ("--workers", workers)):
            if value is not None:
                raise SettingError(f"{option} {quoted(value)} without --engine ray, expected both or neither")
        return Processes(jobs)
    if jobs != 1:
        raise SettingError(f"--jobs {jobs} beside --engine ray, expected --workers {jobs}")
    from mpxgat.distributed.ray import RayEngine, ray_library

    ray_library()  # says how to install it, before anything is read
    return RayEngine(workers or os.cpu_count() or 1, address)
