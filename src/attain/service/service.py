"""What the service can say, without HTTP: every method may be called by several threads at once."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from attain.core.frames import Frame
from attain.letters.languages import LANGUAGES
from attain.methods import Explainer
from attain.methods.assessment import Assessment
from attain.models import Model
from attain.results.counterfactuals import Counterfactuals
from attain.service.answers import as_answer
from attain.service.description import features_of, rules_of
from attain.service.errors import Refused
from attain.service.limits import Limits
from attain.service.others import Others
from attain.service.people import People
from attain.service.questions import MOST_OPTIONS, Explain, Predict, Subject
from attain.service.records import frame_of, table_of
from attain.tables import Table

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
        return {
            "title": self.title,
            "version": version("attain"),
            "features": features_of(explainer),
            **rules_of(explainer),
            "classes": list(self.assessment.classes),
            "class_names": {str(label): name for label, name in self.model.class_names.items()},
            "target": self.target,
            "method": type(explainer).__name__,
            "methods": self.others.names,
            "languages": list(LANGUAGES),
            "people": len(self.people),
            "map": explainer.rows_are_real_ and getattr(explainer, "autoencoder_", None) is not None,
            "letters": self.texts is not None and explainer.rows_are_real_,
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
        records = [question.record] if question.record is not None else question.records or []
        if len(records) > self.limits.rows:
            raise Refused(413, f"records has {len(records):,} rows; at most {self.limits.rows:,} are taken.", "records")
        table = table_of(self.explainer, records, "record" if question.records is None else "records")
        return {
            "answers": [
                {
                    "decision": one.decision,
                    "accepted": one.accepted,
                    "score": one.score,
                    "probability": one.probability,
                    "level": one.level,
                    "broken": [{"text": rule.text, "sentence": rule.sentence} for rule in one.broken],
                    "percentiles": one.percentiles,
                    "unreadable": one.unreadable,
                }
                for one in self.assessment.of(table)
            ]
        }

    def explain(self, question: Explain) -> dict[str, Any]:
        """What would change the decision."""
        result = self.result(question)
        decision = self.assessment.of(result.table, typicality=False)[0].decision
        return {"decision": decision, **as_answer(result, full=question.full)}

    def warm_up(self) -> None:
        """Answers one question, so that what is learned about the model and compiled is ready for the next."""
        refused = self.people.page("", "refused", 0, 1)["people"]
        if refused:
            self.explain(Explain(person=refused[0]["id"], n=MOST_OPTIONS, contributions=self.explainer.rows_are_real_))

    def result(self, question: Explain) -> Counterfactuals:
        """The library's own answer."""
        explainer = self.explainer if question.method is None else self.others.fitted(question.method)
        return explainer.explain(
            self.model,
            self.frame(question),
            target=self.target,
            probability=question.probability,
            n=question.n,
            constraints=question.constraints(explainer.schema_),
            ranges=question.details,
            importance=question.details,
            contributions=question.contributions,
        )

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
