"""Made-up schemas of every kind, with a few people and what a search may propose to them."""

import math
from typing import Any

import numpy as np
import pandas as pd

from attain.schema import Constraints, Feature, Schema
from attain.schema.laws import Law
from attain.tables import Region, RuleBook, Table

LEVELS = ("low", "mid", "high", "top")
# fmt: off
RULES = (
    "n0 <= n1", "n1 >= n2", "n0 + 2 * n1 <= 40", "n0 = n1 + n2", "n3 - n0 < 25", "abs(n0 - n1) <= 30", "n0 > -12",
    "n1 in (2, 3, 5, 7)", "n2 in (4)", "c0 = low or n0 >= 2", "if c0 = low then n1 <= 6",
    "if c0 in (mid, high) then n0 >= 3 and n1 <= 12", "if n0 >= 5 or o0 = top then o1 <= mid",
    "if n0 > n1 then n2 = 3", "not (c0 = high and o0 >= mid and n0 >= 4)", "not n3 is missing or n2 <= 10", "n0 ≠ 3",
    "c0 ≠ c1", "o0 <= o1", "n0 * n1 <= 90", "n3 / n1 <= 8", "min(n0, n1) <= max(n2, 4)", "sqrt(abs(n0)) <= 5",
    "log(abs(n1) + 1) <= 2.5", "exp(n0 / 4) <= 90", "n2 ** 2 <= 110", "floor(n0 / 2) <= ceil(n3)",
    "n2 = -9 or n2 >= 0", "if n2 = -9 then c0 = low",
)
LAWS = (
    "n1 = table(c0, {low: 2, mid: 5, high: 9, top: 12})", "n3 = n0 + n1", "n3 = n0 / n1", "abs(n3 - n0 / n1) <= 0.05",
    "o1 = table(o0, {low: low, mid: low, high: high, top: top})", "n0 <= n3 and n1 <= 30",
)
# fmt: on


def some(random: np.random.Generator, **given: tuple[float, Any]) -> dict[str, Any]:
    """Each of the values given with the chance given."""
    return {name: value for name, (chance, value) in given.items() if random.random() < chance}


def number(random: np.random.Generator, name: str, **given: Any) -> Feature:
    kind = random.choice(["real", "count", "positive"])
    more = some(
        random,
        direction=(0.3, str(random.choice(["increase", "decrease"]))),
        range=(0.3, (-float(random.integers(0, 6)) / 2, float(random.integers(0, 9)) / 2)),
        bounds=(0.3, (0.0, float(random.integers(10, 30)))),
        special=(0.4, {-9: "none", -8: "other"}),
        pace=(0.2, float(random.choice([0.5, 1.0, 0.3]))),
        fillable=(0.2, True),
        immutable=(0.1, True),
    )
    if kind != "count":
        more["step"] = [None, 1.0, 0.5, 0.1, 0.25, 2.0, 1 / 3][random.integers(7)]
    if "special" in more:
        more |= some(random, transitions=(0.6, {-9: ("value",), "value": ("value", -8)}))
    if "immutable" not in more:
        more |= some(random, immutable_if=(0.15, "c0 = mid"))
    return Feature(name, kind, **(more | given))


def level(random: np.random.Generator, name: str, kind: Any) -> Feature:
    more = some(
        random,
        transitions=(0.3, {"mid": ("low", "high"), "top": ()}),
        avoid=(0.2, ("high",)),
        direction=(0.3 * (kind == "ordinal"), str(random.choice(["increase", "decrease"]))),
        pace=(0.2, 0.5),
        fillable=(0.2, True),
    )
    return Feature(name, kind, levels=LEVELS, **more)


def clock(random: np.random.Generator, name: str) -> Feature:
    rate = [True, 1 / 12, 0.5][random.integers(3)]
    if random.random() < 0.3:
        return Feature(name, "ordinal", levels=LEVELS, clock=1 / 12)
    special = {98: "unknown"} if random.random() < 0.5 else {}
    step = None if random.random() < 0.2 else float(random.choice([1.0, 0.5]))
    return Feature(name, "positive", step=step, clock=rate, special=special, immutable=bool(random.random() < 0.3))


