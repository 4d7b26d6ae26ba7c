"""How fast columns can change: counts as fast as people gained them, what is owed, earned or learned over years."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from attain.core.text import number
from attain.schema.feature import Feature
from attain.schema.reading import ordinary_numbers
from attain.schema.schema import Schema
from attain.schema.vocabulary import (
    begins_anew,
    counted,
    dates_a_record,
    is_an_age,
    is_earned,
    is_learned,
    is_owed,
    is_share,
    topic_of,
    units_a_month,
    window_of,
)

_LARGEST: Final = 1000
"""Integers up to this count something; larger ones are amounts."""
_FASTEST: Final = 0.95
"""The quantile of people's rates that is a pace: 5 % were as fast, or faster."""
_ADULT: Final = 18
"""The age at which people begin to have what is counted."""
_YEAR: Final = 12
"""Records that are younger, in months, say little about how fast they grow."""
_REPAID: Final = 24
"""The months in which what is owed is paid back."""
_RISE: Final = (24, 0.25)
"""The months in which what is earned rises, and by which share of the lower quartile.

Three in four people are asked for no larger share of what they earn.
"""
_LONG: Final = 24
"""The months in which a count must be able to change by one; else no answer should ask for it."""
_LEARNED: Final = (24, 12)
"""The months that a level of education takes, and a year of it."""
_FEWEST: Final = 30
"""Rows that a pace is read from, at least."""
_EXACT: Final = 1e-6
"""Rates that have no more than two digits but for rounding errors are not rounded up, in units of the second."""
FIXED: Final[Mapping[str, Any]] = {"immutable": True}
"""What decides about a count that cannot change while clocks advance, or not within two years."""


class Pace(NamedTuple):
    """How fast a column changes: the properties of the feature that say so, where the data do, and the reason."""

    reason: str
    changes: Mapping[str, Any]


class _Age(NamedTuple):
    """How long each person's record has grown, in months (n,), and which column says so."""

    source: str
    months: np.ndarray


def is_count(feature: Feature, values: np.ndarray) -> bool:
    """Whether a column counts things that people have, by its name, and holds non-negative integers."""
    if counted(feature.name) is None or is_share(feature.name) or topic_of(feature.name) is not None:
        return False
    if not feature.ordered or not all(isinstance(level, int) for level in feature.levels):
        return False
    known = _numbers(feature, values)
    known = known[~np.isnan(known)]
    return bool(len(known) and (known == np.floor(known)).all() and known.min() >= 0 and known.max() < _LARGEST)


def pace_of(schema: Schema, values: np.ndarray, j: int) -> Pace | None:
    """How fast a column of counts, of what is owed or earned, or of education can change; None for other columns.

    `values` (n, d) are the rows of a frame.
    """
    feature = schema.features[j]
    if is_owed(feature.name):
        return _repaid(feature, values[:, j])
    if is_earned(feature.name):
        return _rising(feature, values[:, j])
    if is_learned(feature.name):
        step = (
            "A year of education takes 12 months." if feature.numeric else "A level of education takes about two years."
        )
        return Pace(step, {"pace": rounded(1 / _LEARNED[feature.numeric])})
    thing, count = counted(feature.name), is_count(feature, values[:, j])
    if thing is None or not (count or (feature.kind == "interval" and is_share(feature.name))):
        return None
    months = window_of(feature.name)
    if months is not None:
        return _passing(feature, values[:, j], months) if count else None
    clock = next((name for name in schema.names if begins_anew(name, thing)), None)
    if clock is not None:
        return Pace(f"Each new one would set {clock} back to 0, so waiting and a new one exclude each other.", FIXED)
    return _growing(schema, values, j) if count else _share(schema, values, j, thing)


def _numbers(feature: Feature, cells: np.ndarray) -> np.ndarray:
    """The cells as numbers (n,): NaN where there is none, and levels that are numbers as these."""
    if feature.numeric:
        return ordinary_numbers(feature, cells)
    levels = np.array(feature.levels, dtype=np.float64)
    return np.where(np.isnan(cells), math.nan, levels[np.nan_to_num(cells).astype(np.intp)])


def _record_age(schema: Schema, values: np.ndarray) -> _Age | None:
    """How long records have grown: by the clock of the record that has run longest, or else since people were 18."""
    clocks, ages = [], []
    for j, feature in enumerate(schema):
        rate = feature.clock or units_a_month(feature.name, feature.unit)
        cells = _numbers(feature, values[:, j]) if feature.numeric else np.empty(0)
        if np.isnan(cells).all():
            continue
        if dates_a_record(feature.name) and rate is not None:
            clocks.append(_Age(f"by {feature.name}", cells / rate))
        elif is_an_age(feature.name) and _ADULT < np.nanmedian(cells) < 100:
            ages.append(_Age(f"since they were {_ADULT}, by {feature.name}", _YEAR * (cells - _ADULT)))
    return max(clocks or ages, key=lambda age: float(np.nanmedian(age.months)), default=None)


