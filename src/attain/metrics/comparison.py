"""Methods side by side on the same rows, for one model: a table, a page and a trade-off plot.

A line of a table is a mapping with `method`, `status`, `reason`, `n`, `broken`, `cpu_seconds` and, where the status is
`ok`, the averages of its measures as `flattened` names them. `comparison.toml` holds the columns and the notes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from attain import methods as explainers
from attain.core.drawing import COLOURS, panels, save
from attain.core.errors import AttainError, ModelError, matching
from attain.core.files import as_kind, make_folder, parse_toml, write_atomically
from attain.core.page import Block, Cell, Heading, Paragraph, Picture, TableBlock, write
from attain.core.spreadsheets import csv_bytes
from attain.core.text import table, wrapped
from attain.metrics.differences import PAIRED, PAIRED_NOTE, paired_comparison, paired_rows
from attain.metrics.evaluation import Evaluation, RealPeople
from attain.metrics.measures import MEASURES, AnswerMatrix
from attain.schema import Constraints, Schema

if TYPE_CHECKING:
    from attain.core.frames import Frame
    from attain.results.counterfactuals import Counterfactuals

Line: TypeAlias = Mapping[Any, Any]

OK, NOT_APPLICABLE, FAILED = "ok", "not applicable", "failed"
"""How a method's run on one model ended."""
REAL: Final = "real people"
"""The line with the figures of real people, below those of methods."""
_FORMATS: Final[dict[str, Callable[[float], str]]] = {
    "number": lambda value: f"{value:.2f}" if value < 10 else f"{value:.1f}",
    "share": "{:.0%}".format,
    "finer share": "{:.1%}".format,
    "percent": lambda value: f"{100 * value:.0f}",
    "milliseconds": lambda value: f"{1000 * value:.1f}" if value < 1 else f"{1000 * value:.0f}",
    "count": "{:.0f}".format,
}


@dataclass(frozen=True)
class _Column:
    title: str
    key: str
    format: str
    interval: bool = False
    known: bool = False

    def cell(self, line: Line) -> str:
        """The figure with its interval: `81% [70, 90]`."""
        written = _FORMATS[self.format]
        value, low, high = (_figure(line, f"{self.key}{end}") for end in ("", "_low", "_high"))
        if math.isnan(value):
            return "–"
        if not self.interval or math.isnan(low):
            return written(value)
        return f"{written(value)} [{written(low).rstrip('%')}, {written(high).rstrip('%')}]"


@dataclass(frozen=True)
class _Part:
    text: str
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Content:
    full: tuple[_Column, ...]
    short: tuple[_Column, ...]
    full_note: tuple[_Part, ...]
    short_note: tuple[_Part, ...]
    real_note: tuple[_Part, ...]


_CONTENT: Final = as_kind(
    parse_toml((resources.files("attain.metrics") / "comparison.toml").read_text("utf-8")), _Content
)
SHOWN: Final = frozenset(column.key.removesuffix("_charged") for column in _CONTENT.full)
"""The measures in the tables, and other figures."""
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
        reasons = [f"{line['method']}: {line['reason']}" for line in self.lines if line["status"] != OK]
        below = [wrapped(text, width) for text in (*reasons, note(self.lines))]
        return "\n\n".join([text_table(self.lines, width), *below])

    def write(self, folder: str | Path, title: str = "Methods side by side") -> list[Path]:
        """Writes `comparison.csv`, `trade-off.png`, `trade-off.svg` and `index.html`; needs the extra `report`."""
        place, lines = make_folder(folder), self.lines
        write_atomically(place / "comparison.csv", csv_bytes(self.table.reset_index(), float_format="%.8g"))
        content: list[Block] = [
            Paragraph(self._introduction()),
            *blocks(lines, full=False),
            Paragraph(note(lines)),
        ]
        if self.evaluations:
            save(trade_off([("", lines, key) for key in (INLIERS, CONNECTED)]), place, "trade-off")
            picture = Picture(place / "trade-off.png", TRADE_OFF)
            content += [Heading("Faithfulness against difficulty"), picture]
        if len(self.evaluations) > 1:
            content += [Heading("Pairwise differences"), *_pairs(self.paired())]
        if len(self.broken_laws):
            content += [Heading("Laws that answers break"), _laws(self.broken_laws)]
        content += [Heading("All measures"), blocks(lines)[0], Paragraph(note(lines, full=True))]
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
    against = RealPeople(
        known, model, X_train, y_train, target=target, probability=probability, X_test=X_test, y_test=y_test
    )
    request = {"target": target, "probability": probability, "constraints": constraints}
    lines: list[dict[str, Any]] = []
    evaluations: dict[str, Evaluation] = {}
    results: dict[str, Counterfactuals] = {}
    for name, method in made.items():
        line: dict[str, Any] = {"method": name, "status": OK, "reason": ""}
        try:
            started = time.process_time()
            method.fit(X_train, y_train)
            fitted = time.process_time()
            result = method.explain(model, X, **request)
            ended = time.process_time()
            evaluation, broken = _evaluated(against, result, constraints, random_state)
        except Exception as error:
            status = NOT_APPLICABLE if isinstance(error, ModelError) else FAILED
            reason = str(error) if isinstance(error, AttainError) else f"{type(error).__name__}: {error}"
            lines.append({**line, "status": status, "reason": reason})
        else:
            line |= {"n": int(evaluation.asked.sum()), "broken": broken, **flattened(evaluation.summary)}
            seconds = {"fit_seconds": fitted - started, "cpu_seconds": (ended - fitted) / max(len(result.found), 1)}
            lines.append(line | seconds)
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
        if isinstance(method, str):
            kind = matching("methods", method, [one for one in explainers.__all__ if one != "Explainer"])
            method = getattr(explainers, kind)(known, figures=False, random_state=seed)
        kind = type(method).__name__
        made[name or (kind if kind not in made else f"{kind} {len(made) + 1}")] = method
    return made, known


