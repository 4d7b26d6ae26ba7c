"""What the service can say, without HTTP: every method may be called by several threads at once."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import numpy as np

from attain import letters
from attain.core.frames import Frame
from attain.letters.texts import LANGUAGES
from attain.methods import Explainer
from attain.methods.records import assess, compare, complete
from attain.methods.session import Session
from attain.models import Model
from attain.results.counterfactuals import Counterfactuals
from attain.schema import Feature
from attain.service.answers import as_answer, as_map, report_of
from attain.service.errors import Refused
from attain.service.limits import Limits
from attain.service.others import Others
from attain.service.people import People
from attain.service.questions import MOST_OPTIONS, Evaluate, Explain, Map, Predict, Subject, Write
from attain.service.records import as_record, frame_of, table_of
from attain.service.wording import Wording, translations
from attain.tables import Table, ordinary

_QUANTILES = np.linspace(0.0, 1.0, 101)


def features_of(explainer: Explainer) -> list[dict[str, Any]]:
    """Each feature, in the order of the training data."""
    schema = explainer.schema_
    return [_feature(explainer, schema[name], schema.position(name)) for name in explainer.layout_.columns]


def _feature(explainer: Explainer, feature: Feature, j: int) -> dict[str, Any]:
    cells = explainer.table_.values[:, j]
    value = explainer.layout_.value
    known = cells[ordinary(feature, cells)]
    quantiles = None
    if feature.numeric and len(known):
        quantiles = np.quantile(known, _QUANTILES, method="inverted_cdf").tolist()
    observed = [float(side[j]) for side in explainer.observed_]
    low, high = (
        _first(bound, side) if feature.numeric else None for bound, side in zip(feature.bounds, observed, strict=True)
    )
    return {
        "name": feature.name,
        "label": feature.title,
        "unit": feature.unit,
        "kind": feature.kind,
        "levels": [{"value": level, "label": str(level)} for level in feature.levels] or None,
        "low": low,
        "high": high,
        "bounds": list(feature.bounds),
        "observed": observed if feature.numeric else None,
        "step": feature.step,
        "immutable": feature.immutable,
        "direction": feature.direction,
        "special": [{"code": code, "meaning": meaning} for code, meaning in feature.special.items()],
        "missing": bool(np.isnan(cells).any()),
        "computed": feature.computed is not None,
        "help": feature.description,
        "quantiles": quantiles,
        "default": value(feature.name, _usual(feature, cells, known)),
    }


def _first(bound: float | None, observed: float) -> float | None:
    if bound is not None:
        return bound
    return None if math.isnan(observed) else observed


def _usual(feature: Feature, cells: np.ndarray, known: np.ndarray) -> float:
    """The median of an ordered feature, otherwise its most frequent level; missing where it always is."""
    if len(known) and feature.ordered:
        return float(np.quantile(known, 0.5, method="inverted_cdf"))
    present = cells[~np.isnan(cells)]
    values, counts = np.unique(present, return_counts=True)
    return float(values[counts.argmax()]) if len(values) else math.nan


_KNOWN = ("decision", "score", "probability", "level", "percentiles")
"""What of a record's assessment is told about an edited one."""
Texts = str | os.PathLike[str] | Mapping[str, Any]


