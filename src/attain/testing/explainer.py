"""The suite every explainer must pass; one line tests one.

    class TestMyMethod(attain.testing.ExplainerSuite):
        explainer = MyMethod

It holds what a method itself can break: that it is bounded, valid and reproducible, and keeps the rules of
scikit-learn's estimators. What `Explainer` does for every method alike, such as reading frames, is tested once and for
all in this repository. `pytest` runs the suite; `attain.testing.check_explainer(MyMethod)` does so without pytest.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from copy import copy
from functools import cache, wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar
from unittest.mock import patch

import numpy as np
import pandas as pd
from sklearn.base import clone

from attain.methods.base import Explainer
from attain.methods.persistence import load
from attain.models import Goal, Model
from attain.results.counterfactuals import Counterfactuals
from attain.results.status import Status
from attain.schema import Constraints
from attain.search import problem
from attain.tables import Region, Table
from attain.testing import people

_BUDGET = 3_000


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


def _fit(explainer: type[Explainer], options: tuple[tuple[str, Any], ...]) -> Explainer:
    X, y = _training()
    return explainer(people.schema(), laws=people.LAWS, budget=_BUDGET, **dict(options)).fit(X, y)


_fitted = cache(_fit)
"""Each explainer is fitted once; other settings do not change what it learns."""


@cache
def _refused(kind: str) -> pd.DataFrame:
    others = people.frame(100, seed=7)
    return others[_model(kind).predict(others) == people.REFUSED].iloc[:20]


@cache
def _answers(
    explainer: type[Explainer], options: tuple[tuple[str, Any], ...], kind: str, n: int
) -> tuple[pd.DataFrame, Counterfactuals]:
    """Some refused rows and their answers, which several tests look at."""
    X = _refused(kind).iloc[:12]
    result = _fitted(explainer, options).explain(_model(kind), X, target=people.DESIRED, n=n)
    assert not result.failures, f"searches ended with {result.failures}"
    return X, result


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


def parameters(model: Any) -> dict[str, Any]:
    """All parameters of an estimator, those of estimators among them too; of these themselves, only their types."""
    return {
        name: type(value) if hasattr(value, "get_params") else value
        for name, value in model.get_params(deep=True).items()
    }


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

    @property
    def _options(self) -> tuple[tuple[str, Any], ...]:
        return tuple(sorted(self.options.items()))

    def _fitted(self, **changes: Any) -> Explainer:
        return copy(_fitted(self.explainer, self._options)).set_params(**changes)

    @property
    def _model(self) -> Any:
        return _model(self.models[0])

    def _refused(self, number: int) -> pd.DataFrame:
        return _refused(self.models[0]).iloc[:number]

    def _explain(self, n: int = 1) -> tuple[pd.DataFrame, Counterfactuals]:
        return _answers(self.explainer, self._options, self.models[0], n)

    # bounded

    def test_a_constant_classifier_ends_in_a_status_within_the_budget(self) -> None:
        ended = {Status.BUDGET_SPENT, Status.OUT_OF_REACH, Status.NO_CHANGE_FOUND, Status.NOTHING_FREE}
        ended |= {Status.NO_RECOURSE}  # which a method may prove
        for budget in (2, 50, 700):
            result = self._fitted(budget=budget).explain(
                _constant(self.models[0]), people.frame(6, seed=5), target=people.DESIRED
            )
            assert set(result.statuses) <= ended
            assert (result.person_figures["rows_scored"] <= budget).all()

    def test_rows_scored_never_exceed_the_budget_and_are_really_counted(self) -> None:
        for budget in (2, 7, 40, 500):
            model = Model(self._model)
            explainer = self._fitted(budget=budget, figures=False)
            result = explainer.explain(model, self._refused(6), target=people.DESIRED, n=2)
            spent = result.person_figures["rows_scored"]
            assert (spent <= budget).all()
            assert spent.sum() + result.rows_uncharged == result.rows_asked == model.rows

    def test_a_call_ends_soon_after_its_deadline(self) -> None:
        """A look at the rules takes 0.02 seconds and a call of the model 0.1, by a fake clock."""
        X, explainer = self._refused(3), self._fitted()
        everything: dict[str, Any] = {"n": 3, "ranges": True, "importance": True, "contributions": True}
        for model, options in ((_constant(self.models[0]), {}), (self._model, everything)):
            with _slow_world() as clock:
                result = explainer.explain(model, X, target=people.DESIRED, timeout=2.0, **options)
            assert clock.seconds <= len(X) * 2.0 + 1, f"{clock.seconds:.1f} s, with {options}"
            assert len(result) == len(X)

    # valid

    def test_only_ask_says_whether_candidates_flip_the_decision(self) -> None:
        """A search may rank candidates by gradients and compiled scores, and look at the score of people's records."""
        inside: list[str] = []

        def watched(owner: type[Any], name: str) -> Any:
            function = getattr(owner, name)

            @wraps(function)
            def noted(*args: Any, **named: Any) -> Any:
                asks_itself = owner is Goal and inside[-1:] == ["search"]
                assert not asks_itself, f"the search asks the model itself ({name}); use `problem.ask`"
                inside.append(name)
                try:
                    return function(*args, **named)
                finally:
                    inside.pop()

            return patch.object(owner, name, noted)

        parts: list[tuple[type[Any], str]] = [
            (self.explainer, "search"),
            *((problem.Problem, name) for name in ("ask", "score", "examine")),
            *((Goal, name) for name in ("score_rows", "confirm_rows")),
        ]
        with ExitStack() as stack:
            for owner, name in parts:
                stack.enter_context(watched(owner, name))
            X = self._refused(6)
            self._fitted(figures=False).explain(self._model, X, target=people.DESIRED, n=2, errors="raise")

    def test_every_found_row_flips_the_decision_of_the_model_itself(self) -> None:
        tree = _model("tree")
        classifiers = {"linear": _model("linear"), "tree": tree, "labels": lambda frame: tree.predict(frame)}
        for kind in self.models:
            X, model = _refused("linear" if kind == "linear" else "tree"), classifiers[kind]
            result = self._fitted().explain(model, X, target=people.DESIRED)
            assert result.found.mean() >= self.least_found, f"found only {result.found.mean():.0%}"
            assert (getattr(model, "predict", model)(result.frame[result.found]) == people.DESIRED).all()

    def test_no_found_row_breaks_a_rule(self) -> None:
        X, result = self._explain(n=3)
        region = Region.of(Table.read(X, people.schema()), Constraints())
        assert region.allows(result.rows, result.owners).all()
        listed = result.options
        for position in range(len(listed)):
            row = listed.iloc[position]
            before, after = X.loc[row["person"]].to_dict(), row.to_dict()
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
        X, together = self._explain(n=3)
        for i in (0, 7, len(X) - 1):
            alone = self._fitted().explain(self._model, X.iloc[[i]], target=people.DESIRED, n=3)
            assert digest(alone) == digest(together, [i])

    def test_the_order_of_people_and_columns_does_not_matter(self) -> None:
        X, expected = self._explain(n=3)
        shuffled = X.sample(frac=1, random_state=2)[sorted(X.columns)]
        assert digest(self._fitted().explain(self._model, shuffled, target=people.DESIRED, n=3)) == digest(expected)

    def test_threads_that_share_an_explainer_get_the_same_bytes_as_one_after_the_other(self) -> None:
        explainer, (X, expected) = self._fitted(), self._explain()

        def answered(first: int) -> bytes:
            part = X.iloc[first : first + 4]
            return explainer.explain(self._model, part, target=people.DESIRED).answers.tobytes()

        with ThreadPoolExecutor(4) as pool:
            assert b"".join(pool.map(answered, range(0, len(X), 4))) == expected.answers.tobytes()

    def test_a_saved_explainer_gives_the_same_bytes(self) -> None:
        explainer, (X, expected) = self._fitted(), self._explain()
        with TemporaryDirectory() as folder:
            explainer.save(Path(folder) / "explainer.attain")
            loaded = load(Path(folder) / "explainer.attain", trusted=[self.explainer])
        assert type(loaded) is self.explainer and loaded.population_.schema == explainer.population_.schema
        found = loaded.explain(self._model, X, target=people.DESIRED)
        assert digest(found) == digest(expected)
        assert found.settings == expected.settings

    def test_the_seed_is_all_that_chance_depends_on(self) -> None:
        X, expected = self._explain()
        again = _fit(self.explainer, self._options).explain(self._model, X, target=people.DESIRED)
        assert digest(again) == digest(expected)

    # scikit-learn's rules, and what `Explainer` asks for

    def test_the_constructor_only_stores_its_arguments(self) -> None:
        schema = people.schema()
        explainer = self.explainer(schema, **self.options)
        assert explainer.get_params()["schema"] is schema
        assert set(vars(explainer)) == set(inspect.signature(self.explainer.__init__).parameters) - {"self"}
        assert parameters(clone(explainer)) == parameters(explainer)

    def test_a_result_without_an_answer_has_the_same_figures(self) -> None:
        X, answered = self._explain()
        empty = self._fitted().explain(self._model, X.iloc[:0], target=people.DESIRED)
        assert answered.option_figures.keys() <= empty.option_figures.keys(), "name them in `own_figures`"

    def test_it_cites_its_publication(self) -> None:
        text = self.explainer(**self.options).cite()
        assert text.startswith("@") and "title" in text and "year" in text


