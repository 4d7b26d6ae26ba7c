"""`attain evaluate`: measures of a result, comparison with others, tables for a terminal, one JSON object, files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pandas as pd

from attain.cli.answers import is_json, read_table, read_whole
from attain.cli.inputs import read_constraints, read_model, read_people, read_target, read_training
from attain.cli.layer import NOBODY, Given
from attain.cli.terminal import as_json, say, say_json, width
from attain.core.errors import AttainError, listed
from attain.core.files import write_atomically
from attain.core.text import plain, table, wrapped
from attain.metrics import DEFAULT, Background, Evaluation, RecourseGap, paired_comparison, recourse_gap
from attain.metrics.measures import MEASURES
from attain.models import Model
from attain.results.counterfactuals import Counterfactuals
from attain.scale.answers import AnswersFolder
from attain.schema import Schema
from attain.schema.toml import read_file
from attain.tables import Table
from attain.tables.files import check_ending, written
from attain.tables.labels import column_groups

_CLEAR: Final = 0.05
"""A difference counts as better or worse if its corrected p-value is below this."""
_FEW: Final = 5
"""The sizes of groups smaller than this are shown beside their names."""
_MOST_LAWS: Final = 5
"""The most broken laws that are printed."""
_SAME: Final = "inlier_20"
"""Equal to `inlier`."""


class _Answers(NamedTuple):
    """What is measured: slices of answers, of which a file is one, and what they have in common."""

    method: str
    schema: Schema
    target: Any
    probability: float | None
    slices: Sequence[Any] | Iterator[Any]


def evaluate(given: Given) -> int:
    """Measures, writes and reports; returns the exit code."""
    if given.out is not None:
        check_ending(given.out, also=(".json",))
    whole = read_whole(given.result) if is_json(given.result) else None
    schema = _schema(given, whole)
    training, model = read_training(given, schema), read_model(given)

    def background_of(answers: _Answers) -> Background:
        about = {"target": answers.target, "probability": answers.probability}
        return Background(answers.schema, model, **training, **about)

    answers = _table(given, given.result, schema, model, training["X_train"]) if whole is None else _whole(whole)
    background = background_of(answers)
    evaluation = _evaluation(given, answers, background)
    methods = {answers.method: evaluation}
    for path in given.against:
        other = _whole(read_whole(path)) if is_json(path) else _table(given, path, schema, model, training["X_train"])
        same = other[1:4] == answers[1:4]
        name = other.method if other.method not in methods else path if path not in methods else f"{path} again"
        methods[name] = _evaluation(given, other, background if same else background_of(other))
    comparison = paired_comparison(methods, random_state=given.seed) if given.against else None
    gap = None if given.groups is None else _gap(given, evaluation)
    content = _content(answers.method, evaluation, comparison, gap)
    if given.out is not None:
        _write(given, content, evaluation)
    if given.json:
        say_json({"out": given.out, **content})
    else:
        _say(answers.method, evaluation, comparison, gap)
        if given.out is not None:
            say(f"\nWritten: {given.out}")
    return NOBODY if evaluation.asked.any() and not evaluation.frame["found"].any() else 0


def _schema(given: Given, whole: Counterfactuals | None) -> Schema:
    """The schema of the answers, after a check of the options that they need or have already."""
    if whole is not None:
        if extra := [f"--{name}" for name in ("schema", "target", "probability") if getattr(given, name) is not None]:
            raise AttainError(f"{', '.join(extra)}: {given.result!r} contains this already; leave the flag out")
        return whole.table.schema
    folder = Path(given.result).is_dir()
    if folder and (unfit := [f"--{name}" for name in ("against", "groups") if getattr(given, name)]):
        raise AttainError(
            f"{', '.join(unfit)}: compares all people at once, but {given.result!r} is read slice after slice; write "
            "the answers of some people as one file"
        )
    needed = ("people", "schema") if folder else ("people", "schema", "target")
    if absent := [f"--{name}" for name in needed if getattr(given, name) is None]:
        what = "folder" if folder else "table"
        raise AttainError(f"{given.result!r} is a {what} of answers, which also needs {', '.join(absent)}")
    return read_file(given.schema)


def _whole(result: Counterfactuals) -> _Answers:
    return _Answers(result.method, result.table.schema, result.target, result.probability, [result])


def _table(given: Given, path: str, schema: Schema, model: Model, train: pd.DataFrame) -> _Answers:
    """Answers in a folder that `attain explain` wrote, or in a table of any other tool."""
    reading = {"index": given.index, "separator": given.separator}
    if Path(path).is_dir():
        folder = AnswersFolder(path, given.people, schema, **reading)
        settings = folder.settings
        target = read_target(given.target or str(settings["target"]), model, train, schema)
        return _Answers(settings["method"], schema, target, settings["probability"], folder.slices(target))
    if given.people is None or given.target is None:
        raise AttainError(f"--against {path!r} is a table of answers; compare tables with tables, or .json with .json")
    people = Table.read(read_people(given, given.people, schema).frame, schema, "--people", errors="status")
    target = read_target(given.target, model, train, schema)
    answers = read_table(path, people, target=target, probability=given.probability, **reading)
    return _Answers(Path(path).stem, schema, target, given.probability, [answers])


def _evaluation(given: Given, answers: _Answers, background: Background) -> Evaluation:
    people = list(answers.slices[0].table.labels) if isinstance(answers.slices, list) else []
    return background.evaluate(
        answers.slices,
        measures=[*DEFAULT, *(["valid_after_inexact_execution"] if given.inexact else [])],
        constraints=read_constraints(given.constraints, people),
        random_state=given.seed,
    )


def _gap(given: Given, evaluation: Evaluation) -> RecourseGap:
    people = evaluation.context.result.table
    if given.groups not in people.schema:
        raise AttainError(
            f"--groups: the schema has no column {given.groups!r}; its columns are {listed(people.schema.names, 40)}"
        )
    return recourse_gap(evaluation, column_groups(people, given.groups), random_state=given.seed)


def _content(
    method: str, evaluation: Evaluation, comparison: pd.DataFrame | None, gap: RecourseGap | None
) -> dict[str, Any]:
    """Everything as one dictionary."""
    laws = None if evaluation.context.laws is None else evaluation.broken_laws.to_dict("records")
    return {
        "method": method,
        "target": evaluation.target,
        "probability": evaluation.probability,
        "people": len(evaluation.frame),
        "asked": int(evaluation.asked.sum()),
        "found": int(evaluation.frame["found"].sum()),
        "real_people": len(evaluation.reference),
        "epsilon": {f"{quantile:g}": value for quantile, value in evaluation.reference.epsilon.items()},
        "summary": evaluation.summary.to_dict("index"),
        "broken_laws": laws,
        "comparison": None if comparison is None else comparison.to_dict("records"),
        "groups": None if gap is None else {"means": gap.groups.to_dict("records"), "gaps": gap.gaps.to_dict("index")},
    }


def _write(given: Given, content: dict[str, Any], evaluation: Evaluation) -> None:
    """Writes one row per person, or everything if the file ends with .json."""
    if is_json(given.out):
        write_atomically(given.out, (as_json(content) + "\n").encode())
        return
    frame, people = evaluation.frame.copy(), evaluation.context.result.table
    name = getattr(getattr(people.source, "index", None), "name", None)
    frame.insert(0, name if isinstance(name, str) and name and name not in frame else "person", list(people.labels))
    written(given.out, frame, given.separator)


def _say(method: str, evaluation: Evaluation, comparison: pd.DataFrame | None, gap: RecourseGap | None) -> None:
    say(
        f"{plain(method)}, target {plain(repr(evaluation.target))}: {evaluation.frame['found'].sum():,} of "
        f"{evaluation.asked.sum():,} people who needed an answer have one. The reference is "
        f"{len(evaluation.reference):,} real people of the desired class."
    )
    print(f"\n{summary_table(evaluation.summary, width())}\n")
    real = " real people: mean over real people whom the measure does not rest on."
    say(
        "answered: mean over people with an answer. charged: mean over all who needed one, where a missing answer "
        f"counts as the worst case. In brackets: 95 % intervals over people.{real * _has_real(evaluation.summary)}"
    )
    if lines := law_lines(evaluation):
        say("\n".join(lines))
    if comparison is not None:
        print(f"\n{comparison_table(comparison, width())}\n")
        say(
            "wins, losses: share of people for whom the first method is better or worse. p: p-value of the paired "
            f"test, corrected for all rows (Holm). verdict: on the first method; unclear if p ≥ {_CLEAR}."
        )
    if gap is not None:
        print(f"\n{gap_table(gap, width())}")
        say("\n".join(gap_lines(gap)))


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
