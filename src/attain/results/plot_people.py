"""Plots over a population: what the best answers change, for which groups of people, and a map of real people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from attain.core.arrays import is_missing
from attain.core.drawing import COLOURS, FAINT, LOOKS, TRACK, headline, label, legend_below, mark, style
from attain.core.errors import DataError, listed
from attain.core.intervals import MISSING, in_reading_order
from attain.core.text import ENGLISH, number, plain
from attain.results.details import Plane
from attain.results.options import WAITING
from attain.schema.text import described
from attain.tables import unchanged
from attain.tables.labels import column_groups

if TYPE_CHECKING:
    from attain.results.counterfactuals import Counterfactuals

_MOST_FEATURES, _MOST_BY_GROUP = 15, 8
"""How many features are shown for everybody, and by group."""
_MOST_GROUPS: Final = 6
_NAME: Final = 26
"""Characters of a feature's name on a line."""
_LANE: Final = 0.19
"""The height of one group's lane in inches."""
_FEW: Final = 4
"""Fewer shifts than this have no quartiles."""
_SHADES: Final = ("#f9d9c6", "#fdefe6", "#e6f1f8", "#c9e1f0")
"""From no decision for the target to all, in steps of a quarter."""
_CLOSE: Final = 0.03
"""Options nearer than this share of both sides would hide each other."""


class Moves(NamedTuple):
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


class Population(NamedTuple):
    """What the answers of groups of people change.

    Attributes
    ----------
    groups
        How many people with an answer each has, by name.
    levers
        For each feature its title, and what the answers of each group do with them.
    about
        A line on both.
    """

    groups: dict[str, int]
    levers: list[tuple[str, list[Moves]]]
    about: str


def population(result: Counterfactuals, by: Any) -> Population:
    """What the best answers change, the features changed most often first; waiting stands for all clocks.

    `by` is None, the name of a column, or has the group of each person.
    """
    changed = changed_columns(result)
    masks = _groups(result, by)
    order = np.argsort(-changed.sum(axis=0), kind="stable")[: int(changed.any(axis=0).sum())]
    levers = []
    for j in order[: _MOST_FEATURES if len(masks) == 1 else _MOST_BY_GROUP].tolist():
        feature = result.table.schema.features[j] if j < len(result.table.schema) else None
        moves = [_moves(result, j, changed[:, j] & mask, int(mask.sum())) for mask in masks.values()]
        levers.append((WAITING if feature is None else feature.title, moves))
    about = f"the best answers of {int(result.found.sum())} of {len(result)} people"
    if len(levers) < len(order):
        about += f"; the {len(levers)} features changed most often, of {len(order)}"
    return Population({name: int(mask.sum()) for name, mask in masks.items()}, levers, about)


def changed_columns(result: Counterfactuals) -> np.ndarray:
    """Which features the best answers (b,) change, clocks never, and at the end which of them wait, (b, d + 1)."""
    best = result.best
    changed = ~unchanged(result.table.values[result.owners[best]], result.rows[best])
    changed[:, list(result.table.schema.clocks)] = False
    return np.column_stack((changed, result.waits[best]))


def _moves(result: Counterfactuals, j: int, chosen: np.ndarray, people: int) -> Moves:
    """What the best answers `chosen` (b,) of a group of so many people do with feature `j`, or how long they wait."""
    options = np.flatnonzero(result.best)[chosen]
    share = len(options) / people if people else 0.0
    if j == len(result.table.schema):
        return Moves(np.empty(0), time_waited(result.months[options]), share)
    feature = result.table.schema.features[j]
    before, after = (100 * part[options, j] for part in result.percentiles[:2])
    on_scale = ~np.isnan(before) & ~np.isnan(after)
    values = [result.table.layout.value(feature.name, float(cell)) for cell in result.rows[options[~on_scale], j]]
    common = Counter(label(described(value, feature), 24) for value in values).most_common(2)
    return Moves((after - before)[on_scale], ", ".join(f"→ {text} ({count})" for text, count in common), share)


def time_waited(waits: np.ndarray) -> str:
    """`1 to 18 months, median 6`, for some numbers of months (w,)."""
    if not len(waits) or waits.min() == waits.max():
        return ENGLISH.duration(float(waits[0])) if len(waits) else ""
    return f"{number(waits.min())} to {ENGLISH.duration(float(waits.max()))}, median {number(float(np.median(waits)))}"


