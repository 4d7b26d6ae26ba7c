"""`result.plot`: what a result shows, as Matplotlib axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attain.core.drawing import finished, label, shown
from attain.core.errors import AttainError, DataError
from attain.results import plot_changes, plot_people
from attain.results.levers import changes_by_group
from attain.results.options import Option

if TYPE_CHECKING:
    from attain.results.counterfactuals import Counterfactuals


@dataclass(frozen=True)
class Plots:
    """Plots of a result. Each takes Matplotlib axes to draw in, or makes a figure, and returns the axes.

    They need Matplotlib: `pip install 'attain[report]'`.
    """

    result: Counterfactuals
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
        number = f", option {option}" if len(options) > 1 else ""
        return self._options(position, number, [one for one in options if one.number == option], ax)

    def options(self, person: Any, *, ax: Any = None) -> Any:
        """All options of one person side by side, drawn as in `changes`."""
        return self.at(self._position(person), ax=ax)

    def at(self, position: int, *, ax: Any = None) -> Any:
        """`options` of the person at a position."""
        return self._options(position, "", self.result.options_of(position), ax)

    def overview(self, by: Any = None, *, ax: Any = None) -> Any:
        """Which features the best answers change, how far and which way, and for which share of people.

        Each point is an answer; the bar has the middle half, the tick is the median.

        Parameters
        ----------
        by
            Groups to be shown side by side: the name of a column, or an array with one entry for each person.
            Numbers are cut into bands.
        ax
            Axes to draw in.
        """
        people = changes_by_group(self.result, by)
        ax = self._axes(ax, *plot_people.size(people, len(people.groups)))
        plot_people.shift_lanes(ax, "What answers change, and how far", people)
        return finished(ax)

    def _axes(self, ax: Any, width: float, height: float) -> Any:
        return self.new_axes(width, height) if ax is None else ax

    def _position(self, person: Any) -> int:
        """The position of the only row with this label."""
        positions = self.result.positions(person)
        if len(positions) > 1:
            raise DataError(f"{len(positions)} rows have the label {person!r}; plots of one person need unique labels")
        return positions[0]

    def _options(self, position: int, number: str, options: Sequence[Option], ax: Any) -> Any:
        title = f"Person {label(self.result.table.labels[position], 40)}{number}"
        if not options:
            ax = self._axes(ax, 6.6, 1.4)
            plot_changes.message(ax, f"{title}: no answer", self.result.reason(position))
            return finished(ax)
        names = plot_changes.titles(options)
        ways = "what leads to" if len(options) == 1 else "ways to"
        ax = self._axes(ax, *plot_changes.size(len(names), len(options)))
        plot_changes.dumbbells(ax, f"{title}: {ways} {self.result.request}", names, options)
        return finished(ax)
