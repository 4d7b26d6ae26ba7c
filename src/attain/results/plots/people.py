"""Features over a population: how far answers move each of them, and for whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from attain.core.drawing import COLOURS, FAINT, LOOKS, TRACK, headline, label, mark, style

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
