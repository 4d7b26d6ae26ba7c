"""Plots over a population: which features the best answers change, how far, and for which groups of people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from attain.core.drawing import COLOURS, FAINT, LOOKS, TRACK, headline, label, legend_below, mark, style
from attain.core.errors import DataError, listed
from attain.core.frames import is_missing
from attain.core.intervals import MISSING, in_reading_order
from attain.core.text import ENGLISH, number, plain
from attain.results.options import WAITING
from attain.results.record import Record
from attain.schema.text import described
from attain.tables import unchanged
from attain.tables.labels import column_groups

_MOST_FEATURES, _MOST_BY_GROUP = 15, 8
"""How many features are shown for everybody, and by group."""
_MOST_GROUPS: Final = 6
_NAME: Final = 26
"""Characters of a feature's name on a line."""
_LANE: Final = 0.19
"""The height of one group's lane in inches."""
_FEW: Final = 4
"""Fewer shifts than this have no quartiles."""


@dataclass(frozen=True)
class Group:
    """People with an answer: their name, and how many they are."""

    name: str
    size: int


@dataclass(frozen=True)
class Moves:
    """What the answers of one group do with one feature.

    Attributes
    ----------
    shifts
        The signed shift of each answer that moves it on its scale, in percentile points.
    levels
        The most frequent other changes, as text: new levels, with how often each is taken.
    share
        The share of the group whose answer changes it, from 0 to 1.
    """

    shifts: np.ndarray
    levels: str
    share: float


@dataclass(frozen=True)
class Lever:
    """A feature: its name, what each group's answers do with it, and the mean gain of its changes, where known."""

    name: str
    moves: Sequence[Moves]
    gain: float | None = None


def population(result: Record, by: Any) -> tuple[list[Group], list[Lever], str]:
    """The groups, the features that best answers change, those changed most often first, and how many there are.

    Waiting stands for all clocks.

    `by` is None, the name of a column, or has the group of each person.
    """
    changed = changed_columns(result)
    masks = _groups(result, by)
    groups = [Group(name, int(mask.sum())) for name, mask in masks.items()]
    order = np.argsort(-changed.sum(axis=0), kind="stable")[: int(changed.any(axis=0).sum())]
    shown = order[: _MOST_FEATURES if len(groups) == 1 else _MOST_BY_GROUP].tolist()
    levers = [_lever(result, j, changed[:, j], masks.values()) for j in shown]
    about = f"the best answers of {int(result.found.sum())} of {len(result)} people"
    if len(shown) < len(order):
        about += f"; the {len(shown)} features changed most often, of {len(order)}"
    return groups, levers, about


def _moves(result: Record, j: int, chosen: np.ndarray, people: int) -> Moves:
    """What the best answers `chosen` (b,) of a group of so many people do with feature `j`."""
    feature, options = result.table.schema.features[j], np.flatnonzero(result.best)[chosen]
    before, after = (100 * part[options, j] for part in result.percentiles[:2])
    on_scale = ~np.isnan(before) & ~np.isnan(after)
    values = [result.table.layout.value(feature.name, float(result.rows[i, j])) for i in options[~on_scale]]
    common = Counter(label(described(value, feature), 24) for value in values).most_common(2)
    levels = ", ".join(f"→ {text} ({count})" for text, count in common)
    return Moves((after - before)[on_scale], levels, len(options) / people if people else 0.0)


def _lever(result: Record, j: int, changed: np.ndarray, groups: Collection[np.ndarray]) -> Lever:
    """Feature `j`, which `changed` of the best answers (b,) change, or waiting, for groups given as masks (b,)."""
    schema = result.table.schema
    if j == len(schema):
        parts = [_waits(result, changed & mask, int(mask.sum())) for mask in groups]
        return Lever(WAITING, parts, None)
    parts = [_moves(result, j, changed & mask, int(mask.sum())) for mask in groups]
    return Lever(schema.features[j].title, parts, _gain(result, j))


def changed_columns(result: Record) -> np.ndarray:
    """Which features the best answers (b,) change, clocks never, and at the end which of them wait, (b, d + 1)."""
    best = result.best
    changed = ~unchanged(result.table.values[result.owners[best]], result.rows[best])
    changed[:, list(result.table.schema.clocks)] = False
    return np.column_stack((changed, result.waits[best]))


def _waits(result: Record, chosen: np.ndarray, people: int) -> Moves:
    """How long the best answers `chosen` (b,) of a group of so many people wait."""
    waits = result.months[result.best][chosen]
    return Moves(np.empty(0), time_waited(waits), len(waits) / people if people else 0.0)


