"""Every explainer passes the shipped suite: one line each."""

import pytest

from attain import methods
from attain.testing import ExplainerSuite, people
from tests.changes import faults
from tests.density.trained import of_people


@pytest.fixture(autouse=True)
def _fitted(request: pytest.FixtureRequest) -> None:
    """Fitting and what it compiles are no part of a test's time."""
    request.instance._fitted()


class Suite(ExplainerSuite):
    """The shipped suite, and each answer checked by what shares nothing with the package."""

    def test_no_found_row_breaks_a_rule(self) -> None:
        super().test_no_found_row_breaks_a_rule()
        X, result = self._explain(n=3)
        for _, row in result.options.iterrows():
            assert not faults(people.schema(), X.loc[row["person"]].to_dict(), row.to_dict())


class TestGrowingSpheres(Suite):
    explainer = methods.GrowingSpheres


class WithAutoencoder(Suite):
    """With the autoencoder that is the default, trained once for both methods."""

    @property
    def options(self):
        return {"autoencoder": of_people()}


class TestCCHVAE(WithAutoencoder):
    explainer = methods.CCHVAE


class TestGuarded(Suite):
    explainer = methods.Guarded


class TestNearestUnlike(Suite):
    explainer = methods.NearestUnlike


class TestFeatureTweaking(Suite):
    explainer = methods.FeatureTweaking
    models = ("tree",)


class TestFACE(Suite):
    explainer = methods.FACE


class TestBudgetedInverseClassification(Suite):
    explainer = methods.BudgetedInverseClassification
    models = ("linear",)


class TestBudgetedInverseClassificationWithinABudget(Suite):
    explainer = methods.BudgetedInverseClassification
    options = {"cost_budget": 3.0}  # noqa: RUF012
    models = ("linear",)


class TestHillClimbingLocalSearch(Suite):
    explainer = methods.HillClimbingLocalSearch


class TestWachter(Suite):
    explainer = methods.Wachter


class TestWachterWithoutAGradient(Suite):
    explainer = methods.Wachter
    options = {"method": "search"}  # noqa: RUF012


class TestActionableRecourse(Suite):
    explainer = methods.ActionableRecourse
    least_found = 0.95


class TestRussell(Suite):
    explainer = methods.Russell
    models = ("linear",)
    least_found = 0.95


class TestREVISE(WithAutoencoder):
    explainer = methods.REVISE
