"""The API gives the library's own answers."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import attain
from attain import Constraints, Feature, GrowingSpheres, Guarded, Schema, letters
from attain.desk.letters.texts import LANGUAGES
from attain.desk.service.questions import Explain
from attain.desk.service.service import Service
from attain.testing import people
from tests.desk.service.world import app_of, client_of, record_of, refused, shared, trained

TEXTS = {"inputs": {name: {"en": {"label": name, "text": f"{name} counts."}} for name in people.schema().names}}
DETAILS: dict[str, Any] = {"ranges": True, "importance": True, "contributions": True}


def get(path: str, **params: Any) -> Any:
    return client_of(shared()).get(path, params=params).json()


def post(path: str, question: Any) -> Any:
    """The answer to a question, or the error."""
    return client_of(shared()).post(path, json=question).json()


def explained(person: str, **arguments: Any) -> Any:
    """What the library says about somebody."""
    explainer, model, others = trained()
    arguments = {"constraints": Constraints(), **arguments}
    return explainer.explain(model, others.loc[[person]], target=people.DESIRED, **arguments)


def test_the_schema_describes_every_feature() -> None:
    answer = get("/schema")
    explainer, model, others = trained()
    assert [feature["name"] for feature in answer["features"]] == list(others.columns)
    described = {feature["name"]: feature for feature in answer["features"]}
    train = explainer.population_.table.layout.frame(explainer.population_.values)
    assert described["education"]["levels"][0] == {"value": "none", "label": "none", "labels": {}}
    assert described["income"]["quantiles"][50] == train["income"].quantile(0.5, interpolation="lower")
    assert described["months_late"]["special"][0] == {"value": -8.0, "label": "no account", "labels": {}}
    assert described["debt_ratio"]["computed"]
    assert described["savings"]["missing"]
    assert (described["cards"]["low"], described["cards"]["high"]) == (0, 12)
    assert answer["classes"] == [{"value": label, "label": None, "labels": {}} for label in model.classes_]
    assert answer["people"] == len(others)
    assert answer["methods"][0] == "Guarded"


def test_people_are_found_by_words_and_decisions() -> None:
    _, model, others = trained()
    everybody = get("/people", limit=500)
    assert [one["id"] for one in everybody["people"]] == others.index.tolist()
    assert [one["decision"] for one in everybody["people"]] == model.predict(others).tolist()
    some = get("/people", decision="refused", offset=2, limit=3)
    assert some["total"] == len(refused())
    assert [one["id"] for one in some["people"]] == refused()[2:5]
    owners = get("/people", search="OWNS college", limit=500)
    wanted = others[(others["housing"] == "owns") & (others["education"] == "college")]
    assert [one["id"] for one in owners["people"]] == wanted.index.tolist()
    assert get(f"/people/{refused()[0]}")["record"] == record_of(refused()[0])


def test_predictions_are_those_of_the_model() -> None:
    explainer, model, others = trained()
    records = [record_of(person) for person in others.index]
    answer = post("/predict", {"records": records})
    predicted = answer["answers"]
    granted = list(model.classes_).index(people.DESIRED)
    assert [one["decision"] for one in predicted] == model.predict(others).tolist()
    assert [one["probability"] for one in predicted] == pytest.approx(model.predict_proba(others)[:, granted], abs=1e-6)
    train = explainer.population_.table.layout.frame(explainer.population_.values)
    share = 100 * (train["income"] <= others["income"].iloc[0]).mean()
    assert predicted[0]["percentiles"]["income"] == pytest.approx(share, abs=1e-3)


def test_somebody_of_the_people_is_predicted_as_their_record() -> None:
    client = client_of(shared())
    one = client.get("/people", params={"limit": 1}).json()["people"][0]
    by_name = client.post("/predict", json={"person": one["id"]}).json()
    assert by_name == client.post("/predict", json={"record": one["record"]}).json()
    assert client.post("/predict", json={"person": one["id"], "record": one["record"]}).status_code == 422


def test_predictions_name_what_is_broken_and_unreadable() -> None:
    record = record_of(refused()[0])
    broken = {**record, "housing": "rents", "mortgage": True}
    unreadable = {**record, "education": "university"}
    first, second = post("/predict", {"records": [broken, unreadable]})["answers"]
    assert "if housing = rents then mortgage = false" in [rule["text"] for rule in first["broken"]]
    assert "university" in second["unreadable"]
    assert second["decision"] is None
    assert second["score"] is None


WISHES = {
    "locked": ["housing"],
    "directions": {"debt": "decrease"},
    "ranges": {"income": [None, 9000.0]},
    "difficulty": {"savings": "hard", "score": "impossible", "debt": "very easy"},
    "max_changes": 3,
}
CONSTRAINTS = Constraints(
    immutable=("housing", "score"),
    direction={"debt": "decrease"},
    bounds={"income": (None, 9000.0)},
    cost={"savings": 2.0, "debt": 0.25},
    max_changes=3,
)


def said(result: str) -> dict[str, Any]:
    """A result but for the rows asked, which depend on what is known about the model already."""
    return {name: part for name, part in json.loads(result).items() if name not in ("rows_asked", "rows_uncharged")}


def test_explanations_are_the_librarys_byte_for_byte() -> None:
    person = refused()[1]
    answer = post("/explain", {"person": person, "n": 2, "full": True, "contributions": True, **WISHES})
    result = explained(person, n=2, constraints=CONSTRAINTS, **DETAILS)
    assert said(answer["result"]) == said(result.to_json())
    assert answer["status"] == "FOUND"
    assert len(answer["options"]) == len(result.owners)
    table = result.changes.to_dict("records")
    shown = [change for option in answer["options"] for change in option["changes"]]
    assert [one["suggested"] for one in shown] == [row["counterfactual"] for row in table]
    assert [one["shift"] for one in shown] == [row["shift"] for row in table]
    assert [one["low"] for one in shown if one["feature"] == "income"] == [
        row["low"] for row in result.ranges.to_dict("records") if row["feature"] == "income"
    ]
    assert answer["contributions"][0]["contribution"] == result.contributions["contribution"].iloc[0]
    assert answer["options"][0]["sentence"] == result.sentences.iloc[0]


def test_a_typed_record_has_the_types_of_the_training_data() -> None:
    """JSON from a browser writes 3000.0 as 3000; the answer is that of the frame's types all the same."""
    person = refused()[2]
    cells = record_of(person).items()
    typed = {name: int(cell) if isinstance(cell, float) and cell.is_integer() else cell for name, cell in cells}
    answer = post("/explain", {"record": typed, "n": 1, "full": True, "details": False})
    assert json.loads(answer["result"])["rows"] == json.loads(explained(person).to_json())["rows"]


