"""The open catalogue of measures: each is a function of one `EvaluationContext` that gives one number per row."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np

from attain.core.arrays import BoolArray, FloatArray
from attain.core.errors import AttainError
from attain.metrics import density, distances, laws, robustness, training_rows, validity
from attain.metrics.context import EvaluationContext
from attain.metrics.relations import FAR
from attain.population import connectedness, difficulty, faithfulness
from attain.population.diversity import mean_pairwise_distance
from attain.population.reference import QUANTILES

if TYPE_CHECKING:
    from attain.density import Autoencoder

Better: TypeAlias = Literal["lower", "higher"]
Compute: TypeAlias = Callable[[EvaluationContext], FloatArray]

NEIGHBOURS: Final = (5, 10, 20, 40)
"""The numbers of neighbours for which the outlier verdict is reported; 20 is that of `inlier`."""
LARGEST_AT: Final = 0.9
"""The quantile of real rows' nearest distance that is ε of `largest_component`."""


class Unavailable(AttainError):
    """A measure needs something that the evaluation does not have."""


@dataclass(frozen=True)
class Measure:
    """A measure of answers.

    Attributes
    ----------
    name
        Its column in `Evaluation.frame`.
    compute
        Gives one number for each row of the context; NaN without an answer.
    title
        What tables call it; by default its name.
    better
        Which way is better.
    worst
        What a row without an answer is charged; None if there is no worst case, `"free"` for the number of free
        features.
    share
        Whether the numbers are 0 and 1, so that the mean is a share of rows, with Wilson's interval.
    known
        Whether rows without an answer have a value of their own, such as what their search cost.
    optional
        Whether the column is left out, instead of raising `Unavailable`, if the evaluation lacks what it needs.
    real
        Gives rows of real people, (n, n_features), whose own mean is shown beside that of the answers: people that the
        measure itself does not rest on. None if there is nothing to compare with.
    """

    name: str
    compute: Compute
    title: str = ""
    better: Better = "lower"
    worst: float | Literal["free"] | None = None
    share: bool = False
    known: bool = False
    optional: bool = False
    real: Compute | None = None

    def charged(self, values: FloatArray, found: BoolArray, n_free: int) -> FloatArray:
        """The values, with the worst case for rows without an answer; NaN if there is no worst case."""
        if self.known:
            return values
        worst = float(n_free) if self.worst == "free" else np.nan if self.worst is None else self.worst
        return np.where(found, values, worst)


def _verdict(name: str, title: str, compute: Compute, real: Compute | None = None) -> Measure:
    """A measure of 0 or 1, of which 0 is charged."""
    return Measure(name, compute, title, "higher", 0.0, share=True, real=real)


def _held_out(c: EvaluationContext) -> FloatArray:
    """Held-out people of the desired class, whom the reference does not contain."""
    return c.drawn(c.real if c.held_out is not None else c.real[:0])


def _reference_people(c: EvaluationContext) -> FloatArray:
    """Training people of the desired class, whom the held-out reference does not contain."""
    return c.drawn(c.reference.values)


def _training(c: EvaluationContext) -> FloatArray:
    """Training people of every class: answers keep much of refused people, and a law holds for these, too."""
    return c.train.values


def inlier(k: int = 20, name: str | None = None) -> Measure:
    """1 for answers whose local outlier factor with k neighbours is at most that of 99 % of the reference."""
    return _verdict(
        name or f"inlier_{k}",
        f"inlier, {k} neighbours" if name is None else name,
        lambda c: 1.0 - faithfulness.outlier(c.answers, c.reference, k, c.found),
        _held_out,
    )


def held_out_inlier(k: int = 20, name: str | None = None) -> Measure:
    """`inlier` among held-out rows, which no method has seen; needs `X_test`."""

    def compute(c: EvaluationContext) -> FloatArray:
        if c.held_out is None:
            raise Unavailable("held_out_inlier needs held-out data; pass X_test")
        return 1.0 - faithfulness.outlier(c.answers, c.held_out, k, c.found)

    title = "inlier, held-out" if k == 20 else f"inlier, held-out, {k} neighbours"
    return _verdict(name or f"held_out_inlier_{k}", title, compute, _reference_people)


def connected(quantile: float, min_samples: int = 2) -> Measure:
    """1 for answers connected to the reference at ε, this quantile of real rows' nearest distance."""
    percent, suffix = f"{100 * quantile:.0f}", "" if min_samples == 2 else f"_{min_samples}"
    return _verdict(
        f"connected_{percent}{suffix}",
        f"connected at ε{percent}",
        lambda c: connectedness.connected(c.answers, c.reference, c.reference.epsilon[quantile], min_samples, c.found),
        _held_out,
    )