class _Clock:
    """A clock that looks at rules and calls of models advance, and nothing else."""

    def __init__(self) -> None:
        self.now = 0.0
        self.started: float | None = None

    @property
    def seconds(self) -> float:
        """How long everything took since the clock was first looked at."""
        return self.now - (self.started or 0.0)

    def perf_counter(self) -> float:
        self.started = self.now if self.started is None else self.started
        return self.now

    def advanced_by(self, function: Callable[..., Any], seconds: float) -> Callable[..., Any]:
        @wraps(function)
        def slower(*args: Any, **named: Any) -> Any:
            self.now += seconds if len(args[1]) else 0.0
            return function(*args, **named)

        return slower


@contextmanager
def _slow_world() -> Iterator[_Clock]:
    clock = _Clock()
    looks = [(Region, name, 0.02) for name in ("form_and_admit", "final_form", "admits", "allows", "tolerates")]
    with ExitStack() as stack:
        for owner, name, seconds in (*looks, (Goal, "score_rows", 0.1), (Goal, "confirm_rows", 0.1)):
            slower = clock.advanced_by(getattr(owner, name), seconds)
            stack.enter_context(patch.object(owner, name, slower))
        stack.enter_context(patch.object(problem, "time", clock))
        yield clock


def check_explainer(explainer: type[Explainer], **attributes: Any) -> None:
    """Runs the whole suite on an explainer and raises at the first failure."""
    suite = type("Suite", (ExplainerSuite,), {"explainer": explainer, **attributes})()
    for name in dir(suite):
        if name.startswith("test_"):
            getattr(suite, name)()