def _evaluated(
    against: RealPeople, result: Any, constraints: Constraints | Mapping[str, Any] | None, seed: int
) -> tuple[Evaluation, int]:
    """The evaluation of the answers that are valid, and the number of those that break a rule."""
    answers = AnswerMatrix.of(result)
    context = against.context(answers, constraints, seed)
    valid = MEASURES["type_valid"].column(context) == 1
    broken = int((MEASURES["violations"].column(context) > 0).sum())
    answers = replace(
        answers, answers=np.where(valid[:, None], answers.answers, np.nan), found=valid, rows=None, owners=None
    )
    shown = [replace(measure, optional=True) for name, measure in MEASURES.items() if name in SHOWN]
    return against.evaluate(answers, measures=shown, constraints=constraints, random_state=seed), broken


def _pairs(paired: pd.DataFrame) -> Iterator[Block]:
    """A table for each pair of methods, and what its columns mean."""
    for (first, second), pair in paired.groupby(["first", "second"], sort=False):
        yield TableBlock(PAIRED, paired_rows(pair), range(1, len(PAIRED) - 1), f"{first} − {second}")
    yield Paragraph(f"Charged values of the same rows. {PAIRED_NOTE}")


def _laws(broken: pd.DataFrame) -> TableBlock:
    """The laws that answers of each method break most, as a table of a page."""
    rows = [
        [row["method"], row["sentence"] or row["law"], f"{row['share']:.1%}", f"{row['real_share']:.2%}"]
        for row in broken.groupby("method", sort=False).head(_MOST_LAWS).to_dict("records")
    ]
    caption = f"Shares of answers and of training rows that break a law of held-out people; at most {_MOST_LAWS} each."
    return TableBlock(("method", "law", "answers", "real people"), rows, range(2, 4), caption)


def flattened(summary: pd.DataFrame) -> dict[str, float]:
    """`Evaluation.summary` as one line: `NAME`, `NAME_low`, `NAME_high`, the same of `NAME_charged`, `NAME_real`."""
    figures = summary.drop(columns=["answered", "n"])
    return {
        str(name) if column == "mean" else f"{name}_{column}": float(value)
        for name, row in figures.iterrows()
        for column, value in row.items()
    }