def largest_component(quantile: float = LARGEST_AT, name: str | None = None) -> Measure:
    """1 for answers that join the largest cluster of the reference at this quantile's ε."""
    return _verdict(
        name or f"largest_component_{100 * quantile:.0f}",
        "in the largest cluster",
        lambda c: connectedness.in_largest_component(
            c.answers, c.reference, c.reference.epsilon[quantile], found=c.found
        ),
        _held_out,
    )


def valid_after_retraining(models: Iterable[Any]) -> Measure:
    """The share of retrained models, such as `metrics.retrained` yields, that still decide as asked for."""
    return Measure(
        "valid_after_retraining",
        lambda c: robustness.valid_after_retraining(
            c.answers, models, c.train, c.goal.target, probability=c.goal.probability, found=c.found
        ),
        "valid after retraining",
        "higher",
        0.0,
    )


def valid_after_inexact_execution(points: float = 5.0, draws: int = 20) -> Measure:
    """The share of inexact executions that still bring what was asked for."""
    return Measure(
        "valid_after_inexact_execution",
        lambda c: robustness.valid_after_inexact_execution(
            c.answers, c.region, c.goal, c.percentiles,
            points=points, draws=draws, found=c.found, random_state=c.random_state,
        ),
        "valid, done inexactly",
        "higher",
        0.0,
    )  # fmt: skip


def log_density(autoencoder: Autoencoder) -> Measure:
    """A lower bound of the log-density of each answer, by a fitted autoencoder."""
    return Measure(
        "log_density",
        lambda c: density.log_density(c.answers, autoencoder, c.found),
        "log density",
        "higher",
    )


def latent_distance(autoencoder: Autoencoder) -> Measure:
    """The distance between the latent codes of each answer and its factual, under a fitted autoencoder."""
    return Measure(
        "latent_distance",
        lambda c: distances.latent_distance(c.answers, c.factuals, autoencoder, c.found),
        "latent distance",
    )


def _violations(c: EvaluationContext) -> FloatArray:
    # A move against its direction or beyond its range breaks the bounds as well, and counts once.
    kinds = validity.violations(c.answers, c.region, c.found).drop(columns=["direction", "range"])
    return np.asarray(kinds.to_numpy().sum(axis=1))


def _possible(c: EvaluationContext) -> FloatArray:
    if not c.laws:
        why = "needs held-out data; pass X_test" if c.laws is None else "needs laws, and none were found in X_test"
        raise Unavailable(f"possible {why}")
    return laws.possible(c.answers, c.laws, c.schema, c.found)


def _breaks(name: str, title: str, limits: float) -> Measure:
    """A measure of 1 for answers that break a relation by so many limits."""

    def compute(c: EvaluationContext) -> FloatArray:
        if c.relations is None or not len(c.relations.columns):
            why = "needs held-out data; pass X_test" if c.relations is None else "needs columns that others tell"
            raise Unavailable(f"{name} {why}")
        result = np.zeros(len(c.found))
        result[c.found] = c.relations.broken(c.answers[c.found], c.factuals[c.found], limits).any(axis=1)
        return result

    return Measure(name, compute, title, share=True, real=_training)


def _diversity(c: EvaluationContext) -> FloatArray:
    rows, owners = getattr(c.result, "rows", None), getattr(c.result, "owners", None)
    if rows is None or owners is None or len(owners) <= c.found.sum():
        raise Unavailable("diversity needs several options per row; call explain with n of 2 or more")
    return mean_pairwise_distance(rows, owners, len(c.found), c.reference.space)


def _cost(name: str) -> Compute:
    def compute(c: EvaluationContext) -> FloatArray:
        known = getattr(c.result, "person_figures", {})
        if name not in known:
            raise Unavailable(f"{name} is not part of the result")
        return np.asarray(known[name], dtype=np.float64)

    return compute


def _norm(norm: distances.Norm) -> Compute:
    return lambda c: distances.distance(c.answers, c.factuals, c.reference.space, norm, c.found)


def _shift(measure: Callable[..., FloatArray]) -> Compute:
    return lambda c: measure(c.answers, c.factuals, c.percentiles, c.found)


def _cellwise(measure: Callable[..., FloatArray]) -> Compute:
    return lambda c: measure(c.answers, c.factuals, c.schema, c.train.values, c.found)


def _reference(measure: Callable[..., FloatArray]) -> Compute:
    return lambda c: measure(c.answers, c.reference, found=c.found)


def _valid(c: EvaluationContext) -> FloatArray:
    return validity.valid(c.answers, c.goal, c.found)


