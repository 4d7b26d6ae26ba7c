"""All experiments of the paper: every figure and table in one folder, and a page that judges its claims."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

import attain
from attain.core.drawing import save, style
from attain.core.errors import FileError, MissingDataSetError
from attain.core.files import write_atomically
from attain.core.progress import track
from attain.datasets import Dataset, load_german, load_gmsc, load_heloc
from experiments.paper import credit_figures, person, synthetic, synthetic_figures, tables
from experiments.paper.claims import Outcome, checked
from experiments.paper.credit import COMMON, OWN, Credit, Results
from experiments.paper.diagram import diagram
from experiments.paper.page import Page, setting
from experiments.paper.settings import FULL, TITLES, Settings
from experiments.store import Store

_NUMBERS = {"gmsc": (3, 5, 3), "heloc": (4, 6, 4), "german": (3, 5, 3)}
"""The numbers of the paper: the figures of faithfulness and difficulty, and the table of features."""


def run(
    out: str | os.PathLike[str],
    *,
    settings: Settings = FULL,
    data: str | os.PathLike[str] | None = None,
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
        The folder of the data sets; by default the one in `ATTAIN_DATA`, or the cache.
    """
    folder = _prepared(out)
    drawing = style()  # raises before the long work if Matplotlib is not installed
    datasets: dict[str, Dataset] = {study.name: _loaded(study.name, data) for study in settings.studies}
    store = Store(folder / "parts", {"attain": attain.__version__, **settings.as_json()})
    with threadpool_limits(1):
        outcome = _computed(settings, datasets, store)
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


def _loaded(name: str, folder: str | os.PathLike[str] | None) -> Dataset:
    loaders: dict[str, Any] = {
        "german": load_german,
        "gmsc": lambda: load_gmsc(version="paper", path=folder, download=False),
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


def _computed(settings: Settings, datasets: Mapping[str, Dataset], store: Store) -> Outcome:
    credits = [Credit(study, settings, datasets[study.name], store) for study in settings.studies]
    total = 2 * synthetic.parts() + sum(credit.parts() for credit in credits)
    bar = track(total, "paper", unit="parts")

    def done() -> None:
        bar.update(1)

    try:
        blobs = synthetic.run(synthetic.BLOBS, settings.blobs, store, settings.seed, done)
        moons = synthetic.run(synthetic.MOONS, settings.moons, store, settings.seed, done)
        studies: dict[str, Results] = {credit.study.name: credit.run(done) for credit in credits}
    finally:
        bar.close()
    return Outcome(settings, blobs, moons, studies)


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
    results = list(outcome.studies.values())
    page.heading("One person")
    one, position = person.chosen(results)
    shown = person.shown(one, position)
    writer.figure(
        "figure-1-search",
        "Figure 1: the search",
        diagram(one, shown),
        f"The paper's Figure 1 with the numbers of a refused person of {TITLES[one.study.name]}.",
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
    writer.figure(
        "figure-2-blobs",
        "Figure 2: blobs",
        synthetic_figures.blobs(outcome.blobs),
        f"{blobs.rows:,} people, four in five for training, {blobs.people} held-out ones of class 0 explained; latent "
        f"size {blobs.latent_dim}. Dashed: the boundary x₂ = 6.",
    )
    writer.figure(
        "figure-7-moons",
        "Figure 7: discretised moons",
        synthetic_figures.moons(outcome.moons),
        f"{moons.rows:,} people, {moons.people} held-out ones of class 0 explained. Grey: the data; dashed: x₁ = 0. "
        "The last panel is coloured by how far C-CHVAE had to move in latent space.",
    )
    for study in results:
        _study(study, writer, page)
    writer.csv("claims", claims)
    page.write()
    return claims


def _study(results: Results, writer: _Writer, page: Page) -> None:
    name = results.study.name
    faithful, hard, listed = _NUMBERS[name]
    page.heading(TITLES[name])
    for paragraph in setting(results):
        page.text(paragraph)
    for cohort, ending in ((OWN, ""), (COMMON, "-common")):
        writer.figure(
            f"figure-{faithful}-{name}-faithfulness{ending}",
            f"Figure {faithful}{'' if cohort == OWN else ', rows that both refuse'}: faithfulness",
            credit_figures.faithfulness(results, cohort),
            f"Local outliers (fewer are better) and connectedness (more is better), {credit_figures.PEOPLE[cohort]}. "
            "Dotted lines in the middle: ε.5, ε.75, ε.9 and ε.95 of the logistic regression's people.",
        )
        writer.figure(
            f"figure-{hard}-{name}-difficulty{ending}",
            f"Figure {hard}{'' if cohort == OWN else ', rows that both refuse'}: difficulty",
            credit_figures.difficulty(results, cohort),
            f"Total against maximum shift of every answer, {credit_figures.PEOPLE[cohort]}; the cross is the mean.",
        )
    writer.table(
        f"results-{name}",
        f"{TITLES[name]}: results",
        tables.summary(results),
        "people: own, refused by the method's own classifier; common, refused by both. Means over answered rows; "
        "charged: over all asked, where one without an answer enters with the worst case. low, high: 95 % interval of "
        "the inliers. spread: of the answers, relative to real rows; correlation: with the factuals.",
    )
    writer.table(
        f"table-{listed}-{name}-features",
        f"Table {listed}: features of {TITLES[name]}",
        tables.features(results),
        "Likelihoods and directions as run; codes with an order are ordinal here.",
    )
