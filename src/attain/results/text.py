"""Plain-text tables for terminals: aligned, wrapped to the window, safe for any Unicode."""

from __future__ import annotations

import shutil
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from attain.results.status import Level, Status
from attain.schema import Feature, Schema

if TYPE_CHECKING:
    from attain.results.counterfactuals import Counterfactuals


_WIDE = 96
"""From this width on the paper's Table 1 fits beside readable names."""


def width_of(text: str) -> int:
    """How many columns a terminal needs for the text."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(unicodedata.combining(character) > 0 for character in text)


def plain(value: object) -> str:
    """A cell as one line without control characters, so that no value can disturb the terminal."""
    text = " ".join(str(value).split())
    return "".join(character if character.isprintable() else "�" for character in text)


def table(
    header: Sequence[str], rows: Sequence[Sequence[object]], *, width: int | None = None, right: Sequence[int] = ()
) -> str:
    """The rows under a header, columns aligned; the widest cells are shortened until the table fits `width`."""
    limit = width or shutil.get_terminal_size((100, 24)).columns
    cells = [[plain(cell) for cell in row] for row in (header, *rows)]
    widths = [max(width_of(row[j]) for row in cells) for j in range(len(header))]
    while sum(widths) + 2 * (len(widths) - 1) > limit and max(widths) > 6:
        widths[widths.index(max(widths))] -= 1
    lines = [_line(row, widths, right) for row in cells]
    lines.insert(1, "  ".join("─" * size for size in widths))
    return "\n".join(line.rstrip() for line in lines)


def _line(row: Sequence[str], widths: Sequence[int], right: Sequence[int]) -> str:
    parts = []
    for j, (cell, size) in enumerate(zip(row, widths, strict=True)):
        text = shortened(cell, size)
        gap = " " * (size - width_of(text))
        parts.append(gap + text if j in right else text + gap)
    return "  ".join(parts)


def shortened(text: str, size: int) -> str:
    """The text, cut with an ellipsis where it is wider than `size`."""
    if width_of(text) <= size:
        return text
    while width_of(text) > size - 1:
        text = text[:-1]
    return text + "…"


def number(value: float | int | None) -> str:
    """A number as people write it: no exponent for ordinary sizes, no trailing zeros."""
    if value is None or value != value:
        return "–"
    if float(value).is_integer() and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.6g}"


def schema_table(schema: Schema, width: int | None = None) -> str:
    """The schema as a table that a person can check."""
    header = ("feature", "kind", "may change", "values", "step")
    body = table(header, [_schema_row(feature) for feature in schema], width=width)
    rules = "".join(f"\nrule: {plain(rule)}" for rule in schema.rules)
    return f"{body}{rules}"


def _schema_row(feature: Feature) -> tuple[str, ...]:
    return (
        feature.name,
        feature.kind,
        _freedom(feature),
        _values(feature),
        "" if feature.step is None else number(feature.step),
    )


def _freedom(feature: Feature) -> str:
    if feature.immutable:
        return "no"
    if feature.derived is not None:
        return f"= {feature.derived}"
    parts = [{"any": "yes", "increase": "only up", "decrease": "only down"}[feature.direction]]
    if feature.range != (None, None):
        low, high = feature.range
        parts.append(f"by {'any' if low is None else number(low)} to {'any' if high is None else '+' + number(high)}")
    if feature.transitions:
        parts.append("partly")
    if feature.fillable:
        parts.append("fillable")
    return ", ".join(parts)


def _values(feature: Feature) -> str:
    if not feature.numeric:
        order = " < " if feature.kind == "ordinal" else ", "
        shown = order.join(str(level) for level in feature.levels[:8])
        return shown + (f" … ({len(feature.levels)} levels)" if len(feature.levels) > 8 else "")
    low, high = feature.bounds
    scale = f"{'−∞' if low is None else number(low)} … {'∞' if high is None else number(high)}"
    unit = f" {feature.unit}" if feature.unit else ""
    codes = f"; codes {', '.join(number(code) for code in feature.special)}" if feature.special else ""
    return scale + unit + codes


def summary(result: Counterfactuals) -> str:
    """A few lines: how many were found, what the others' status says, the means of the figures."""
    asked = f"{result.method}, target {plain(repr(result.target))}"
    if result.probability is not None:
        asked += f" with probability at least {number(result.probability)}"
    lines = [f"{int(result.found.sum())} of {len(result)} people have an answer ({asked})."]
    for status, count in Counter(result.outcome).items():
        if status is not Status.FOUND:
            lines.append(f"{count} × {status.name}: {status.value}")
    lines += _level_lines(result)
    lines += _mean_lines(result)
    return "\n".join([*lines, *result.notes])


def _level_lines(result: Counterfactuals) -> list[str]:
    """How many answers are how usual, where a guard says so."""
    values = result.option_figures.get("level")
    if values is None or not len(values):
        return []
    counted = Counter(Level(int(value)) for value in values[first_options(result)] if value == value)
    told = ", ".join(f"{counted[level]} {level}" for level in Level if counted[level])
    return [f"  among real people of the desired class: {told}"]


def _mean_lines(result: Counterfactuals) -> list[str]:
    shown = {
        "features_changed": ("features changed, on average", 1, ""),
        "total_shift": ("total shift, on average", 100, " percentile points"),
        "max_shift": ("largest shift, on average", 100, " percentile points"),
        "outlier": ("local outliers", 100, " %"),
        "connected": ("connected to real people of the desired class", 100, " %"),
    }
    lines = []
    for name, (label, factor, unit) in shown.items():
        mean = _mean(result, name)
        if not np.isnan(mean):
            lines.append(f"  {label}: {number(round(factor * mean, 1))}{unit}")
    return lines


