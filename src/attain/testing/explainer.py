"""The suite every explainer must pass; one line tests one.

    class TestMyMethod(attain.testing.ExplainerSuite):
        explainer = MyMethod

It holds the four promises: bounded, valid, reproducible, a plain frame; and the rules of scikit-learn's estimators.
`pytest` runs it; `attain.testing.check_explainer(MyMethod)` does so without pytest.
"""

from __future__ import annotations

import hashlib
import inspect
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from copy import copy
from functools import cache, wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar
from unittest.mock import patch

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from attain.core import compiled
from attain.core.errors import Interrupted, ModelError
from attain.methods.base import Explainer
from attain.methods.persistence import load
from attain.methods.search import clock
from attain.methods.search.clock import Clock
from attain.models import Goal
from attain.models.watch import SlowModelError
from attain.results.counterfactuals import Counterfactuals
from attain.results.status import Status
from attain.tables import Region
from attain.testing import people
from attain.testing.rules import broken_rules
from attain.testing.tables import parameters

_BUDGET = 3_000
_OLD = 95
"""An age that nobody has by chance."""


@cache
def _training() -> tuple[pd.DataFrame, pd.Series]:
    X = people.frame()
    return X, people.labels(X)


@cache
def _model(kind: str) -> Any:
    X, y = _training()
    return people.linear_model(X, y) if kind == "linear" else people.tree_model(X, y)


@cache
def _constant(kind: str) -> Any:
    """A classifier of this kind that refuses everybody."""
    X, y = _training()
    model = clone(_model(kind))
    if kind == "tree":
        # one person among many is outvoted in every leaf
        return model.set_params(decisiontreeclassifier__min_samples_leaf=100).fit(
            X, np.where(X.index == X.index[0], people.DESIRED, people.REFUSED)
        )
    model.fit(X, y)
    model[-1].coef_[:], model[-1].intercept_[:] = 0.0, 1.0 if model.classes_[1] == people.REFUSED else -1.0
    return model


@cache
def _fit(explainer: type[Explainer], options: tuple[tuple[str, Any], ...], random_state: int) -> Explainer:
    X, y = _training()
    return explainer(people.schema(), laws=people.LAWS, budget=_BUDGET, random_state=random_state, **dict(options)).fit(
        X, y
    )


@cache
def _answers(
    explainer: type[Explainer], options: tuple[tuple[str, Any], ...], kind: str, n: int
) -> tuple[pd.DataFrame, Counterfactuals]:
    """Some refused rows and their answers, which several tests look at."""
    X = _refused(_model(kind), 20)
    return X, _fit(explainer, options, 0).explain(_model(kind), X, target=people.DESIRED, n=n)


def _refused(model: Any, number: int) -> pd.DataFrame:
    others = people.frame(400, seed=7)
    return others[model.predict(others) == people.REFUSED].iloc[:number]


def digest(result: Counterfactuals, people: Iterable[int] | None = None) -> str:
    """A hash of everything a result says about all people, or those at some positions, in the order of their labels."""
    order = sorted(range(len(result)) if people is None else people, key=lambda i: str(result.table.labels[i]))
    parts = []
    for i in order:
        mine = result.owners == i
        figures = [values[mine].tobytes() for values in result.option_figures.values()]
        own = [np.asarray(values)[i].tobytes() for values in result.person_figures.values()]
        parts += [result.statuses[i].name.encode(), result.rows[mine].tobytes(), *figures, *own]
    return hashlib.blake2b(b"|".join(parts)).hexdigest()


def digest_in_this_process(explainer: type[Explainer], options: dict[str, Any], kind: str) -> str:
    """The digest of one fixed task, for comparison between processes."""
    X, y = _training()
    model = _model(kind)
    fitted = explainer(people.schema(), laws=people.LAWS, budget=_BUDGET, random_state=3, **options).fit(X, y)
    return digest(fitted.explain(model, _refused(model, 8), target=people.DESIRED, n=2))


