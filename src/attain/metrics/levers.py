"""Which features the answers of some people rest on, and what it would cost to hold each of them as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from attain.core.errors import ConstraintError, DataError, listed
from attain.methods.base import Explainer
from attain.results.counterfactuals import Counterfactuals
from attain.results.levers import changed_by_choice, lever_columns
from attain.schema import Constraints


def levers(
    explainer: Explainer,
    model: Any,
    result: Counterfactuals,
    *,
    features: Sequence[str] | None = None,
    constraints: Constraints | Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """`result.levers()` with what it would cost to hold each feature as it is, found by searching again.

    Kommiya Mothilal et al. (2021) call a feature sufficient for the decision about a person who would lose their
    answer: as long as it stays as it is, nothing else flips the decision. That the method finds no other answer does
    not prove that there is none.

    Parameters
    ----------
    explainer, model
        Those that the result was made with. Everybody whose answer changes a feature is searched for again, with that
        feature held; all others keep their answer.
    features
        Those to look at; by default all that the answers change.
    constraints
        Those of the call that gave the result, which must be the same for everybody.

    Returns
    -------
    Frame
        The columns of `result.levers()`, then `lost`: how many people lose their answer, and `further`: how many
        percentile points further the answers of those who get another one are, on average (total shift); NaN where
        nobody does. The features without which most people lose their answer come first.
    """
    given = Constraints.of(constraints)
    if given.people:
        raise ConstraintError("constraints['people'] is for single rows; here constraints must be the same for all")
    frame = pd.DataFrame(lever_columns(result))
    wanted = frame["feature"].tolist() if features is None else list(features)
    unknown = [name for name in wanted if name not in set(frame["feature"])]
    if unknown:
        raise DataError(f"features names {listed(unknown)}; the answers change {listed(frame['feature'], 60)}")
    library, changed = result.table.layout.library, changed_by_choice(result)
    owners, before = result.owners[result.best], _total_shifts(result)
    lost: dict[str, int] = {}
    further: dict[str, float] = {}
    for name in wanted:
        using = owners[changed[:, result.table.schema.position(name)]]
        people = library.take(result.table.source, using)
        held = replace(given, immutable=(*given.immutable, name))
        again = explainer.explain(model, people, target=result.target, probability=result.probability, constraints=held)
        more = (_total_shifts(again) - before[using])[again.found]
        lost[name] = int((~again.found).sum())
        further[name] = float(100 * more.mean()) if len(more) else np.nan
    frame = frame[frame["feature"].isin(wanted)]
    frame = frame.assign(lost=frame["feature"].map(lost), further=frame["feature"].map(further))
    return frame.sort_values("lost", ascending=False, kind="stable", ignore_index=True)


def _total_shifts(result: Counterfactuals) -> np.ndarray:
    """The total shift of each person's best option, (n,); NaN without one."""
    shifts = np.full(len(result), np.nan)
    shifts[result.owners[result.best]] = np.nansum(result.percentiles[2][result.best], axis=1)
    return shifts