def comparison(results: Sequence[Counterfactuals], width: int | None = None) -> str:
    """One line a method: how many were answered, how far their answers are, and how real they look."""
    header = ("method", "answered", "changes", "total shift", "largest shift", "outliers", "connected", "rows scored")
    rows = []
    for result in results:
        means = [
            _mean(result, name) for name in ("features_changed", "total_shift", "max_shift", "outlier", "connected")
        ]
        changes, total, largest, outliers, connected = means
        rows.append(
            (
                result.method,
                f"{int(result.found.sum())} of {len(result)}",
                number(round(changes, 1)),
                points(100 * total),
                points(100 * largest),
                f"{outliers:.0%}",
                f"{connected:.0%}",
                f"{result.person_figures['rows_scored'].mean():.0f}",
            )
        )
    limit = width or shutil.get_terminal_size((100, 24)).columns
    if limit >= _WIDE:
        return table(header, rows, width=limit, right=(2, 3, 4, 5, 6, 7))
    turned = list(zip(*(header, *rows), strict=True))
    return table(turned[0], turned[1:], width=limit, right=range(1, len(rows) + 1))


def _mean(result: Counterfactuals, name: str) -> float:
    """The mean of a figure over the best options; NaN where there is none."""
    values = result.option_figures.get(name, np.full(len(result.owners), np.nan))[first_options(result)]
    return float(np.nanmean(values)) if len(values) and not np.isnan(values).all() else np.nan


def first_options(result: Counterfactuals) -> np.ndarray:
    """Which of the options is the best of its person."""
    owners = result.owners
    return np.arange(len(owners)) == np.searchsorted(owners, owners, side="left")


def changes_table(result: Counterfactuals, people: Sequence[int], width: int | None = None) -> str:
    """The paper's Table 1 for some people: what changes, from which percentile to which.

    In a window too narrow for it, a block for each option instead.
    """
    limit = width or shutil.get_terminal_size((100, 24)).columns
    options: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for cell in result.changed_cells():
        if cell["position"] in people:
            options.setdefault((cell["position"], cell["option"]), []).append(cell)
    if limit >= _WIDE:
        return _wide_changes(result, list(options.values()), limit)
    return "\n\n".join(_narrow_changes(result, cells, limit) for cells in options.values())


def _person(cell: dict[str, Any]) -> str:
    return str(cell["person"]) if cell["option"] == 1 else f"{cell['person']} (option {cell['option']})"


def _wide_changes(result: Counterfactuals, options: Sequence[Sequence[dict[str, Any]]], limit: int) -> str:
    header = ("person", "feature", "current", "pct", "counterfactual", "pct", "shift", "total", "outlier", "connected")
    rows = []
    for cells in options:
        for k, cell in enumerate(cells):
            once = (points(cell["total_shift"]), yes_no(cell["outlier"]), yes_no(cell["connected"]))
            rows.append((_person(cell) if k == 0 else "", *_cells(result, cell), *(once if k == 0 else ("", "", ""))))
    shown = table(header, rows, width=limit, right=(3, 5, 6, 7))
    odd = [f"Person {plain(_person(cells[0]))}: {cells[0]['level']}" for cells in options if _odd(cells[0]["level"])]
    return "\n".join([shown, *odd])


def _odd(level: str | None) -> bool:
    return level is not None and level != str(Level.TYPICAL)


def _narrow_changes(result: Counterfactuals, cells: Sequence[dict[str, Any]], limit: int) -> str:
    first = cells[0]
    verdict = f"total shift {points(first['total_shift'])}"
    verdict += f", outlier: {yes_no(first['outlier'])}, connected: {yes_no(first['connected'])}"
    lines = [f"Person {plain(_person(first))}: {verdict}"]
    if first["level"] is not None:
        lines.append(f"  among real people of the desired class: {first['level']}")
    for cell in cells:
        title, current, before, counterfactual, after, _ = map(plain, _cells(result, cell))
        ranks = "" if before == after == "–" else f"  (percentile {before} → {after})"
        lines += [f"  {title}", f"    {current} → {counterfactual}{ranks}"]
    return "\n".join(shortened(line, limit) for line in lines)


def _cells(result: Counterfactuals, cell: dict[str, Any]) -> tuple[str, ...]:
    feature = result.table.schema[cell["feature"]]
    return (
        feature.title,
        with_unit(cell["current"], feature),
        points(cell["current_percentile"]),
        with_unit(cell["counterfactual"], feature),
        points(cell["counterfactual_percentile"]),
        points(cell["shift"]),
    )


def with_unit(value: object, feature: Feature) -> str:
    """A value as people read it; special codes by their meaning."""
    if value is None:
        return "missing"
    if isinstance(value, bool) or not isinstance(value, int | float) or not feature.numeric:
        return str(value)
    if feature.special.get(float(value)):
        return feature.special[float(value)]
    return number(value) + (f" {feature.unit}" if feature.unit else "")


def points(value: float | None) -> str:
    """Percentile points, rounded to whole ones; under one, to a tenth."""
    if value is None or value != value:
        return "–"
    return f"{value:.0f}" if value >= 1 or value == 0 else f"{value:.1f}"


def yes_no(value: bool | None) -> str:
    return "–" if value is None else "yes" if value else "no"
