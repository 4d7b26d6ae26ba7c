"""The service without HTTP; its methods are safe to call from several threads."""

from __future__ import annotations

import inspect
import os
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property, partial
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np

from attain import methods
from attain.answers.recheck import assess, compare, complete
from attain.answers.session import Session
from attain.core.errors import did_you_mean, listed
from attain.core.frames import Frame
from attain.desk import letters
from attain.desk.letters.texts import LANGUAGES
from attain.desk.report import write_report
from attain.desk.service.answers import as_answer, written_file
from attain.desk.service.people import Roster, as_record, frame_of, table_of
from attain.desk.service.questions import MOST_OPTIONS, Evaluate, Explain, Predict, Subject, Write
from attain.desk.service.review import ReviewDesk
from attain.desk.service.security import ServiceLimits
from attain.desk.service.wording import HttpError, Wording, translations
from attain.methods import Explainer
from attain.models import Model
from attain.results.counterfactuals import Counterfactuals
from attain.tables import Table

Texts = str | os.PathLike[str] | Mapping[str, Any]


class Service:
    """Answers questions about one explainer, model and target; the arguments are those of `create_app`."""

    def __init__(
        self,
        explainer: Explainer,
        model: Any,
        *,
        target: Any,
        people: Frame | None,
        texts: Texts | None,
        title: str,
        limits: ServiceLimits,
    ) -> None:
        self.explainer, self.model, self.limits = explainer, Model.of(model), limits
        self.session = explainer.session(self.model, target=target)
        self.target = self.session.target
        self.people = Roster(self.session, people)
        self.others = Others(explainer)
        self.review = ReviewDesk(explainer, self.model, self.target)
        self._texts, self._title = texts, title
        self._wording = Wording(texts, explainer)
        self._rules = {rule.text: self._wording.rule(rule) for rule in explainer.population_.rule_book.rules}

    def schema(self) -> dict[str, Any]:
        """What can be asked about."""
        return self._schema

    @cached_property
    def _schema(self) -> dict[str, Any]:
        explainer, model = self.explainer, self.model
        limits = ("rows", "body", "seconds")
        return {
            "title": self._title,
            "version": version("attain"),
            "features": self._wording.features(),
            "timed": any(feature.pace is not None or feature.clock for feature in explainer.population_.schema),
            "rules": [self._rules[rule.text] for rule in explainer.population_.schema.parsed_rules],
            "laws": [self._rules[law.text] for law in explainer.population_.laws],
            "classes": [self._wording.class_of(label, model.class_names.get(label)) for label in self.session.classes],
            "target": self.target,
            "method": type(explainer).__name__,
            "methods": self.others.names,
            "languages": list(LANGUAGES),
            "people": len(self.people),
            "letters": self._texts is not None and explainer.population_.has_rows,
            "review": explainer.population_.has_rows,
            "limits": {"options": MOST_OPTIONS} | {name: getattr(self.limits, name) for name in limits},
        }

    def predict(self, question: Predict) -> dict[str, Any]:
        """What is known about records."""
        if question.person is not None:
            table = self._read(self.people.frame_of(str(question.person)), "person")
        else:
            field = "record" if question.records is None else "records"
            records = question.records or [question.record or {}]
            if len(records) > self.limits.rows:
                message = f"records has {len(records):,} rows; at most {self.limits.rows:,} are taken."
                raise HttpError(413, message, "records")
            table = table_of(self.explainer, records, field)
        if question.edited_from is not None:
            own = table_of(self.explainer, [question.edited_from] * len(table), "edited_from")
            table = complete(self.session, own, table)
        return {
            "answers": [
                vars(one) | {"broken": self._broken(one.broken), "unreadables": translations(one.unreadable)}
                for one in assess(self.session, table)
            ]
        }

    def explain(self, question: Explain) -> dict[str, Any]:
        """What would change the decision."""
        started = time.perf_counter()
        result = self.result(question)
        decision = assess(self.session, result.table, typicality=False)[0].decision
        return as_answer(result, decision, time.perf_counter() - started, full=question.full)

    def warm_up(self) -> None:
        """Answers one question, so that what is learned about the model is ready for others."""
        refused = self.people.page("", "refused", 0, 1)["people"]
        if refused:
            self.explain(
                Explain(person=refused[0]["id"], n=MOST_OPTIONS, contributions=self.explainer.population_.has_rows)
            )

    def result(self, question: Explain) -> Counterfactuals:
        """The library's result; with `answers`, a result that describes these instead of searching."""
        session = self._session(question.method, question.probability)
        asked: dict[str, Any] = {
            "constraints": question.constraints(self.explainer.population_.schema),
            "ranges": question.details,
            "importance": question.details,
            "contributions": question.contributions,
        }
        if question.answers is None:
            return session.explain(self._frame(question), n=question.n, **asked)
        return session.describe(self._frame(question), self._rows(question.answers, "answers"), **asked)

    def _session(self, method: str | None, probability: float | None) -> Session:
        """The session of a question: the service's own, unless it is about another method or a probability."""
        if method is None and probability is None:
            return self.session
        explainer = self.explainer if method is None else self.others.fitted(method)
        return explainer.session(self.model, target=self.target, probability=probability)

    def evaluate(self, question: Evaluate) -> dict[str, Any]:
        """Compares an edited record with the original one."""
        person = self._readable(self._read(self._frame(question), "record"), "record")
        edited = complete(self.session, person, table_of(self.explainer, [question.answer], "answer"))
        known = assess(self.session, self._readable(edited, "answer"))[0]
        compared = compare(self.session, person, edited, question.constraints(self.explainer.population_.schema))
        record = as_record(edited, edited.values[0])
        return vars(known) | {"record": record, "broken": self._broken(known.broken)} | asdict(compared)

    def letter(self, question: Write) -> bytes:
        """A letter to somebody, as a page of HTML."""
        if self._texts is None:
            raise HttpError(404, "There are no letters: the service was started without texts (--texts).")
        reference = "{person}" if question.person is not None else ""
        asked: dict[str, Any] = {"language": question.language, "options": question.options, "reference": reference}
        written = letters.write(self._written(question), self.explainer, self.model, self._texts, **asked)
        return written[0].html.encode("utf-8", "replace")

    def report(self, question: Write) -> bytes:
        """The report on one person's options."""
        return written_file(partial(write_report, self._written(question)), "report.html")

    def _written(self, question: Write) -> Counterfactuals:
        """The result for a letter or report: options, and reasons if there are training rows."""
        shared = question.model_dump(exclude={"language", "options"})
        real = self.explainer.population_.has_rows
        return self.result(Explain(**shared, n=question.options, contributions=real))

    def _broken(self, texts: Sequence[str]) -> list[dict[str, Any]]:
        return [self._rules[text] for text in texts]

    def _frame(self, subject: Subject) -> Frame:
        """The one row that a question is about."""
        if subject.record is not None:
            return frame_of(self.explainer, [subject.record])
        return self.people.frame_of(str(subject.person))

    def _read(self, frame: Frame, field: str) -> Table:
        return Table.read(frame, self.explainer.population_.schema, field, errors="status")

    def _rows(self, records: Sequence[Mapping[str, Any]], field: str) -> np.ndarray:
        """Records as rows of the matrix (m, d)."""
        return self._readable(table_of(self.explainer, records, field), field).values

    @staticmethod
    def _readable(table: Table, field: str) -> Table:
        """The table, unless one of its records cannot be read."""
        if table.refused:
            raise HttpError(422, next(iter(table.refused.values())), field)
        return table


