"""All experiments of the paper: every figure and table in one folder, and a page that judges its claims."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import pandas as pd
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

import attain
from attain.core.drawing import save, style
from attain.core.errors import AttainError, FileError
from attain.core.files import write_atomically
from attain.core.progress import ProgressBar
from attain.datasets import Dataset, load_german
from experiments.bench.workers import Task, perform_all
from experiments.data import MissingDataSetError, load_gmsc, load_heloc
from experiments.paper import credit_figures, person, synthetic, synthetic_figures, tables
from experiments.paper.checks_theory import properties
from experiments.paper.claims import Outcome, checked
from experiments.paper.credit import Credit, Results
from experiments.paper.diagram import diagram
from experiments.paper.markdown import markdown
from experiments.paper.page import Page, setting
from experiments.paper.settings import FULL, GUARDED, Settings
from experiments.store import Store

_NUMBERS: Final = {"gmsc": (3, 5, 3), "gmsc-states": (3, 5, 3), "heloc": (4, 6, 4), "german": (3, 5, 3)}
"""The numbers of the paper: the figures of faithfulness and difficulty, and the table of features."""
_KINDS: Final = {"blobs": synthetic.BLOBS, "blobs_hidden": synthetic.BLOBS, "moons": synthetic.MOONS}
LINEAR_NETWORK, HIDDEN_LAYER = "linear network", "hidden layer"


def run(
    out: str | os.PathLike[str],
    *,
    settings: Settings = FULL,
    data: str | os.PathLike[str] | None = None,
    jobs: int = 1,
) -> pd.DataFrame:
    """Runs everything, writes the folder and returns the claims with their verdicts.

    An interrupted run is resumed, and ends with the same bytes.

    Parameters
    ----------
    out
        The folder for figures, tables and `index.html`; `parts` in it holds what is done. Created if it does not exist.
    settings
        `FULL` is the paper's; `QUICK` needs no data folder.
    data
        The folder of the data sets; by default the one in `ATTAIN_DATA`.
    jobs
        How many processes compute, each on one thread; 1 computes in this one.
    """
    folder = _prepared(out)
    drawing = style()  # raises before the long work if Matplotlib is not installed
    source = None if data is None else Path(data)
    for study in settings.studies:
        _loaded(study.data, source)  # raises before the long work if a data set is not there
    with threadpool_limits(1):
        _compute(settings, folder, source, jobs)
        outcome = _collected(settings, folder, source)
        with drawing:
            return _written(outcome, folder)


def _prepared(out: str | os.PathLike[str]) -> Path:
    folder = Path(out)
    try:
        (folder / "parts").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"the folder {str(out)!r} cannot be created: {error.strerror or error}") from None
    for left in (*folder.glob(".*.part"), *(folder / "parts").glob(".*.part")):
        left.unlink()  # an unfinished file of a run that was killed
    return folder


@cache
def _loaded(name: str, folder: Path | None) -> Dataset:
    loaders: dict[str, Any] = {
        "german": load_german,
        "gmsc": lambda: load_gmsc(version="paper", path=folder),
        "heloc": lambda: load_heloc(version="paper", path=folder),
    }
    try:
        loaded: Dataset = loaders[name]()
    except MissingDataSetError as error:
        raise MissingDataSetError(
            f"{error} The folder can also be named with --data. `--quick` needs no data: it runs the "
            "synthetic examples and German credit."
        ) from None
    return loaded


def _performer(
    settings: Settings, folder: Path, data: Path | None
) -> Callable[[tuple[str, int]], synthetic.Synthetic | Results]:
    """What runs an example or a study with one seed, from the parts that are there and those that are computed now."""
    store = Store(folder / "parts", {"attain": attain.__version__, **settings.as_json()})
    studies = {study.name: study for study in settings.studies}

    def perform(task: tuple[str, int]) -> synthetic.Synthetic | Results:
        name, seed = task
        if name in _KINDS:
            return synthetic.run(_KINDS[name], getattr(settings, name), store, seed)
        study = studies[name]  # type: ignore[index]
        return Credit(study, seed, _loaded(study.data, data), store).run()

    return perform


def _compute(settings: Settings, folder: Path, data: Path | None, jobs: int) -> None:
    """Computes and stores every part that is not there, seed by seed."""
    names = [*(study.name for study in settings.studies), *_KINDS]
    # the readings of one data set share its classifiers, so the second waits for the first
    first = {study.data: study.name for study in reversed(settings.studies)}
    needs = {study.name: first[study.data] for study in settings.studies if first[study.data] != study.name}
    tasks = [
        Task((name, seed), frozenset({(needs[name], seed)} if name in needs else ()))
        for seed in range(settings.seeds)
        for name in names
    ]
    bar = ProgressBar(len(tasks), "paper", unit="parts")
    try:
        if jobs > 1:
            _in_processes(tasks, (settings, folder, data), jobs, bar.update)
            return
        perform = _performer(settings, folder, data)
        for task in tasks:
            perform(task.name)  # type: ignore[arg-type]
            bar.update(1)
    finally:
        bar.close()


def _in_processes(tasks: Sequence[Task], given: tuple[Any, ...], jobs: int, update: Callable[[int], object]) -> None:
    lost: list[str] = []

    def done(name: Hashable) -> None:
        update(1)

    def failed(name: Hashable, reason: str, late: bool) -> None:
        lost.append(f"{name}: {reason}")

    perform_all(tasks, _performer, given, jobs=jobs, done=done, lost=failed)  # type: ignore[arg-type]
    if lost:
        raise AttainError(f"{len(lost)} of {len(tasks)} parts failed; the first is {lost[0]}")


def _collected(settings: Settings, folder: Path, data: Path | None) -> Outcome:
    """Everything, from the parts that are there."""
    perform = _performer(settings, folder, data)
    seeds = range(settings.seeds)
    examples: dict[str, Any] = {name: [perform((name, seed)) for seed in seeds] for name in _KINDS}
    studies: dict[str, Any] = {
        study.name: [perform((study.name, seed)) for seed in seeds] for study in settings.studies
    }
    blobs = {LINEAR_NETWORK: examples["blobs"], HIDDEN_LAYER: examples["blobs_hidden"]}
    return Outcome(settings, blobs, examples["moons"], studies)


class _Writer:
    """Writes figures as PNG, SVG and CSV, tables as CSV, and shows both on the page."""

    def __init__(self, folder: Path, page: Page) -> None:
        self.folder, self.page = folder, page

    def figure(self, name: str, title: str, drawn: tuple[Any, pd.DataFrame], caption: str) -> None:
        figure, numbers = drawn
        save(figure, self.folder, name)
        self.csv(name, numbers)
        self.page.figure(name, title, caption)

    def table(
        self, name: str, title: str, frame: pd.DataFrame, caption: str, *, numbers: pd.DataFrame | None = None
    ) -> None:
        self.csv(name, frame if numbers is None else numbers)
        self.page.table(name, title, frame, caption)

    def csv(self, name: str, frame: pd.DataFrame) -> None:
        """Writes the numbers, with the same bytes wherever they are the same."""
        text = frame.to_csv(index=False, float_format="%.8g", lineterminator="\n")
        write_atomically(self.folder / f"{name}.csv", text.encode())


def _written(outcome: Outcome, folder: Path) -> pd.DataFrame:
    claims = checked(outcome)
    page = Page(folder, outcome.settings, claims)
    writer = _Writer(folder, page)
    first = [seeds[0] for seeds in outcome.studies.values()]
    page.heading("One person")
    one, position = person.chosen(first)
    shown = person.shown(one, position)
    writer.figure(
        "figure-1-search",
        "Figure 1: the search",
        diagram(one, shown),
        f"The paper's Figure 1 with the numbers of a refused person of {one.study.title}.",
    )
    some, every = tables.real_people(one, position)
    writer.table(
        "table-1-counterfactuals",
        "Table 1: answers for one person",
        some,
        "The paper's table is made up; this one is real. The same person, three methods, each with its five largest "
        "changes at most (all are in the CSV). Local outlier: k = 20; connected: ε.9. Percentiles and shifts are in "
        "points; another level of a column without an order counts 100.",
        numbers=every,
    )
    writer.table(
        "table-2-related-work",
        "Table 2: methods",
        tables.related_work(),
        "As the paper has it; the last two columns say what the methods of this package take.",
    )
    page.heading("Synthetic examples")
    blobs, moons = outcome.settings.blobs, outcome.settings.moons
    for network, ending in ((LINEAR_NETWORK, ""), (HIDDEN_LAYER, "-hidden-layer")):
        writer.figure(
            f"figure-2-blobs{ending}",
            f"Figure 2: blobs, {network}",
            synthetic_figures.blobs(outcome.blobs[network][0]),
            f"{blobs.rows:,} people, four in five for training, {blobs.people} held-out ones of class 0 explained; an "
            f"autoencoder with a {network}, {blobs.latent_dim} latent dimensions and {blobs.components} components; "
            "the first seed. Densities are along the axis on which ẑ vary most. Dashed: the boundary x₂ = 6.",
        )
    writer.figure(
        "figure-7-moons",
        "Figure 7: discretised moons",
        synthetic_figures.moons(outcome.moons[0]),
        f"{moons.rows:,} people, {moons.people} held-out ones of class 0 explained; the first seed. Grey: the data; "
        "dashed: x₁ = 0. The last panel is coloured by how far C-CHVAE had to move in latent space.",
    )
    summaries = {seeds[0].study.title: _study(seeds, writer, page) for seeds in outcome.studies.values()}
    writer.csv("claims", claims)
    write_atomically(folder / "paper-results.md", markdown(outcome.settings, claims, summaries).encode())
    page.write(properties(first))
    return claims


def _study(seeds: Sequence[Results], writer: _Writer, page: Page) -> pd.DataFrame:
    """Shows the figures and tables of one study; returns the table of its figures."""
    study = seeds[0].study
    name = study.name
    faithful, hard, listed = _NUMBERS[name]
    others = tuple(method for method in study.methods if method not in credit_figures.DRAWN)
    page.heading(study.title)
    for paragraph in setting(seeds):
        page.text(paragraph)
    writer.figure(
        f"figure-{faithful}-{name}-faithfulness",
        f"Figure {faithful}: faithfulness relative to H⁺ ∩ D⁺, {study.title}",
        credit_figures.faithfulness(seeds),
        "Local outliers (fewer are better) and connectedness (more is better) of the four methods of the paper, and of "
        "the guarded search. Dotted: ε.5, ε.75, ε.9 and ε.95 of the logistic regression's people.",
    )
    writer.figure(
        f"figure-{faithful}-{name}-other-settings",
        f"Other settings beside Figure {faithful}: faithfulness, {study.title}",
        credit_figures.faithfulness(seeds, others),
        "The same measures for the other settings of the methods.",
    )
    writer.figure(
        f"figure-{hard}-{name}-difficulty",
        f"Figure {hard}: total shift against maximum shift, {study.title}",
        credit_figures.difficulty(seeds),
        "Every answer of the first seed, in the order of the paper's panels; the cross is the mean.",
    )
    writer.figure(
        f"figure-{hard}-{name}-other-settings",
        f"Other settings beside Figure {hard}: difficulty, {study.title}",
        credit_figures.difficulty(seeds, (*others, GUARDED)),
        "The same for the other settings of the methods, and for the guarded search.",
    )
    summary = tables.summary(seeds)
    writer.table(
        f"results-{name}",
        f"{study.title}: results",
        tables.shown(summary),
        "people: own, refused by the method's own classifier; common, refused by both. Means over seeds and answered "
        "rows, with 95 % intervals over seeds and people; asked and answered over all seeds. raw: distances in "
        "original units. reconstructions: answers that are the decoded code of the row itself, without any search. "
        "spread: of the answers, relative to real rows; correlation: with the factuals.",
        numbers=summary,
    )
    writer.table(
        f"table-{listed}-{name}-features",
        f"Table {listed}: features of {study.title}",
        tables.features(seeds[0]),
        "Likelihoods and directions as run; codes with an order are ordinal here.",
    )
    return summary
