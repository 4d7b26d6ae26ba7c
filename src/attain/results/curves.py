"""Answers beside real people: local outliers over k, and connectedness over ε."""

from __future__ import annotations

from typing import Final

import numpy as np

from attain.core.frames import Frame
from attain.core.intervals import share_interval
from attain.population.connectedness import connected_over
from attain.population.faithfulness import nearest_distance, outlier
from attain.population.reference import CONTAMINATION, Reference
from attain.results.plots.points import Curve
from attain.results.record import Record
from attain.tables import Table

NEIGHBOURS: Final = (1, 2, 3, 5, 7, 10, 15, 20, 30, 40)
"""The k of the curve of local outliers; more than 40 would take another search for neighbours."""
_PLACES: Final = 121
"""How many values of ε a curve has."""
_END: Final = 0.99
"""The curves end at the ε within which this share of answers, and of real people, is connected."""


def outlier_curves(result: Record, reference: Reference, held_out: Frame | None) -> tuple[np.ndarray, list[Curve]]:
    """The values of k, and at each of them the share of local outliers among best answers and among real people."""
    places = np.array([k for k in NEIGHBOURS if k < len(reference)] or [1])

    def verdicts(rows: np.ndarray) -> np.ndarray:
        return np.column_stack([outlier(rows, reference, int(k)) for k in places])

    curves = [_curve("answers", verdicts(result.rows[result.best]), interval=True)]
    if held_out is not None:
        curves.append(_curve("real people, held out", verdicts(_rows(result, held_out))))
    curves.append(Curve("real people of the\ntraining data", np.full(len(places), CONTAMINATION)))
    return places, curves


def connected_curves(result: Record, reference: Reference, held_out: Frame | None) -> tuple[np.ndarray, list[Curve]]:
    """Values of ε, and at each of them the share of best answers, and of real people, with a real person within it.

    The real people are those held out, or else those of the reference, each beside the others.
    """
    rows = result.rows[result.best]
    if held_out is None:
        name, real = "real people", reference.own_neighbours(1)[0].ravel()
    else:
        name, real = "real people, held out", nearest_distance(_rows(result, held_out), reference)
    ends = [np.quantile(part, _END) for part in (real, nearest_distance(rows, reference)) if len(part)]
    places = np.linspace(0, max(ends, default=0.0) or 1.0, _PLACES)
    answers = _curve("answers", connected_over(rows, reference, places), interval=True)
    return places, [answers, _curve(name, np.asarray(real[:, None] <= places, dtype=np.float64))]


def _rows(result: Record, held_out: Frame) -> np.ndarray:
    return Table.read(held_out, result.table.schema, "held_out").values


def _curve(name: str, verdicts: np.ndarray, *, interval: bool = False) -> Curve:
    """The share of ones in each column of verdicts (n, p), with its interval if asked for."""
    share = verdicts.mean(axis=0) if len(verdicts) else np.full(verdicts.shape[1], np.nan)
    ends = np.array([share_interval(column) for column in verdicts.T]).T if interval else (None, None)
    return Curve(f"{name} ({len(verdicts)})", share, *ends)
