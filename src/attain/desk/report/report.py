"""A result as a report: one HTML file for analysts and case officers, which needs no network and prints well."""

from __future__ import annotations

import json
import os
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from textwrap import shorten
from typing import Any, Final, NamedTuple

import numpy as np

from attain.core.drawing import detached, written
from attain.core.files import check_ending
from attain.core.intervals import mean_intervals, share_interval
from attain.core.page import Cell, write_page
from attain.core.text import ENGLISH, number, plain
from attain.desk.report.people import counted_outcomes, outcome_words, people
from attain.results.counterfactuals import Counterfactuals
from attain.results.exports import flattened
from attain.results.levers import changed_columns, lever_counts, lever_questions, lever_rows, time_waited
from attain.results.options import WAITING
from attain.results.plots import Plots
from attain.results.status import Status, Verdict
from attain.schema.text import FEATURE_HEADER, feature_lines
from attain.tables import RuleBook

ENDINGS = (".html", ".htm")
_TEMPLATE: Final = Path(__file__).parent / "page" / "report.html"
_LISTED: Final = 300
"""How many laws, or records that cannot be read, are listed."""
_LONGEST: Final = 400
"""How many characters of a law are shown."""


def write_report(result: Counterfactuals, path: str | os.PathLike[str], title: str | None = None) -> None:
    """Writes a report as one HTML file that needs no network; needs the extra `report`.

    Outcomes, quality figures with intervals, what changes, each person's options, rules and laws, model and data,
    settings, limits, and how to make the report again. It contains values of people's records: protect it like the
    data. The same result gives the same bytes.

    Parameters
    ----------
    result
        A result of `explain`, or one that `Counterfactuals.from_json` has read.
    path
        The file, which is replaced: .html or .htm.
    title
        The heading of the report; None says how many people it is about.
    """
    check_ending(path, *ENDINGS)
    count, version = len(result), result.settings.get("versions", {}).get("attain")
    who = "one person" if count == 1 else f"{count:,} people"
    write_page(
        os.fspath(path),
        _TEMPLATE,
        title=f"What {who} could change" if title is None else title,
        about=f"For {result.request} · {result.method}" + (f", attain {version}" if version else ""),
        count=count,
        outcomes=[(*outcome_words(kind), times) for kind, times in counted_outcomes(result)],
        **_overview(result),
        measures=_measures(result),
        changes=_changes(result),
        asked=lever_questions(result.table.schema, lever_counts(result), int(result.found.sum())),
        waiting=bool(result.months.any()),
        clocks=[plain(result.table.schema.features[j].title) for j in result.table.schema.clocks],
        picture_of_changes=_picture(result),
        people=people(result),
        **_rules(result),
        facts=_facts(result.settings, result),
        settings=[(name, _value(value)) for name, value in flattened(_without(result.settings, "model", "training"))],
        notes=[plain(note) for note in result.notes],
        command="attain report answers.json --out report.html" + ("" if title is None else f" --title={quote(title)}"),
    )


def _overview(result: Counterfactuals) -> dict[str, Any]:
    """How many have an answer, why others have none, and whose records cannot be read."""
    statuses = Counter(result.statuses)
    return {
        "answered": statuses.pop(Status.FOUND, 0),
        "already": statuses[Status.ALREADY_DESIRED],
        "unanswered": statuses.most_common(),
        "unreadable": [
            (plain(result.table.labels[i]), plain(error)) for i, error in [*result.troubles.items()][:_LISTED]
        ],
    }


class Measure(NamedTuple):
    """A mean or a share over people, with its interval."""

    mean: float
    low: float
    high: float
    share: bool

    @property
    def text(self) -> str:
        return self._written(self.mean)

    @property
    def interval(self) -> str:
        if np.isnan(self.low):
            return ""
        return f"{self._written(self.low).removesuffix(' %')} to {self._written(self.high)}"

    def _written(self, value: float) -> str:
        return f"{100 * value:.0f} %" if self.share else f"{value:.1f}"


def _measures(result: Counterfactuals) -> dict[str, Measure]:
    """Shares first, then means; those that the result does not have are left out."""
    best = result.best_figure
    shares = {
        "found": result.found[[status is not Status.ALREADY_DESIRED for status in result.statuses]].astype(np.float64),
        "typical": np.array(
            [kind is Verdict.TYPICAL if kind else np.nan for kind in result.best_verdicts], dtype=np.float64
        ),
    }
    means = {
        "changed": _of_answered(result, changed_columns(result).sum(axis=1)),
        "total_shift": 100 * best("total_shift"),
        "max_shift": 100 * best("max_shift"),
        "months": _of_answered(result, result.months[result.best] if result.months.any() else np.nan),
    }
    known = {name: values for name, values in means.items() if not np.isnan(values).all()}
    intervals = [share_interval(values) for values in shares.values()]
    intervals += list(mean_intervals(np.column_stack(list(known.values())))) if known else []
    return {
        name: Measure(float(np.nanmean(values)), float(ends[0]), float(ends[1]), name in shares)
        for (name, values), ends in zip((shares | known).items(), intervals, strict=True)
        if not np.isnan(values).all()
    }


