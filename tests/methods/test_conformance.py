"""Every explainer passes the shipped suite: one line each."""

import pytest

from attain import CCHVAE, GrowingSpheres, Guarded
from attain.methods import (
    FACE,
    REVISE,
    ActionableRecourse,
    BudgetedInverseClassification,
    FeatureTweaking,
    HillClimbingLocalSearch,
    NearestUnlike,
    Russell,
    Wachter,
)
from attain.testing import ExplainerSuite


@pytest.fixture(autouse=True)
def _fitted(request: pytest.FixtureRequest) -> None:
    """Fitting and what it compiles are no part of a test's time."""
    request.instance._fitted()


class TestGrowingSpheres(ExplainerSuite):
    explainer = GrowingSpheres


class TestCCHVAE(ExplainerSuite):
    explainer = CCHVAE


class TestGuarded(ExplainerSuite):
    explainer = Guarded


class TestNearestUnlike(ExplainerSuite):
    explainer = NearestUnlike


class TestFeatureTweaking(ExplainerSuite):
    explainer = FeatureTweaking
    models = ("tree",)


class TestFACE(ExplainerSuite):
    explainer = FACE


class TestBudgetedInverseClassification(ExplainerSuite):
    explainer = BudgetedInverseClassification
    models = ("linear",)


@pytest.mark.slow
class TestBudgetedInverseClassificationWithinABudget(ExplainerSuite):
    explainer = BudgetedInverseClassification
    options = {"cost_budget": 3.0}  # noqa: RUF012
    models = ("linear",)


class TestHillClimbingLocalSearch(ExplainerSuite):
    explainer = HillClimbingLocalSearch


class TestWachter(ExplainerSuite):
    explainer = Wachter


@pytest.mark.slow
class TestWachterWithoutAGradient(ExplainerSuite):
    explainer = Wachter
    options = {"method": "search"}  # noqa: RUF012


class TestActionableRecourse(ExplainerSuite):
    explainer = ActionableRecourse
    least_found = 0.95


@pytest.mark.slow
class TestRussell(ExplainerSuite):
    explainer = Russell
    models = ("linear",)
    least_found = 0.95


@pytest.mark.slow
class TestREVISE(ExplainerSuite):
    explainer = REVISE