class ExplainerSuite:
    """Tests of one explainer; see the module's text.

    Attributes
    ----------
    explainer
        The class under test.
    options
        Further arguments for its constructor.
    models
        Which classifiers it takes: `linear` (a logistic regression in a pipeline), `tree`, `labels` (a function that
        gives labels only). Most tests use the first.
    least_found
        The share of people it must find an answer for on the made-up data.
    """

    explainer: ClassVar[type[Explainer]]
    options: ClassVar[dict[str, Any]] = {}
    models: ClassVar[tuple[str, ...]] = ("linear", "tree", "labels")
    least_found: ClassVar[float] = 0.8

    def _fitted(self, *, random_state: int = 0, **changes: Any) -> Explainer:
        """The explainer, fitted once for each seed; other settings do not change what it learns."""
        fitted = _fit(self.explainer, tuple(sorted(self.options.items())), random_state)
        return copy(fitted).set_params(**changes)

    @property
    def _model(self) -> Any:
        return _model(self.models[0])

    @property
    def _constant(self) -> Any:
        return _Constant() if "labels" in self.models else _constant(self.models[0])

    def _classifiers(self) -> list[Any]:
        tree = _model("tree")
        made = {"linear": _model("linear"), "tree": tree, "labels": lambda frame: tree.predict(frame)}
        return [made[kind] for kind in self.models]

    def _explain(self, n: int = 1) -> tuple[pd.DataFrame, Counterfactuals]:
        return _answers(self.explainer, tuple(sorted(self.options.items())), self.models[0], n)

    # bounded

    def test_a_constant_classifier_ends_in_a_status_within_the_budget(self) -> None:
        X = people.frame(12, seed=5)
        for budget in (2, 50, 700):
            explainer = self._fitted(budget=budget)
            result = explainer.explain(self._constant, X, target=people.DESIRED)
            assert not result.found.any()
            ended = {Status.BUDGET_SPENT, Status.OUT_OF_REACH, Status.NO_CHANGE_FOUND, Status.NOTHING_FREE}
            assert set(result.statuses) <= ended
            assert (result.person_figures["rows_scored"] <= budget).all()

    def test_rows_scored_never_exceed_the_budget_and_are_really_counted(self) -> None:
        from attain.models import Model

        for budget in (2, 7, 40, 500):
            model = Model(self._model)
            result = self._fitted(budget=budget, figures=False).explain(
                model, _refused(self._model, 10), target=people.DESIRED, n=2
            )
            spent = result.person_figures["rows_scored"]
            assert (spent <= budget).all()
            assert spent.sum() + result.rows_uncharged == result.rows_asked == model.rows

    def test_nobody_takes_longer_than_the_timeout(self) -> None:
        """Every look at the rules takes 0.02 seconds and every call of the model 0.1, by a clock of the test's own."""
        timeout = 2.0
        everything: dict[str, Any] = {"n": 3, "slack": 5, "ranges": True, "importance": True, "contributions": True}
        for options in ({}, everything):
            for model in (self._constant, self._model):
                explainer, X = self._fitted(), _refused(self._model, 3)
                with _SlowWorld() as world:
                    result = explainer.explain(model, X, target=people.DESIRED, timeout=timeout, **options)
                assert world.seconds <= len(X) * timeout + 1, f"{world.seconds:.1f} s, with {options}"
                assert len(result) == len(X)
            with _SlowWorld() as world:
                explainer.menu(self._model, X.iloc[:1], target=people.DESIRED, most=2, timeout=timeout)
            assert world.seconds <= timeout + 1, f"the menu took {world.seconds:.1f} s"

    def test_an_interruption_keeps_what_is_done(self) -> None:
        explainer = self._fitted()
        try:
            explainer.explain(_Interrupting(self._model), _refused(self._model, 5), target=people.DESIRED)
        except Interrupted as interrupted:
            assert isinstance(interrupted.result, Counterfactuals)
            assert set(interrupted.result.statuses) == {Status.INTERRUPTED}
        else:
            raise AssertionError("an interruption did not raise Interrupted")

    # valid

    def test_every_found_row_flips_the_decision_of_the_model_itself(self) -> None:
        for model in self._classifiers():
            predict = getattr(model, "predict", model)
            X = people.frame(60, seed=9)
            X = X[predict(X) == people.REFUSED].iloc[:20]
            result = self._fitted().explain(model, X, target=people.DESIRED)
            assert result.found.mean() >= self.least_found, f"found only {result.found.mean():.0%}"
            assert (predict(result.frame[result.found]) == people.DESIRED).all()

    def test_no_found_row_breaks_a_rule(self) -> None:
        X, result = self._explain(n=3)
        schema = people.schema()
        listed = result.options
        for position in range(len(listed)):
            row = listed.iloc[position]
            before, after = X.loc[row["person"]].to_dict(), row.to_dict()
            assert not broken_rules(schema, before, after)
            assert after["cards"] <= 10
            assert not (after["housing"] == "rents" and after["mortgage"])
            assert set(people.broken_laws(after)) <= set(people.broken_laws(before))
            if (after["debt"], after["income"]) != (before["debt"], before["income"]):
                assert abs(after["debt_ratio"] / (after["debt"] / after["income"]) - 1) < 1e-5

    def test_immutable_and_unchanged_cells_are_the_same_to_the_last_bit(self) -> None:
        X, result = self._explain()
        frame = result.frame
        for name in ("age", "sex"):
            assert frame[name][result.found].tolist() == X[name][result.found].tolist()
        changed = {(row.person, row.feature) for row in result.changes.itertuples() if row.option == 1}
        for name in X.columns:
            for label in X.index[result.found]:
                if (label, name) not in changed:
                    old, new = X.loc[label, name], frame.loc[label, name]
                    assert (pd.isna(old) and pd.isna(new)) or old == new

    def test_constraints_of_one_call_are_kept(self) -> None:
        model = self._model
        X = _refused(model, 15)
        explainer = self._fitted()
        first = X.index[0]
        constraints = {
            "immutable": ["debt"],
            "direction": {"score": "increase"},
            "range": {"months_late": (-2, 0)},
            "max_changes": 4,
            "people": {first: {"immutable": ["income", "score"]}},
        }
        result = explainer.explain(model, X, target=people.DESIRED, constraints=constraints)
        assert "debt" not in set(result.changes["feature"])
        for row in result.changes.itertuples():
            if row.feature == "score":
                assert row.counterfactual > row.current
            if row.feature == "months_late" and row.current >= 0:
                assert -2 <= row.counterfactual - row.current <= 0
        own = result.changes[result.changes["person"] == first]["feature"]
        assert not set(own) & {"income", "score"}
        assert np.nanmax(result.option_figures["features_changed"], initial=0) <= 4

    def test_who_needs_no_change_or_may_change_nothing_is_told_so(self) -> None:
        model = self._model
        others = people.frame(100, seed=11)
        granted = others[model.predict(others) == people.DESIRED].iloc[:3]
        result = self._fitted().explain(model, granted, target=people.DESIRED)
        assert set(result.statuses) == {Status.ALREADY_DESIRED}
        everything = {"immutable": list(people.schema().names)}
        result = self._fitted().explain(model, _refused(model, 3), target=people.DESIRED, constraints=everything)
        assert set(result.statuses) == {Status.NOTHING_FREE}

    def test_several_options_are_different_and_each_is_valid(self) -> None:
        _, result = self._explain(n=3)
        for person in np.unique(result.owners):
            mine = result.rows[result.owners == person]
            assert 1 <= len(mine) <= 3
            assert len(np.unique(np.nan_to_num(mine, nan=-1e9), axis=0)) == len(mine)
        listed = result.options.drop(columns=["person", "option"])
        assert (self._model.predict(listed) == people.DESIRED).all()

    # reproducible

    def test_a_person_alone_and_in_a_batch_have_the_same_answer(self) -> None:
        model = self._model
        X = _refused(model, 100)
        explainer = self._fitted()
        together = explainer.explain(model, X, target=people.DESIRED)
        for i in (0, 17, len(X) - 1):
            alone = explainer.explain(model, X.iloc[[i]], target=people.DESIRED)
            assert alone.answers[0].tobytes() == together.answers[i].tobytes()
            assert alone.statuses[0] is together.statuses[i]

    def test_the_order_of_people_and_columns_does_not_matter(self) -> None:
        model = self._model
        X = _refused(model, 30)
        explainer = self._fitted()
        shuffled = X.sample(frac=1, random_state=2)[sorted(X.columns)]
        one = explainer.explain(model, X, target=people.DESIRED, n=2)
        two = explainer.explain(model, shuffled, target=people.DESIRED, n=2)
        assert digest(one) == digest(two)

    def test_the_library_of_the_frame_does_not_matter(self) -> None:
        model = self._model
        X = _refused(model, 12)
        explainer = self._fitted()
        expected = explainer.explain(model, X, target=people.DESIRED)
        for convert in _other_libraries():
            other = explainer.explain(model, convert(X), target=people.DESIRED)
            assert other.answers.tobytes() == expected.answers.tobytes()
            assert other.statuses == expected.statuses
            assert type(other.frame) is type(convert(X))

    def test_threads_that_share_an_explainer_get_the_same_bytes_as_one_after_the_other(self) -> None:
        explainer, models = self._fitted(), self._classifiers()[:2]
        calls = [(model, _refused(self._model, number)) for model in models for number in (3, 6)]

        def answered(call: tuple[Any, pd.DataFrame]) -> str:
            return digest(explainer.explain(call[0], call[1], target=people.DESIRED))

        expected = [answered(call) for call in calls]
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(answered, calls * 2)) == expected * 2

    def test_a_saved_explainer_gives_the_same_bytes(self) -> None:
        explainer, X = self._fitted(), _refused(self._model, 8)
        with TemporaryDirectory() as folder:
            explainer.save(Path(folder) / "explainer.attain")
            loaded = load(Path(folder) / "explainer.attain", trusted=[self.explainer])
        assert type(loaded) is self.explainer and loaded.schema_ == explainer.schema_
        expected, found = (one.explain(self._model, X, target=people.DESIRED) for one in (explainer, loaded))
        assert digest(found) == digest(expected)
        assert found.settings == expected.settings

    def test_another_process_gives_the_same_bytes(self) -> None:
        if self.explainer.__module__ == "__main__" or "<locals>" in self.explainer.__qualname__:
            return  # a class that another process cannot import
        task = self.explainer, self.options, self.models[0]
        here = digest_in_this_process(*task)
        code = (
            "import pickle, sys\nfrom attain.testing.explainer import digest_in_this_process\n"
            "print(digest_in_this_process(*pickle.load(sys.stdin.buffer)))"
        )
        command = [sys.executable, "-c", code]
        there = subprocess.run(command, input=pickle.dumps(task), capture_output=True, check=True).stdout.decode()
        assert there.split()[-1] == here

    def test_warming_up_changes_no_answer(self) -> None:
        explainer, X, digests = self._fitted(), _refused(self._model, 6), []
        for warm in (False, True):
            with patch.object(compiled, "_in_use", False):
                explainer = explainer.warm_up() if warm else explainer
                digests.append(digest(explainer.explain(self._model, X, target=people.DESIRED, n=2)))
        assert digests[0] == digests[1]

    def test_the_seed_is_all_that_chance_depends_on(self) -> None:
        model = self._model
        X = _refused(model, 10)
        X_train, y_train = _training()
        results = []
        for _ in range(2):
            explainer = self.explainer(people.schema(), budget=_BUDGET, random_state=4, **self.options)
            results.append(explainer.fit(X_train, y_train).explain(model, X, target=people.DESIRED))
        assert digest(results[0]) == digest(results[1])

    # a plain frame

    def test_the_frame_looks_like_the_one_that_came_in(self) -> None:
        X, result = self._explain()
        assert type(result.frame) is type(X)
        assert result.frame.index.equals(X.index)
        assert list(result.frame.columns) == list(X.columns)
        assert result.status.index.equals(X.index)
        assert result.figures.index.equals(X.index)
        assert result.frame.dtypes.equals(X.dtypes)

    def test_a_person_without_an_answer_keeps_their_own_record(self) -> None:
        X = people.frame(5, seed=5)
        result = self._fitted(budget=30).explain(self._constant, X, target=people.DESIRED)
        assert not result.found.any()
        pd.testing.assert_frame_equal(result.frame, X)
        assert len(result.options) == 0
        assert len(result.changes) == 0

    def test_a_record_that_cannot_be_read_costs_nobody_else_anything(self) -> None:
        X = _refused(self._model, 6)
        bad = X.astype({"score": object, "housing": object})
        bad.loc[bad.index[1], "score"] = "a lot"
        bad.loc[bad.index[4], "housing"] = "castle"
        result = self._fitted().explain(self._model, bad, target=people.DESIRED, n=2)
        assert [i for i, status in enumerate(result.statuses) if status is Status.UNREADABLE] == [1, 4]
        assert "'a lot'" in result.reasons.iloc[1] and "'castle'" in result.reasons.iloc[4]
        pd.testing.assert_frame_equal(result.frame.iloc[[1, 4]], bad.iloc[[1, 4]])
        alone = self._fitted().explain(self._model, X.iloc[[0, 2, 3, 5]], target=people.DESIRED, n=2)
        assert digest(result, (0, 2, 3, 5)) == digest(alone)

    def test_an_unseen_level_that_may_not_change_is_passed_to_the_model(self) -> None:
        X = _refused(self._model, 6)
        odd = X.copy()
        odd.loc[odd.index[[1, 4]], "sex"] = ["x", "y"]
        odd = odd[self._model.predict(odd) == people.REFUSED]
        result = self._fitted().explain(self._model, odd, target=people.DESIRED, n=2)
        assert Status.UNREADABLE not in result.statuses
        assert result.frame["sex"].tolist() == odd["sex"].tolist()
        assert (self._model.predict(result.frame[result.found]) == people.DESIRED).all()
        known = np.flatnonzero(odd["sex"].isin(["f", "m"]))
        assert len(known) < len(odd)
        alone = self._fitted().explain(self._model, odd.iloc[known], target=people.DESIRED, n=2)
        assert digest(result, known.tolist()) == digest(alone)
        again = Counterfactuals.from_json(result.to_json())
        assert digest(again) == digest(result)
        pd.testing.assert_frame_equal(again.frame, result.frame)

    def test_a_model_that_fails_on_some_rows_costs_these_people_only(self) -> None:
        X = _refused(self._model, 6)
        ratios = X["debt_ratio"].iloc[[1, 4]]
        model = _Failing(
            self._model, lambda asked: asked["debt_ratio"].isin(ratios), ValueError("cannot take this one")
        )
        result = self._fitted().explain(model, X, target=people.DESIRED, n=2)
        assert [i for i, status in enumerate(result.statuses) if status is Status.UNREADABLE] == [1, 4]
        assert "raised ValueError" in result.reasons.iloc[1]
        assert "cannot take this one" in result.reasons.iloc[1]
        others = self._fitted().explain(_sound(self._model), X.iloc[[0, 2, 3, 5]], target=people.DESIRED, n=2)
        assert digest(result, (0, 2, 3, 5)) == digest(others)
        try:
            self._fitted().explain(model, X, target=people.DESIRED, errors="raise")
        except ModelError as error:
            assert "cannot take this one" in str(error)
        else:
            raise AssertionError("errors='raise' did not raise the model's error")

    def test_a_model_that_is_too_slow_for_one_person_costs_this_person_only(self) -> None:
        X = _refused(self._model, 6)
        X.loc[X.index[1], "age"] = _OLD
        X = X[self._model.predict(X) == people.REFUSED]
        slow = X["age"] == _OLD
        # what a call that was given up raises, so that nobody has to wait for it; the record itself is answered
        own = X.loc[slow, ["debt", "income", "score"]].iloc[0]
        model = _Failing(
            self._model,
            lambda asked: (asked["age"] == _OLD) & (asked[own.index] != own).any(axis=1),
            SlowModelError("took too long"),
        )
        result = self._fitted().explain(model, X, target=people.DESIRED, n=2, timeout=1e6)
        assert [status is Status.TIME_SPENT for status in result.statuses] == slow.tolist()
        others = self._fitted().explain(_sound(self._model), X[~slow], target=people.DESIRED, n=2)
        assert digest(result, np.flatnonzero(~slow)) == digest(others)

    def test_one_person_may_be_a_dictionary_or_a_series(self) -> None:
        X = _refused(self._model, 1)
        expected = self._fitted().explain(self._model, X, target=people.DESIRED)
        for one in (X.iloc[0], X.iloc[0].to_dict()):
            result = self._fitted().explain(self._model, one, target=people.DESIRED)
            assert list(result.table.labels) == [X.index[0] if isinstance(one, pd.Series) else 0]
            assert digest(result) == digest(expected)

    def test_an_empty_frame_gives_an_empty_result(self) -> None:
        X = people.frame(5, seed=5).iloc[:0]
        result = self._fitted().explain(self._model, X, target=people.DESIRED)
        assert len(result) == 0
        assert list(result.frame.columns) == list(X.columns)
        answered = self._explain()[1]
        assert answered.option_figures.keys() <= result.option_figures.keys(), "name them in `own_figures`"

    def test_the_callers_data_are_left_as_they_were(self) -> None:
        model = self._model
        X = _refused(model, 5)
        copy = X.copy(deep=True)
        self._fitted().explain(model, X, target=people.DESIRED)
        pd.testing.assert_frame_equal(X, copy)

    def test_a_result_survives_json(self) -> None:
        _, result = self._explain(n=3)
        again = Counterfactuals.from_json(result.to_json())
        assert digest(again) == digest(result)
        pd.testing.assert_frame_equal(again.frame, result.frame)
        pd.testing.assert_frame_equal(again.changes, result.changes)

    # scikit-learn's rules

    def test_the_constructor_only_stores_its_arguments(self) -> None:
        schema = people.schema()
        explainer = self.explainer(schema, **self.options)
        assert explainer.get_params()["schema"] is schema
        assert set(vars(explainer)) == set(inspect.signature(self.explainer.__init__).parameters) - {"self"}
        assert parameters(clone(explainer)) == parameters(explainer)

    def test_explaining_before_fitting_is_refused_in_words(self) -> None:
        try:
            self.explainer(people.schema(), **self.options).explain(_Constant(), people.frame(2), target="x")
        except NotFittedError as error:
            assert "fit" in str(error)
        else:
            raise AssertionError("explain before fit was not refused")

    def test_it_cites_its_publication(self) -> None:
        text = self.explainer(**self.options).cite()
        assert text.startswith("@") and "title" in text and "year" in text

    def test_fit_returns_self_and_leaves_parameters_alone(self) -> None:
        X, y = _training()
        explainer = self.explainer(people.schema(), **self.options)
        before = explainer.get_params()
        assert explainer.fit(X, y) is explainer
        assert explainer.get_params() == before
        assert explainer.n_features_in_ == X.shape[1]
        assert list(explainer.feature_names_in_) == list(X.columns)