def time_waited(waits: np.ndarray) -> str:
    """`1 to 18 months, median 6`, for some numbers of months (w,)."""
    if not len(waits) or waits.min() == waits.max():
        return ENGLISH.duration(float(waits[0])) if len(waits) else ""
    return f"{number(waits.min())} to {ENGLISH.duration(float(waits.max()))}, median {number(float(np.median(waits)))}"


def _gain(result: Record, j: int) -> float | None:
    """The mean score gained by the changes of feature `j` in the best options; None if not known."""
    found = result.importances
    if found is None:
        return None
    gains = found.gain[(found.column == j) & result.best[found.option]]
    return float(np.nanmean(gains)) if np.isfinite(gains).any() else None


def _groups(result: Record, by: Any) -> dict[str, np.ndarray]:
    """By name, which of the best answers (b,) belong to each group; the smallest groups are put together."""
    owners = result.owners[result.best]
    if by is None:
        return {"everybody": np.ones(len(owners), dtype=bool)}
    names = np.array(_group_names(result, by), dtype=object)[owners]
    counts = Counter(names.tolist())
    kept = list(counts) if len(counts) <= _MOST_GROUPS else [name for name, _ in counts.most_common(_MOST_GROUPS - 1)]
    masks = {name: np.asarray(names == name) for name in sorted(kept, key=in_reading_order)}
    if len(counts) > len(kept):
        masks[f"{len(counts) - len(kept)} other groups"] = ~np.any(list(masks.values()), axis=0)
    return masks or {"nobody": np.zeros(0, dtype=bool)}


def _group_names(result: Record, by: Any) -> list[str]:
    """The group of each person."""
    table = result.table
    if isinstance(by, str):
        if by not in table.schema:
            raise DataError(f"by is {by!r}; the columns are {listed(table.schema.names)}")
        return column_groups(table, by)
    given = list(by)
    if len(given) != len(result):
        raise DataError(f"by must have one group for each of the {len(result)} people, got {len(given)}")
    return [MISSING if is_missing(item) else plain(item) for item in given]


def size(features: int, groups: int, lanes: int) -> tuple[float, float]:
    """The width and height that suit a figure with so many features, groups, and lanes for each feature, in inches."""
    return 7.0 if groups == 1 else 8.6, 1.2 + max(features, 1) * max(0.37, _LANE * lanes + 0.16)


def shift_lanes(ax: Any, title: str, about: str, groups: Sequence[Group], levers: Sequence[Lever]) -> None:
    """A row for each feature, with a lane for each group: each shift as a point, their quartiles and median."""
    with style():
        _frame(ax, levers)
        ax.axvline(0, color=COLOURS["black"], lw=0.9, zorder=1)
        height = 0.8 / len(groups)
        for row, lever in enumerate(levers):
            if row:
                ax.axhline(row - 0.5, color=TRACK, lw=0.7, zorder=0)
            for place, (part, (colour, marker, _)) in enumerate(zip(lever.moves, LOOKS, strict=False)):
                at = row + (place - (len(groups) - 1) / 2) * height
                _lane(ax, at, height, part, colour, marker)
                shade = COLOURS["black"] if part.share else COLOURS["grey"]
                ax.text(104, at, f"{100 * part.share:.0f} %", va="center", fontsize=8, color=shade)
        ax.text(104, -0.56, "changed by", fontsize=7.5, color=FAINT, va="bottom")
        ax.set_xlim(-102, 102)
        ax.set_xticks(range(-100, 101, 50), ["100\ndown", "50", "0", "50", "100\nup"])
        ax.set_xlabel("shift, percentile points", color=FAINT)
        _key(ax, groups, 1.16)
        headline(ax, title, about)


def share_dots(ax: Any, title: str, about: str, groups: Sequence[Group], levers: Sequence[Lever]) -> None:
    """A row for each feature: the share of each group whose answer changes it, and the mean gain where it is known."""
    with style():
        _frame(ax, levers)
        beside = ax.get_yaxis_transform()
        apart = min(0.17, 0.7 / len(groups))
        for row, lever in enumerate(levers):
            shares = [100 * part.share for part in lever.moves]
            if len(groups) == 1:
                ax.plot([0, shares[0]], [row, row], color=TRACK, lw=4, solid_capstyle="butt", zorder=1)
                place = {"xytext": (7, 0), "textcoords": "offset points", "va": "center", "fontsize": 8}
                ax.annotate(f"{shares[0]:.0f} %", (shares[0], row), **place)
            elif row:
                ax.axhline(row - 0.5, color=TRACK, lw=0.7, zorder=0)
            for place_of, (share, (colour, marker, _)) in enumerate(zip(shares, LOOKS, strict=False)):
                at = row + (place_of - (len(groups) - 1) / 2) * apart
                ax.plot(share, at, marker, ms=6.5, color=colour, mew=0.6, mec="white", zorder=3)
            if lever.gain is not None:
                ax.text(1.03, row, f"{lever.gain:+.2f}", transform=beside, va="center", fontsize=8)
        known = any(lever.gain is not None for lever in levers)
        if known:
            ax.text(1.03, -0.56, "mean gain\nin score", transform=beside, fontsize=7.5, color=FAINT, va="bottom")
        top = max((100 * part.share for lever in levers for part in lever.moves), default=0.0)
        ax.set_xlim(-1.5, max(10.0, 1.08 * top) + 1.5)
        ax.set_xlabel("% of people with an answer", color=FAINT)
        _key(ax, groups, 1.16 if known else 1.02)
        headline(ax, title, about)


