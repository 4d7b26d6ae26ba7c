"""What people read has words for people: no code, no names of methods, nothing that only analysts know."""

import re
from dataclasses import replace
from functools import cache
from typing import Any

import pandas as pd
import pytest

from attain import Schema, Status, letters, methods
from attain.desk.letters.texts import LANGUAGES
from attain.results.text import paragraphs
from attain.testing import people
from tests.desk.letters import world
from tests.methods.test_base_promises import METHODS

CODE = (
    r"[`_{}\\<>\[\]]|\w\.\w*[a-z]|\b0x|\b(?:nan|inf|None(?!\sof))\b",
    r"\b[A-Z]\w*(?:Error|Exception|Warning)\b|\b[A-Z]{4,}\b",
)
"""What looks like code: signs, dotted names, values; exceptions, names of statuses."""
TECHNICAL = (
    "NaN", "True", "False", "null", "Traceback", "dtype", "array", "column", "cell", "index", "schema", "feature",
    "constraint", "parameter", "argument", "budget", "timeout", "seed", "shell", "latent", "encoder", "decoder",
    "score", "threshold", "counterfactual", "percentile", "typicality", "calibrat", "outlier", "connected", "Shapley",
    "recourse", "immutable", "ordinal", "categorical", "algorithm", "solver", "optimis", "classifier",
    "kontrafaktisch", "Perzentil", "Ausreißer", "Spalte", "Merkmal", "Schwellwert", *METHODS,
)  # fmt: skip
LABELS = {"score": "rating", "share_used": "used share of credit", "debt_ratio": "debt in months of income"}
SLOW = {"CCHVAE", "ActionableRecourse"}
ENDED = {Status.TIME_SPENT, Status.FAILED, Status.INTERRUPTED}
"""Searches about which no letters are written."""


def schema() -> Schema:
    """The made-up people's schema with a label for every feature."""
    named = people.schema()
    return replace(named, features=tuple(replace(f, label=LABELS.get(f.name, f.name.replace("_", " "))) for f in named))


def for_people(text: str) -> bool:
    found = re.search("|".join(CODE), text) or next((word for word in TECHNICAL if word in text), None)
    assert not found, f"{found} in {text!r}"
    return True


@cache
def model(kind: str) -> Any:
    X = people.frame(300)
    return getattr(people, f"{kind}_model")(X, people.labels(X))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in METHODS]
)
def test_what_every_method_says_to_people(name: str) -> None:
    classifier, others = model("tree" if name == "FeatureTweaking" else "linear"), people.frame(60, seed=7)
    refused = others[classifier.predict(others) == people.REFUSED].iloc[:8].astype({"housing": object})
    accepted = others[classifier.predict(others) == people.DESIRED].iloc[:1]
    refused.loc[refused.index[0], "housing"] = "a tent"
    refused.loc[refused.index[1], "income"] = -5.0
    explainer = getattr(methods, name)(schema(), laws=people.LAWS, budget=2000)
    X = people.frame(300)
    result = explainer.fit(X, people.labels(X)).explain(
        classifier, pd.concat([refused, accepted]), target=people.DESIRED, n=2, ranges=True, importance=True
    )
    assert {"FOUND", "UNREADABLE", "ALREADY_DESIRED"} <= set(result.status)
    for sentence in (*result.sentences, *paragraphs(result).splitlines()):
        assert for_people(re.sub(r"^p\d+: ", "", sentence))


@pytest.mark.parametrize("status", list(Status))
def test_what_every_status_says_to_people(status: Status) -> None:
    frame, told = world.people({}), "column 'ratio', row 0: found nan; ValueError: [0] is no array"
    made = world.result(frame, {0: [{"amount": 4000.0}]} if status is Status.FOUND else {}, [{"amount": -1}])
    result = replace(made, statuses=(status,), unreadable={0: told} if status is Status.UNREADABLE else {})
    result = replace(result, failures={0: told} if status is Status.FAILED else {})
    assert for_people(result.sentences.iloc[0])
    assert for_people(LANGUAGES["de"].translated(result.sentences.iloc[0]) or status.reason)
    if status in ENDED:
        return
    accepts = world.model(lambda rows: rows["amount"] < (6000 if status is Status.ALREADY_DESIRED else 4100))
    for language in LANGUAGES:
        [letter] = letters.write(result, world.explainer(), accepts, world.TEXTS, language=language)
        assert for_people(letter.text.replace("_", ""))


def test_words_of_the_code_are_found() -> None:
    for text in ("ValueError: no", "NO_RECOURSE", "see `budget`", "the schema says", "by Guarded", "result.problems"):
        with pytest.raises(AssertionError):
            for_people(text)
