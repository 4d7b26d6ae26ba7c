"""The report of `attain evaluate`: tables for a terminal, one JSON object, files."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pandas as pd

from attain.cli.terminal import as_json, say, say_json, width
from attain.core.files import write_atomically
from attain.core.text import plain, table, wrapped
from attain.metrics import Evaluation, RecourseGap
from attain.metrics.measures import MEASURES
from attain.tables.files import written

_CLEAR = 0.05
"""A difference counts as better or worse if its corrected p-value is below this."""
_FEW = 5
"""The sizes of groups smaller than this are shown beside their names."""
_MOST_LAWS = 5
"""The most broken laws that are printed."""
_SAME = "inlier_20"
"""Equal to `inlier`."""


@dataclass(frozen=True, eq=False)
class Report:
    """An evaluation, with the comparison and the groups that were asked for."""

    method: str
    evaluation: Evaluation
    comparison: pd.DataFrame | None
    gap: RecourseGap | None

    def content(self) -> dict[str, Any]:
        """Everything as one dictionary."""
        evaluation, gap = self.evaluation, self.gap
        return {
            "method": self.method,
            "target": evaluation.target,
            "probability": evaluation.probability,
            "people": len(evaluation.frame),
            "asked": int(evaluation.asked.sum()),
            "found": int(evaluation.frame["found"].sum()),
            "real_people": len(evaluation.reference),
            "epsilon": {f"{quantile:g}": value for quantile, value in evaluation.reference.epsilon.items()},
            "summary": evaluation.summary.to_dict("index"),
            "broken_laws": None if evaluation.context.laws is None else evaluation.broken_laws.to_dict("records"),
            "comparison": None if self.comparison is None else self.comparison.to_dict("records"),
            "groups": None
            if gap is None
            else {"means": gap.groups.to_dict("records"), "gaps": gap.gaps.to_dict("index")},
        }

    def show(self, out: str | None, *, json: bool) -> None:
        """Prints the report and the name of the file that was written."""
        if json:
            say_json({"out": out, **self.content()})
            return
        evaluation = self.evaluation
        say(
            f"{plain(self.method)}, target {plain(repr(evaluation.target))}: {evaluation.frame['found'].sum():,} of "
            f"{evaluation.asked.sum():,} people who needed an answer have one. The reference is "
            f"{len(evaluation.reference):,} real people of the desired class."
        )
        print(f"\n{summary_table(evaluation.summary, width())}\n")
        say(legend(evaluation.summary))
        if lines := law_lines(evaluation):
            say("\n".join(lines))
        if self.comparison is not None:
            print(f"\n{comparison_table(self.comparison, width())}\n")
            say(
                "wins, losses: share of people for whom the first method is better or worse. p: p-value of the paired "
                f"test, corrected for all rows (Holm). verdict: on the first method; unclear if p ≥ {_CLEAR}."
            )
        if self.gap is not None:
            print(f"\n{gap_table(self.gap, width())}")
            say("\n".join(gap_lines(self.gap)))
        if out is not None:
            say(f"\nWritten: {out}")


def write(path: str | None, report: Report, separator: str | None) -> None:
    """Writes one row per person, or the whole report if the file ends with .json."""
    if path is None:
        return
    if path.lower().endswith(".json"):
        write_atomically(path, (as_json(report.content()) + "\n").encode())
        return
    frame, people = report.evaluation.frame.copy(), report.evaluation.context.result.table
    name = getattr(getattr(people.source, "index", None), "name", None)
    frame.insert(0, name if isinstance(name, str) and name and name not in frame else "person", list(people.labels))
    written(path, frame, separator)


def summary_table(summary: pd.DataFrame, limit: int) -> str:
    """One line for each measure: both averages with their intervals, real people's, and which direction is better."""
    header, rows = ["measure", "answered", "charged", "better"], []
    if _has_real(summary):
        header.insert(3, "real people")
    for name, row in summary.drop(index=_SAME, errors="ignore").iterrows():
        measure = MEASURES[str(name)]
        answered = _estimate(row["mean"], row["low"], row["high"], measure.share)
        charged = _estimate(row["charged"], row["charged_low"], row["charged_high"], measure.share)
        real = [_number(row["real"], measure.share)] if _has_real(summary) else []
        rows.append((measure.title, answered, charged, *real, measure.better))
    return table(header, rows, width=limit, right=range(1, len(header) - 1))


def legend(summary: pd.DataFrame) -> str:
    """What the columns of `summary_table` are."""
    text = (
        "answered: mean over people with an answer. charged: mean over all who needed one, where a missing answer "
        "counts as the worst case. In brackets: 95 % intervals over people."
    )
    real = " real people: mean over real people whom the measure does not rest on."
    return text + real if _has_real(summary) else text