class _SlowWorld:
    """Within it, looks at the rules and calls of the model take seconds, of a clock that nothing else advances."""

    def __init__(self) -> None:
        self._now = self._start = 0.0
        self._stack = ExitStack()

    @property
    def seconds(self) -> float:
        """How long everything took since people's time began to run."""
        return self._now - self._start

    def __enter__(self) -> _SlowWorld:
        for owner, name, seconds in (
            (Region, "settled", 0.02),
            (Region, "final_form", 0.02),
            (Region, "admits", 0.02),
            (Region, "allows", 0.02),
            (Region, "kept", 0.02),
            (Goal, "judge", 0.1),
            (Goal, "decide", 0.1),
        ):
            self._stack.enter_context(patch.object(owner, name, self._slowed(getattr(owner, name), seconds)))
        self._stack.enter_context(patch.object(clock, "time", self))
        self._stack.enter_context(patch.object(Clock, "of", self._begun))
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def perf_counter(self) -> float:
        return self._now

    def _begun(self, goal: Any, number: int) -> Clock:
        self._start = self._now
        return Clock(number, goal.timeout)

    def _slowed(self, function: Callable[..., Any], seconds: float) -> Callable[..., Any]:
        @wraps(function)
        def slower(*args: Any, **named: Any) -> Any:
            self._now += seconds if len(args[1]) else 0.0
            return function(*args, **named)

        return slower