def _frame(ax: Any, levers: Sequence[Lever]) -> None:
    ax.grid(visible=False, axis="y")
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.set_yticks(range(len(levers)), [label(lever.name, _NAME, 2) for lever in levers])
    ax.set_ylim(max(len(levers), 1) - 0.5, -0.5)
    ax.tick_params(length=0)
    ax.tick_params(axis="x", colors=FAINT, labelsize=8)
    ax.tick_params(axis="y", labelsize=8.5)


def _lane(ax: Any, at: float, height: float, part: Moves, colour: str, marker: str) -> None:
    shifts = part.shifts
    if len(shifts):
        ax.plot([-100, 100], [at, at], color=TRACK, lw=0.8, zorder=1)
        if len(shifts) < _FEW:
            ax.plot(shifts, np.full(len(shifts), at), marker, ms=5, color=colour, alpha=0.8, mew=0, zorder=2)
        else:
            # a fixed scatter, so that equal shifts are seen as many
            scatter = ((np.arange(len(shifts)) * 0.618034) % 1 - 0.5) * 0.5 * height
            ax.plot(shifts, at + scatter, marker, ms=3, color=colour, alpha=0.5, mew=0, zorder=2)
            low, middle, high = np.quantile(shifts, (0.25, 0.5, 0.75))
            ax.plot([low, high], [at, at], color=colour, lw=4, alpha=0.5, solid_capstyle="butt", zorder=3)
            ax.plot(middle, at, "|", ms=9, mew=2, color=colour, zorder=4)
    if part.levels:
        behind = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        ax.text(-100, at, part.levels, va="center", fontsize=7.5, color=FAINT, bbox=behind, zorder=5)


def _key(ax: Any, groups: Sequence[Group], right: float) -> None:
    """Which marker is which group, beside the axes."""
    if len(groups) == 1:
        return
    handles = [
        mark(f"{label(group.name, 24)} ({group.size})", marker=marker, color=colour, ms=6)
        for group, (colour, marker, _) in zip(groups, LOOKS, strict=False)
    ]
    place = {"loc": "upper left", "bbox_to_anchor": (right, 1), "borderaxespad": 0}
    ax.legend(handles=handles, **place, fontsize=8, labelcolor=FAINT, handletextpad=0.3)


class Kind(NamedTuple):
    """Answers of one kind: its name, which they are (m,), and their colour and marker."""

    name: str
    members: np.ndarray
    colour: str
    marker: str


def shift_scatter(ax: Any, title: str, total: np.ndarray, largest: np.ndarray, kinds: Sequence[Kind]) -> None:
    """The total against the largest shift of each answer (m,), in percentile points."""
    with style():
        widest = max(float(total.max(initial=0.0)), 1.0)
        side = min(widest, 100.0)
        entries = []
        for name, own, colour, marker in kinds:
            if own.any():
                look = {"color": colour, "marker": marker, "ms": 5, "mew": 0}
                ax.plot(total[own], largest[own], ls="", alpha=0.75, **look)
                entries.append(mark(f"{name} ({int(own.sum())})", **look))
        about = "no answers"
        if len(total):
            mean = (float(total.mean()), float(largest.mean()))
            ax.plot(*mean, "+", ms=14, mew=2.2, color=COLOURS["black"], zorder=5)
            entries.append(mark("mean", marker="+", ms=9, mew=2, color=COLOURS["black"]))
            about = f"{len(total)} answers; mean total shift {mean[0]:.0f}, largest {mean[1]:.0f} percentile points"
        for share, text, line in ((1.0, "one change", "--"), (0.5, "two equal changes", ":")):
            end, look = min(side / share, widest), {"color": COLOURS["grey"], "lw": 1.1, "ls": line}
            ax.plot([0, end], [0, end * share], zorder=1, **look)
            entries.append(mark(text, **look))
        legend_below(ax, entries, "upper left", 3, 38)
        headline(ax, title, about)
        ax.set(xlabel="total shift, percentile points (TS)", ylabel="largest shift, percentile points (MS)")
        ax.set_xlim(-0.03 * widest, 1.1 * widest)
        ax.set_ylim(-0.03 * side, 1.1 * side)
