"""The page that shows every figure and table beside what the paper's text claims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from attain.core.page import Block, Bullets, Cell, Heading, Paragraph, Picture, TableBlock, Tone, write
from experiments.paper.credit import OWN, Results
from experiments.paper.findings import Verdict
from experiments.paper.remarks import PRINTED, REMARKS
from experiments.paper.settings import HCLS, LINEAR, MACHINE, Settings
from experiments.paper.tables import as_text

_TONES: Final[dict[str, Tone]] = {
    Verdict.REPRODUCED.value: "good",
    Verdict.PARTLY.value: "fair",
    Verdict.NOT_REPRODUCED.value: "bad",
    Verdict.ERRS.value: "bad",
    Verdict.OPEN.value: "muted",
}

_SHORT: Final = (
    "In short: AR is Actionable Recourse (Ustun et al. 2019), GS Growing Spheres (Laugel et al. 2018), HCLS hill "
    "climbing with local search (Lash et al. 2017), run here as BudgetedInverseClassification. TS is the total shift "
    "of an answer in percentiles, summed over features; MS is its largest shift in one feature. Guarded is this "
    "package's own search, which the paper did not have."
)
"""The paper's abbreviations, spelled out."""

_FUTURE: Final = (
    "Input importance, “none of these methods give associated input importance”: `result.importance()` says what each "
    "change adds and which are needed; see docs/use/reasons.md.",
    "Capacity, “the tradeoff between the autoencoder capacity and counterfactual faithfulness”: how well autoencoders "
    "of different kinds describe people is measured in docs/research/density.md.",
)
"""What the paper leaves for future work, and where it is done."""


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

    def write(self, properties: Sequence[tuple[str, str, str]]) -> None:
        """Writes index.html: first the verdicts, then figures and tables, then what was decided."""
        claims = self.claims
        cited = claims["cited"].to_numpy(dtype=bool)
        seeds = self.settings.seeds
        blocks: list[Block] = [
            Paragraph(
                "Pawelczyk, Broelemann, Kasneci: Learning Model-Agnostic Counterfactual Explanations for Tabular Data, "
                "The Web Conference 2020 (C-CHVAE). Every experiment of the paper, run again with this package."
            ),
            Paragraph(self._what()),
            Paragraph(_SHORT),
            Heading("The five claims the paper is cited for"),
            claims_grid(claims[cited]),
            Heading("Every other claim"),
            Paragraph(
                f"Of {len(claims)} claims in all, {counted(claims)}. Each claim is in the paper's words. Everything is "
                f"run with {seeds} seed{'s' if seeds > 1 else ''}: another split, other classifiers, autoencoders and "
                "people. A part of a claim holds if it does on four seeds in five; a claim is reproduced if all of its "
                "parts hold, not reproduced if none does, and else partly. In brackets: on how many seeds. Intervals "
                "are 95 %, over seeds and people."
            ),
            claims_grid(claims[~cited]),
            Heading("Properties"),
            Paragraph("What holds by construction and cannot fail, so that it is no claim that a run could test."),
            TableBlock(("section", "the paper's words", "checked"), [list(one) for one in properties]),
            Heading("As printed, beside as we would"),
            TableBlock(("what", "as printed", "beside it"), [list(one) for one in PRINTED]),
            *self.shown,
            Heading("What the paper leaves for future work"),
            Bullets(_FUTURE),
            Heading("What the paper leaves open or gets wrong"),
            TableBlock(("where", "what", "here"), [list(remark) for remark in REMARKS]),
        ]
        write(self.folder / "index.html", "The experiments of C-CHVAE, reproduced", blocks)

    def _what(self) -> str:
        if self.settings.quick:
            return (
                "This is the quick run: smaller synthetic examples, and German credit, which comes with the package, "
                "in the place of Give Me Some Credit and HELOC. Claims about those two cannot be checked by it; "
                "what German credit says stands beside them."
            )
        return (
            "This is the full run, on Give Me Some Credit and HELOC with the rows that the authors kept. The codes 96 "
            "and 98 in the past-due columns of Give Me Some Credit, which a quarter of the refused people have, are "
            "read as counts, as the paper does, and as states; the choice decides some claims, so both are shown."
        )


