"""The review of the schema on the page: the open questions, what each choice would do, and the decisions."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from attain.desk.service.questions import Decide, Outlook
from attain.desk.service.wording import HttpError, translations
from attain.models import Model
from attain.results.counterfactuals import Counterfactuals
from attain.results.options import Option
from attain.review import Question, Review


class ReviewDesk:
    """The review, shared by all who have the token; it starts when it is first opened."""

    def __init__(self, explainer: Any, model: Model, target: Any) -> None:
        self._made_of = explainer, model, target
        self._review: Review | None = None
        self._lock = threading.Lock()

    def look(self) -> dict[str, Any]:
        """The state of the review: questions, decisions and figures."""
        with self._lock:
            return _state(self._opened())

    def outlook(self, question: Outlook) -> dict[str, Any]:
        """How a choice would change the answers."""
        with self._lock:
            review = self._opened()
            after = review.outlook(**question.model_dump())
            before, now = _best(review.result), _best(after)
            others = [option for i, option in now.items() if i not in before or _moves(option) != _moves(before[i])]
            example = min(others, key=lambda option: len(option.changes)).sentence if others else None
            lost = len(before.keys() - now.keys())
            return _figures(after) | {"lost": lost, "others": len(others), "example": example}

    def decide(self, question: Decide) -> dict[str, Any]:
        """Decides a question, and searches for answers again."""
        with self._lock:
            review = self._opened()
            review.decide(**question.model_dump())
            return _state(review)

    def schema(self) -> str:
        """The schema with all decisions, as TOML."""
        with self._lock:
            return self._opened().schema.to_toml()

    def _opened(self) -> Review:
        explainer, model, target = self._made_of
        if not explainer.population_.has_rows:
            raise HttpError(404, "There is no review: the explainer was saved without its training rows.")
        self._review = self._review or Review(explainer, model, target=target)
        return self._review


def _state(review: Review) -> dict[str, Any]:
    rows = review.frame().replace({np.nan: None}).to_dict("records")
    levers, unreviewed = review.result.levers().to_dict("records"), review.schema.unreviewed
    return _figures(review.result) | {
        "questions": [vars(asked) | {"question": _question(asked.question)} for asked in review.questions()],
        "decisions": [
            row | {"reviewed": review.schema[row["columns"][0]].reviewed} for row in rows if row["choice"] is not None
        ],
        "levers": [row | {"reviewed": row["feature"] not in unreviewed} for row in levers],
        "done": review.done,
        "to_do": review.to_do,
        "unreviewed": review.share_unreviewed,
    }


def _question(question: Question) -> dict[str, Any]:
    """A question, and for each choice the columns it applies to: levels have no direction."""
    parts = question.parts or (question,)
    choices = []
    for choice in question.choices:
        columns = [part.columns[0] for part in parts if choice.asks == "parts" or choice.key in part.keys]
        said = {"text": choice.text, "texts": translations(choice.text)}
        choices.append({"key": choice.key, "columns": columns, "asks": choice.asks, **said})
    return {name: getattr(question, name) for name in ("id", "columns", "topic", "evidence")} | {"choices": choices}


def _best(result: Counterfactuals) -> dict[int, Option]:
    return {option.position: option for option in result.all_options if option.number == 1}


def _moves(option: Option) -> dict[str, Any]:
    return {change.feature.name: change.suggested for change in option.changes}


def _figures(result: Counterfactuals) -> dict[str, Any]:
    """How many people have an answer, and how far it moves them."""
    found = int(result.found.sum())
    shifts = 100 * result.best_figure("total_shift")
    return {
        "people": len(result),
        "found": found,
        "total_shift": float(np.nanmean(shifts)) if found else None,
    }
