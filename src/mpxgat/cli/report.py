"""`mpxgat report`: a run, or recorded results, as one HTML file to look at."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mpxgat.cli.options import check_page, own_model, with_decisions_of
from mpxgat.cli.output import print_note, progress, training_progress
from mpxgat.errors import InputError, SettingError, printable, quoted

if TYPE_CHECKING:
    from mpxgat.matching import Matcher
    from mpxgat.models import Model
    from mpxgat.report.curves import HeldOut
    from mpxgat.report.page import Page, Section
    from mpxgat.report.reports import Stage


def report(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN|RESULTS…",
            help="A folder that `mpxgat train` made; or JSONL files of `mpxgat record`, or a folder of them.",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write (.html).")],
    figures: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Also write each figure as SVG and PNG into this folder.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="NAME",
            help="The run's model if it is one of your own, package.module:Class: no run decides what is imported.",
            callback=own_model,
        ),
    ] = None,
    no_refit: Annotated[
        bool,
        typer.Option(
            "--no-refit",
            help="Leave out what needs hidden links. Otherwise the run's model is fitted a second time without some "
            "links, which takes about as long as the run did.",
        ),
    ] = False,
) -> None:
    """Write one HTML file that works offline: figures about a run and its predictions, or about recorded results."""
    from mpxgat.report.charts import require_charts
    from mpxgat.report.page import Page, sizes
    from mpxgat.report.reports import read_results, results_stages, run_stages
    from mpxgat.runs import RunFolder

    check_page(output)
    require_charts()
    if len(sources) == 1 and RunFolder(sources[0]).holds_run():
        folder = RunFolder(sources[0])
        with progress(f"reading {sources[0]}"):
            config = folder.config()
            if model not in (None, config.model):
                said = f"the run was trained with {quoted(config.model)}, expected this model"
                raise SettingError(f"--model {quoted(model)}, but {said}")
            fitted = folder.model()
        held_out = None if no_refit else _fit_again(fitted)
        decided, reviewed = _review_of(sources[0], fitted)
        stages = run_stages(fitted, config.data, held_out, decided=decided, reviewed=reviewed)
        data = Path(config.data).name  # where the file lay is nobody's business
        title = f"{fitted.name} on {data}"
        words = f"The model {fitted.name!r} (seed {fitted.seed}), trained on {data}: {fitted.description}."
        write(output, Page(title, make_sections(stages), words, sizes(fitted.graph)), figures)
    else:
        if model is not None:
            raise SettingError(f"--model {quoted(model)} with recorded results, expected none")
        records = read_results(_results_files(sources))
        words = f"{len(records):,} results on record. Every model predicted links that it had not seen."
        write(output, Page("Results", make_sections(results_stages(records)), words), figures)


def make_sections(stages: Sequence[Stage], *, quiet: bool = False) -> list[Section]:
    """Go through the stages, saying what is being done."""
    sections: list[Section] = []
    for stage in stages:
        with progress(stage.title, quiet=quiet):
            sections += stage.sections()
    return sections


def write(output: Path, page: Page, figures: Path | None) -> None:
    """Write the page and what belongs to it; say where and how large it is."""
    from mpxgat.report.reports import records_folder, write_figures, write_report

    with progress("writing the report"):
        if figures is not None:
            write_figures(figures, page.sections)
        write_report(output, page)
    count = sum(len(section.figures) for section in page.sections)
    size = output.stat().st_size / 1e6
    print_note(f"wrote {printable(output, 300)}: {count} figures, {size:.1f} MB", limit=1000)
    print_note(f"their records are in {printable(records_folder(output), 300)}", limit=1000)
    if figures is not None:
        print_note(f"wrote {2 * count} pictures to {printable(figures, 300)}", limit=1000)


def _review_of(run: Path, model: Model) -> tuple[Matcher | None, list[str]]:
    """The model on the network with what people decided about pairs, if it matches; what random samples say."""
    from mpxgat.matching import Matcher
    from mpxgat.review.decisions import samples_of

    if not isinstance(model, Matcher):
        return None, []
    return with_decisions_of(run, model), list(map(str, samples_of(run, model.graph)))


def _fit_again(model: Model) -> HeldOut:
    from mpxgat.models import make_model
    from mpxgat.report.curves import HeldOut
    from mpxgat.splits import validation_split
    from mpxgat.training.parallel import Session

    split = validation_split(model.graph, "marked", model.seed)
    with training_progress("fitting a second time, some links hidden") as shown:
        again = make_model(model.name, seed=model.seed, **model.settings).fit(split.train, Session(report=shown))
    return HeldOut(again, split, model.graph, refitted=True)


def _results_files(sources: Sequence[Path]) -> list[Path]:
    """The files named, and those in folders named; InputError if a folder has none."""
    found: list[Path] = []
    for source in sources:
        if source.is_dir():
            inside = sorted(source.glob("*.jsonl"))
            if not inside:
                expected = "expected a folder that mpxgat train made, or one with results (.jsonl)"
                raise InputError(f"no run and no results here, {expected}", source)
            found += inside
        else:
            found.append(source)
    return found