class Others:
    """The methods of the library by name, each fitted on the explainer's training rows when it is first asked for."""

    def __init__(self, explainer: Explainer) -> None:
        self._own = explainer
        own = type(explainer).__name__
        known = methods.__all__ if explainer.population_.has_rows else ()
        self.names = [own, *(name for name in known if name not in ("Explainer", own) and _available(name))]
        self._fitted: dict[str, Explainer] = {own: explainer}
        self._lock = threading.Lock()

    def check(self, name: str) -> None:
        """Refuses a name that is not one of a method."""
        if name not in self.names:
            meant = did_you_mean(name, self.names) or f"; the methods are {listed(self.names, 20)}"
            raise HttpError(422, f"There is no method {name[:100]!r}{meant}.", "method")

    def fitted(self, name: str) -> Explainer:
        """A method with the explainer's seed and autoencoder."""
        self.check(name)
        with self._lock:
            if name not in self._fitted:
                self._fitted[name] = self._fit(getattr(methods, name))
            return self._fitted[name]

    def _fit(self, method: type[Explainer]) -> Explainer:
        own = self._own
        given: dict[str, Any] = {
            "schema": own.population_.schema,
            "laws": list(own.population_.laws),
            "random_state": own.random_state,
        }
        if "autoencoder" in inspect.signature(method).parameters and getattr(own, "autoencoder_", None) is not None:
            given["autoencoder"] = own.autoencoder_
        return method(**given).fit(own.population_.table.layout.frame(own.population_.values), own.population_.labels)


def _available(name: str) -> bool:
    """Whether a method's dependencies are installed: JAX for an autoencoder."""
    if "autoencoder" not in inspect.signature(getattr(methods, name)).parameters:
        return True
    try:
        # now, and not in a thread that answers: SciPy looks for JAX, and fails while another thread is importing it
        import_module("jax")
    except ImportError:
        return False
    return True