def _has_real(summary: pd.DataFrame) -> bool:
    return bool(summary["real"].notna().any())


def law_lines(evaluation: Evaluation) -> list[str]:
    """A sentence for each of the laws that answers break most."""
    laws = evaluation.context.laws
    if not laws:
        return []
    broken, number = evaluation.broken_laws, int(evaluation.frame["found"].sum())
    lines = [f"\nOf {len(laws)} laws that hold for people in --test, answers break {len(broken) or 'none'}."]
    for row in broken.head(_MOST_LAWS).to_dict("records"):
        own = f" ({row['factuals']} for people who break it themselves)" if row["factuals"] else ""
        lines.append(
            f"- {plain(row['sentence'] or row['law'])}: {row['answers']} of {number} answers break this{own}, and "
            f"{100 * row['real_share']:.1f} % of people in --train."
        )
    return lines


def comparison_table(comparison: pd.DataFrame, limit: int) -> str:
    """A table for each pair of methods, one line for each measure."""
    header = ("measure", "first", "second", "difference", "wins", "losses", "p", "verdict")
    blocks = []
    for (first, second), pair in comparison.groupby(["first", "second"], sort=False):
        rows = []
        for row in pair.to_dict("records"):
            measure = MEASURES[row["measure"]]
            means = [_number(row[name], measure.share) for name in ("first_mean", "second_mean")]
            difference = _estimate(row["difference"], row["low"], row["high"], measure.share)
            shares = [_number(row[name], True) for name in ("better", "worse")]
            verdict = _verdict(row["difference"], row["p_holm"], measure.better)
            rows.append((measure.title, *means, difference, *shares, _p_value(row["p_holm"]), verdict))
        heading = wrapped(f"{plain(first)} − {plain(second)}", limit)
        blocks.append(f"{heading}\n{table(header, rows, width=limit, right=range(1, 7))}")
    return "\n\n".join(blocks)


def _verdict(difference: float, p_value: float, good: str) -> str:
    if math.isnan(difference) or difference == 0:
        return "–" if math.isnan(difference) else "equal"
    if not p_value < _CLEAR:
        return "unclear"
    return "better" if (good == "higher") == (difference > 0) else "worse"


def gap_table(gap: RecourseGap, limit: int) -> str:
    """One line for each measure and group."""
    rows = []
    for row in gap.groups.to_dict("records"):
        measure = MEASURES[row["measure"]]
        charged = _estimate(row["mean"], row["low"], row["high"], measure.share)
        rows.append((measure.title, row["group"], row["n"], charged))
    return table(("measure", "group", "people", "charged"), rows, width=limit, right=(2,))


def gap_lines(gap: RecourseGap) -> list[str]:
    """A sentence for each measure: the groups between which it differs most, and by how much."""
    lines = []
    for name, row in gap.gaps.iterrows():
        measure = MEASURES[str(name)]
        if math.isnan(row["gap"]):
            lines.append(f"{measure.title}: one group only, nothing to compare.")
        elif row["gap"] == 0:
            lines.append(f"{measure.title}: no difference between the groups.")
        else:
            lines.append(
                f"{measure.title}: highest for {_group(gap, name, row['highest'])}, lowest for "
                f"{_group(gap, name, row['lowest'])}; gap "
                f"{_estimate(row['gap'], row['low'], row['high'], measure.share)}, p {_p_value(row['p_value'])}."
            )
    return lines


def _group(gap: RecourseGap, measure: object, group: object) -> str:
    """The name of a group, with its size where it is small."""
    chosen = gap.groups[(gap.groups["measure"] == measure) & (gap.groups["group"] == group)]
    size = int(chosen["n"].iloc[0])
    return plain(group) if size >= _FEW else f"{plain(group)} ({size} {'person' if size == 1 else 'people'})"


def _estimate(mean: float, low: float, high: float, share: bool) -> str:
    shown = _number(mean, share)
    if math.isnan(mean) or math.isnan(low):
        return shown
    return f"{shown} [{_number(low, share).removesuffix(' %')}, {_number(high, share).removesuffix(' %')}]"


def _number(value: float, share: bool) -> str:
    """Shares in per cent, other numbers with about three digits."""
    if not math.isfinite(value):
        return "–" if math.isnan(value) else "∞"
    if share:
        return f"{100 * value:z.0f} %"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:z,.{digits}f}"


def _p_value(value: float) -> str:
    return "–" if math.isnan(value) else "< 0.001" if value < 0.001 else f"{value:.3f}"