def _groups(result: Counterfactuals, by: Any) -> dict[str, np.ndarray]:
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


def _group_names(result: Counterfactuals, by: Any) -> list[str]:
    """The group of each person."""
    if isinstance(by, str):
        if by not in result.table.schema:
            raise DataError(f"by is {by!r}; the columns are {listed(result.table.schema.names)}")
        return column_groups(result.table, by)
    given = list(by)
    if len(given) != len(result):
        raise DataError(f"by must have one group for each of the {len(result)} people, got {len(given)}")
    return [MISSING if is_missing(item) else plain(item) for item in given]


def size(people: Population, lanes: int) -> tuple[float, float]:
    """The width and height that suit a figure with so many lanes for each feature, in inches."""
    height = 1.2 + max(len(people.levers), 1) * max(0.37, _LANE * lanes + 0.16)
    return 7.0 if len(people.groups) == 1 else 8.6, height


def shift_lanes(ax: Any, title: str, people: Population) -> None:
    """A row for each feature, with a lane for each group: each shift as a point, their quartiles and median."""
    with style():
        height = 0.8 / len(people.groups)
        _frame(ax, people)
        ax.axvline(0, color=COLOURS["black"], lw=0.9, zorder=1)
        for row, (_, moves) in enumerate(people.levers):
            for y, part, (colour, marker, _) in zip(_lanes(row, people, height), moves, LOOKS, strict=False):
                _lane(ax, y, height, part, {"marker": marker, "color": colour, "ls": "", "mew": 0})
                shade = COLOURS["black"] if part.share else COLOURS["grey"]
                ax.text(104, y, f"{100 * part.share:.0f} %", va="center", fontsize=8, color=shade)
        ax.text(104, -0.56, "changed by", fontsize=7.5, color=FAINT, va="bottom")
        ax.set_xlim(-102, 102)
        ax.set_xticks(range(-100, 101, 50), ["100\ndown", "50", "0", "50", "100\nup"])
        ax.set_xlabel("shift, percentile points", color=FAINT)
        headline(ax, title, people.about)


def _lanes(row: int, people: Population, height: float) -> list[float]:
    """Where the lanes of the groups lie in a row."""
    count = len(people.groups)
    return [row + (place - (count - 1) / 2) * height for place in range(count)]


def _frame(ax: Any, people: Population) -> None:
    """The rows, and beside the axes which marker is which group."""
    ax.grid(visible=False, axis="y")
    ax.spines[["top", "right", "left"]].set_visible(False)
    count = len(people.levers)
    ax.set_yticks(range(count), [label(name, _NAME, 2) for name, _ in people.levers])
    ax.set_ylim(max(count, 1) - 0.5, -0.5)
    ax.tick_params(length=0)
    ax.tick_params(axis="x", colors=FAINT, labelsize=8)
    ax.tick_params(axis="y", labelsize=8.5)
    for row in range(1, count):
        ax.axhline(row - 0.5, color=TRACK, lw=0.7, zorder=0)
    if len(people.groups) == 1:
        return
    handles = [
        mark(f"{label(name, 24)} ({count})", marker=marker, color=colour, ms=6)
        for (name, count), (colour, marker, _) in zip(people.groups.items(), LOOKS, strict=False)
    ]
    place = {"loc": "upper left", "bbox_to_anchor": (1.16, 1), "borderaxespad": 0}
    ax.legend(handles=handles, **place, fontsize=8, labelcolor=FAINT, handletextpad=0.3)


def _lane(ax: Any, y: float, height: float, part: Moves, look: dict[str, Any]) -> None:
    shifts = part.shifts
    if len(shifts):
        ax.plot([-100, 100], [y, y], color=TRACK, lw=0.8, zorder=1)
    if 0 < len(shifts) < _FEW:
        ax.plot(shifts, np.full(len(shifts), y), **look, ms=5, alpha=0.8, zorder=2)
    elif len(shifts):
        # a fixed scatter, so that equal shifts are seen as many
        scatter = ((np.arange(len(shifts)) * 0.618034) % 1 - 0.5) * 0.5 * height
        ax.plot(shifts, y + scatter, **look, ms=3, alpha=0.5, zorder=2)
        low, middle, high = np.quantile(shifts, (0.25, 0.5, 0.75))
        ax.plot([low, high], [y, y], color=look["color"], lw=4, alpha=0.5, solid_capstyle="butt", zorder=3)
        ax.plot(middle, y, "|", ms=9, mew=2, color=look["color"], zorder=4)
    if part.levels:
        behind = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        ax.text(-100, y, part.levels, va="center", fontsize=7.5, color=FAINT, bbox=behind, zorder=5)


