"""What `attain evaluate` says: tables for people, one object for programs, files for both."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from attain.cli.frames import written
from attain.cli.terminal import say, say_json, width
from attain.core.files import write_atomically
from attain.metrics import Evaluation, RecourseGap
from attain.metrics.catalogue import MEASURES
from attain.results.text import plain, table, width_of
from attain.tables import Table

_ROOM = 58
"""From this width on, intervals fit beside both averages."""
_WIDE = 90
"""From this width on there is room for what explains a number."""
_CLEAR = 0.05
"""A difference is called better or worse where its corrected p is below this."""
_FEW = 5
"""Groups of fewer people than this are named with their number."""
_SAME = "inlier_20"
"""What `inlier` is too."""


@dataclass(frozen=True, eq=False)
class Report:
    """An evaluation with what was asked for beside it."""

    method: str
    evaluation: Evaluation
    comparison: pd.DataFrame | None
    gap: RecourseGap | None

    def content(self) -> dict[str, Any]:
        """Everything as plain values; numbers that JSON lacks are None."""
        evaluation = self.evaluation
        found = {
            "method": self.method,
            "target": evaluation.target,
            "probability": evaluation.probability,
            "people": len(evaluation.frame),
            "asked": int(evaluation.asked.sum()),
            "found": int(evaluation.frame["found"].sum()),
            "real_people": len(evaluation.reference),
            "epsilon": {f"{quantile:g}": value for quantile, value in evaluation.reference.epsilon.items()},
            "summary": evaluation.summary.to_dict("index"),
            "features": evaluation.features.to_dict("index"),
            "two_sample": None if evaluation.two_sample is None else asdict(evaluation.two_sample),
            "comparison": None if self.comparison is None else self.comparison.to_dict("records"),
            "groups": None
            if self.gap is None
            else {"means": self.gap.groups.to_dict("records"), "gaps": self.gap.gaps.to_dict("index")},
        }
        return {name: _simple(value) for name, value in found.items()}

    def show(self, out: str | None, *, as_json: bool) -> None:
        """Prints the report, and where it was written."""
        if as_json:
            say_json({"out": out, **self.content()})
            return
        evaluation = self.evaluation
        asked, found = int(evaluation.asked.sum()), int(evaluation.frame["found"].sum())
        say(
            f"{plain(self.method)}, target {plain(repr(evaluation.target))}: {found} of {asked} people who needed an "
            f"answer have one. Compared with {len(evaluation.reference):,} real people of the desired class."
        )
        say("")
        print(summary_table(evaluation, width()))
        say("")
        say(
            "answered: the mean over people with an answer. charged: over all who needed one, where a missing answer "
            "counts as the worst there is. In brackets, where there is room: 95 % intervals over people."
        )
        if evaluation.two_sample is not None:
            say("")
            say(f"Answers told from real people with the same immutables: {evaluation.two_sample}.")
        if self.comparison is not None:
            say("")
            print(comparison_table(self.comparison, width()))
            say("")
            say("p: of the paired test, corrected for all rows (Holm).")
        if self.gap is not None:
            say("")
            print(gap_table(self.gap, width()))
            for line in gap_lines(self.gap):
                say(line)
        if out is not None:
            say("")
            say(f"Written: {out}")


def write(path: str | None, report: Report, people: Table, separator: str | None) -> None:
    """Writes one row a person, or everything where the ending is .json."""
    if path is None:
        return
    if path.lower().endswith(".json"):
        write_atomically(path, (json.dumps(report.content(), ensure_ascii=False, indent=2) + "\n").encode())
        return
    frame = report.evaluation.frame.copy()
    name = getattr(getattr(people.source, "index", None), "name", None)
    frame.insert(0, name if isinstance(name, str) and name and name not in frame else "person", list(people.labels))
    written(path, frame, separator)


def summary_table(evaluation: Evaluation, limit: int) -> str:
    """One line a measure: both averages, with intervals where there is room."""
    header = ["measure", "answered", "charged", *(["better"] if limit >= _WIDE else [])]
    rows = _summary_rows(evaluation, limit, intervals=limit >= _ROOM)
    if not _fits(header, rows, limit):
        rows = _summary_rows(evaluation, limit, intervals=False)
    return table(header, rows, width=limit)


def _summary_rows(evaluation: Evaluation, limit: int, *, intervals: bool) -> list[list[str]]:
    rows = []
    for name, row in evaluation.summary.drop(index=_SAME).iterrows():
        measure = MEASURES[str(name)]
        cells = [measure.title]
        for mean, low, high in (("mean", "low", "high"), ("charged", "charged_low", "charged_high")):
            cells.append(_estimate(row[mean], row[low], row[high], measure.share, intervals=intervals))
        rows.append([*cells, measure.better] if limit >= _WIDE else cells)
    return rows


def comparison_table(comparison: pd.DataFrame, limit: int) -> str:
    """A block for each pair of methods, under its own heading: one line a measure."""
    blocks = []
    for (first, second), pair in comparison.groupby(["first", "second"], sort=False):
        heading = textwrap.fill(f"{plain(first)} − {plain(second)}", limit, break_on_hyphens=False)
        blocks.append(f"{heading}\n{_pair_table(pair, limit)}")
    return "\n\n".join(blocks)


def _pair_table(pair: pd.DataFrame, limit: int) -> str:
    wide, rows = limit >= _WIDE, []
    for row in pair.to_dict("records"):
        measure = MEASURES[row["measure"]]
        difference = _estimate(row["difference"], row["low"], row["high"], measure.share, intervals=limit >= _ROOM)
        if wide:
            means = [_number(row[name], measure.share) for name in ("first_mean", "second_mean")]
            shares = [_number(row[name], True) for name in ("better", "worse")]
            rows.append([measure.title, *means, difference, *shares, _p_value(row["p_holm"])])
        else:
            rows.append([measure.title, difference, _first_is(row, measure.better)])
    if wide:
        return table(["measure", "first", "second", "difference", "better", "worse", "p"], rows, width=limit)
    return _uncut(["measure", "difference", "the first is"], rows, limit)


def _first_is(row: dict[Any, Any], good: str) -> str:
    """The verdict on the first of two methods, never without what is known of chance."""
    difference, p_value = row["difference"], row["p_holm"]
    if math.isnan(difference):
        return "–"
    if difference == 0:
        verdict = "no difference"
    elif not p_value < _CLEAR:
        verdict = "no clear difference"
    else:
        verdict = "better" if (good == "higher") == (difference > 0) else "worse"
    return verdict if math.isnan(p_value) else f"{verdict} (p {_p_value(p_value)})"


def gap_table(gap: RecourseGap, limit: int) -> str:
    """One line a measure and group; a block for each measure where they do not fit side by side."""
    header = ("measure", "group", "people", "charged")
    rows = [
        (
            MEASURES[row["measure"]].title,
            plain(row["group"]),
            str(row["n"]),
            _estimate(row["mean"], row["low"], row["high"], MEASURES[row["measure"]].share, intervals=True),
        )
        for row in gap.groups.to_dict("records")
    ]
    if _fits(header, rows, limit):
        return table(header, rows, width=limit, right=(2,))
    return "\n\n".join(
        f"{title}\n{_uncut(header[1:], [row[1:] for row in rows if row[0] == title], limit, right=(1,))}"
        for title in dict.fromkeys(row[0] for row in rows)
    )


def gap_lines(gap: RecourseGap) -> list[str]:
    """A sentence for each measure: between which groups it differs most, and by how much."""
    lines = []
    for name, row in gap.gaps.iterrows():
        measure = MEASURES[str(name)]
        if math.isnan(row["gap"]):
            lines.append(f"{measure.title}: one group only, nothing to compare.")
            continue
        if row["gap"] == 0:
            lines.append(f"{measure.title}: no difference between the groups.")
            continue
        size = _estimate(row["gap"], row["low"], row["high"], measure.share, intervals=True)
        lines.append(
            f"{measure.title}: highest for {_group(gap, name, row['highest'])}, lowest for "
            f"{_group(gap, name, row['lowest'])}; gap {size}, p {_p_value(row['p_value'])}."
        )
    return lines


def _group(gap: RecourseGap, measure: object, group: object) -> str:
    """A group's name, with its number of people where they are few."""
    chosen = gap.groups[(gap.groups["measure"] == measure) & (gap.groups["group"] == group)]
    people = int(chosen["n"].iloc[0])
    return plain(group) if people >= _FEW else f"{plain(group)} ({people} {'person' if people == 1 else 'people'})"