def test_options_that_were_found_are_described_without_a_search() -> None:
    person = refused()[1]
    asked = {"person": person, "n": 2, **WISHES}
    quick, whole = post("/explain", {**asked, "details": False}), post("/explain", asked)
    again = post("/explain", {**asked, "answers": [one["record"] for one in quick["options"]]})
    assert quick["options"][0]["changes"][0]["gain"] is None
    assert again["options"] == whole["options"]
    own = post("/explain", {"person": person, "answers": [record_of(person)]})
    assert (own["status"], own["options"]) == ("OUT_OF_REACH", [])
    wrong = client_of(shared()).post(
        "/explain", json={"person": person, "answers": [{**record_of(person), "education": "x"}]}
    )
    assert (wrong.status_code, wrong.json()["error"]["field"]) == (422, "answers")


def test_how_a_search_ended_is_said_in_german() -> None:
    accepted = next(person for person in trained()[2].index if person not in refused())
    answer = post("/explain", {"person": accepted})
    assert (answer["status"], answer["options"]) == ("ALREADY_DESIRED", [])
    assert answer["reasons"]["de"] == LANGUAGES["de"].translated(answer["reason"])
    locked = {"person": refused()[0], "locked": list(people.schema().names), "details": False}
    answer = post("/explain", locked)
    assert answer["reasons"]["de"] == "Nichts in diesen Angaben darf sich ändern."
    assert all(note["texts"].keys() <= {"de"} for note in answer["notes"])
    error = post("/explain", {"person": "nobody"})["error"]
    assert error["messages"] == {"de": "Eine Person mit dieser Kennung gibt es nicht."}