def counted(claims: pd.DataFrame) -> str:
    """How many claims have which verdict."""
    counts = Counter(claims["verdict"])
    return ", ".join(f"{counts[verdict.value]} {verdict.value}" for verdict in Verdict if counts[verdict.value])


def claims_grid(claims: pd.DataFrame) -> TableBlock:
    """The claims with coloured verdicts."""
    rows: list[list[str | Cell]] = []
    for row in claims.astype(str).to_dict("records"):
        verdict = Cell(row["verdict"], _TONES[row["verdict"]])
        rows.append([row["section"], f"{row['claim']} Tested: {row['tested']}", verdict, row["seeds"], row["figures"]])
    return TableBlock(("section", "claim", "verdict", "what holds, on how many seeds", "figures"), rows)


def setting(seeds: Sequence[Results]) -> tuple[str, str, str]:
    """How one study was run: the people, the methods and the measures, a paragraph each."""
    study, credit = seeds[0].study, seeds[0].credit
    facts = [results.credit.verdicts.facts for results in seeds]

    def over(judge: str, name: str) -> float:
        return float(np.mean([fact[judge][name] for fact in facts]))

    own = {judge: sum(len(results.credit.cohort(OWN, judge)) for results in seeds) for judge in (LINEAR, MACHINE)}
    reference = {
        judge: np.mean([results.judged[judge].facts["reference"] for results in seeds]) for judge in (LINEAR, MACHINE)
    }
    rows = study.machine_rows
    machine = "all training rows" if rows is None else f"{rows:,} training rows drawn by the seed"
    kernel = {"rbf": "Gaussian", "linear": "linear"}[study.kernel]
    people = (
        f"People: {len(credit.train):,} for training, {len(credit.test):,} held out, split by the seed; figures are "
        f"means over seeds. The l₂ logistic regression is right for {over(LINEAR, 'accuracy'):.1%} of them and refuses "
        f"{over(LINEAR, 'refused'):,.0f}; the class-balanced SVM that HCLS explains ({kernel} kernel, fitted on "
        f"{machine}) is right for {over(MACHINE, 'accuracy'):.1%} and refuses {over(MACHINE, 'refused'):,.0f}; both "
        f"refuse {np.mean([fact['both'] for fact in facts]):,.0f}. Of each, at most {study.people} a seed are asked "
        f"about: {own[LINEAR]} and {own[MACHINE]} in all; for the released search and the guarded one at most "
        f"{study.few_people} a seed."
    )
    methods = (
        "Methods: AR takes the least maximum shift, its default, on a grid of 100 steps a feature. GS grows in steps "
        "of 0.1 and takes back changes that are not needed. HCLS spends a budget of "
        f"{study.methods[HCLS].options['cost_budget']:g}, where a feature's whole range costs 1. The CHVAE has "
        f"{study.components} component{'s' if study.components > 1 else ''} and {study.latent_dim} latent dimensions, "
        f"and is trained for {study.epochs} epochs; C-CHVAE is Algorithm 1."
    )
    measures = (
        f"Measures: faithfulness is measured against the {reference[LINEAR]:,.0f} distinct training rows that the "
        f"logistic regression accepts and who are labelled so, for HCLS against the {reference[MACHINE]:,.0f} of its "
        "own SVM. Connected: one of them is within ε; ε.9 is where 90 % of held-out real people of the desired class "
        "have one. Those people, 2,000 at most, are the dashed black lines. Distances are over z-scored columns; those "
        "called raw are in original units. Bands are 95 % intervals over seeds and people."
    )
    return people, methods, measures