def _fits(header: Sequence[str], rows: Sequence[Sequence[str]], limit: int) -> bool:
    """Whether a table needs no cell shortened."""
    widths = [max(width_of(row[j]) for row in (header, *rows)) for j in range(len(header))]
    return sum(widths) + 2 * (len(widths) - 1) <= limit


def _uncut(header: Sequence[str], rows: Sequence[Sequence[str]], limit: int, right: Sequence[int] = ()) -> str:
    """A table where it fits; else each row as a line with its first cell, and the others under it."""
    if _fits(header, rows, limit):
        return table(header, rows, width=limit, right=right)
    lines = []
    for first, *others in rows:
        told = "; ".join(f"{name} {cell}" for name, cell in zip(header[1:], others, strict=True))
        lines.append(textwrap.fill(first, limit, break_on_hyphens=False))
        lines.append(textwrap.fill(told, limit, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False))
    return "\n".join(lines)


def _estimate(mean: float, low: float, high: float, share: bool, *, intervals: bool) -> str:
    if math.isnan(mean):
        return "–"
    shown = _number(mean, share)
    if not intervals or math.isnan(low):
        return shown
    return f"{shown} [{_number(low, share).removesuffix(' %')}, {_number(high, share).removesuffix(' %')}]"


def _number(value: float, share: bool) -> str:
    """Shares in percent, other numbers with three digits or so."""
    if not math.isfinite(value):
        return "–" if math.isnan(value) else "∞"
    if share:
        return f"{100 * value:.0f} %"
    size = abs(value)
    return f"{value:,.0f}" if size >= 100 else f"{value:.1f}" if size >= 10 else f"{value:.2f}"


def _p_value(value: float) -> str:
    return "–" if math.isnan(value) else "< 0.001" if value < 0.001 else f"{value:.3f}"


def _simple(value: Any) -> Any:
    """Plain Python values, None for numbers that JSON lacks."""
    if isinstance(value, dict):
        return {str(key): _simple(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_simple(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
