"""A round of the local search as one kernel finds what NumPy finds, to the byte, and asks as much."""

from typing import Any
from unittest.mock import patch

import pandas as pd
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from attain import Counterfactuals, Guarded
from attain.core.compiled import available
from attain.methods.guarded.compiled_round import CompiledRound, Score
from attain.testing import people
from tests.both_paths import by

X = people.frame(600)
Y = people.labels(X)
OTHERS = people.frame(60, seed=7)

pytestmark = pytest.mark.skipif(not available(), reason="without Numba there are no kernels")


def model(kind: str) -> Any:
    if kind == "linear":
        return people.linear_model(X, Y)
    trees = {
        "boosting": HistGradientBoostingClassifier(max_iter=20, random_state=0),
        "forest": RandomForestClassifier(20, max_depth=6, random_state=0),
    }[kind]
    levels = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    encoder = make_column_transformer(
        (SimpleImputer(), make_column_selector(dtype_include="number")),
        (levels, make_column_selector(dtype_exclude="number")),
    )
    return make_pipeline(encoder, trees).fit(X, Y)


def answers(kind: str, with_kernel: bool, **given: Any) -> tuple[Counterfactuals, int]:
    """The answers with kernels in use, and how often that of a round was."""
    calls = []
    better = CompiledRound.better

    def counted(self: CompiledRound, now: Any) -> Any:
        found = better(self, now) if with_kernel else None
        calls.append(found is not None)
        return found

    settings = {name: given.pop(name) for name in ("budget", "density", "guard") if name in given}
    explainer = Guarded(people.schema(), laws=people.LAWS, **settings).fit(X, Y)
    with patch.object(CompiledRound, "better", counted):
        found = by(True, lambda: explainer.explain(model(kind), OTHERS, target=people.DESIRED, **given))
    return found, sum(calls)


@pytest.mark.parametrize("kind", ["linear", "boosting", "forest"])
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"n": 3},
        {"budget": 40},
        {"density": "trees"},
        {"constraints": {"max_changes": 2, "cost": {"debt": 3.0}}},
        {"guard": "connected", "constraints": {"immutable": ["income", "housing"]}},
    ],
    ids=str,
)
def test_the_kernel_finds_what_numpy_finds(kind: str, given: dict[str, Any]) -> None:
    fast, calls = answers(kind, True, **given)
    plain, none = answers(kind, False, **given)
    assert calls > 0
    assert none == 0
    pd.testing.assert_frame_equal(fast.options, plain.options, check_exact=True)
    pd.testing.assert_frame_equal(fast.figures, plain.figures, check_exact=True)
    assert (fast.rows_asked, fast.rows_uncharged) == (plain.rows_asked, plain.rows_uncharged)
    assert fast.found.sum() > 10


def test_versions_that_only_the_model_can_be_asked_about_are_left_to_numpy() -> None:
    """A score that is not known stands for a level that the compiled model does not take."""
    of = Score.of
    with patch.object(Score, "of", lambda *given: of(*given)._replace(constant=float("nan"))):
        unknown, calls = answers("linear", True)
    plain, _ = answers("linear", False)
    assert calls == 0
    pd.testing.assert_frame_equal(unknown.options, plain.options, check_exact=True)
    assert unknown.rows_asked == plain.rows_asked
