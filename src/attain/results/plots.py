"""`result.plot`: what a result shows, as Matplotlib axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from attain.core.checks import free_name
from attain.core.drawing import LOOKS, TONES, finished, label, shown
from attain.core.errors import AttainError, DataError
from attain.core.text import ENGLISH, plain, points
from attain.results import plot_changes as dumbbells
from attain.results import plot_map as planes
from attain.results import plot_people as people
from attain.results.options import WAITING, Change, Option
from attain.results.record import Record
from attain.results.sentences import now_and_then, worded
from attain.results.status import Typicality
from attain.results.text import how_long


@dataclass(frozen=True)
class Plots:
    """Plots of a result. Each takes Matplotlib axes to draw in, or makes a figure, and returns the axes.

    They need Matplotlib: `pip install 'attain[report]'`.
    """

    result: Record
    new_axes: Callable[[float, float], Any] = shown
    """Makes axes of a width and a height, in inches."""

    def changes(self, person: Any, option: int = 1, *, ax: Any = None) -> Any:
        """One option of one person: each changed feature from its value now to the suggested one, by percentile.

        With `explain(..., ranges=True)` a band shows the range in which the suggestion still holds. A feature without
        percentiles, such as a categorical one, is shown as text.

        Parameters
        ----------
        person
            The label of the row, as in `describe`.
        option
            Which option, from 1.
        ax
            Axes to draw in.
        """
        position = self._position(person)
        options = self.result.options_of(position)
        if options and not 1 <= option <= len(options):
            raise AttainError(f"option must be an integer from 1 to {len(options)}, got {option!r}")
        chosen = [one for one in options if one.number == option]
        number = f", option {option}" if len(options) > 1 else ""
        return self._dumbbells(position, f"Person {_name(person)}{number}", chosen, ax)

    def options(self, person: Any, *, ax: Any = None) -> Any:
        """All options of one person side by side, drawn as in `changes`."""
        return self.at(self._position(person), ax=ax)

    def at(self, position: int, *, ax: Any = None) -> Any:
        """`options` of the person at a position."""
        title = f"Person {_name(self.result.table.labels[position])}"
        return self._dumbbells(position, title, self.result.options_of(position), ax)

    def shifts(self, *, ax: Any = None) -> Any:
        """The total against the largest shift of every person's best answer, as in the paper's comparison."""
        result = self.result
        total, largest, level = (
            result.of_best(name)[result.found] for name in ("total_shift", "max_shift", "typicality")
        )
        kinds = [people.Kind(str(kind), level == kind, *TONES[kind.tone]) for kind in Typicality]
        kinds.append(people.Kind("answers", np.isnan(level), *LOOKS[0][:2]))
        ax = ax if ax is not None else self.new_axes(6.4, 4.4)
        people.shift_scatter(ax, f"What {result.method} asks for", 100 * total, 100 * largest, kinds)
        return finished(ax)

    def _session(self, explainer: Any, model: Any) -> Any:
        return explainer.session(model, target=self.result.target, probability=self.result.probability)

    def map(self, explainer: Any, model: Any, person: Any = None, *, ax: Any = None) -> Any:
        """Real people and decision regions in a plane, and the way from a person to each option.

        Real people are projected onto their two leading principal components, in the measuring space or, for methods
        with an autoencoder, in its latent space; a region shows the decisions about real people nearby in that
        projection. With two latent dimensions and one person, regions are the decisions about decoded records with
        this person's immutable features.

        Parameters
        ----------
        explainer, model
            Those that the result is of; the explainer must have its training rows.
        person
            The label of a row; None shows the best options of all people.
        ax
            Axes to draw in.
        """
        result = self.result
        position = None if person is None else self._position(person)
        chosen = result.best if position is None else result.owners == position
        owners = np.unique(result.owners[chosen]) if position is None else np.array([position])
        plane = self._session(explainer, model).plane(result.table.values[owners], result.rows[chosen])
        starts = np.searchsorted(owners, result.owners[chosen])
        routes = [
            (int(start), k, str(rank)) for k, (start, rank) in enumerate(zip(starts, result.ranks[chosen], strict=True))
        ]
        among = "in the latent space" if plane.latent else "among real people"
        title = f"Person {_name(person)} {among}" if person is not None else f"Answers {among}"
        about = (
            "regions: the decisions about decoded records with this person’s immutable features"
            if plane.decoded
            else "regions: the decisions about real people nearby in this projection"
        )
        ax = ax if ax is not None else self.new_axes(6.4, 5.6)
        planes.people_map(ax, title, about, plane, plain(result.decision), routes)
        return finished(ax)

    def overview(self, by: Any = None, *, ax: Any = None) -> Any:
        """Which features the best answers change, how far and which way, and for which share of people.

        Each point is an answer; the bar has the middle half, the tick is the median.

        Parameters
        ----------
        by
            Groups to be shown beside each other: the name of a column, or an array with one entry for each person.
            Numbers are cut into bands.
        ax
            Axes to draw in.
        """
        groups, levers, about = people.population(self.result, by)
        ax = ax if ax is not None else self.new_axes(*people.size(len(levers), len(groups), len(groups)))
        people.shift_lanes(ax, "What answers change, and how far", about, groups, levers)
        return finished(ax)

    def levers(self, by: Any = None, *, ax: Any = None) -> Any:
        """For which share of people each feature is among the changes of their best answer.

        With `explain(..., importance=True)`, also how much score its changes gain on average. Parameters as in
        `overview`.
        """
        groups, levers, about = people.population(self.result, by)
        ax = ax if ax is not None else self.new_axes(*people.size(len(levers), len(groups), 1))
        people.share_dots(ax, "Which changes help the most people", about, groups, levers)
        return finished(ax)

    def _position(self, person: Any) -> int:
        """The position of the only row with this label."""
        positions = self.result.positions(person)
        if len(positions) > 1:
            raise DataError(f"{len(positions)} rows have the label {person!r}; plots of one person need unique labels")
        return positions[0]

    def _dumbbells(self, position: int, title: str, options: Sequence[Option], ax: Any) -> Any:
        if not options:
            ax = ax if ax is not None else self.new_axes(6.6, 1.4)
            dumbbells.message(ax, f"{title}: no answer", self.result.reason(position))
            return finished(ax)
        names = self._names(options)
        columns = [
            dumbbells.Column(f"Option {option.number}", _facts(option), self._changes(option)) for option in options
        ]
        ax = ax if ax is not None else self.new_axes(*dumbbells.size(len(names), len(columns)))
        wanted = self.result.request
        heading = f"{title}: what leads to {wanted}" if len(options) == 1 else f"{title}: ways to {wanted}"
        about = _facts(options[0]) if len(options) == 1 else ""
        dumbbells.dumbbells(ax, heading, about, names, columns)
        return finished(ax)

    def _names(self, options: Sequence[Option]) -> dict[str, str]:
        """The titles of all changed features: largest shifts first, then what follows, waiting, and clocks last."""
        changes: dict[str, list[Change]] = {}
        for change in (change for option in options for change in option.changes):
            changes.setdefault(change.feature.name, []).append(change)
        said = {"law": (1, " (follows)"), "time": (3, " (with time)")}
        rows = []
        for name, found in changes.items():
            rank, words = said.get(found[0].follows, (0, ""))
            rows.append((rank, -max(change.shift or 0.0 for change in found), name, f"{found[0].feature.title}{words}"))
        if any(option.waits for option in options):
            rows.append((2, 0.0, self._waiting, WAITING))
        return {name: title for *_, name, title in sorted(rows, key=lambda row: row[:2])}

    @property
    def _waiting(self) -> str:
        """The key of the row for waiting."""
        return free_name(WAITING, self.result.table.schema.names)

    def _changes(self, option: Option) -> dict[str, dumbbells.Change]:
        changes = {change.feature.name: _dumbbell(change) for change in option.changes}
        if option.waits:
            changes[self._waiting] = dumbbells.Change("", ENGLISH.duration(option.months), math.nan, math.nan)
        return changes


def _dumbbell(change: Change) -> dumbbells.Change:
    places = (change.current_percentile, change.suggested_percentile, change.low_percentile, change.high_percentile)
    before, after = now_and_then(change)
    start, end, low, high = map(_or_nan, places)
    return dumbbells.Change(before, after, start, end, low, high, ", ".join(map(worded, change.levels or ())))


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def _name(person: Any) -> str:
    return label(person, 40)


def _facts(option: Option) -> str:
    """How typical an option is, how far it is, and how long it takes."""
    facts = [] if option.level is None else [option.level]
    facts += [] if option.total_shift is None else [f"total shift {points(option.total_shift)} points"]
    return " · ".join([*facts, *how_long(option)])