def derived(random: np.random.Generator) -> list[Feature]:
    share = Feature("d0", "real", derived="n0 / n1", step=None if random.random() < 0.5 else 0.01)
    total = Feature("d1", "real", derived="d0 * 2 + round(n2)", bounds=(-50, 100))
    product = number(random, "f0", follows="n0 * n1", immutable=False, immutable_if=None, pace=None)
    chained = Feature("f1", "real", follows="f0 / n2 + d0", step=None if random.random() < 0.5 else 0.5)
    found = [share, total] if random.random() < 0.4 else []
    found += [product] if random.random() < 0.4 else []
    return [*found, chained] if len(found) == 3 else found


def cells(random: np.random.Generator, feature: Feature, n: int) -> np.ndarray:
    if feature.levels:
        found = random.integers(0, len(LEVELS), n).astype(float)
    else:
        found = np.round(random.normal(6, 6, n), random.integers(0, 4))
        found = np.where(random.random(n) < 0.3, np.rint(found), found)
        low, high = feature.bounds
        found = np.clip(found, -math.inf if low is None else low, math.inf if high is None else high)
        found = np.rint(found) if feature.kind == "count" else found
        codes = [*feature.special, found[0]]
        found = np.where(random.random(n) < 0.15, random.choice(codes, n), found)
    return np.where((random.random(n) < 0.1) & (feature.derived is None), math.nan, found)


def case(seed: int) -> tuple[Region, np.random.Generator]:
    """A region of a few rows, with rules, laws, computed columns, clocks and paces, and constraints."""
    random = np.random.default_rng(seed)
    features = [number(random, f"n{i}") for i in range(4)]
    features += [level(random, f"c{i}", "categorical") for i in range(2)]
    features += [level(random, f"o{i}", "ordinal") for i in range(2)]
    features += [clock(random, f"t{i}") for i in range(random.integers(0, 3))]
    features += derived(random)
    rules = tuple(random.choice(RULES, random.integers(0, 4), replace=False).tolist())
    laws = random.choice([*RULES, *LAWS], random.integers(0, 4), replace=False).tolist()
    schema = Schema(tuple(random.permutation(np.array(features, dtype=object)).tolist()), rules)
    n = 6
    codes = {feature.name: cells(random, feature, n) for feature in schema}
    frame = pd.DataFrame({
        name: [None if math.isnan(code) else LEVELS[int(code)] for code in column] if schema[name].levels else column
        for name, column in codes.items()
    })  # fmt: skip
    given_ = some(random, max_changes=(0.3, int(random.integers(1, 5))), bounds=(0.3, {"n0": (2.25, 9.5)}))
    given_ |= some(random, immutable=(0.2, ["n2"]))
    if schema.clocks or schema.paced:
        given_ |= some(random, max_months=(0.3, int(random.integers(0, 30))))
    book = RuleBook(schema, [Law(law) for law in laws])
    return Region.of(Table.read(frame, schema), Constraints.of(given_), book=book), random


def candidates(region: Region, random: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Changed rows, their owners, and guides: cells of other rows, moved ones, codes, missing ones, any number."""
    owners = random.integers(0, len(region), n)
    rows = region.factuals[owners].copy()
    others = region.factuals[random.integers(0, len(region), rows.shape), np.arange(rows.shape[1])]
    moved = rows + np.round(random.normal(0, 4, rows.shape), 2)
    strange = random.choice([-9.0, -8.0, 98.0, 0.0, -0.0, math.nan, 1e9, -3.7, 0.123456789, 1e12], rows.shape)
    kind = random.choice(4, rows.shape, p=[0.6, 0.15, 0.2, 0.05])
    rows = np.choose(kind, [rows, others, moved, strange])
    return rows, owners, region.factuals[random.integers(0, len(region), n)]
