"""The capacity card: how large an autoencoder to search, shown by sweeping its sizes.

A larger autoencoder has a better density, and its answers may be less connected to real rows. Each network is trained,
searched by C-CHVAE, and measured like any method.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from attain.core.drawing import COLOURS, detached, finished, headline, written
from attain.core.errors import AttainError
from attain.core.files import make_folder, write_atomically
from attain.core.frames import Frame, library_of
from attain.core.intervals import mean_interval
from attain.core.spreadsheets import csv_bytes
from attain.core.text import table, wrapped
from attain.density import CHVAE
from attain.methods import CCHVAE
from attain.metrics import MethodComparison, compare_methods
from attain.metrics.comparison import OK
from attain.schema import Schema
from attain.tables import Table
from experiments.research.autoencoder_certificate import certified_distance
from experiments.research.judge import judge

SWEEP: Final[Mapping[str, tuple[Any, ...]]] = {
    "latent_dim": (2, 6, 12),
    "hidden": (0, 64, 128),
    "components": (1, 3),
    "beta": (0.5, 1.0, 4.0),
}
"""The values of each parameter of `CHVAE`; the others stay at `CENTRE` meanwhile."""
QUICK: Final[Mapping[str, tuple[Any, ...]]] = {
    "latent_dim": (2, 6), "hidden": (0, 64), "components": (1, 3), "beta": (1.0, 4.0),
}  # fmt: skip
CENTRE: Final[Mapping[str, Any]] = {"latent_dim": 6, "hidden": 64, "components": 1, "beta": 1.0}
_QUICK_ROWS, _QUICK_PEOPLE, _QUICK_EPOCHS, _QUICK_SECONDS = 2_000, 20, 30, 120.0
_JUDGED: Final = 2_500
_SAMPLES: Final = 20
"""Draws of z per row for the bound."""
GOOD: Final = "good"
_MEASURED: Final = ("found", "inlier", "connected_90", "possible", "total_shift", "max_shift")
_HEADER: Final = (
    "network", "bound", "AUC", "active", "valid", "inlier", "connected", "possible", "TS", "MS", "certified", "good",
)  # fmt: skip
NOTE: Final = (
    "bound: mean lower bound of log p(free | immutable) of held-out rows, in nats. AUC: boosted trees telling draws "
    "from held-out rows with the same immutable cells; 0.5 is perfect. active: latent units in use. valid, inlier, "
    "connected, possible, TS and MS as in `attain compare`. certified: of the answers, the share whose connectedness "
    "at that ε follows from the autoencoder alone. good: share of rows with an answer that is an inlier and connected."
)


@dataclass(frozen=True, eq=False)
class Capacity:
    """Networks side by side.

    Attributes
    ----------
    table
        One line per network: its parameters; `status` and `reason`; `bound`, `auc` with `auc_low` and `auc_high`,
        `active_units`, `fit_seconds`; `found`, `inlier`, `connected_90`, `possible`, `total_shift`, `max_shift`,
        `certified` and `good`, each with `_low` and `_high`.
    comparison
        The answers of every network, as `compare_methods` measures them.
    """

    table: pd.DataFrame
    comparison: MethodComparison

    @property
    def recommended(self) -> str:
        """The network with the largest `good`; among equals, the one with the best bound."""
        fine = self.table[self.table["status"] == OK]
        if not len(fine):
            raise AttainError("no network could be measured; see table['reason']")
        return str(fine.sort_values([GOOD, "bound"], ascending=False, kind="stable").index[0])

    @property
    def recommendation(self) -> str:
        """The recommended network in a sentence, with those that cannot be told from it."""
        name = self.recommended
        best = self.table.loc[name]
        alike = [
            other
            for other, line in self.table.iterrows()
            if other != name and line["status"] == OK and line[f"{GOOD}_high"] >= best[f"{GOOD}_low"]
        ]
        sizes = ", ".join(f"{parameter}={best[parameter]}" for parameter in CENTRE)
        told = f" Within its interval: {', '.join(map(str, alike))}." if alike else ""
        return (
            f"Recommended: {name} ({sizes}). {best[GOOD]:.0%} [{best['good_low']:.0%}, {best['good_high']:.0%}] of the "
            f"rows have an answer that is an inlier and connected.{told}"
        )

    def text(self, width: int | None = None) -> str:
        """The card for a terminal."""
        reasons = [f"{name}: {line['reason']}" for name, line in self.table.iterrows() if line["status"] != OK]
        parts = (self.recommendation, *reasons, self.note)
        header, rows = self.cells()
        shown = table(header, rows, width=width, right=range(1, len(header)))
        return "\n\n".join([shown, *(wrapped(part, width) for part in parts)])

    def plot(self) -> Any:
        """The trade-off: the held-out bound against the share of rows with a good answer."""
        ax = detached(6.4, 4.2)
        fine = self.table[self.table["status"] == OK]
        for name, line in fine.iterrows():
            colour = COLOURS["vermilion" if name == self.recommended else "blue"]
            bars = [[max(line[GOOD] - line["good_low"], 0.0)], [max(line["good_high"] - line[GOOD], 0.0)]]
            ax.errorbar(line["bound"], line[GOOD], yerr=bars, color=colour, marker="o", linewidth=0.8)
        ax.margins(x=0.12)
        ax.set(xlabel="held-out bound, nats per row", ylabel="inlier and connected")
        ax.set_ylim(max(float(fine["good_low"].min()) - 0.08, -0.03), 1.03)
        _label(ax, fine)
        headline(ax, "Capacity against faithfulness", "one point per network; bars are 95 % intervals over rows")
        return finished(ax)

    def write(self, folder: str | Path) -> list[Path]:
        """Writes `capacity.csv` and `capacity.png`."""
        place = make_folder(folder)
        write_atomically(place / "capacity.csv", csv_bytes(self.table.reset_index(), float_format="%.8g"))
        write_atomically(place / "capacity.png", written(self.plot().get_figure(root=True), "png"))
        return [place / "capacity.csv", place / "capacity.png"]

    @property
    def _judged(self) -> bool:
        """Whether there were laws to hold answers against."""
        return bool(self.table.get("possible", pd.Series(dtype=float)).notna().any())

    @property
    def note(self) -> str:
        """What the columns mean."""
        return NOTE if self._judged else f"{NOTE} possible is not measured: no laws were found in the held-out rows."

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """The header and the lines of the card; without `possible` where there were no laws."""
        rows = [list(_HEADER), *(_row(str(name), line) for name, line in self.table.iterrows())]
        if not self._judged:
            place = _HEADER.index("possible")
            rows = [[*row[:place], *row[place + 1 :]] for row in rows]
        return rows[0], rows[1:]

    def __str__(self) -> str:
        return self.text()


def capacity(
    model: Any,
    X_train: Frame,
    y_train: ArrayLike | None,
    X: Frame,
    *,
    target: Any,
    schema: Schema | None = None,
    X_test: Frame | None = None,
    y_test: ArrayLike | None = None,
    sweep: Mapping[str, Sequence[Any]] | None = None,
    quick: bool = False,
    seconds: float | None = None,
    random_state: int = 0,
    **request: Any,
) -> Capacity:
    """Trains autoencoders of several sizes, searches each with C-CHVAE, and measures densities and answers.

    Parameters
    ----------
    model, target
        As in `explain`; so is everything in `request` (`probability`, `constraints`).
    X_train, y_train, X, schema
        As in `compare_methods`.
    X_test, y_test
        Held-out rows for the bound, the judge and `possible`; by default a fifth of the training rows.
    sweep
        Values of `latent_dim`, `hidden`, `components` and `beta` of `CHVAE`; by default `SWEEP`. One parameter at a
        time leaves the centre, which is 6 dimensions, one layer of 64, one component and a KL weight of 1.
    quick
        Fewer values, at most 2,000 training rows, 20 people and 30 epochs, and `seconds` 120 unless given.
    seconds
        After so many seconds no other network is started.
    """
    chosen = sweep or (QUICK if quick else SWEEP)
    known = Schema.infer(X_train) if schema is None else schema
    parts = _parts(X_train, y_train, X_test, y_test, random_state, _QUICK_ROWS if quick else None)
    people = _taken(X, np.arange(min(_QUICK_PEOPLE, len(X)))) if quick else X
    limit = _QUICK_SECONDS if quick and seconds is None else seconds
    deadline = None if limit is None else time.monotonic() + limit
    epochs = {"epochs": _QUICK_EPOCHS} if quick else {}
    networks = {
        name: _Searched(known, {**sizes, **epochs, "random_state": random_state}, deadline)
        for name, sizes in _networks(chosen).items()
    }
    comparison = compare_methods(
        networks, model, parts[0], parts[1], people, target=target, schema=known, X_test=parts[2], y_test=parts[3],
        random_state=random_state, **request,
    )  # fmt: skip
    held = Table.read(parts[2], known).values
    lines = [_line(name, networks[name], comparison, held) for name in comparison.table.index]
    return Capacity(pd.DataFrame(lines).set_index("network"), comparison)


def _networks(sweep: Mapping[str, Sequence[Any]]) -> dict[str, dict[str, Any]]:
    """The parameters of each network by its name: the centre, and each value of each parameter beside it."""
    found: dict[str, dict[str, Any]] = {"centre": dict(CENTRE)}
    for name, values in sweep.items():
        for value in values:
            if value != CENTRE[name]:
                found[f"{name} {value}"] = {**CENTRE, name: value}
    return found


def _parts(
    X: Any, y: ArrayLike | None, X_test: Any, y_test: ArrayLike | None, seed: int, most: int | None
) -> tuple[Any, Any, Any, Any]:
    """Training and held-out rows with their labels, at most so many for training."""
    labels = None if y is None else np.asarray(y)
    order = np.random.default_rng(seed).permutation(len(X))
    if X_test is None:
        held, order = order[: len(order) // 5], order[len(order) // 5 :]
        X_test, y_test = _taken(X, held), None if labels is None else labels[held]
    order = np.sort(order[:most])
    return _taken(X, order), None if labels is None else labels[order], X_test, y_test


def _taken(frame: Any, positions: np.ndarray) -> Any:
    return library_of(frame).take(frame, positions)


class _Searched:
    """C-CHVAE with a network of given sizes, as `compare_methods` calls it."""

    def __init__(self, schema: Schema, parameters: Mapping[str, Any], deadline: float | None) -> None:
        self.schema, self.parameters, self.deadline = schema, parameters, deadline
        self.autoencoder: Any = None

    def fit(self, X: Any, y: Any) -> _Searched:
        """Trains the network and fits the search around it."""
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise AttainError("not started: the limit of seconds was reached")
        self.autoencoder = CHVAE(self.schema, **self.parameters, verbose=False).fit(X)
        self.explainer = CCHVAE(
            self.schema, autoencoder=self.autoencoder, figures=False, random_state=self.parameters["random_state"]
        ).fit(X, y)
        return self

    def explain(self, *arguments: Any, **named: Any) -> Any:
        """The answers."""
        return self.explainer.explain(*arguments, **named)


def _line(name: str, network: _Searched, comparison: MethodComparison, held: np.ndarray) -> dict[str, Any]:
    line = comparison.table.loc[name]
    found: dict[str, Any] = {"network": name, **{parameter: network.parameters[parameter] for parameter in CENTRE}}
    found |= {"status": line["status"], "reason": line["reason"]}
    if line["status"] != OK:
        return found
    autoencoder, evaluation = network.autoencoder, comparison.evaluations[name]
    some = held[:_JUDGED]
    auc = judge(some, autoencoder.sample(some, random_state=0))
    found |= {
        "bound": float(autoencoder.log_density(some, _SAMPLES).mean()),
        "auc": auc.auc,
        "auc_low": auc.low,
        "auc_high": auc.high,
        "active_units": int(autoencoder.active_units.sum()),
        "fit_seconds": line["fit_seconds"],
    }
    for measure in _MEASURED:
        source = "found_charged" if measure == "found" else measure
        for end in ("", "_low", "_high"):
            found[f"{measure}{end}"] = line.get(f"{source}{end}", np.nan)
    charged = evaluation.charged
    good = np.where(evaluation.asked, charged["inlier"] * charged["connected_90"], np.nan)
    certified = _certified(autoencoder, evaluation)
    for measure, values in ((GOOD, good), ("certified", certified)):
        low, high = mean_interval(values)
        mean = float(np.nanmean(values)) if np.isfinite(values).any() else np.nan
        found |= {measure: mean, f"{measure}_low": low, f"{measure}_high": high}
    return found


def _certified(autoencoder: Any, evaluation: Any) -> np.ndarray:
    """1 for answers within ε of a real row by the certificate, 0 for others; NaN without an answer."""
    context = evaluation.context
    bound = certified_distance(context.answers, autoencoder, context.reference, found=context.found)
    epsilon = context.reference.epsilon[0.9]
    return np.where(np.isnan(bound), np.nan, bound <= epsilon)


def _label(ax: Any, networks: pd.DataFrame) -> None:
    """Names each point, at the first of its four corners where the name covers no other name."""
    taken: list[tuple[float, float, float, float]] = []
    for name, line in networks.iterrows():
        place = line["bound"], line[GOOD]
        x, y = ax.transData.transform(place) * 72 / ax.get_figure(root=True).dpi
        width, boxes = 4.6 * len(str(name)), []
        for dx, dy in ((5, 4), (-5, 4), (5, -11), (-5, -11)):
            left = x + dx if dx > 0 else x + dx - width
            boxes.append(((dx, dy), (left, left + width, y + dy, y + dy + 9)))
        free = [each for each in boxes if not any(_overlap(each[1], other) for other in taken)]
        offset, box = (free or boxes)[0]
        taken.append(box)
        side = "left" if offset[0] > 0 else "right"
        ax.annotate(str(name), place, offset, textcoords="offset points", ha=side, fontsize=7.5)


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]


def _row(name: str, line: Any) -> list[str]:
    if line["status"] != OK:
        return [name, *["–"] * (len(_HEADER) - 1)]

    def spread(measure: str, percent: bool = True) -> str:
        value, low, high = (line[f"{measure}{end}"] for end in ("", "_low", "_high"))
        if np.isnan(value):
            return "–"
        return f"{value:.0%} [{low:.0%}, {high:.0%}]" if percent else f"{value:.2f} [{low:.2f}, {high:.2f}]"

    return [
        name,
        f"{line['bound']:.2f}",
        spread("auc", percent=False),
        f"{line['active_units']:.0f}",
        *(spread(measure) for measure in ("found", "inlier", "connected_90", "possible")),
        *(spread(measure, percent=False) for measure in ("total_shift", "max_shift")),
        spread("certified"),
        spread(GOOD),
    ]
