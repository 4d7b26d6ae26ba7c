"""Every measure of a result at once: one row per person, the two averages, and how sure they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from attain.metrics.averages import charged_values, summarised
from attain.metrics.case import Answers, Case, measures
from attain.metrics.catalogue import MEASURES
from attain.metrics.density import log_density
from attain.metrics.distances import latent_distance
from attain.metrics.intervals import CONFIDENCE, RESAMPLES
from attain.metrics.justification import justified
from attain.metrics.likeness import correlation, spread
from attain.metrics.robustness import valid_after_inexact_execution, valid_after_retraining
from attain.metrics.two_sample import TwoSample, two_sample_test
from attain.population.diversity import mean_pairwise_distance
from attain.population.measuring import BoolArray, FloatArray
from attain.population.percentiles import Percentiles
from attain.population.reference import Reference
from attain.results.status import Status
from attain.schema import Constraints

if TYPE_CHECKING:
    from attain.core.frames import Frame

MOST_REAL: Final = 5000
"""So many real people at most take part in the two-sample test."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The measures of a result.

    Attributes
    ----------
    frame
        One row per person, indexed like the factuals; NaN for a person without an answer.
    summary
        One row per measure: `mean` over the people `answered`, with their number (of those who have a value, where a
        measure has none for some of them); and `charged`, the mean over all `n` people, where a person without an
        answer counts as one who must change everything: TS the number of free features, MS 1, not valid, not an inlier,
        not connected. Measures without such a worst case are not charged. `low` to `high` and `charged_low` to
        `charged_high` are intervals over people: Wilson's for measures of 0 or 1, and the bootstrap's for others.
        People whose decision is the desired one already are not among the n.
    reference
        The real people that faithfulness was measured against, with the ε grid.
    percentiles
        The training distribution that shifts were measured in; its `method` says how.
    features
        One row per free feature: `spread`, the standard deviation of the answers over that of real desired people, and
        `correlation` of the answers with the people's own values; NaN for levels without an order.
    two_sample
        How well answers can be told from real people, where it was asked for.
    target, probability
        What was asked of the model.
    factuals
        The people's own rows of the matrix.
    asked
        Who needed an answer.
    """

    frame: pd.DataFrame
    summary: pd.DataFrame
    reference: Reference
    percentiles: Percentiles
    features: pd.DataFrame
    two_sample: TwoSample | None
    target: Any
    probability: float | None
    factuals: FloatArray = field(repr=False)
    asked: BoolArray = field(repr=False)

    @cached_property
    def charged(self) -> pd.DataFrame:
        """`frame` with what people without an answer are charged; NaN for who needed none, or has no worst case."""
        found = self.frame["found"].to_numpy()
        free = len(self.reference.schema.free)
        columns = {
            str(name): np.where(self.asked, charged_values(str(name), column.to_numpy(np.float64), found, free), np.nan)
            for name, column in self.frame.items()
        }
        return pd.DataFrame(columns, index=self.frame.index)

    def __str__(self) -> str:
        return self.summary.to_string(float_format="{:.3f}".format)


def evaluate(
    result: Answers,
    model: Any,
    X_train: Frame,
    y_train: ArrayLike | None,
    *,
    X_test: Frame | None = None,
    y_test: ArrayLike | None = None,
    constraints: Constraints | Mapping[str, Any] | None = None,
    reference: Reference | None = None,
    autoencoder: Any = None,
    justification: bool = False,
    inexact: bool = False,
    models: Iterable[Any] | None = None,
    two_sample: bool = False,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    random_state: int = 0,
) -> Evaluation:
    """Validity, difficulty and faithfulness of the answers, against the real people of the training data.

    Parameters
    ----------
    result
        What an explainer returned; each person's best option is measured.
    model
        The classifier that was explained. It is asked once more about the answers and the training rows.
    X_train, y_train
        The training data. Without labels (None) the model's verdict alone says who is a real desired person.
    X_test, y_test
        Held-out data for the ε grid and the verdict `held_out_inlier`; without them each reference person's distance to
        the nearest other one is used for the grid.
    constraints
        Those of the call that gave the result; `violations` counts them with the schema's rules.
    reference
        That of an earlier evaluation with the same model, request and data, to save the search for its neighbours.
    autoencoder
        A fitted one adds `log_density` and `latent_distance`.
    justification
        Whether to add `justified`, which asks the model about 15,000 records around each answer.
    inexact
        Whether to add `valid_after_inexact_execution`, which asks it about 20 executions of each answer.
    models
        Models trained anew, such as `retrained` gives, for `valid_after_retraining`.
    two_sample
        Whether to test if answers can be told from real people: `Evaluation.two_sample`. They are held-out people where
        there are some; of more than 5,000 as many are drawn.
    confidence, resamples, random_state
        Of intervals, and the seed of whatever is random.
    """
    case = Case.of(result, model, X_train, y_train, X_test, y_test, constraints, reference)
    found, goal = case.found, case.goal
    columns = {**measures(case), **_costs(result)}
    if hasattr(result, "rows") and hasattr(result, "owners") and len(result.owners) > found.sum():
        columns["diversity"] = mean_pairwise_distance(result.rows, result.owners, len(found), case.reference.space)
    if autoencoder is not None:
        columns["log_density"] = log_density(case.answers, autoencoder, found=found)
        columns["latent_distance"] = latent_distance(case.answers, case.factuals, autoencoder, found)
    if justification:
        columns["justified"] = justified(case.answers, case.reference, goal, random_state=random_state, found=found)
    if inexact:
        columns["valid_after_inexact_execution"] = valid_after_inexact_execution(
            case.answers, case.region, goal, case.percentiles, found=found, random_state=random_state
        )
    if models is not None:
        columns["valid_after_retraining"] = valid_after_retraining(
            case.answers, models, case.train, goal.target, probability=result.probability, found=found
        )
    columns = {name: columns[name] for name in MEASURES if name in columns}
    asked = _asked(result, found)
    summary = summarised(
        {name: column[asked] for name, column in columns.items()},
        found[asked],
        len(case.schema.free),
        confidence,
        resamples,
        random_state,
    )
    return Evaluation(
        frame=pd.DataFrame({**columns, "found": found}, index=pd.Index(result.table.labels)),
        summary=summary,
        reference=case.reference,
        percentiles=case.percentiles,
        features=_features(case),
        two_sample=_told_apart(case, confidence, resamples, random_state) if two_sample else None,
        target=goal.target,
        probability=result.probability,
        factuals=case.factuals,
        asked=asked,
    )


def _features(case: Case) -> pd.DataFrame:
    free = case.schema.free_columns
    return pd.DataFrame(
        {
            "spread": spread(case.answers, case.reference, case.found)[free],
            "correlation": correlation(case.answers, case.factuals, case.schema, case.found)[free],
        },
        index=pd.Index(case.schema.free, name="feature"),
    )


def _told_apart(case: Case, confidence: float, resamples: int, seed: int) -> TwoSample:
    chosen = np.sort(np.random.default_rng(seed).permutation(len(case.real))[:MOST_REAL])
    return two_sample_test(
        case.answers,
        case.real[chosen],
        case.reference.space,
        found=case.found,
        confidence=confidence,
        resamples=resamples,
        random_state=seed,
    )


def _costs(result: Answers) -> dict[str, FloatArray]:
    """What the search cost each person, where the result knows it."""
    known: Mapping[str, np.ndarray] = getattr(result, "person_figures", {})
    return {name: np.asarray(known[name], np.float64) for name in ("rows_scored", "seconds") if name in known}


def _asked(result: Answers, found: BoolArray) -> BoolArray:
    """Who needed an answer; where the result does not tell, everybody."""
    outcome = getattr(result, "statuses", None)
    if outcome is None:
        return np.ones(len(found), dtype=np.bool_)
    return np.array([status is not Status.ALREADY_DESIRED for status in outcome], dtype=np.bool_)