def people_map(ax: Any, title: str, plane: Plane, target: str, starts: Sequence[int], ranks: Sequence[int]) -> None:
    """Draws a plane, and an arrow to each option (m,) from the factual at its start.

    The options' ranks are shown where all arrows begin at one place.
    """
    single, black = len(plane.factuals) == 1, COLOURS["black"]
    person = {"marker": "*", "color": COLOURS["yellow"], "mec": black}
    arrow = {"arrowstyle": "-|>", "color": black, "shrinkA": 0, "lw": 1.3 if single else 0.7}
    with style():
        ax.grid(visible=False)
        ax.contourf(*plane.grid, plane.share, levels=[-0.01, 0.25, 0.5, 0.75, 1.01], colors=_SHADES, zorder=0)
        if np.nanmin(plane.share) < 0.5 < np.nanmax(plane.share):
            ax.contour(*plane.grid, plane.share, levels=[0.5], colors=FAINT, linewidths=1.0, zorder=1)
        for members, colour, marker, edge in (
            (~plane.accepted, "vermilion", "x", 0.8),
            (plane.accepted, "blue", "o", 0),
        ):
            look = {"ms": 3.2, "mew": edge, "alpha": 0.45, "color": COLOURS[colour]}
            ax.plot(*plane.people[members].T, marker, **look, zorder=2)
        if single:
            ax.plot(*plane.factuals[0], **person, ls="", ms=16, mew=1.1, zorder=6)
        for start, option in zip(plane.factuals[starts], plane.options, strict=True):
            properties = {**arrow, "shrinkB": 6.5 if single else 0}
            ax.annotate("", tuple(option), tuple(start), arrowprops=properties, zorder=5)
        if single:
            _number_options(ax, plane, ranks)
        for axis, name, side in zip((ax.xaxis, ax.yaxis), plane.axes, plane.grid, strict=True):
            axis.set_label_text(name, color=FAINT)
            ax.set(**{f"{axis.axis_name}lim": (side[0], side[-1])})
        ax.tick_params(colors=FAINT, labelsize=8)
        name, nearby = label(target, 24), "decoded: " if plane.decoded else "nearby: mostly "
        entries = [
            mark(f"real person: {name}", marker="o", ms=5, color=COLOURS["blue"]),
            mark("real person: not", marker="x", ms=5, mew=1, color=COLOURS["vermilion"]),
            mark(f"{nearby}{name}", marker="s", ms=9, color=_SHADES[-1], mec=FAINT, mew=0.6),
            mark(f"{nearby}not", marker="s", ms=9, color=_SHADES[0], mec=FAINT, mew=0.6),
        ]
        if single:
            entries += [
                mark("the person now", **person, ms=10, mew=0.9),
                mark("options", marker="o", ms=8, color=black),
            ]
        legend_below(ax, entries, "upper left", 3, 38)
        about = "the decisions about real people nearby in this projection"
        if plane.decoded:
            about = "the decisions about decoded records with this person’s immutable features"
        headline(ax, title, f"regions: {about}")


def _number_options(ax: Any, plane: Plane, ranks: Sequence[int]) -> None:
    """The ranks of options at their places; those of options that are close together share one label."""
    span = plane.grid[:, -1] - plane.grid[:, 0]
    labels: list[tuple[np.ndarray, list[str]]] = []
    for place, rank in zip(plane.options, ranks, strict=True):
        near = [names for other, names in labels if (np.abs(other - place) / span).max() < _CLOSE]
        near[0].append(str(rank)) if near else labels.append((place, [str(rank)]))
    look = {"color": "white", "fontsize": 7.5, "fontweight": "bold", "ha": "center", "va": "center", "zorder": 8}
    box = {"boxstyle": "round,pad=0.35,rounding_size=0.9", "facecolor": COLOURS["black"], "edgecolor": "white"}
    for place, names in labels:
        ax.annotate(", ".join(names), tuple(place), **look, bbox=box)