def test_words_of_the_operator_and_rules_are_in_every_language() -> None:
    texts = {
        "inputs": {"housing": {"de": {"label": "Wohnung", "help": "wo man wohnt", "levels": {"rents": "zur Miete"}}}},
        "classes": {people.DESIRED: {"en": "yes", "de": "ja"}},
    }
    answer = client_of(app_of(texts=texts)).get("/schema").json()
    housing = next(feature for feature in answer["features"] if feature["name"] == "housing")
    assert (housing["labels"], housing["helps"]) == ({"de": "Wohnung"}, {"de": "wo man wohnt"})
    named = next(one for one in answer["classes"] if one["value"] == people.DESIRED)
    assert named["labels"] == {"en": "yes", "de": "ja"}
    rule = next(one for one in answer["rules"] if one["text"] == "if housing = rents then mortgage = false")
    assert rule["sentences"]["de"].startswith("Wenn Wohnung = „zur Miete“, dann ")


def test_no_option_takes_longer_than_the_months_allowed() -> None:
    X = people.frame(200)
    y = people.labels(X)
    schema = people.schema().change("debt", pace=50.0)
    explainer = Guarded(schema, random_state=0).fit(X, y)
    client = client_of(app_of(explainer=explainer))
    assert client.get("/schema").json()["timed"]
    asked = {"person": refused()[1], "n": 3, "details": False}
    free = client.post("/explain", json=asked).json()["options"]
    assert max(option["months"] for option in free) > 2
    short = client.post("/explain", json={**asked, "max_months": 2}).json()["options"]
    assert all(option["months"] <= 2 for option in short)
    late = {"person": refused()[1], "max_months": 2, "answer": max(free, key=lambda one: one["months"])["record"]}
    assert "months" in client.post("/evaluate", json=late).json()["violated"]


def test_an_option_may_only_wait() -> None:
    n = 200
    X = pd.DataFrame({"account_age": np.arange(n) % 60, "cards": np.arange(n) % 3})
    y = np.where(X["account_age"] >= 24, "yes", "no")
    clock = Feature("account_age", "count", unit="months", bounds=(0, 600), clock=1.0)
    schema = Schema((clock, Feature("cards", "count", immutable=True)))
    explainer = Guarded(schema, random_state=0).fit(X, y)
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    client = client_of(app_of(explainer=explainer, model=model, target="yes", people=None))
    answer = client.post("/explain", json={"record": {"account_age": 10, "cards": 1}, "n": 1}).json()
    (option,) = answer["options"]
    (change,) = option["changes"]
    assert option["waits"]
    assert change["follows"] == "time"
    assert (option["months"], change["suggested"], change["gain"]) == (14, 24, None)


def test_a_question_is_answered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, explain = [], Service.explain

    def counted(self: Service, question: Explain) -> Any:
        asked.append(question)
        return explain(self, question)

    monkeypatch.setattr(Service, "explain", counted)
    client = client_of(app_of())
    question = {"person": refused()[0], "n": 1, "details": False}
    first, second = (client.post("/explain", json=question).json() for _ in range(2))
    assert first == second
    assert len(asked) == 1


def test_edited_records_are_compared_with_the_original() -> None:
    person = refused()[1]
    option = post("/explain", {"person": person, "n": 1, "details": False})["options"][0]
    answer = post("/evaluate", {"person": person, "answer": option["record"]})
    assert answer["flips"]
    assert answer["allowed"]
    for name in ("verdict", "total_shift", "max_shift", "score"):
        assert answer[name] == option[name], name
    assert answer["changed"] == [
        name for name in people.schema().names if record_of(person)[name] != option["record"][name]
    ]
    older = post("/evaluate", {"person": person, "answer": {**option["record"], "age": 90}})
    assert "immutable" in older["violated"]
    assert not older["allowed"]


def test_predictions_follow_what_is_computed_where_asked() -> None:
    own = record_of(refused()[1])
    edited = {**own, "debt": 10.0}
    questions = ({"records": [edited], **more} for more in ({}, {"edited_from": own}))
    stale, followed = (post("/predict", question)["answers"][0] for question in questions)
    evaluated = post("/evaluate", {"record": own, "answer": edited})
    assert followed["score"] == evaluated["score"]
    assert followed["percentiles"] == evaluated["percentiles"]
    assert stale["percentiles"]["debt_ratio"] != followed["percentiles"]["debt_ratio"]