def _of_answered(result: Counterfactuals, values: Any) -> np.ndarray:
    """Values of the best options, by person (n,); NaN where somebody has none."""
    found = np.full(len(result), np.nan)
    found[result.owners[result.best]] = values
    return found


def _changes(result: Counterfactuals) -> list[tuple[str, str, float, tuple[str, str]]]:
    """The features that the best options change: title, count and share, direction, and median shift."""
    answered, changed = int(result.found.sum()), changed_columns(result)
    counted = [(row["answers"], plain(row["label"]), _moves(row)) for row in lever_rows(result, changed[:, :-1])]
    waited = result.months[result.best & result.waits]
    counted += [(len(waited), WAITING, (time_waited(waited), "–"))] if len(waited) else []
    return [
        (title, f"{100 * count / answered:.0f} % ({count:,})", count / answered, moves)
        for count, title, moves in sorted(counted, key=lambda entry: -entry[0])
    ]


def _moves(row: Mapping[str, Any]) -> tuple[str, str]:
    """How many go up and down, and the median shift in percentile points."""
    ways = ", ".join(f"{row[way]:,} {way}" for way in ("up", "down") if row[way])
    return ways or "–", number(None if row["shift"] is None else round(row["shift"], 1))


def _picture(result: Counterfactuals) -> bytes | None:
    """How far answers move each feature; None where there are no answers."""
    if not result.found.any():
        return None
    with warnings.catch_warnings():
        # names are in the tables, too; a font without a glyph is no reason for a warning
        warnings.simplefilter("ignore")
        return written(Plots(result, detached).overview().figure)


def _rules(result: Counterfactuals) -> dict[str, Any]:
    """What every answer kept: rules, laws, and what was held fixed."""
    schema = result.table.schema
    book = RuleBook(schema, result.laws)
    kept, own = book.kept(result.rows), book.kept(result.table.values[result.table.readable])
    texts = [*map(str, schema.rules), *(law.sentence or law.text for law in result.laws)]
    sides = {"rule": slice(len(schema.rules)), "law": slice(len(schema.rules), None)}
    return {
        "fixed": [plain(feature.title) for feature in schema if feature.immutable],
        "longest": None if schema.max_months is None else ENGLISH.duration(schema.max_months),
        "rules": {
            kind: _kept(texts[side], (~kept[:, side]).sum(axis=0), (~own[:, side]).sum(axis=0))
            for kind, side in sides.items()
            if texts[side]
        },
        "options": len(kept),
        "listed": _LISTED,
        "features": (FEATURE_HEADER[:4], [line[:4] for line in feature_lines(schema)]),
    }


def _kept(texts: Sequence[str], broken: np.ndarray, already: np.ndarray) -> dict[str, Any]:
    """How many rules of a kind all options keep, and a row for each rule, the most broken first."""
    rows = [
        (
            shorten(plain(texts[k]), _LONGEST, placeholder=" …"),
            Cell("kept by all", "good") if not broken[k] else Cell(f"all but {broken[k]:,}", "fair"),
            f"{already[k]:,}" if already[k] else "–",
        )
        for k in np.argsort(-broken, kind="stable")[:_LISTED]
    ]
    return {"count": len(texts), "kept": int((broken == 0).sum()), "rows": rows}


def _facts(settings: Mapping[str, Any], result: Counterfactuals) -> list[tuple[str, str]]:
    """The model and the data."""
    model, training = settings.get("model", {}), settings.get("training", {})
    names = zip(model.get("classes", ()), model.get("class_names") or (), strict=False)
    rows, scored = training.get("rows"), result.person_figures.get("rows_scored", np.zeros(1))
    facts = {
        "model": model.get("class"),
        "its library": " ".join(filter(None, (model.get("library"), model.get("library_version")))),
        "classes": ", ".join(map(str, model.get("classes", []))),
        "called in texts": ", ".join(f"{label}: {name}" for label, name in names if name is not None),
        "model file, SHA-256": model.get("file_digest"),
        "model's answers on training rows, digest": model.get("answers_digest"),
        "training rows": None if rows is None else f"{rows:,}",
        "features": f"{len(result.table.schema):,}",
        "training data, digest": training.get("digest"),
        "explainer, digest": settings.get("explainer_digest"),
        # `rows_asked` has training rows, too, which an explainer that knows the model does not ask about again
        "rows that the model was asked about for people": f"{int(scored.sum()):,}",
    }
    return [(name, plain(value)) for name, value in facts.items() if value not in (None, "")]


def _without(settings: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name not in names}


def _value(value: Any) -> str:
    return plain(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
