"""Methods side by side on the same rows, for one model: a table, a page and a plot."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from attain import methods as explainers
from attain.core.drawing import save
from attain.core.errors import AttainError, ModelError
from attain.core.files import make_folder, write_atomically
from attain.core.page import Block, Heading, Paragraph, Picture, TableBlock, write
from attain.core.spreadsheets import csv_bytes
from attain.core.text import wrapped
from attain.metrics import report
from attain.metrics.context import AnswerMatrix
from attain.metrics.differences import paired_comparison
from attain.metrics.evaluation import Background, Evaluation
from attain.metrics.measures import MEASURES
from attain.schema import Constraints, Schema

if TYPE_CHECKING:
    from attain.core.frames import Frame
    from attain.results.counterfactuals import Counterfactuals

_MOST_LAWS: Final = 5
"""The most laws that the page lists for one method."""


@dataclass(frozen=True, eq=False)
class MethodComparison:
    """Methods side by side on the same rows.

    Attributes
    ----------
    table
        One line per method: `status` (`ok`, `not applicable`, `failed`) and `reason`; `n`, the number of rows that
        needed an answer; `broken`, the number of answers that break a rule; each measure over the rows with a valid
        answer, and `_charged` over all n rows, where one without a valid answer enters with the worst case, each with
        `_low` and `_high`; `_real`, the same measure of real people; `fit_seconds`, and `cpu_seconds` per row.
        `found_charged` is the share of rows with a valid answer.
    evaluations, results
        By method, for those that ended `ok`. Answers that are not valid are left out of the evaluations.
    """

    table: pd.DataFrame
    evaluations: Mapping[str, Evaluation]
    results: Mapping[str, Counterfactuals]

    @property
    def lines(self) -> list[dict[Any, Any]]:
        """The table as dictionaries."""
        return self.table.reset_index().to_dict("records")

    def paired(self, measures: Sequence[str] | None = None, **options: Any) -> pd.DataFrame:
        """Every pair of methods row by row: see `paired_comparison`. Empty with fewer than two methods."""
        return paired_comparison(self.evaluations, measures, **options) if len(self.evaluations) > 1 else pd.DataFrame()

    @cached_property
    def broken_laws(self) -> pd.DataFrame:
        """`Evaluation.broken_laws` of every method, with the method's name before; empty without held-out data."""
        known = {name: one.broken_laws for name, one in self.evaluations.items() if one.context.laws is not None}
        return pd.concat(known, names=["method"]).reset_index("method") if known else pd.DataFrame()

    def text(self, width: int | None = None) -> str:
        """The main measures as a table for a terminal, and what the columns mean."""
        reasons = [f"{line['method']}: {line['reason']}" for line in self.lines if line["status"] != report.OK]
        below = [wrapped(text, width) for text in (*reasons, report.note(self.lines))]
        return "\n\n".join([report.text_table(self.lines, width), *below])

    def write(self, folder: str | Path, title: str = "Methods side by side") -> list[Path]:
        """Writes `comparison.csv`, `trade-off.png`, `trade-off.svg` and `index.html`; needs the extra `report`."""
        place, lines = make_folder(folder), self.lines
        write_atomically(place / "comparison.csv", csv_bytes(self.table.reset_index(), float_format="%.8g"))
        content: list[Block] = [
            Paragraph(self._introduction()),
            *report.blocks(lines, full=False),
            Paragraph(report.note(lines)),
        ]
        if self.evaluations:
            save(report.trade_off([("", lines, key) for key in (report.INLIERS, report.CONNECTED)]), place, "trade-off")
            picture = Picture(place / "trade-off.png", report.TRADE_OFF)
            content += [Heading("Faithfulness against difficulty"), picture]
        if len(self.evaluations) > 1:
            content += [Heading("Pairwise differences"), _pairs(self.paired())]
        if len(self.broken_laws):
            content += [Heading("Laws that answers break"), _laws(self.broken_laws)]
        content += [Heading("All measures"), report.blocks(lines)[0], Paragraph(report.note(lines, full=True))]
        write(place / "index.html", title, content)
        return [path for path in sorted(place.iterdir()) if path.stem in ("comparison", "trade-off", "index")]

    def _introduction(self) -> str:
        if not self.evaluations:
            return "No method could be run."
        first = next(iter(self.evaluations.values()))
        asked = int(first.asked.sum())
        probability = "" if first.probability is None else f" with probability {first.probability:g} or more"
        return (
            f"{len(self.table)} methods, {asked} rows that needed an answer, target {first.target!r}{probability}. "
            f"Faithfulness is measured against {len(first.reference):,} distinct training rows that the model decides "
            "as asked for."
        )

    def __str__(self) -> str:
        return self.text()