class Service:
    """One explainer, one model, one desired decision.

    Parameters
    ----------
    explainer
        A fitted explainer.
    model, target
        As in `explain`.
    people
        Those who can be picked: a frame, whose row labels are their ids.
    texts
        The texts of letters; see `attain.letters`. None: no letters are written.
    title
        What the page is called.
    limits
        How much is taken on.
    """

    def __init__(
        self,
        explainer: Explainer,
        model: Any,
        *,
        target: Any,
        people: Frame | None = None,
        texts: Texts | None = None,
        title: str = "attain",
        limits: Limits | None = None,
    ) -> None:
        self.explainer, self.model, self.texts, self.title = explainer, Model.of(model), texts, title
        self.limits = Limits() if limits is None else limits
        self.session = explainer.session(self.model, target=target)
        self.target = self.session.target
        self.people = People(self.session, people)
        self.others = Others(explainer)
        self._wording = Wording(texts, explainer.schema_)
        self._rules = {rule.text: self._wording.rule(rule) for rule in explainer.book_.rules}
        self._schema: dict[str, Any] | None = None
        self._lock = threading.Lock()

    def schema(self) -> dict[str, Any]:
        """What there is to ask about."""
        with self._lock:
            if self._schema is None:
                self._schema = self._described()
            return self._schema

    def _described(self) -> dict[str, Any]:
        explainer = self.explainer
        features = features_of(explainer)
        self._wording.add_to(features)
        return {
            "title": self.title,
            "version": version("attain"),
            "features": features,
            "timed": any(feature.pace is not None or feature.clock for feature in explainer.schema_),
            "rules": [self._rules[rule.text] for rule in explainer.schema_.parsed_rules],
            "laws": [self._rules[law.text] for law in explainer.laws_],
            "classes": [
                self._wording.class_of(label, self.model.class_names.get(label)) for label in self.session.classes
            ],
            "target": self.target,
            "method": type(explainer).__name__,
            "methods": self.others.names,
            "languages": list(LANGUAGES),
            "people": len(self.people),
            "map": explainer.has_rows_,
            "letters": self.texts is not None and explainer.has_rows_,
            "limits": {
                "options": MOST_OPTIONS,
                "rows": self.limits.rows,
                "body": self.limits.body,
                "upload": self.limits.upload,
                "people": self.limits.people,
                "seconds": self.limits.seconds,
            },
        }

    def predict(self, question: Predict) -> dict[str, Any]:
        """What is known about records."""
        if question.person is not None:
            table = self.people.table_of(str(question.person))
        else:
            records = [question.record] if question.record is not None else question.records or []
            if len(records) > self.limits.rows:
                message = f"records has {len(records):,} rows; at most {self.limits.rows:,} are taken."
                raise Refused(413, message, "records")
            table = table_of(self.explainer, records, "record" if question.records is None else "records")
        if question.edited_from is not None:
            own = table_of(self.explainer, [question.edited_from] * len(table), "edited_from")
            table = complete(self.session, own, table)
        return {
            "answers": [
                {
                    "decision": one.decision,
                    "accepted": one.accepted,
                    "score": one.score,
                    "probability": one.probability,
                    "level": one.level,
                    "broken": [self._rules[text] for text in one.broken],
                    "percentiles": one.percentiles,
                    "unreadable": one.unreadable,
                    "unreadables": translations(one.unreadable),
                }
                for one in assess(self.session, table)
            ]
        }

    def explain(self, question: Explain) -> dict[str, Any]:
        """What would change the decision."""
        started = time.perf_counter()
        result = self.result(question)
        decision = assess(self.session, result.table, typicality=False)[0].decision
        answer = as_answer(result, full=question.full)
        return {"seconds": round(time.perf_counter() - started, 3), "decision": decision, **answer}

    def warm_up(self) -> None:
        """Answers one question, so that what is learned about the model is ready for the next."""
        refused = self.people.page("", "refused", 0, 1)["people"]
        if refused:
            self.explain(Explain(person=refused[0]["id"], n=MOST_OPTIONS, contributions=self.explainer.has_rows_))

    def result(self, question: Explain) -> Counterfactuals:
        """The library's own answer; with `answers`, the one that it would have given had it found these."""
        session = self._session(question.method, question.probability)
        asked: dict[str, Any] = {
            "constraints": question.constraints(self.explainer.schema_),
            "ranges": question.details,
            "importance": question.details,
            "contributions": question.contributions,
        }
        if question.answers is None:
            return session.explain(self.frame(question), n=question.n, **asked)
        return session.describe(self.frame(question), self._rows(question.answers), **asked)

    def _session(self, method: str | None, probability: float | None) -> Session:
        """The session of a question: the service's own, unless it is about another method or a probability."""
        if method is None and probability is None:
            return self.session
        explainer = self.explainer if method is None else self.others.fitted(method)
        return explainer.session(self.model, target=self.target, probability=probability)

    def _rows(self, records: Sequence[Mapping[str, Any]], field: str = "answers") -> np.ndarray:
        """Records as rows of the matrix (m, d); one that cannot be read is refused."""
        read = table_of(self.explainer, records, field)
        if read.refused:
            raise Refused(422, next(iter(read.refused.values())), field)
        return read.values

    def explain_people(self, people: Frame, n: int) -> Counterfactuals:
        """What would change the decisions about a whole table."""
        return self.session.explain(people, n=n)

    def evaluate(self, question: Evaluate) -> dict[str, Any]:
        """An edited record beside the original one."""
        person = self.table(question)
        edited = complete(self.session, person, table_of(self.explainer, [question.answer], "answer"))
        if edited.refused:
            raise Refused(422, edited.refused[0], "answer")
        known = assess(self.session, edited)[0]
        compared = compare(self.session, person, edited, question.constraints(self.explainer.schema_))
        return {
            "record": as_record(edited, edited.values[0]),
            **{name: getattr(known, name) for name in _KNOWN},
            "broken": [self._rules[text] for text in known.broken],
            **asdict(compared),
        }

    def map(self, question: Map) -> dict[str, Any]:
        """Where somebody and their options are among real people, in a plane."""
        if not self.explainer.has_rows_:
            raise Refused(404, "There is no map: the explainer was saved without its training rows.")
        person = self.table(question)
        options = self._rows(question.options, "options") if question.options else person.values[:0]
        return as_map(self._session(None, question.probability).plane(person.values, options))

    def letter(self, question: Write) -> str:
        """A letter to somebody, as a page of HTML."""
        if self.texts is None:
            raise Refused(404, "There are no letters: the service was started without texts (--texts).")
        result = self._written(question)
        reference = "{person}" if question.person is not None else ""
        return letters.write(
            result,
            self.explainer,
            self.model,
            self.texts,
            language=question.language,
            options=question.options,
            reference=reference,
        )[0].html

    def report(self, question: Write) -> bytes:
        """The report on one person's options."""
        return report_of(self._written(question))

    def _written(self, question: Write) -> Counterfactuals:
        """What a letter or report is about: the options, and with real rows the reasons."""
        shared = question.model_dump(exclude={"language", "options"})
        real = self.explainer.has_rows_
        return self.result(Explain(**shared, n=question.options, contributions=real))

    def frame(self, subject: Subject) -> Frame:
        """The one row that a question is about."""
        if subject.record is not None:
            return frame_of(self.explainer, [subject.record])
        return self.people.frame_of(str(subject.person))

    def table(self, subject: Subject) -> Table:
        """The same as a table; a record that cannot be read is refused."""
        table = Table.read(self.frame(subject), self.explainer.schema_, "record", errors="status")
        if table.refused:
            raise Refused(422, table.refused[0], "record")
        return table