def _repaid(feature: Feature, cells: np.ndarray) -> Pace | None:
    """What is owed: what nearly nobody exceeds is paid back in two years."""
    known = ordinary_numbers(feature, cells)
    known = known[~np.isnan(known)]
    most = float(np.quantile(known, _FASTEST)) if feature.numeric and len(known) else 0.0
    if most <= 0:
        return None
    pace = rounded(most / _REPAID)
    reason = (
        f"What is owed is paid back over months: {number(round(most, 3))}, which 95 % of people do not exceed, in "
        f"{_REPAID} months are {number(pace)} a month."
    )
    return Pace(reason, {"pace": pace})


def _rising(feature: Feature, cells: np.ndarray) -> Pace | None:
    """What is earned: two years bring a quarter more to those who earn little, at most: one pace is for all."""
    known = ordinary_numbers(feature, cells) if feature.numeric else np.empty(0)
    known = known[~np.isnan(known)]
    quartile = float(np.quantile(known, 0.25)) if len(known) else 0.0
    if quartile <= 0:
        return None
    months, share = _RISE
    pace = rounded(share * quartile / months)
    reason = (
        f"What people earn rises over months: a quarter of {number(round(quartile, 3))}, which three in four people "
        f"earn at least, in {months} months are {number(pace)} a month."
    )
    return Pace(reason, {"pace": pace})


def _growing(schema: Schema, values: np.ndarray, j: int) -> Pace | None:
    """A count that builds up one by one: as fast as the fastest people gained."""
    rate, source = _rate(schema, values, j)
    if rate is None:
        return Pace("It changes one by one, over months: say how many a month a person can gain or lose, by pace.", {})
    reason = (
        f"It changes one by one, over months: the fastest {round(100 * (1 - _FASTEST))} % of people gained "
        f"{number(rate)} a month or more, {source}."
    )
    if rate * _LONG < 1:
        return Pace(f"{reason} One more or less takes longer than {_LONG} months.", FIXED) if rate > 0 else None
    return Pace(reason, {"pace": rate})


def _rate(schema: Schema, values: np.ndarray, j: int) -> tuple[float | None, str]:
    """How many of what column j counts the fastest people gained in a month, and which column that is measured by."""
    age = _record_age(schema, values)
    if age is None:
        return None, ""
    grown = age.months >= _YEAR
    rates = _numbers(schema.features[j], values[:, j])[grown] / age.months[grown]
    rates = rates[~np.isnan(rates)]
    return (rounded(np.quantile(rates, _FASTEST)), age.source) if len(rates) >= _FEWEST else (None, "")


def _passing(feature: Feature, cells: np.ndarray, months: float) -> Pace | None:
    """A count of the last months: it falls as they pass, from the middle one of those who have any to 0."""
    some = _numbers(feature, cells)
    some = some[some > 0]
    if not len(some):
        return None
    middle = float(np.median(some))
    rate = rounded(middle / months)
    reason = (
        f"It counts the last {number(months)} months, so it falls only as they pass: {number(middle)}, the median of "
        f"people who have any, in {number(months)} months are {number(rate)} a month."
    )
    return Pace(reason, {"pace": rate})


def _share(schema: Schema, values: np.ndarray, j: int, thing: str) -> Pace | None:
    """A share of what another column counts: one more of N moves a share of one half by 1 / 2N."""
    totals = [
        (float(np.nanmedian(_numbers(other, values[:, k]))), k)
        for k, other in enumerate(schema)
        if counted(other.name) == thing and is_count(other, values[:, k])
    ]
    median, k = max(totals, default=(0.0, -1))
    rate = _rate(schema, values, k)[0] if median > 0 else None
    high = schema.features[j].bounds[1]
    if not rate or high is None:
        return None
    pace = rounded(high * rate / (2 * median))
    reason = (
        f"It is a share of what {schema.names[k]} counts: where that is {number(median)}, the median, and "
        f"{number(rate)} are gained a month, a share of one half moves by {number(pace)} a month."
    )
    return Pace(reason, {"pace": pace})


def years_pass(feature: Feature, values: np.ndarray) -> float | None:
    """How much a person's age advances in a month; None where a column is no age, or has no numbers."""
    if not (feature.numeric and is_an_age(feature.name)) or feature.transitions or feature.fillable:
        return None
    middle = float(np.nanmedian(values)) if (~np.isnan(values)).any() else 0.0
    return units_a_month(feature.name, feature.unit) or (1 / _YEAR if _ADULT < middle < 100 else None)


def rounded(rate: float) -> float:
    """Rounded up to two significant digits: what takes three months at 1 / 3 a month takes no longer at 0.34."""
    digit = 10.0 ** (math.floor(math.log10(rate)) - 1) if rate > 0 else 1.0
    return float(f"{math.ceil(rate / digit - _EXACT) * digit:.2g}")
