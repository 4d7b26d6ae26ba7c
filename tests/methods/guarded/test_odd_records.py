"""The guarded search of records with gaps, codes, computed columns and broken laws."""

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from attain import Feature, Guarded, Schema
from attain.testing import people


def test_gaps_codes_derived_columns_and_rules_are_searched_through() -> None:
    X = people.frame(400)
    y = people.labels(X)
    schema = people.schema()
    explainer = Guarded(schema, guard="typical").fit(X, y)
    for model in (people.linear_model(X, y), people.tree_model(X, y)):
        others = people.frame(500, seed=7)
        others = others[model.predict(others) == people.REFUSED]
        gaps, codes = others[others["savings"].isna()].iloc[:8], others[others["months_late"] < 0].iloc[:8]
        rest = others.drop(gaps.index.union(codes.index)).iloc[:10]
        odd = pd.concat([gaps, codes, rest])
        odd = odd[~odd.index.duplicated()]
        result = explainer.explain(model, odd, target=people.DESIRED, n=2)
        assert result.found.mean() > 0.9
        guard = explainer.session(model, target=people.DESIRED).inspected.guard
        np.testing.assert_array_equal(result.option_figures["typicality"] == 0, guard.accepts(result.rows, 0.1))
        listed = result.options
        assert (model.predict(listed[X.columns]) == people.DESIRED).all()
        assert not ((listed["housing"] == "rents") & listed["mortgage"].astype(bool)).any()
        assert (listed["cards"] <= 10).all()
        ratio = listed["debt"] / listed["income"]
        np.testing.assert_allclose(listed["debt_ratio"].astype(float), ratio.astype(float), rtol=1e-5)
        for i in (0, len(odd) - 1):
            alone = explainer.explain(model, odd.iloc[[i]], target=people.DESIRED, n=2)
            assert alone.rows.tobytes() == result.rows[result.owners == i].tobytes()


def test_an_answer_that_breaks_a_law_as_its_row_does_is_not_typical():
    random = np.random.default_rng(0)
    whole = random.integers(2, 12, 800)
    X = pd.DataFrame({"part": random.integers(0, whole + 1), "whole": whole, "merit": random.normal(size=800)})
    y = np.where(X["merit"] > 0, "yes", "no")
    fixed = Schema(
        (
            Feature("part", "count", immutable=True),
            Feature("whole", "count", immutable=True),
            Feature("merit", "real"),
        )
    )
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    rows = pd.DataFrame({"part": [5, 6, 2, 7], "whole": [6, 5, 3, 6], "merit": [-0.2, -0.2, -0.3, -0.3]})
    breaks = rows["part"] > rows["whole"]
    options = {"guard": "typical", "rate": 0.02, "figures": False}
    without = Guarded(fixed, laws=None, **options).fit(X, y).explain(model, rows, target="yes")
    assert without.found.all()
    assert (without.figures["typicality"] == 0).all()
    kept = Guarded(fixed, laws=["part <= whole"], **options).fit(X, y).explain(model, rows, target="yes")
    pd.testing.assert_series_equal(kept.figures["typicality_p"], without.figures["typicality_p"])
    assert kept.figures["typicality"].tolist() == breaks.astype(float).tolist()
    # an option that mends it comes before one that does not
    free = Guarded(fixed.change("part", immutable=False), laws=["part <= whole"], **options).fit(X, y)
    mended = free.explain(model, rows, target="yes", n=2)
    assert (mended.figures["typicality"] == 0).all()
    np.testing.assert_array_equal(mended.option_figures["typicality"] == 1, mended.rows[:, 0] > mended.rows[:, 1])
