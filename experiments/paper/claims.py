"""What the text of the paper claims, and what this run says of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import pandas as pd

from experiments.paper import checks_credit as credit
from experiments.paper import checks_synthetic as synthetic
from experiments.paper import checks_theory as theory
from experiments.paper.credit import Results
from experiments.paper.findings import Finding, Verdict
from experiments.paper.settings import CCHVAE, TITLES, Name, Settings
from experiments.paper.synthetic import Synthetic


@dataclass(frozen=True, eq=False)
class Outcome:
    """All that a run gave."""

    settings: Settings
    blobs: Synthetic
    moons: Synthetic
    studies: Mapping[str, Results]


Check = Callable[[Outcome], Finding]


@dataclass(frozen=True)
class Claim:
    """A claim in our words, where the paper makes it, what tests it, and the figures or tables that show it."""

    section: str
    text: str
    check: Check
    shown: tuple[str, ...] = ()


def on(name: Name, check: Callable[[Results], Finding]) -> Check:
    """A check on one data set; if the run has another instead, its finding is quoted and nothing is decided."""

    def checked(outcome: Outcome) -> Finding:
        if name in outcome.studies:
            return check(outcome.studies[name])
        return _elsewhere(TITLES[name], {TITLES[key]: check(results) for key, results in outcome.studies.items()})

    return checked


def on_both(check: Callable[[list[Results]], Finding]) -> Check:
    """A check on both data sets of the paper."""

    def checked(outcome: Outcome) -> Finding:
        if {"gmsc", "heloc"} <= set(outcome.studies):
            return check(list(outcome.studies.values()))
        here = " and ".join(TITLES[key] for key in outcome.studies)
        return _elsewhere(f"{TITLES['gmsc']} and {TITLES['heloc']}", {here: check(list(outcome.studies.values()))})

    return checked


def on_any(check: Callable[[list[Results]], Finding]) -> Check:
    """A check of what is said of all data, and so decided by whatever the run has."""
    return lambda outcome: check(list(outcome.studies.values()))


_SAID: Final = {
    Verdict.REPRODUCED: "it holds",
    Verdict.NOT_REPRODUCED: "it does not hold",
    Verdict.OPEN: "it cannot be checked either",
}


def _elsewhere(needed: str, found: Mapping[str, Finding]) -> Finding:
    """Nothing is decided without the data of the claim; findings on others are quoted."""
    quoted = [
        f"On {title} {_SAID[one.verdict]}: {one.reason.removeprefix(f'{title}: ')}" for title, one in found.items()
    ]
    return Finding(Verdict.OPEN, " ".join((f"It needs {needed}, which a quick run does not have.", *quoted)))


BLOBS, MOONS, FIRST, SECOND = ("Figure 2",), ("Figure 7",), ("Figure 3",), ("Figure 4",)
FIRST_SHIFTS, SECOND_SHIFTS = ("Figure 5",), ("Figure 6",)

CLAIMS: Final = (
    Claim(
        "abstract",
        "Faithful counterfactuals are more difficult ones.",
        on_both(credit.faithfulness_has_a_price),
        (*FIRST, *SECOND, *FIRST_SHIFTS, *SECOND_SHIFTS),
    ),
    Claim(
        "1.1",
        "The published source code is the method of the paper.",
        on_both(credit.released_code_is_the_method),
        (*FIRST, *SECOND),
    ),
    Claim("1.3", "Immutable inputs are not altered.", on_any(credit.immutable_cells_stay), ("Figure 1",)),
    Claim(
        "2, Table 2", "C-CHVAE and GS take any classifier.", lambda run: theory.any_classifier(run.blobs), ("Table 2",)
    ),
    Claim(
        "2, Table 2",
        "AR takes linear models only, HCLS support vector machines only.",
        lambda run: theory.particular_classifiers_only(run.blobs),
        ("Table 2",),
    ),
    Claim(
        "5.1",
        "Proximity P, the ratio of the nearest distances, is the local outlier factor.",
        lambda run: theory.proximity_orders_like_the_outlier_factor(),
    ),
    Claim("5.2", "Staying as one is costs nothing.", lambda run: theory.staying_costs_nothing()),
    Claim(
        "5.2",
        "The farther a suggestion, the more it costs: adding to it never costs less.",
        lambda run: theory.adding_never_costs_less(),
    ),
    Claim(
        "6.1",
        "The reconstruction shows the three clusters of the data.",
        lambda run: synthetic.reconstruction_has_three_clusters(run.blobs),
        BLOBS,
    ),
    Claim(
        "6.1",
        "The density of ẑ has three modes, one for each cluster.",
        lambda run: synthetic.latent_density_has_three_modes(run.blobs),
        BLOBS,
    ),
    Claim(
        "6.1",
        "The density of z̃* is concentrated on the two modes next to the boundary.",
        lambda run: synthetic.counterfactual_codes_on_two_modes(run.blobs),
        BLOBS,
    ),
    Claim(
        "6.1",
        "AR and GS move the lower right cluster into the top right corner, where no data live.",
        lambda run: synthetic.nearest_methods_go_to_the_empty_corner(run.blobs),
        BLOBS,
    ),
    Claim(
        "6.1",
        "AR and GS give almost identical answers.",
        lambda run: synthetic.nearest_methods_agree(run.blobs),
        BLOBS,
    ),
    Claim(
        "6.1",
        "AR and GS are sparse: they change the second feature only.",
        lambda run: synthetic.nearest_methods_are_sparse(run.blobs),
        BLOBS,
    ),
    Claim(
        "6.1",
        "Most answers of C-CHVAE lie where the data are dense.",
        lambda run: synthetic.cchvae_stays_among_people(run.blobs),
        BLOBS,
    ),
    Claim(
        "6.1",
        "Most answers of C-CHVAE are connected.",
        lambda run: synthetic.cchvae_is_connected(run.blobs),
        BLOBS,
    ),
    Claim("6.2, GMSC", "GS and AR are very similar in faithfulness.", on("gmsc", credit.alike), FIRST),
    Claim("6.2, GMSC", "HCLS is the least faithful.", on("gmsc", credit.hcls_is_worst), FIRST),
    Claim("6.2, GMSC", "C-CHVAE has fewer outliers than all others.", on("gmsc", credit.fewest_outliers), FIRST),
    Claim("6.2, GMSC", "C-CHVAE is better connected than all others.", on("gmsc", credit.most_connected), FIRST),
    Claim(
        "6.2, GMSC",
        "The difference in outliers is up to 20 percentage points.",
        on("gmsc", credit.gap_is_twenty_points),
        FIRST,
    ),
    Claim(
        "6.2, GMSC", "The difference in connectedness grows with ε.", on("gmsc", credit.gap_grows_with_epsilon), FIRST
    ),
    Claim("6.2, GMSC", "C-CHVAE's answers have greater TS and MS.", on("gmsc", credit.harder), FIRST_SHIFTS),
    Claim(
        "6.2, HELOC", "C-CHVAE is better in both measures at every parameter.", on("heloc", credit.outperforms), SECOND
    ),
    Claim("6.2, HELOC", "HCLS is not performing well.", on("heloc", credit.hcls_is_weak), SECOND),
    Claim(
        "6.2, HELOC",
        "That HCLS needs a direction for every feature is a reason: it takes careful choices.",
        on("heloc", credit.directions_matter),
        SECOND,
    ),
    Claim("6.2, HELOC", "C-CHVAE's answers have higher MS.", on("heloc", credit.harder_in_one), SECOND_SHIFTS),
    Claim(
        "6.2, HELOC",
        "The pattern of difficulty is that of GMSC: greater TS and MS.",
        on("heloc", credit.harder),
        SECOND_SHIFTS,
    ),
    Claim(
        "appendix A",
        "Radii uniform between r₁ and r₂ make samples uniform in the shell.",
        lambda run: theory.shells_are_sampled_evenly(),
    ),
    Claim("appendix C", "x₂ of the moons has 19 categories.", lambda run: theory.moons_have_19_categories(), MOONS),
    Claim(
        "appendix C",
        "AR's answers are in the 1st and the 9th category.",
        lambda run: synthetic.categories_are(run.moons, "AR", {1, 9}),
        MOONS,
    ),
    Claim(
        "appendix C",
        "GS's answers are in all categories.",
        lambda run: synthetic.categories_are(run.moons, "GS", set(range(1, 20))),
        MOONS,
    ),
    Claim(
        "appendix C",
        "C-CHVAE's answers are in the 1st, the 9th and the 19th category.",
        lambda run: synthetic.categories_are(run.moons, CCHVAE, {1, 9, 19}),
        MOONS,
    ),
    Claim(
        "appendix C",
        "C-CHVAE produces answers for all categories.",
        lambda run: synthetic.answers_in_every_category(run.moons),
        MOONS,
    ),
    Claim(
        "appendix C",
        "Attainable answers are not trivial to find where data are fragmented; C-CHVAE finds them.",
        lambda run: synthetic.moons_answers_have_people_near(run.moons),
        MOONS,
    ),
)
"""Every claim of the text that a run can test."""


def checked(outcome: Outcome) -> pd.DataFrame:
    """One row for each claim: where it stands, what it says, where it is shown, the verdict and why."""
    rows = []
    for claim in CLAIMS:
        found = claim.check(outcome)
        rows.append(
            {
                "section": claim.section,
                "claim": claim.text,
                "shown in": ", ".join(claim.shown),
                "verdict": found.verdict.value,
                "reason": found.reason,
            }
        )
    return pd.DataFrame(rows)