def test_what_cannot_be_computed_is_said() -> None:
    own = record_of(refused()[1])
    edited = {**own, "income": 0.0}  # of which nothing is a share
    client = client_of(shared())
    answer = client.post("/evaluate", json={"record": own, "answer": edited})
    assert answer.status_code == 422
    assert "cannot be computed" in answer.json()["error"]["message"]
    (first, second) = client.post("/predict", json={"records": [edited, own], "edited_from": own}).json()["answers"]
    assert "cannot be computed" in first["unreadable"]
    assert first["unreadables"]["de"].endswith("nicht berechnen")
    assert second["unreadable"] is None


def test_methods_are_compared() -> None:
    _, model, others = trained()
    person = refused()[1]
    names = ["Guarded", "NearestUnlike", "FeatureTweaking"]
    answer = post("/compare", {"person": person, "methods": names})
    guarded, nearest, tweaking = answer["methods"]
    assert guarded["answer"]["options"][0]["record"]
    assert nearest["answer"]["method"] == "NearestUnlike"
    assert model.predict(others.loc[[person]].assign(**nearest["answer"]["options"][0]["record"])) == people.DESIRED
    assert tweaking["answer"] is None
    assert "tree" in tweaking["error"].lower()


def test_without_training_rows_there_is_no_review(tmp_path: Path) -> None:
    X = people.frame(100)
    GrowingSpheres(people.schema(), random_state=0).fit(X).save(tmp_path / "e.attain", reference="none")
    client = client_of(app_of(explainer=attain.load(tmp_path / "e.attain")))
    told = client.get("/schema").json()
    assert not told["review"]
    answer = client.get("/review")
    assert answer.status_code == 404
    assert "training rows" in answer.json()["error"]["message"]


def test_letters_need_texts() -> None:
    answer = client_of(shared()).post("/letter", json={"person": refused()[1]})
    assert answer.status_code == 404
    assert "--texts" in answer.json()["error"]["message"]


def test_letters_are_about_the_options_that_were_chosen() -> None:
    client, person = client_of(app_of(texts=TEXTS)), refused()[1]
    options = client.post("/explain", json={"person": person, "n": 3, "details": False}).json()["options"]
    last = client.post("/letter", json={"person": person, "answers": [options[-1]["record"]]})
    first = client.post("/letter", json={"person": person, "answers": [options[0]["record"]]})
    assert last.status_code == 200
    assert last.text != first.text
    report = client.post("/report", json={"person": person, "answers": [options[1]["record"]]})
    assert report.text.startswith("<!doctype html>")


def test_letters_are_the_librarys() -> None:
    explainer, model, _ = trained()
    person = refused()[1]
    answer = client_of(app_of(texts=TEXTS)).post("/letter", json={"person": person, "language": "en", "options": 2})
    (letter,) = letters.write(explained(person, n=2, **DETAILS), explainer, model, TEXTS, options=2)
    assert answer.text == letter.html


def test_twenty_clients_at_once_get_the_answers_of_one() -> None:
    app = app_of()
    questions = [{"person": person, "n": 1, "details": False, "full": True} for person in refused()[:2]] * 10
    with ThreadPoolExecutor(20) as many:
        answers = list(many.map(lambda question: client_of(app).post("/explain", json=question), questions))
    assert {answer.status_code for answer in answers} == {200}
    for person in refused()[:2]:
        alone = explained(person)
        for answer, given in zip(answers, questions, strict=True):
            if given["person"] == person:
                assert said(answer.json()["result"]) == said(alone.to_json())


def test_difficulty_weighs_the_schemas_own_costs() -> None:
    schema = Schema(tuple(people.schema())).change("debt", cost=3.0)
    wishes = Explain(person="x", difficulty={"debt": "hard", "score": "impossible"}).constraints(schema)
    assert wishes.cost == {"debt": 6.0}
    assert wishes.immutable == ("score",)
