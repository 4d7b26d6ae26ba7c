"""Explanations made again from their lines: the same bytes, or the differences by name."""

from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import attain
from attain import audit
from attain.core.errors import AttainError, DataError
from attain.datasets import load_german

KEY = b"k" * 32
GERMAN = load_german()
COLUMNS = ["duration", "credit_amount", "age", "checking_account"]
X = GERMAN.X[COLUMNS]


@cache
def model(strength: float = 1.0) -> Any:
    numbers = ["duration", "credit_amount", "age"]
    encoded = make_column_transformer((StandardScaler(), numbers), remainder=OneHotEncoder(handle_unknown="ignore"))
    return make_pipeline(encoded, LogisticRegression(C=strength, max_iter=1000)).fit(X, GERMAN.y)


@cache
def explainer(seed: int | None = None) -> Any:
    schema = attain.Schema(tuple(feature for feature in GERMAN.schema if feature.name in COLUMNS))
    return attain.Guarded(schema, budget=2000, random_state=seed).fit(X, GERMAN.y)


def refused() -> pd.DataFrame:
    return X[model().predict(X) == "bad"].iloc[:6]


def logged(folder: Path, *seed: int, **arguments: Any) -> tuple[Path, list[str]]:
    log = audit.AuditLog(folder / "log.jsonl", key=KEY)
    ids = log.append(explainer(*seed).explain(model(), refused(), target="good", **arguments))
    return log.path, ids


def test_a_saved_explainer_gives_the_same_bytes_for_each_person_by_themselves(tmp_path: Path) -> None:
    people = refused().astype({"credit_amount": object})
    people.iloc[1, people.columns.get_loc("credit_amount")] = "a lot"
    constraints = {"immutable": ["age"], "people": {people.index[0]: {"range": {"duration": (-12, 0)}}}}
    details = {"ranges": True, "importance": True, "contributions": True}
    log = audit.AuditLog(tmp_path / "log.jsonl", key=KEY)
    own = explainer().set_params(figures=False)
    ids = log.append(own.explain(model(), people, target="good", n=2, constraints=constraints, **details))
    own.set_params(figures=True).save(tmp_path / "e.attain")
    loaded = attain.load(tmp_path / "e.attain")
    shuffled = people.iloc[::-1].reset_index(drop=True)
    found = [audit.regenerate(log.path, id, loaded, model(), shuffled, key=KEY) for id in ids]
    assert [one.differences for one in found] == [()] * len(ids)
    assert all(one.same for one in found)
    assert "FOUND" in [one.line["status"] for one in found]
    assert found[1].line["status"] == "UNREADABLE"


def test_the_sentences_come_out_again_with_the_names_of_the_classes(tmp_path: Path) -> None:
    named = attain.Model(model(), class_names={"bad": "refused", "good": "granted by the bank"})
    log = audit.AuditLog(tmp_path / "log.jsonl", key=KEY, inputs="plain")
    made = explainer().explain(named, refused(), target="good", n=2)
    assert made.settings["model"]["class_names"] == ["refused", "granted by the bank"]
    ids = log.append(made)
    found = audit.regenerate(log.path, ids[0], explainer(), model(), refused(), key=KEY)
    assert found.same
    assert found.line["sentences"]["plain"][0] == made.sentences.iloc[0]
    assert "granted by the bank" in found.result.sentences.iloc[0]
    ids = log.append(explainer().explain(model(), refused(), target="good"))
    plain = audit.regenerate(log.path, ids[0], explainer(), named, refused(), key=KEY)
    assert plain.same
    assert named.class_names == {"bad": "refused", "good": "granted by the bank"}


def test_another_model_or_explainer_is_named_first(tmp_path: Path) -> None:
    path, ids = logged(tmp_path, 0)
    found = audit.regenerate(path, ids[0], explainer(0), model(0.01), refused(), key=KEY)
    assert not found.same
    assert found.differences[0].field == "settings.model.answers_digest"
    assert "another model" in str(found.differences[0])
    assert any(difference.field.startswith("options[0].changes") for difference in found.differences)
    other = attain.Guarded(explainer().schema, budget=2000).fit(X.iloc[:900], GERMAN.y[:900])
    fields = [one.field for one in audit.regenerate(path, ids[0], other, model(), refused(), key=KEY).differences]
    assert {"settings.explainer_digest", "settings.training.digest", "settings.training.rows"} <= set(fields)


def test_another_version_is_named_and_the_answer_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, ids = logged(tmp_path)
    monkeypatch.setattr("attain.answers.result.versions", lambda: {"attain": "99", "numpy": "98"})
    found = audit.regenerate(path, ids[0], explainer(), model(), refused(), key=KEY)
    assert not found.same
    assert {difference.field.rpartition(".")[0] for difference in found.differences} == {"settings.versions"}
    assert "settings.versions.attain: was '0.1.0', is now '99'" in map(str, found.differences)


def test_what_cannot_be_repeated_is_refused_with_the_reason(tmp_path: Path) -> None:
    path, ids = logged(tmp_path, robust=[model(0.5)])
    again = (explainer(), model(), refused())
    with pytest.raises(AttainError, match="robust="):
        audit.regenerate(path, ids[0], *again, key=KEY)
    assert audit.regenerate(path, ids[0], *again, key=KEY, robust=[model(0.5)]).same
    with pytest.raises(AttainError, match="it was written with the key"):
        audit.regenerate(path, ids[0], *again, key=b"z" * 32)
    with pytest.raises(DataError, match="none of the 1 rows of people is the record"):
        audit.regenerate(path, ids[0], *again[:2], refused().iloc[[3]], key=KEY)
    for unknown in ("xyz", ""):
        with pytest.raises(AttainError, match=f"have an id that starts with '{unknown}'"):
            audit.regenerate(path, unknown, *again, key=KEY)
