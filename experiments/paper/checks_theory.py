"""Statements of the paper that a counterexample refutes, and properties that hold by construction."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from attain import metrics
from attain.datasets import make_moons
from attain.population.measuring import Percentiles
from attain.schema import Feature, Schema
from attain.search.moves import radii
from attain.tables import unchanged
from experiments.paper.credit import Results
from experiments.paper.findings import Finding, errs
from experiments.paper.settings import CCHVAE

_ONE = Schema((Feature("x", "real"),))


def _column(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)[:, None]


def adding_never_costs_less() -> Finding:
    """Cost (b): adding to a suggestion never makes it cheaper, as printed for every suggestion."""
    ecdf = Percentiles.fit(_ONE, _column(1, 2, 2, 3, 10))
    before, after = (float(metrics.total_shift(_column(x), _column(3), ecdf)[0]) for x in (1, 2))
    return errs(
        after >= before,
        f"In the sample 1, 2, 2, 3, 10 a person at 3 pays {before:.1f} for going to 1, and {after:.1f} for going to "
        "1 + 1 = 2. It holds only for suggestions above the person; below, adding brings them nearer.",
    )


def shells_are_sampled_evenly(dimensions: int = 10) -> Finding:
    """Radii uniform in [r₁, r₂] are said to make samples uniform in the shell."""
    uniform = (np.arange(100_000) + 0.5) / 100_000
    inner, outer = np.ones(1), np.full(1, 2.0)
    halves = {
        way: float((radii(uniform, inner, outer, dimensions, way) < 1.5).mean())
        for way in ("uniform", "volume")
    }  # fmt: skip
    return errs(
        abs(halves["uniform"] - halves["volume"]) < 0.01,
        f"In {dimensions} dimensions the inner half of the shell from 1 to 2 gets {halves['uniform']:.1%} of the "
        f"samples and has {halves['volume']:.1%} of the volume. `CCHVAE(radius=...)` offers both; this run "
        "has the paper's.",
    )


def moons_have_19_categories() -> Finding:
    """The text of Example 2 followed to the letter."""
    printed = make_moons(6, reading="printed").schema["x2"].levels
    other = make_moons(6).schema["x2"].levels
    return errs(
        len(printed) == 19,
        f"Rounded as the text says, x₂ has {len(printed)} values. Two half circles that overlap by 0.2, rounded to one "
        f"decimal, have {len(other)}: these are used here.",
    )


def properties(studies: Iterable[Results]) -> list[tuple[str, str, str]]:
    """What holds by construction: where the paper says it, its words, and how often it was checked."""
    cells = different = 0
    for results in studies:
        given, fixed = results.answers[CCHVAE], results.credit.schema.immutable_columns
        own = results.credit.test_values[given.people[given.found]][:, fixed]
        cells, different = cells + own.size, different + int((~unchanged(own, given.rows[given.found][:, fixed])).sum())
    points = _column(0, 1, 2, 3, 7, 10, 11)
    cost = metrics.total_shift(points, points, Percentiles.fit(_ONE, _column(1, 2, 2, 3, 10)))
    return [
        (
            "1.3",
            "“we aim to avoid altering immutable inputs, such as age or education”",
            f"{different} of {cells:,} immutable cells of C-CHVAE's answers differ from the person's own.",
        ),
        (
            "5.2",
            "“staying at the current state is costless”",
            f"TS of {len(points)} values to themselves: all {cost.max():.0f}.",
        ),
    ]
