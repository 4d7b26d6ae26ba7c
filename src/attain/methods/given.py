"""What `explain` says about answers that somebody already has, without a search for others."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from attain.core.frames import Frame
from attain.methods.search.problem import Answers, Problem
from attain.results.status import Status

if TYPE_CHECKING:
    from attain.methods.base import Explainer
    from attain.results.counterfactuals import Counterfactuals


def explain_given(explainer: Explainer, model: Any, X: Frame, answers: np.ndarray, **asked: Any) -> Counterfactuals:
    """A result with these answers (m, d) for the one row of `X`, in their order; `asked` is as in `explain`.

    They pass the last check like any others: an answer that changes nothing, breaks a rule or a constraint, or does not
    get the decision is left out.
    """

    def search(problem: Problem) -> Answers:
        owners = np.zeros(len(answers), dtype=np.intp)
        figures = {"typicality": explainer._typicality(problem.inspected, answers)}
        return Answers(answers, owners, np.arange(len(answers), dtype=float), [Status.FOUND], figures)

    given = copy(explainer)
    given._search = search  # type: ignore[method-assign]
    return given.explain(model, X, n=max(len(answers), 1), **asked)
