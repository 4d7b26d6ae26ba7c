"""What an explainer keeps about models: never mixed up between two, never more than a few, counted to the row."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from attain import Constraints, Feature, GrowingSpheres, Guarded, Model, Schema, Status
from attain.core.errors import Interrupted
from attain.methods import FACE, NearestUnlike, Wachter
from attain.models import scores
from attain.search.problem import Ledger, Problem
from attain.tables import Region, Table
from attain.testing.explainer import digest

SCHEMA = Schema((Feature("x", "real"), Feature("y", "real")))
RANDOM = np.random.default_rng(0)
X = pd.DataFrame({"x": np.sort(RANDOM.normal(size=400)), "y": RANDOM.normal(size=400)})


class Above:
    """Scores by x: accepts what lies above a threshold."""

    classes_ = np.array([0, 1])

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold

    def predict_proba(self, frame: pd.DataFrame) -> np.ndarray:
        share = 1 / (1 + np.exp(self.threshold - frame["x"].to_numpy()))
        return np.column_stack((1 - share, share))

    def predict(self, frame: pd.DataFrame) -> np.ndarray:
        return (frame["x"].to_numpy() > self.threshold).astype(int)


def labels_above(threshold: float):
    return lambda frame: (frame["x"].to_numpy() > threshold).astype(int)


def desired(model: object, explainer: GrowingSpheres) -> int:
    return len(explainer.session(model, target=1).decided.reference)


def test_two_label_functions_that_agree_on_the_probe_have_references_of_their_own():
    rows = np.linspace(0, 399, 256).astype(int)
    unprobed = np.setdiff1d(np.arange(399), rows)[20]
    low, high = X["x"][unprobed] - 1e-9, X["x"][unprobed] + 1e-9
    explainer = GrowingSpheres(SCHEMA).fit(X)
    first, second = labels_above(low), labels_above(high)
    assert (first(X.iloc[rows]) == second(X.iloc[rows])).all()
    assert desired(first, explainer) == desired(second, explainer) + 1


def test_a_label_model_that_is_trained_again_in_place_is_noticed():
    class Labels:
        threshold = 0.0

        def __call__(self, frame: pd.DataFrame) -> np.ndarray:
            return labels_above(self.threshold)(frame)

    model = Labels()
    explainer = GrowingSpheres(SCHEMA).fit(X)
    before = desired(model, explainer)
    rows = np.linspace(0, 399, 256).astype(int)
    unprobed = next(i for i in range(250, 399) if i not in rows)
    model.threshold = X["x"][unprobed - 1] + 1e-12
    kept = (X["x"] > model.threshold).sum()
    model.threshold = X["x"][unprobed] + 1e-12
    assert desired(model, explainer) == kept - 1
    assert before != kept - 1


def test_a_model_is_inspected_once_and_only_a_few_are_kept():
    explainer = NearestUnlike(SCHEMA, figures=False).fit(X)
    people = X.iloc[:3]
    models = [Above(threshold) for threshold in np.linspace(0, 1, 9)]
    for model in models:
        explainer.explain(model, people, target=1)
        explainer.explain(model, people, target=1, probability=0.6)
    assert len(explainer._sessions) == 4
    first = explainer.explain(models[-1], people, target=1).rows_asked
    again = explainer.explain(models[-1], people, target=1).rows_asked
    assert first - again == 0  # among the last four
    # a model that was forgotten is asked about all training rows again, and twice about the probe: scores, labels
    assert explainer.explain(models[0], people, target=1).rows_asked == again + len(X) + 2 * 256


def test_what_is_read_out_of_a_model_is_kept(monkeypatch):
    read = []

    def counted(goal, values):
        read.append(goal)
        return linear_score(goal, values)

    linear_score = scores._verified
    monkeypatch.setattr(scores, "_verified", counted)
    explainer, model = NearestUnlike(SCHEMA).fit(X), LogisticRegression().fit(X, X["x"] > 0.5)
    first, again = (explainer.explain(model, X.iloc[:3], target=True, contributions=True) for _ in range(2))
    assert len(read) == 1
    assert again.rows_asked < first.rows_asked
    pd.testing.assert_frame_equal(first.contributions, again.contributions)


def test_a_compiled_model_gives_the_answers_of_the_model():
    model = DecisionTreeClassifier(max_depth=4).fit(X, X["x"] + X["y"] > 0.5)
    wrapped = Model(model)
    explainer = GrowingSpheres(SCHEMA).fit(X)
    refused = X[~model.predict(X)].iloc[:20]
    result = explainer.explain(wrapped, refused, target=True)
    assert result.rows_asked == wrapped.rows, "rows that the compiled score answers count"
    plain = explainer.explain(lambda frame: model.predict_proba(frame), refused, target=1)
    np.testing.assert_array_equal(result.rows, plain.rows)


def test_a_wrong_compiled_score_loses_answers_but_gives_no_false_ones(monkeypatch):
    model = LogisticRegression().fit(X, X["x"] > 0.5)

    def wrong(rows):
        return rows[:, 0] - np.where(rows[:, 1] > 0, 0.8, 0.0)  # lets some pass too soon

    monkeypatch.setattr("attain.answers.session.compile_score", lambda *_: wrong)
    refused = X[~model.predict(X)].iloc[:40]
    result = GrowingSpheres(SCHEMA, figures=False).fit(X).explain(model, refused, target=True)
    assert 0 < result.found.mean() < 1
    assert model.predict(result.frame[result.found]).all()


def known_and_compiled():
    """An explainer that knows a model, the model, and people whom it refuses."""
    model = LogisticRegression().fit(X, X["x"] + X["y"] > 0.5)
    refused = X[~model.predict(X)].iloc[::20]
    explainer = Guarded(SCHEMA).fit(X, X["x"] + X["y"] > 0.5)
    explainer.explain(model, refused.iloc[:1], target=True)
    return explainer, model, refused


def test_a_known_compiled_model_that_is_trained_again_in_place_is_noticed():
    explainer, model, refused = known_and_compiled()
    model.fit(X, X["y"] - X["x"] > 0.5)
    still = refused[~model.predict(refused)]
    wrapped = Model(model)
    result = explainer.explain(wrapped, still.iloc[:5], target=True)
    new = Guarded(SCHEMA).fit(X, X["x"] + X["y"] > 0.5).explain(model, still.iloc[:5], target=True)
    np.testing.assert_array_equal(result.rows, new.rows)
    assert model.predict(result.frame[result.found]).all()
    assert result.rows_asked == wrapped.rows


def test_a_known_compiled_model_that_fails_on_a_person_leaves_the_others_answered(monkeypatch):
    explainer, model, refused = known_and_compiled()
    people, bad = refused.iloc[:4], refused["x"].iloc[2]
    ask = LogisticRegression.predict_proba

    def failing(self, frame):
        if (frame["x"] == bad).any():
            raise ValueError("not this person")
        return ask(self, frame)

    monkeypatch.setattr(LogisticRegression, "predict_proba", failing)
    result = explainer.explain(model, people, target=True)
    assert [status is Status.UNREADABLE for status in result.statuses] == [False, False, True, False]
    assert model.predict(result.frame[result.found]).all()


def test_threads_that_share_an_explainer_get_the_answers_of_one_alone():
    models, people, y = [Above(threshold) for threshold in (0.0, 0.4, 0.8)], X.iloc[:40:8], X["x"] > 0.4
    alone = [digest(Guarded(SCHEMA).fit(X, y).explain(model, people, target=1)) for model in models]
    explainer = Guarded(SCHEMA).fit(X, y)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda k: explainer.explain(models[k % 3], people, target=1), range(12)))
    assert [digest(result) for result in results] == alone * 4


def test_an_interrupted_search_raises_and_has_what_was_done(monkeypatch):
    explainer = GrowingSpheres(SCHEMA, figures=False).fit(X)
    monkeypatch.setattr(GrowingSpheres, "_batch_size", lambda self, n, inspected: 5)
    searched = []
    search = GrowingSpheres.search

    def stopped(self, problem):
        searched.append(len(problem))
        if len(searched) == 3:
            raise KeyboardInterrupt
        return search(self, problem)

    monkeypatch.setattr(GrowingSpheres, "search", stopped)
    with pytest.raises(Interrupted) as caught:
        explainer.explain(Above(0.0), X.iloc[:60], target=1)
    result = caught.value.result
    assert result.statuses == (Status.FOUND,) * 10 + (Status.INTERRUPTED,) * 50
    assert (Above(0.0).predict(result.frame[result.found]) == 1).all()


def test_a_ledger_of_some_owners_charges_the_whole_one():
    ledger = Ledger(5, 10)
    part = ledger.subset(np.array([4, 1]))
    inner = part.subset(np.array([0]), budget=3)
    inner.charge(np.array([0, 0]))
    part.charge(np.array([1]), np.array([3]))
    assert ledger.spent.tolist() == [0, 3, 0, 0, 2]
    assert part.affordable(np.array([0, 1, 1, 1]), kept_back=4).tolist() == [True, True, True, True]
    assert part.affordable(np.array([1, 1, 1, 1]), kept_back=4, price=2).tolist() == [True, False, False, False]
    assert inner.affordable(np.array([0, 0])).tolist() == [True, False]


def test_evaluate_asks_only_about_what_is_allowed_affordable_and_new():
    explainer = GrowingSpheres(SCHEMA).fit(X)
    goal = explainer._goal(Above(0.0), 1, None)
    region = Region.of(Table.read(X.iloc[:2], SCHEMA), Constraints(), explainer.population_.observed)
    problem = Problem(goal, region, Ledger(2, 5), 1, 0)
    own = region.factuals[0]
    rows = own + np.array([[0, 0], [1, 0], [1, 0], [3, 0], [3.5, 0], [0, 1]])
    tried = problem.ask(rows, np.zeros(6, dtype=int), distinct=np.zeros(6, dtype=int))
    assert tried.asked.tolist() == [1, 3, 4]  # unchanged and repeated rows are not asked about; two are kept back
    assert tried.unaffordable.tolist() == [5]
    assert tried.hits.tolist() == [i for i in (1, 3, 4) if rows[i, 0] > 0]
    assert problem.ledger.spent.tolist() == [3, 0]


class Recording(Above):
    """Keeps what it was asked about. New values have six digits, so that no candidate equals a training row."""

    def __init__(self, threshold: float) -> None:
        super().__init__(threshold)
        self.asked: list[float] = []

    def predict_proba(self, frame: pd.DataFrame) -> np.ndarray:
        self.asked += frame["x"].tolist()
        return super().predict_proba(frame)


@pytest.mark.parametrize(
    "explainer",
    [Guarded(SCHEMA), FACE(SCHEMA), NearestUnlike(SCHEMA), Wachter(SCHEMA)],
    ids=lambda explainer: type(explainer).__name__,
)
def test_every_training_row_is_asked_about_once_for_each_model(explainer) -> None:
    model = Recording(0.3)
    explainer.fit(X, model.predict(X))
    people = pd.DataFrame({"x": [-0.501, -1.001], "y": [0.1, 0.2]})
    assert explainer.explain(model, people, target=1).found.any()
    probed = np.linspace(0, 399, 256).astype(int)
    expected = np.ones(400, dtype=int)
    expected[probed] += 2  # twice, to see whether the answers are the same
    asked = pd.Series(model.asked).value_counts().reindex(X["x"], fill_value=0).to_numpy()
    np.testing.assert_array_equal(asked, expected)