def cells(lines: Sequence[Line], *, full: bool = True) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of a table of all measures, or of the main ones charged."""
    lines = _with_real(lines)
    columns = [
        column
        for column in (_CONTENT.full if full else _CONTENT.short)
        if not column.known or any(not math.isnan(_figure(line, column.key)) for line in lines)
    ]
    rows = [
        [str(line["method"]), *(column.cell(line) for column in columns)]
        if line["status"] == OK
        else [str(line["method"]), str(line["status"]), *[""] * (len(columns) - 1)]
        for line in lines
    ]
    return ["method", *(column.title for column in columns)], rows


def note(lines: Sequence[Line] | None = None, *, full: bool = False) -> str:
    """What the columns and the last line of a table mean: those that are there, or without lines all of them."""
    parts = (*(_CONTENT.full_note if full else _CONTENT.short_note), *_CONTENT.real_note)
    if lines is None:
        return "".join(part.text for part in parts)
    there = {key for line in lines for key in ("possible", "relations_broken") if not math.isnan(_figure(line, key))}
    there |= {"real"} if len(_with_real(lines)) > len(lines) else set()
    return "".join(part.text for part in parts if there.issuperset(part.needs))


def text_table(lines: Sequence[Line], width: int | None = None) -> str:
    """The main measures, charged, for a terminal."""
    header, rows = cells(lines, full=False)
    return table(header, rows, width=width, right=range(1, len(header)))


def blocks(lines: Sequence[Line], *, full: bool = True) -> list[Block]:
    """All measures, or the main ones charged, as a table of a page; and why some methods have none."""
    header, rows = cells(lines, full=full)
    ended = {str(line["method"]): line for line in lines if line["status"] != OK}
    toned = [[Cell(text, "muted") for text in row] if row[0] in ended else row for row in rows]
    reasons = [f"{name}: {line['status']} ({line['reason']})" for name, line in ended.items()]
    return [TableBlock(header, toned, range(1, len(header))), *(Paragraph(text) for text in reasons)]


def _figure(line: Line, key: str) -> float:
    return float(line.get(key, math.nan))


def _with_real(lines: Sequence[Line]) -> list[Line]:
    """The lines, and one of real people if any of their figures are known."""
    fine = next((line for line in lines if line["status"] == OK), {})
    known = {str(key).removesuffix("_real"): value for key, value in fine.items() if str(key).endswith("_real")}
    known = {key: value for key, value in known.items() if not math.isnan(value)}
    real = {"method": REAL, "status": OK, **known, **{f"{key}_charged": value for key, value in known.items()}}
    return [*lines, real] if known else list(lines)


TRADE_OFF: Final = (
    "How many answers look like real rows against the total shift they ask for; up and to the left is better. Both are "
    "charged: rows without a valid answer enter with the worst case. Bars are 95 % intervals over rows."
)
INLIERS, CONNECTED = "inlier_charged", "connected_90_charged"
_AXES: Final = {INLIERS: "inliers (20 neighbours), charged", CONNECTED: "connected at ε.9, charged"}
_MARKERS: Final = "osD^vP*Xp<>h"
_HUES: Final = [COLOURS[name] for name in ("vermilion", "blue", "green", "purple", "orange", "sky", "black", "grey")]
_ACROSS: Final = 3


def trade_off(parts: Sequence[tuple[str, Sequence[Line], str]], order: Sequence[str] = ()) -> Any:
    """A figure with one panel for each part: its title, its lines, and the key of what is drawn against total shift.

    `order` fixes which method has which colour and marker.
    """
    methods = list(
        dict.fromkeys(str(line["method"]) for _, lines, _ in parts for line in lines if line["status"] == OK)
    )
    looks = {
        name: {"color": _HUES[i % len(_HUES)], "marker": _MARKERS[i % len(_MARKERS)], "markersize": 6}
        for i, name in enumerate(dict.fromkeys((*order, *methods)))
    }
    number = len(parts) + 1  # one panel for the legend
    down, across = -(-number // _ACROSS), min(number, _ACROSS)
    figure, axes = panels(down, across, width=3.3 * across, height=2.9 * down)
    places = axes.ravel()
    for axis, (title, lines, key) in zip(places, parts, strict=False):
        for line in lines:
            if line["status"] == OK:
                (x, across_bar), (y, up_bar) = (_bar(line, name) for name in ("total_shift_charged", key))
                axis.errorbar(x, y, xerr=across_bar, yerr=up_bar, elinewidth=0.8, **looks[str(line["method"])])
        axis.set(xlabel="total shift, charged", ylabel=_AXES[key], ylim=(-0.03, 1.03))
        axis.set_title(title, fontsize=10)
        axis.set_xlim(left=0)
    for axis in places[len(parts) :]:
        axis.axis("off")
    marks = [places[len(parts)].plot([], [], linestyle="none", label=name, **looks[name])[0] for name in methods]
    places[len(parts)].legend(handles=marks, loc="center left", frameon=False, fontsize=8)
    return figure


def _bar(line: Line, key: str) -> tuple[float, Any]:
    """A figure, and how far its interval reaches to both sides."""
    value, low, high = (_figure(line, f"{key}{end}") for end in ("", "_low", "_high"))
    return value, np.maximum([[value - low], [high - value]], 0.0)
