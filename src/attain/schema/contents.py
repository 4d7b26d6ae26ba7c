"""Properties of columns that their cells show: steps, numbers written as text, and columns that predict the labels."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import pandas as pd

from attain.schema.feature import Feature, Level

COINCIDENCES: Final = 10
"""Fewer equal pairs, or fewer errors, than this may be an accident."""
_LEAK: Final = 0.1
"""A column leaks the outcome if it leaves at most this share of the errors of a guess that ignores it."""
_BINS: Final = 64
_ODD: Final = 0.005
"""The share of cells that a step may ignore."""
SEVERAL: Final = 20
"""The fewest different values from which a step other than 1 is inferred."""
_UNITS: Final = tuple(float(f"{unit}e{power}") for power in range(9, -1, -1) for unit in (5, 2.5, 2, 1))
"""Steps that people round to, the largest first."""
_UNKNOWN: Final = re.compile(
    r"(|\?+|-+|\.+|n[/.]?a\.?|nan|null|unk|missing|k\.?\s?a\.?|unknown|not (known|available|stated|given)|undisclosed"
    r"|unbekannt|keine angabe)"
)
_FRONT, _BEHIND = r"(?:[^\w.,+<>≤≥-]*|(?:eur|usd|gbp|chf) )[+-]?", r"\s?[^\w\s.,+-]*(?: [^\W\d_]+)?"
_ENGLISH: Final = re.compile(rf"{_FRONT}(\d{{1,3}}(,\d{{3}})+(\.\d+)?|\d*\.?\d+\.?){_BEHIND}")
_GERMAN: Final = re.compile(rf"{_FRONT}(\d{{1,3}}(\.\d{{3}})+|\d+),\d+{_BEHIND}")
_AMOUNT: Final = re.compile(r"[\s\d.,+-]+")
_MOSTLY: Final = 0.9
"""The share of levels that must be numbers for a column of texts to hold numbers."""


def step_of(values: np.ndarray) -> float | None:
    """The step of all but a few values: 10,000, 5, 0.01; None for numbers with more than three decimals."""
    others = values[values != 0]  # zero is a multiple of everything
    several = len(np.unique(others)) >= SEVERAL
    if not len(others) or _share(others == np.floor(others)) >= 1 - _ODD * several:
        whole = others[others == np.floor(others)]
        if not several or np.abs(whole).max() >= 2**53:
            return 1.0
        exact = float(np.gcd.reduce(np.unique(whole).astype(np.int64)))
        fits = (unit for unit in _UNITS if unit >= 5 and _share(np.fmod(others, unit) == 0) >= 1 - _ODD)
        rounded = next((unit for unit in fits if len(np.unique(others[np.fmod(others, unit) == 0])) >= SEVERAL), 1.0)
        return max(exact if exact >= 5 else 1.0, rounded)
    for decimals in (1, 2, 3) if several else ():
        if _share(np.round(others, decimals) == others) >= 1 - _ODD:
            return float(f"1e-{decimals}")
    return None


def _share(mask: np.ndarray) -> float:
    return float(mask.mean())


def share_predicted(cells: np.ndarray, labels: np.ndarray) -> float | None:
    """The share of rows whose label a column predicts by itself, if that is nearly all; None otherwise.

    The label of most rows with nearly the same cell is learned from every other row, and tested on the rest.
    """
    distinct = np.unique(cells)
    if len(distinct) > 2 * _BINS:
        distinct = np.unique(np.quantile(cells[~np.isnan(cells)], np.linspace(0, 1, _BINS + 1)))
    bins = np.searchsorted(distinct, cells, side="right")
    codes, classes = pd.factorize(labels, use_na_sentinel=False)
    table = np.zeros((len(distinct) + 2, len(classes)))
    np.add.at(table, (bins[::2], codes[::2]), 1.0)
    missed = int((table.argmax(axis=1)[bins[1::2]] != codes[1::2]).sum())
    usual = int((table.sum(axis=0).argmax() != codes[1::2]).sum())
    if usual < COINCIDENCES or missed > _LEAK * usual:
        return None
    return 1.0 - missed / len(codes[1::2])


def leaking_columns(features: Sequence[Feature], values: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """The columns of a matrix (n, d) that predict the labels and nobody has decided on, with the share of rows."""
    values, labels = labelled(values, labels)
    undecided = [(f, cells) for f, cells in zip(features, values.T, strict=True) if f.searched and not f.is_reviewed]
    shares = ((feature.name, share_predicted(cells, labels)) for feature, cells in undecided)
    return {name: share for name, share in shares if share is not None}


def labelled(values: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows whose label is known, and their labels."""
    known = ~pd.isna(labels)
    return values[known], labels[known]


def unknown_levels(levels: Iterable[Level]) -> tuple[str, ...]:
    """The levels that mean that nothing is known: `?`, `n/a`, `unknown`."""
    return tuple(level for level in levels if isinstance(level, str) and _UNKNOWN.fullmatch(level.strip().lower()))


def conversion(name: str, levels: Iterable[Level]) -> str:
    """The line of pandas that makes numbers of a column of texts such as `1,021.00 €`; empty if it holds others."""
    texts = [level.strip().lower() for level in levels if isinstance(level, str)]
    texts = [text for text in texts if not _UNKNOWN.fullmatch(text)]
    column = f"frame[{name!r}]"
    if len({unit[0] for text in texts if (unit := _AMOUNT.sub("", text))}) > 1:
        return ""  # days and months, or two currencies
    for form, kept, comma in ((_ENGLISH, r"[^\d.+-]", ""), (_GERMAN, r"[^\d,+-]", '.str.replace(",", ".")')):
        if len(texts) > 1 and sum(form.fullmatch(text) is not None for text in texts) >= _MOSTLY * len(texts):
            plain = f'{column}.str.replace(r"{kept}", "", regex=True){comma}'
            return f'{column} = pandas.to_numeric({plain}, errors="coerce")'
    return ""
