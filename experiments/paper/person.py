"""One real person in full: the search drawn in Figure 1, and the answers listed in Table 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from attain.core.errors import AttainError
from attain.results.status import Status
from attain.schema import Feature
from attain.tables import ordinary, unchanged
from experiments.paper.credit import Results
from experiments.paper.measures import Line
from experiments.paper.settings import CCHVAE, GS, NEIGHBOURS
from experiments.store import Artifact


@dataclass(frozen=True, eq=False)
class Person:
    """A refused person, and the way of C-CHVAE to an answer.

    Attributes
    ----------
    position
        Among the held-out people.
    factual, answer
        Rows of the matrix.
    code, answer_code
        ẑ and z̃*.
    component, answer_component
        The mixture components of ẑ and of z̃*.
    probability_before, probability_after
        Of the desired class.
    shells
        How many shells it took.
    """

    position: int
    factual: np.ndarray
    answer: np.ndarray
    code: np.ndarray
    answer_code: np.ndarray
    component: int
    answer_component: int
    probability_before: float
    probability_after: float
    shells: int

    @property
    def distance(self) -> float:
        """‖δ‖ = ‖z̃* − ẑ‖."""
        return float(np.linalg.norm(self.answer_code - self.code))


def chosen(studies: Sequence[Results]) -> tuple[Results, int]:
    """The study and the position of the person shown.

    The first, in the order of the data, with ordinary values only and a latent move, whose answer by C-CHVAE is no
    outlier (k = 20) and connected (ε.9) while that of GS is an outlier and is not; where there is nobody like that, the
    first for whom GS's is one or is not, or else the first with both answers and ordinary values.
    """
    ranked = [_ranked(results) for results in studies]
    best = int(np.argmax([ranks.max() for ranks in ranked]))
    if not ranked[best].any():
        raise AttainError("nobody has an answer by both C-CHVAE and GS, so there is nobody to show in Figure 1")
    results = studies[best]
    return results, int(results.line(CCHVAE).people[int(ranked[best].argmax())])


def _ranked(results: Results) -> np.ndarray:
    """How fit each person is to be shown."""
    lines = faithful, nearest = results.line(CCHVAE), results.line(GS)
    outlier, near = ([test(line) for line in lines] for test in (_outlier, _connected))
    schema, values = results.credit.schema, results.credit.test_values[faithful.people]
    plain = np.all([ordinary(feature, values[:, j]) for j, feature in enumerate(schema)], axis=0)
    both = faithful.found & nearest.found & plain
    telling = both & ~outlier[0] & near[0] & (results.moved(CCHVAE) > 0)
    return np.asarray(both + 1 * (telling & (outlier[1] | ~near[1])) + 1 * (telling & outlier[1] & ~near[1]))


def _outlier(line: Line) -> np.ndarray:
    return np.asarray(line.outlier[:, NEIGHBOURS.index(20)] == 1)


def _connected(line: Line) -> np.ndarray:
    return np.asarray(line.nearest <= line.epsilon[0.9])


def shown(results: Results, position: int) -> Person:
    """A person whose search is run once more with its path kept."""
    credit = results.credit
    part = credit.store.get(f"{results.study.name} {credit.seed} person", lambda: _searched(results, position))
    arrays, facts = part.arrays, part.facts
    return Person(
        position,
        credit.test_values[position],
        **{name: arrays[name] for name in ("answer", "code", "answer_code")},
        component=facts["component"],
        answer_component=facts["answer_component"],
        probability_before=facts["probability_before"],
        probability_after=facts["probability_after"],
        shells=facts["shells"],
    )


def _searched(results: Results, position: int) -> Artifact:
    from experiments.paper.traced import TracedCCHVAE

    credit = results.credit
    settings = credit.explainer(results.study.methods[CCHVAE], results.weights).get_params(deep=False)
    search = TracedCCHVAE(**settings).fit(credit.train, credit.train_labels)
    one = credit.test.iloc[[position]]
    result = search.explain(credit.linear, one, target=credit.data.desired)
    if Status.INTERRUPTED in result.statuses:
        raise KeyboardInterrupt
    own, best = search.codes(result)
    column = list(credit.linear.classes_).index(credit.data.desired)
    before, after = (float(credit.linear.predict_proba(frame)[0, column]) for frame in (one, result.frame))
    facts = {
        "component": int(search.autoencoder_.encode(one).context[0, 0]),
        "answer_component": int(search.autoencoder_.log_components(best)[0].argmax()),
        "probability_before": round(before, 6),
        "probability_after": round(after, 6),
        "shells": int(result.figures["shells"].iloc[0]),
    }
    return Artifact(facts, {"answer": result.answers[0], "code": own[0], "answer_code": best[0]})


def changes(results: Results, position: int, methods: tuple[str, ...]) -> pd.DataFrame:
    """One row for each cell that a method would change, with the columns of the paper's Table 1; most shift first."""
    credit = results.credit
    schema, factual = credit.schema, credit.test_values[position]
    rows: list[dict[str, Any]] = []
    for number, method in enumerate(methods):
        line, given = results.line(method), results.answers[method]
        at, mine = np.flatnonzero(line.people == position), np.flatnonzero(given.people == position)
        if not at.size or not line.found[at[0]]:
            continue
        answer = given.rows[mine[0]]
        before, after = credit.ecdf.of(factual[None])[0], credit.ecdf.of(answer[None])[0]
        shift = credit.ecdf.shift(factual[None], answer[None])[0]
        different = np.flatnonzero(~unchanged(factual, answer) & np.isin(np.arange(len(schema)), schema.free_columns))
        for column in different[np.argsort(-shift[different], kind="stable")]:
            feature = schema.features[column]
            rows.append(
                {
                    "method": f"{'I' * (number + 1)} ({method})",
                    "id": 1,
                    "input": feature.title,
                    "current": shown_cell(feature, factual[column]),
                    "current percentile": _points(before[column]),
                    "counterfactual": shown_cell(feature, answer[column]),
                    "counterfactual percentile": _points(after[column]),
                    "shift": _points(shift[column]),
                    "total shift": _points(line.total_shift[at[0]]),
                    "local outlier": "yes" if _outlier(line)[at[0]] else "no",
                    "connected": "yes" if _connected(line)[at[0]] else "no",
                }
            )
    return pd.DataFrame(rows)


def shown_cell(feature: Feature, cell: float) -> str:
    """A cell as text."""
    if np.isnan(cell):
        return "missing"
    if feature.levels:
        return str(feature.levels[int(cell)])
    return f"{cell:,.0f}" if float(cell).is_integer() else f"{cell:,.3g}"


def _points(share: float) -> str:
    return "–" if np.isnan(share) else f"{100 * share:.0f}"
