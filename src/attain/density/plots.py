"""`autoencoder.plot`: how training went, and what the model makes of data: reconstructions and samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from attain.core.drawing import FAINT, LOOKS, TRACK, finished, headline, label, shown, spread, style
from attain.core.errors import DataError, listed
from attain.core.frames import Frame
from attain.schema import Feature
from attain.tables import Table, ordinary

if TYPE_CHECKING:
    from attain.density.estimator import MixtureEstimator

_BINS: Final = 24
_SAMPLES: Final = 5_000
"""About how many samples are drawn."""


@dataclass(frozen=True)
class DensityPlots:
    """Plots of a fitted density model. Each takes Matplotlib axes to draw in, or makes a figure, and returns the axes.

    They need Matplotlib: `pip install 'attain[report]'`.
    """

    model: MixtureEstimator
    new_axes: Callable[[float, float], Any] = shown
    """Makes axes of a width and a height, in inches."""

    def history(self, *, ax: Any = None) -> Any:
        """The bound on the log-density by epoch, of the training and the validation rows; the best epoch is marked."""
        history, best = {name: np.array(values) for name, values in self.model.history.items()}, self.model.best_epoch_
        training = history["reconstruction"] - history["kl_latent"] - history["kl_component"]
        ax = ax if ax is not None else self.new_axes(6.4, 3.6)
        epochs = np.arange(1, len(training) + 1)
        with style():
            curves = {"training": training, "validation": history["validation"]}
            for (name, values), (colour, _, line) in zip(curves.items(), LOOKS, strict=False):
                ax.plot(epochs, values, color=colour, ls=line, label=name)
            low, high = _window(np.concatenate([values[len(values) // 10 :] for values in curves.values()]))
            ends = spread([float(values[-1]) for values in curves.values()], 0.08 * (high - low), low, high)
            for name, end, (colour, *_) in zip(curves, ends, LOOKS, strict=False):
                place = {"xycoords": ("axes fraction", "data"), "xytext": (5, 0), "textcoords": "offset points"}
                ax.annotate(name, (1, end), **place, color=colour, fontsize=8, va="center", annotation_clip=False)
            ax.plot(best + 1, history["validation"][best], "o", ms=8, mfc="white", mec=LOOKS[1][0], mew=1.6, zorder=4)
            ax.set(xlabel="epoch", ylabel="bound on the log-density, nats per row")
            ax.set_xlim(1, max(len(epochs), 2))
            ax.set_ylim(low, high)
            about = (
                f"best epoch {best + 1} of {len(epochs)}; there, KL over z {history['kl_latent'][best]:.1f} nats, "
                f"{int(self.model.active_units.sum())} of {len(self.model.active_units)} latent units active"
            )
            headline(ax, f"Training of the {type(self.model).__name__}", about)
        return finished(ax)

    def distances(self, X: Frame, *, ax: Any = None) -> Any:
        """For each free feature, how far the distributions of reconstructions and samples are from that of the data.

        The distance is the largest difference between distribution functions (Kolmogorov and Smirnov's), and for levels
        without an order half the sum of differences between shares. 0 is equal, 1 is disjoint.

        Parameters
        ----------
        X
            Rows to compare with, best such that the model has not seen.
        ax
            Axes to draw in.
        """
        data, made = self._made(X)
        features = [self.model.schema_.features[j] for j in self.model.schema_.free_columns]
        found = {
            name: np.array([_distance(f, data[:, j], rows[:, j]) for f, j in zip(features, self._columns, strict=True)])
            for name, rows in made.items()
        }
        order = np.argsort(-found["samples"], kind="stable")
        ax = ax if ax is not None else self.new_axes(6.4, 1.3 + 0.33 * len(features))
        with style():
            for row, place in enumerate(order):
                ends = [values[place] for values in found.values()]
                ax.plot([min(ends), max(ends)], [row, row], color=TRACK, lw=3, zorder=1)
            for (name, values), (colour, marker, _) in zip(found.items(), LOOKS, strict=False):
                ax.plot(
                    values[order], range(len(order)), marker, ms=6.5, color=colour, mec="white", mew=0.6, label=name
                )
            ax.set_yticks(range(len(order)), [label(features[place].title, 26, 2) for place in order], fontsize=8.5)
            ax.set_ylim(len(order) - 0.4, -0.6)
            ax.set_xlim(-0.02, max(0.5, 1.05 * max(float(values.max()) for values in found.values())))
            ax.grid(visible=False, axis="y")
            ax.spines["left"].set_visible(False)
            ax.tick_params(length=0)
            ax.set_xlabel("distance from the distribution of the data", color=FAINT)
            ax.legend(loc="lower right", fontsize=8, labelcolor=FAINT)
            headline(ax, "Reconstructions and samples beside the data", f"{len(data)} rows; 0 is the same distribution")
        return finished(ax)

    def distribution(self, X: Frame, feature: str, *, ax: Any = None) -> Any:
        """One feature's distribution in the data, in reconstructions and in samples; parameters as in `distances`."""
        if feature not in self.model.schema_:
            raise DataError(f"feature is {feature!r}; the columns are {listed(self.model.schema_.names)}")
        column, own = self.model.schema_.position(feature), self.model.schema_[feature]
        if column not in self._columns:
            raise DataError(f"{feature!r} is not modelled: it is immutable or derived")
        data, made = self._made(X)
        parts = {"data": data[:, column], **{name: rows[:, column] for name, rows in made.items()}}
        ax = ax if ax is not None else self.new_axes(6.4, max(3.4, 1.2 + 0.36 * len(own.levels)))
        with style():
            (_histogram if own.numeric else _bars)(ax, own, parts)
            ax.legend(loc="best", fontsize=8, labelcolor=FAINT)
            headline(ax, label(own.title, 50), "in the data, decoded from their own codes, and drawn from the model")
        return finished(ax)

    @property
    def _columns(self) -> list[int]:
        return [int(j) for j in self.model.schema_.free_columns]

    def _made(self, X: Frame) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Rows of the matrix, and by name what the model makes of them; the same at every call."""
        values = X if isinstance(X, np.ndarray) else Table.read(X, self.model.schema_).values
        if not len(values):
            raise DataError("X has no rows")
        repeats = max(1, _SAMPLES // len(values))
        made = {
            "reconstructions": self.model.decode_rows(self.model.encode(values), values),
            "samples": self.model.sample(values, repeats, random_state=0),
        }
        return values, made


def _window(values: np.ndarray) -> tuple[float, float]:
    """Limits for an axis, with some room."""
    low, high = float(values.min()), float(values.max())
    room = 0.06 * max(high - low, 1e-6)
    return low - room, high + room


def _distance(feature: Feature, data: np.ndarray, made: np.ndarray) -> float:
    """Between two empirical distributions, from 0 to 1; missing cells and special codes are compared as levels."""
    if not feature.ordered:
        return _total_variation(data, made)
    parts = [cells[ordinary(feature, cells)] for cells in (data, made)]
    states = [np.where(ordinary(feature, cells), np.inf, cells) for cells in (data, made)]
    apart = _total_variation(*states)
    if not all(len(part) for part in parts):
        return apart
    places = np.unique(np.concatenate(parts))
    shares = [np.searchsorted(np.sort(part), places, side="right") / len(part) for part in parts]
    return max(apart, float(np.abs(shares[0] - shares[1]).max()))


def _total_variation(data: np.ndarray, made: np.ndarray) -> float:
    levels = np.unique(np.concatenate([data, made]))
    shares = [np.array([_equal(cells, level).mean() for level in levels]) for cells in (data, made)]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def _equal(cells: np.ndarray, level: float) -> np.ndarray:
    return np.isnan(cells) if np.isnan(level) else cells == level


def _histogram(ax: Any, feature: Feature, parts: Mapping[str, np.ndarray]) -> None:
    """Ordinary values as steps over the same bins."""
    cells = {name: values[ordinary(feature, values)] for name, values in parts.items()}
    data = cells["data"] if len(cells["data"]) else np.zeros(1)
    low, high = np.quantile(data, (0.005, 0.995))
    edges = np.linspace(low, high if high > low else low + 1, _BINS + 1)
    for (name, values), (colour, _, line) in zip(cells.items(), _SERIES, strict=False):
        counts = np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0]
        share = 100 * counts / max(len(parts[name]), 1)
        if name == "data":
            ax.stairs(share, edges, fill=True, color=TRACK, label=name)
        else:
            ax.stairs(share, edges, color=colour, ls=line, lw=1.6, label=name)
    unit = f", {feature.unit}" if feature.unit else ""
    ax.set_xlabel(f"{label(feature.title, 50)}{unit}; the ends have all values beyond", color=FAINT)
    ax.set_ylabel("% of rows", color=FAINT)


def _bars(ax: Any, feature: Feature, parts: Mapping[str, np.ndarray]) -> None:
    """The share of each level, as a bar for each part."""
    height = 0.8 / len(parts)
    for place, ((name, values), (colour, *_)) in enumerate(zip(parts.items(), _SERIES, strict=False)):
        shares = [100 * float((values == level).mean()) for level in range(len(feature.levels))]
        hatch = ("", "///", "...")[place]
        at = np.arange(len(shares)) + (place - 1) * height
        ax.barh(at, shares, 0.9 * height, color=colour, hatch=hatch, edgecolor="white", lw=0, label=name)
    ax.set_yticks(range(len(feature.levels)), [label(level, 28) for level in feature.levels])
    ax.invert_yaxis()
    ax.grid(visible=False, axis="y")
    ax.set_xlabel("% of rows", color=FAINT)


_SERIES: Final = (("#b8c0c9", "o", "-"), *LOOKS[:2])
"""The looks of the data, of reconstructions and of samples."""