def _type_valid(c: EvaluationContext) -> FloatArray:
    return validity.type_valid(c.answers, c.region, c.goal, c.found)


def _changed(c: EvaluationContext) -> FloatArray:
    return difficulty.changed(c.answers, c.factuals, c.schema, c.found)


def _redundant(c: EvaluationContext) -> FloatArray:
    return validity.redundant(c.answers, c.factuals, c.goal, c.region, c.found)


def _y_nearest(c: EvaluationContext) -> FloatArray:
    return training_rows.y_nearest(c.answers, c.train.values, c.met, c.reference.space, found=c.found)


def _training_distance(c: EvaluationContext) -> FloatArray:
    return training_rows.closest_training_distance(c.answers, c.train.values, c.reference.space, c.found)


def _copied(c: EvaluationContext) -> training_rows.Copied:
    return training_rows.copies(c.answers, c.train.values, c.schema, c.found)


_DEFAULT: Final = (
    _verdict("found", "has an answer", lambda c: c.found.astype(np.float64)),
    _verdict("valid", "decided as asked for", _valid),
    _verdict("type_valid", "valid and may exist", _type_valid),
    Measure("violations", _violations, "rules broken"),
    Measure("total_shift", _shift(difficulty.total_shift), "total shift (TS)", worst="free"),
    Measure("max_shift", _shift(difficulty.max_shift), "largest shift (MS)", worst=1.0),
    Measure("changed", _changed, "features changed (L0)"),
    Measure("l1", _norm("l1"), "L1 distance"),
    Measure("l2", _norm("l2"), "L2 distance"),
    Measure("linf", _norm("linf"), "L∞ distance"),
    Measure("mad_distance", _cellwise(distances.mad_distance), "MAD distance"),
    Measure("gower_distance", _cellwise(distances.gower_distance), "Gower distance", worst=1.0),
    Measure("redundant", _redundant, "changes not needed"),
    Measure("proximity", _reference(faithfulness.proximity), "proximity (P)"),
    Measure("local_outlier_factor", _reference(faithfulness.local_outlier_factor), "local outlier factor"),
    inlier(20, "inlier"),
    *(inlier(k) for k in NEIGHBOURS),
    held_out_inlier(20, "held_out_inlier"),
    Measure("nearest_distance", _reference(faithfulness.nearest_distance), "nearest real row"),
    *(connected(quantile) for quantile in QUANTILES),
    largest_component(LARGEST_AT, "largest_component"),
    _verdict("possible", "breaks no law", _possible, _training),
    _breaks("relations_broken", "breaks a relation", 1.0),
    _breaks("relations_broken_by_far", "breaks a relation by far", FAR),
    Measure("y_nearest", _y_nearest, "alike neighbours (yNN)", "higher", 0.0),
    Measure("training_distance", _training_distance, "nearest training row", "higher"),
    Measure("copied", lambda c: _copied(c).whole, "copies a training row", share=True),
    Measure("copied_free", lambda c: _copied(c).free, "copies free cells", share=True),
    Measure("diversity", _diversity, "distance of options", "higher"),
    Measure("rows_scored", _cost("rows_scored"), "rows scored", known=True),
    Measure("seconds", _cost("seconds"), "seconds", known=True),
)

DEFAULT: Final = tuple(replace(measure, optional=True) for measure in _DEFAULT)
"""What `evaluate` reports by default: columns whose inputs are missing (held-out data, several options, costs) are left
out."""

MEASURES: Final[dict[str, Measure]] = {
    measure.name: measure for measure in (*_DEFAULT, valid_after_inexact_execution())
}
"""The measures that can be asked for by name, in the order in which the default ones are reported."""


def register(measure: Measure) -> None:
    """Makes a measure available by its name: `evaluate(..., measures=[*DEFAULT, "name"])`."""
    if measure.name in MEASURES:
        raise AttainError(f"a measure named {measure.name!r} is registered already; choose another name")
    MEASURES[measure.name] = measure


def as_measures(given: Iterable[str | Measure | Compute]) -> dict[str, Measure]:
    """The measures by name: names are looked up, functions are called by their own name."""
    result: dict[str, Measure] = {}
    for item in given:
        if isinstance(item, str):
            if item not in MEASURES:
                raise AttainError(f"measures names {item!r}; registered are {', '.join(MEASURES)}")
            item = MEASURES[item]
        elif not isinstance(item, Measure):
            if not callable(item):
                raise AttainError(f"measures must hold names, Measure objects or functions, got {item!r}")
            item = Measure(item.__name__, item)
        if item.name in result:
            raise AttainError(f"measures names {item.name!r} twice; give each column a name of its own")
        result[item.name] = item
    return result
