"""Claims of the paper about its definitions, checked on cases with known answers."""

from __future__ import annotations

import numpy as np
import pandas as pd

from attain import metrics
from attain.core.errors import ModelError
from attain.datasets import make_moons
from attain.methods import ActionableRecourse, BudgetedInverseClassification
from attain.methods.search.sphere import radii
from attain.population.percentiles import Percentiles
from attain.population.reference import Reference
from attain.schema import Feature, Schema
from experiments.paper.classifiers import above
from experiments.paper.findings import Finding, finding
from experiments.paper.settings import CCHVAE
from experiments.paper.synthetic import Synthetic

_ONE = Schema((Feature("x", "real"),))


def _column(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)[:, None]


def staying_costs_nothing() -> Finding:
    """Cost (a): x to x."""
    ecdf = Percentiles.fit(_ONE, _column(1, 2, 2, 3, 10))
    points = _column(0, 1, 2, 3, 7, 10, 11)
    cost = metrics.total_shift(points, points, ecdf)
    return finding(bool((cost == 0).all()), f"TS of {len(points)} values to themselves: all {cost.max():.0f}.")


def adding_never_costs_less() -> Finding:
    """Cost (b): adding to a suggestion never makes it cheaper, as printed for every suggestion."""
    ecdf = Percentiles.fit(_ONE, _column(1, 2, 2, 3, 10))
    before, after = (float(metrics.total_shift(_column(x), _column(3), ecdf)[0]) for x in (1, 2))
    return finding(
        after >= before,
        f"In the sample 1, 2, 2, 3, 10 a person at 3 pays {before:.1f} for going to 1, and {after:.1f} for going to "
        "1 + 1 = 2. It holds only for suggestions above the person; below, adding brings them nearer.",
    )


def proximity_orders_like_the_outlier_factor() -> Finding:
    """P is labelled as the local outlier factor; the two order answers differently."""
    values = _column(0, 1, 2, 3, 10, 10.1)
    everybody = np.ones(len(values), dtype=np.bool_)
    space_free = Reference.build(_ONE, values, desired_labels=everybody, met=everybody)
    answers = _column(4, 10.3)
    near = metrics.proximity(answers, space_free)
    factor = metrics.local_outlier_factor(answers, space_free, 2)
    return finding(
        bool((near[0] < near[1]) == (factor[0] < factor[1])),
        f"Among 0, 1, 2, 3, 10, 10.1 the answers 4 and 10.3 have P {near[0]:.2f} and {near[1]:.2f}, but LOF (k = 2) "
        f"{factor[0]:.2f} and {factor[1]:.2f}: the other order.",
    )


def shells_are_sampled_evenly(dimensions: int = 10) -> Finding:
    """Radii uniform in [r₁, r₂] are said to make samples uniform in the shell."""
    uniform = (np.arange(100_000) + 0.5) / 100_000
    inner, outer = np.ones(1), np.full(1, 2.0)
    halves = {
        way: float((radii(uniform, inner, outer, dimensions, way) < 1.5).mean())
        for way in ("uniform", "volume")
    }  # fmt: skip
    return finding(
        abs(halves["uniform"] - halves["volume"]) < 0.01,
        f"In {dimensions} dimensions the inner half of the shell from 1 to 2 gets {halves['uniform']:.1%} of the "
        f"samples and has {halves['volume']:.1%} of the volume. `CCHVAE(radius=...)` offers both; this run "
        "has the paper's.",
    )


def moons_have_19_categories() -> Finding:
    """The text of Example 2 followed to the letter."""
    printed = make_moons(6, reading="printed").schema["x2"].levels
    other = make_moons(6).schema["x2"].levels
    return finding(
        len(printed) == 19,
        f"Rounded as the text says, x₂ has {len(printed)} values. Two half circles that overlap by 0.2, rounded to one "
        f"decimal, have {len(other)}: these are used here.",
    )


def any_classifier(blobs: Synthetic) -> Finding:
    """C-CHVAE and GS were given a bare function that says 0 or 1."""
    shares = {name: blobs.answers[name].found.mean() for name in (CCHVAE, "GS")}
    parts = ", ".join(f"{name} answers {share:.0%}" for name, share in shares.items())
    return finding(
        min(shares.values()) > 0.99, f"Given I(x₂ > 6) as a function that returns 0 or 1 and nothing else: {parts}."
    )


def particular_classifiers_only(blobs: Synthetic) -> Finding:
    """AR and HCLS are given the same bare function."""
    train = blobs.data.X.iloc[blobs.train_rows]
    labels, few = blobs.data.y.iloc[blobs.train_rows], blobs.data.X.iloc[blobs.people_rows[:10]]
    bare = above(blobs.kind.column, blobs.kind.boundary)
    answered = {}
    for name, kind in (("HCLS", BudgetedInverseClassification), ("AR", ActionableRecourse)):
        try:
            answered[name] = _found(kind(blobs.data.schema, figures=False), train, labels, bare, few)
        except ModelError:
            answered[name] = 0
    return finding(
        max(answered.values()) == 0,
        f"Given the bare function, HCLS answers {answered['HCLS']} of {len(few)} people (it refuses models without a "
        f"slope). AR, bound to linear models as published, answers {answered['AR']}: here it fits a local linear model "
        "to each person and checks its answers on the real one.",
    )


def _found(method: object, train: pd.DataFrame, labels: pd.Series, bare: object, few: pd.DataFrame) -> int:
    return int(method.fit(train, labels).explain(bare, few, target=1).found.sum())  # type: ignore[attr-defined]