def compare_methods(
    methods: Mapping[str, Any] | Iterable[Any],
    model: Any,
    X_train: Frame,
    y_train: ArrayLike | None,
    X: Frame,
    *,
    target: Any,
    probability: float | None = None,
    schema: Schema | None = None,
    constraints: Constraints | Mapping[str, Any] | None = None,
    X_test: Frame | None = None,
    y_test: ArrayLike | None = None,
    random_state: int = 0,
) -> MethodComparison:
    """Fits every method, explains the same rows, and measures all answers in the same way.

    A method that refuses the model, or raises anything else, is a line with the reason, and stops no other.

    Parameters
    ----------
    methods
        Explainers, or names such as `"guarded"` or `"growing-spheres"`, which get their defaults; as a list, or by the
        names that they have in the table. Explainers are fitted again.
    model, target, probability, constraints
        As in `explain`.
    X_train, y_train
        The training data of the methods, which are also what answers are measured against.
    X
        The rows to explain.
    schema
        What the columns are; by default that of the first explainer, or inferred from the training data.
    X_test, y_test
        Held-out data for the ε grid, `held_out_inlier` and `possible`.
    random_state
        The seed of methods given by name, and of the intervals.
    """
    made, known = _made(methods, schema, X_train, random_state)
    background = Background(
        known, model, X_train, y_train, target=target, probability=probability, X_test=X_test, y_test=y_test
    )
    request = {"target": target, "probability": probability, "constraints": constraints}
    lines: list[dict[str, Any]] = []
    evaluations: dict[str, Evaluation] = {}
    results: dict[str, Counterfactuals] = {}
    for name, method in made.items():
        try:
            started = time.process_time()
            method.fit(X_train, y_train)
            fitted = time.process_time()
            result = method.explain(model, X, **request)
            ended = time.process_time()
            evaluation, broken = _evaluated(background, result, constraints, random_state)
        except ModelError as error:
            lines.append({"method": name, "status": report.NOT_APPLICABLE, "reason": str(error)})
        except Exception as error:
            reason = str(error) if isinstance(error, AttainError) else f"{type(error).__name__}: {error}"
            lines.append({"method": name, "status": report.FAILED, "reason": reason})
        else:
            seconds = {"fit_seconds": fitted - started, "cpu_seconds": (ended - fitted) / max(len(result.found), 1)}
            facts = {
                "method": name,
                "status": report.OK,
                "reason": "",
                "n": int(evaluation.asked.sum()),
                "broken": broken,
            }
            lines.append({**facts, **report.flattened(evaluation.summary), **seconds})
            evaluations[name], results[name] = evaluation, result
    return MethodComparison(pd.DataFrame(lines).set_index("method"), evaluations, results)


def _made(
    methods: Mapping[str, Any] | Iterable[Any], schema: Schema | None, X_train: Frame, seed: int
) -> tuple[dict[str, Any], Schema]:
    """The methods by the names that they have in the table, and the schema."""
    listed = list(methods.items()) if isinstance(methods, Mapping) else [(None, method) for method in methods]
    if not listed:
        raise AttainError("methods must hold at least one method, got none")
    schemas = (schema, *(getattr(method, "schema", None) for _, method in listed))
    known = next((one for one in schemas if one is not None), None) or Schema.infer(X_train)
    made: dict[str, Any] = {}
    for name, method in listed:
        explainer = _named(method, known, seed) if isinstance(method, str) else method
        kind = type(explainer).__name__
        made[name or (kind if kind not in made else f"{kind} {len(made) + 1}")] = explainer
    return made, known


def _named(method: str, schema: Schema, seed: int) -> Any:
    """The explainer that a name stands for: `growing-spheres`, `GrowingSpheres`."""
    names = {_squeezed(name): name for name in explainers.__all__ if name != "Explainer"}
    if _squeezed(method) not in names:
        raise AttainError(f"methods must be explainers, or names of {', '.join(names.values())}; got {method!r}")
    return getattr(explainers, names[_squeezed(method)])(schema, figures=False, random_state=seed)


def _squeezed(text: str) -> str:
    return re.sub(r"[-_ ]", "", text).lower()


def _evaluated(
    background: Background, result: Any, constraints: Constraints | Mapping[str, Any] | None, seed: int
) -> tuple[Evaluation, int]:
    """The evaluation of the answers that are valid, and the number of those that break a rule."""
    given: dict[str, Any] = {"constraints": constraints, "random_state": seed}
    frame = background.evaluate(result, measures=["type_valid", "violations"], resamples=1, **given).frame
    valid = frame["type_valid"].to_numpy() == 1
    answers = AnswerMatrix(
        result.table,
        np.where(valid[:, None], result.answers, np.nan),
        valid,
        result.target,
        result.probability,
        getattr(result, "person_figures", {}),
        getattr(result, "statuses", None),
    )
    shown = [replace(measure, optional=True) for name, measure in MEASURES.items() if name in report.SHOWN]
    return background.evaluate(answers, measures=shown, **given), int((frame["violations"] > 0).sum())


def _pairs(paired: pd.DataFrame) -> TableBlock:
    """The paired tests as a table of a page."""
    rows = [
        [
            MEASURES[row["measure"]].title,
            row["first"],
            row["second"],
            f"{row['first_mean']:.2f}",
            f"{row['second_mean']:.2f}",
            f"{row['difference']:.2f} [{row['low']:.2f}, {row['high']:.2f}]",
            "< 0.001" if row["p_holm"] < 0.001 else f"{row['p_holm']:.3f}",
        ]
        for row in paired.to_dict("records")
    ]
    header = ("measure", "first", "second", "first, mean", "second, mean", "difference", "p (Holm)")
    caption = "Charged values of the same rows; exact sign test for shares, Wilcoxon's signed ranks for others."
    return TableBlock(header, rows, range(3, len(header)), caption)


def _laws(broken: pd.DataFrame) -> TableBlock:
    """The laws that answers of each method break most, as a table of a page."""
    rows = [
        [row["method"], row["sentence"] or row["law"], f"{row['share']:.1%}", f"{row['real_share']:.2%}"]
        for row in broken.groupby("method", sort=False).head(_MOST_LAWS).to_dict("records")
    ]
    caption = f"Shares of answers and of training rows that break a law of held-out people; at most {_MOST_LAWS} each."
    return TableBlock(("method", "law", "answers", "real people"), rows, range(2, 4), caption)
