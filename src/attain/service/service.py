"""What the service can say, without HTTP: every method may be called by several threads at once."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

import numpy as np

from attain import letters
from attain.core.compiled import compile_beside
from attain.core.frames import Frame
from attain.core.progress import track
from attain.letters.languages import LANGUAGES
from attain.methods import Explainer
from attain.methods.assessment import Assessment
from attain.methods.given import explain_given
from attain.models import Model
from attain.results.counterfactuals import Counterfactuals
from attain.service.answers import as_answer, as_map, report_of
from attain.service.description import features_of
from attain.service.errors import Refused
from attain.service.limits import Limits
from attain.service.others import Others
from attain.service.people import People
from attain.service.questions import MOST_OPTIONS, Evaluate, Explain, Map, Predict, Subject, Write
from attain.service.records import as_record, frame_of, table_of
from attain.service.wording import Wording, translations
from attain.tables import Table

_KNOWN = ("decision", "score", "probability", "level", "percentiles")
"""What of a record's assessment is told about an edited one."""
_LOOK = 0.2
"""Seconds between two looks at whether a job that waits is cancelled."""
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
        self.assessment = Assessment(explainer, self.model, target)
        self.target = self.assessment.target
        self.people = People(explainer, self.assessment, people)
        self.others = Others(explainer)
        self._wording = Wording(texts, explainer.schema_)
        self._rules = {rule.text: self._wording.rule(rule) for rule in explainer.book_.rules}
        self._schema: dict[str, Any] | None = None
        self._lock = threading.Lock()
        self._loading: threading.Thread | None = None

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
                self._wording.class_of(label, self.model.class_names.get(label)) for label in self.assessment.classes
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
            table = self.people.table_of(self.explainer, str(question.person))
        else:
            records = [question.record] if question.record is not None else question.records or []
            if len(records) > self.limits.rows:
                message = f"records has {len(records):,} rows; at most {self.limits.rows:,} are taken."
                raise Refused(413, message, "records")
            table = table_of(self.explainer, records, "record" if question.records is None else "records")
        if question.edited_from is not None:
            own = table_of(self.explainer, [question.edited_from] * len(table), "edited_from")
            table = self.assessment.completed(own, table)
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
                for one in self.assessment.of(table)
            ]
        }

    def explain(self, question: Explain) -> dict[str, Any]:
        """What would change the decision."""
        started = time.perf_counter()
        result = self.result(question)
        decision = self.assessment.of(result.table, typicality=False)[0].decision
        answer = as_answer(result, full=question.full)
        return {"seconds": round(time.perf_counter() - started, 3), "decision": decision, **answer}

    def warm_up(self) -> None:
        """Answers one question, so that what is learned about the model and compiled is ready for the next.

        Kernels are loaded by a thread of their own, after another process has compiled those that the cache lacks, so
        that nobody waits for them.
        """
        self._kernels()
        refused = self.people.page("", "refused", 0, 1)["people"]
        if refused:
            self.explain(Explain(person=refused[0]["id"], n=MOST_OPTIONS, contributions=self.explainer.has_rows_))

    def result(self, question: Explain) -> Counterfactuals:
        """The library's own answer; with `answers`, the one that it would have given had it found these."""
        explainer = self.explainer if question.method is None else self.others.fitted(question.method)
        asked = {
            "target": self.target,
            "probability": question.probability,
            "constraints": question.constraints(explainer.schema_),
            "ranges": question.details,
            "importance": question.details,
            "contributions": question.contributions,
        }
        if question.answers is None:
            return explainer.explain(self.model, self.frame(question), n=question.n, **asked)
        return explain_given(explainer, self.model, self.frame(question), self._rows(question.answers), **asked)

    def _rows(self, records: Sequence[Mapping[str, Any]], field: str = "answers") -> np.ndarray:
        """Records as rows of the matrix (m, d); one that cannot be read is refused."""
        read = table_of(self.explainer, records, field)
        if read.refused:
            raise Refused(422, next(iter(read.refused.values())), field)
        return read.values

    def _kernels(self) -> threading.Thread:
        """The thread that loads kernels, started once."""
        with self._lock:
            if self._loading is None:
                self._loading = threading.Thread(target=_load_kernels, args=(self.explainer,), daemon=True)
                self._loading.start()
            return self._loading

    def explain_people(self, people: Frame, n: int) -> Counterfactuals:
        """What would change the decisions about a whole table; it waits for kernels, and can be stopped meanwhile."""
        waiting, kernels = track(len(people), "loading"), self._kernels()
        while kernels.is_alive():
            waiting.show(0)
            kernels.join(_LOOK)
        return self.explainer.explain(self.model, people, target=self.target, n=n)

    def evaluate(self, question: Evaluate) -> dict[str, Any]:
        """An edited record beside the original one."""
        person = self.table(question)
        edited = self.assessment.completed(person, table_of(self.explainer, [question.answer], "answer"))
        if edited.refused:
            raise Refused(422, edited.refused[0], "answer")
        known = self.assessment.of(edited)[0]
        compared = self.assessment.compare(person, edited, question.constraints(self.explainer.schema_))
        return {
            "record": as_record(edited, edited.values[0]),
            **{name: getattr(known, name) for name in _KNOWN},
            "broken": [self._rules[text] for text in known.broken],
            **asdict(compared),
        }

    def map(self, question: Map) -> dict[str, Any]:
        """Where somebody and their options are among real people, in a plane."""
        explainer = self.explainer
        if not explainer.has_rows_:
            raise Refused(404, "There is no map: the explainer was saved without its training rows.")
        person = self.table(question)
        options = self._rows(question.options, "options") if question.options else person.values[:0]
        plane = explainer.plane(
            self.model, person.values, options, target=self.target, probability=question.probability
        )
        return as_map(plane)

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


def _load_kernels(explainer: Explainer) -> None:
    if explainer.kernels_pay:
        compile_beside()
        explainer.warm_up()
