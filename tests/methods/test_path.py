"""The straight path: how many frames lie between `explain` and the model, and how often one person asks it."""

import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from attain import GrowingSpheres, Guarded, Model
from attain.answers.session import Session
from attain.testing import people

X = people.frame(120)
INCOME = X["income"].median()


def accepts(frame: pd.DataFrame) -> np.ndarray:
    return (frame["income"] > INCOME).to_numpy()


def depth_of(call) -> int:
    """The most frames from the call of `explain` to the model, both included."""
    depths = []

    def model(frame: pd.DataFrame) -> np.ndarray:
        names = [frame.function for frame in inspect.stack()]
        depths.append(len(names) - names[::-1].index("explain"))  # the first call of that name
        return accepts(frame)

    call(model)
    return max(depths)


@pytest.mark.parametrize("method", [GrowingSpheres, Guarded])
def test_the_model_is_at_most_twelve_frames_below_explain(method) -> None:
    explainer = method(people.schema()).fit(X, accepts(X))
    refused = X[~accepts(X)].iloc[:3]
    assert depth_of(lambda model: explainer.explain(model, refused, target=True)) <= 12


def test_one_person_alone_asks_a_known_model_twice_and_a_session_about_nobody_else() -> None:
    numbers = X.select_dtypes("number").dropna(axis="columns")
    classifier = DecisionTreeClassifier(max_depth=3, random_state=0).fit(numbers, accepts(X))
    refused = numbers[~classifier.predict(numbers)].iloc[[0]]
    explainer = GrowingSpheres().fit(numbers, accepts(X))
    model = Model(classifier)
    found = explainer.explain(model, refused, target=True)
    session = explainer.session(model, target=True)
    answer = found.rows

    def calls(ask) -> int:
        before = model.calls
        ask()
        return model.calls - before

    given = lambda: session.describe(refused, answer)  # noqa: E731
    assert calls(given) == 4  # scores and labels of the person, and of the answer
    assert session.describe(refused, answer).rows_asked == 4
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Session, "answer", lambda self, people, *_: people.goal.rows_asked)
        # scores and labels of the probe and the person, in one call each
        assert calls(lambda: explainer.explain(model, refused, target=True)) == 2
        assert explainer.explain(model, refused, target=True) == 2 * (len(X) + 1)