class _Constant:
    """A classifier that refuses everybody."""

    classes_ = np.array([people.DESIRED, people.REFUSED])

    def predict(self, X: Any) -> np.ndarray:
        return np.full(len(X), people.REFUSED)


class _Failing:
    """A classifier that raises an error when it is asked about certain rows, alone or among others."""

    def __init__(self, model: Any, fails: Callable[[pd.DataFrame], pd.Series], error: Exception) -> None:
        self._model, self._fails, self._error = model, fails, error

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._model, name)

    def predict(self, X: Any) -> Any:
        return self._model.predict(self._checked(X))

    def predict_proba(self, X: Any) -> Any:
        return self._model.predict_proba(self._checked(X))

    def decision_function(self, X: Any) -> Any:
        return self._model.decision_function(self._checked(X))

    def _checked(self, X: Any) -> Any:
        if self._fails(X).any():
            raise self._error
        return X


def _sound(model: Any) -> _Failing:
    """One that never fails: a wrapped model is not compiled, and may be searched otherwise than the model itself."""
    return _Failing(model, lambda asked: pd.Series(False, asked.index), ValueError())


class _Interrupting:
    """A classifier that a person stops by Ctrl-C: it knows the training people and those explained, and nobody new."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.classes_ = model.classes_
        self.feature_names_in_ = model.feature_names_in_
        known = pd.concat([_training()[0], people.frame(400, seed=7)])
        self._known = set(map(tuple, known[["score", "debt", "income"]].to_numpy()))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._model, name)

    def predict(self, X: Any) -> Any:
        return self._model.predict(self._counted(X))

    def predict_proba(self, X: Any) -> Any:
        return self._model.predict_proba(self._counted(X))

    def _counted(self, X: Any) -> Any:
        if not set(map(tuple, X[["score", "debt", "income"]].to_numpy())) <= self._known:
            raise KeyboardInterrupt
        return X


def _other_libraries() -> list[Any]:
    converters: list[Any] = []
    try:
        import polars

        converters.append(polars.from_pandas)
    except ImportError:
        pass
    try:
        import pyarrow

        converters.append(lambda X: pyarrow.Table.from_pandas(X, preserve_index=False))
    except ImportError:
        pass
    return converters


def check_explainer(explainer: type[Explainer], **attributes: Any) -> None:
    """Runs the whole suite on an explainer and raises at the first failure."""
    suite = type("Suite", (ExplainerSuite,), {"explainer": explainer, **attributes})()
    for name in dir(suite):
        if name.startswith("test_"):
            getattr(suite, name)()
