"""The page that shows every figure and table beside what the paper's text claims."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Final

import pandas as pd

from attain.core.page import Block, Cell, Heading, Paragraph, Picture, TableBlock, Tone, write
from experiments.paper.credit import LINEAR, MACHINE, OWN, Results
from experiments.paper.findings import Verdict
from experiments.paper.remarks import REMARKS
from experiments.paper.settings import Settings
from experiments.paper.tables import as_text

_TONES: Final[dict[str, Tone]] = {
    Verdict.REPRODUCED.value: "good",
    Verdict.NOT_REPRODUCED.value: "bad",
    Verdict.OPEN.value: "muted",
}

_SHORT: Final = (
    "In short: AR is Actionable Recourse (Ustun et al. 2019), GS Growing Spheres (Laugel et al. 2018), HCLS hill "
    "climbing with local search (Lash et al. 2017), run here as BudgetedInverseClassification. TS is the total shift "
    "of an answer in percentiles, summed over features; MS is its largest shift in one feature."
)
"""The paper's abbreviations, spelled out."""


class Page:
    """Collects what a run draws, in the order of the paper, and writes the page."""

    def __init__(self, folder: Path, settings: Settings, claims: pd.DataFrame) -> None:
        self.folder = folder
        self.settings = settings
        self.claims = claims
        self.shown: list[Block] = []

    def figure(self, name: str, title: str, caption: str) -> None:
        """A figure that lies in the folder."""
        self.shown += [Heading(title, 3), Picture(self.folder / f"{name}.png", caption)]
        self.shown.append(Paragraph(f"{name}.png, {name}.svg, {name}.csv"))
        self._beside(title)

    def table(self, name: str, title: str, frame: pd.DataFrame, caption: str) -> None:
        """A table, as text that can be read and copied."""
        numbers = [j for j, column in enumerate(frame.columns) if pd.api.types.is_numeric_dtype(frame[column])]
        grid = TableBlock([str(column) for column in frame.columns], as_text(frame), numbers, caption)
        self.shown += [Heading(title, 3), grid, Paragraph(f"{name}.csv")]
        self._beside(title)

    def _beside(self, title: str) -> None:
        """What the paper says of this figure or table, if anything, and whether it is so."""
        label = title.partition(":")[0]
        said = self.claims[[label in shown.split(", ") for shown in self.claims["shown in"]]]
        if len(said):
            rows = [
                (str(claim), Cell(str(verdict), _TONES[str(verdict)]))
                for claim, verdict in zip(said["claim"], said["verdict"], strict=True)
            ]
            self.shown.append(TableBlock(("what the paper's text says of it", "verdict"), rows))

    def heading(self, text: str) -> None:
        """A new part of the page."""
        self.shown.append(Heading(text))

    def text(self, text: str) -> None:
        """A paragraph."""
        self.shown.append(Paragraph(text))

    def write(self) -> None:
        """Writes index.html: first the verdicts, then figures and tables, then what was decided."""
        claims = self.claims
        counts = Counter(claims["verdict"])
        parts = ", ".join(f"{counts[verdict.value]} {verdict.value}" for verdict in Verdict if counts[verdict.value])
        blocks: list[Block] = [
            Paragraph(
                "Pawelczyk, Broelemann, Kasneci: Learning Model-Agnostic Counterfactual Explanations for Tabular Data, "
                "The Web Conference 2020 (C-CHVAE). Every experiment of the paper, run again with this package."
            ),
            Paragraph(self._what()),
            Paragraph(_SHORT),
            Heading("What the paper claims, and what came out"),
            Paragraph(f"{len(claims)} claims: {parts}. Each verdict is computed from the figures named beside it."),
            claims_grid(claims),
            *self.shown,
            Heading("What the paper leaves open or gets wrong"),
            TableBlock(("where", "what", "here"), [list(remark) for remark in REMARKS]),
        ]
        write(self.folder / "index.html", "The experiments of C-CHVAE, reproduced", blocks)

    def _what(self) -> str:
        if self.settings.quick:
            return (
                "This is the quick run: smaller synthetic examples, and German credit, which comes with the package, "
                "in the place of Give Me Some Credit and HELOC. Claims about those two cannot be checked by it; "
                "what holds on German credit is said instead."
            )
        return "This is the full run, on Give Me Some Credit and HELOC as the authors processed them."


def claims_grid(claims: pd.DataFrame) -> TableBlock:
    """The claims with coloured verdicts."""
    rows: list[list[str | Cell]] = [
        [*map(str, row[:3]), Cell(str(row[3]), _TONES[str(row[3])]), str(row[4])]
        for row in claims.itertuples(index=False, name=None)
    ]
    return TableBlock(("section", "claim", "shown in", "verdict", "why"), rows)


def setting(results: Results) -> tuple[str, str, str]:
    """How one data set was run: the people, the methods and the measures, a paragraph each."""
    study, credit, facts = results.study, results.credit, results.credit.verdicts.facts
    own = {judge: len(credit.cohort(OWN, judge)) for judge in (LINEAR, MACHINE)}
    reference = {judge: results.judged[judge].facts["reference"] for judge in (LINEAR, MACHINE)}
    rows = study.machine_rows
    machine = "all training rows" if rows is None else f"{rows:,} training rows drawn by the seed"
    kernel = {"rbf": "Gaussian", "linear": "linear"}[study.kernel]
    one, two = facts[LINEAR], facts[MACHINE]
    people = (
        f"People: {len(credit.train):,} for training, {len(credit.test):,} held out. The l₂ logistic regression is "
        f"right for {one['accuracy']:.1%} of them and refuses {one['refused']:,}; the class-balanced SVM that HCLS "
        f"explains ({kernel} kernel, fitted on {machine}) is right for {two['accuracy']:.1%} and refuses "
        f"{two['refused']:,}; both refuse {facts['both']:,}. Of each, at most {study.people} are asked about, drawn by "
        f"the seed: {own[LINEAR]} and {own[MACHINE]}; for the released search, which is slow, at most "
        f"{study.released_people}."
    )
    methods = (
        "Methods: AR takes the least total shift on a grid of 100 steps a feature. GS grows in steps of 0.1 and takes "
        f"back changes that are not needed. HCLS spends a budget of {credit.settings.budget:g}, where a feature's "
        f"whole range costs 1. The CHVAE has {study.components} component{'s' if study.components > 1 else ''} and "
        f"{study.latent_dim} latent dimensions, and is trained for {study.epochs} epochs; C-CHVAE is Algorithm 1."
    )
    measures = (
        f"Measures: faithfulness is measured against the {reference[LINEAR]:,} distinct training rows that the "
        f"logistic regression accepts and who are labelled so, for HCLS against the {reference[MACHINE]:,} of its own "
        "SVM. Connected: one of them is within ε; ε.9 is where 90 % of held-out real people of the desired class have "
        "one. Those people, 2,000 at most, are the dashed black lines. Bands are 95 % bootstrap intervals over people."
    )
    return people, methods, measures
