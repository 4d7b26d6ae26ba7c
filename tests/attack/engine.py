"""Calls the engine with hostile numbers and arrays: `python -m tests.attack.engine --worlds 2000`.

A world is a made-up schema with people, real rows, models and limits, in which any number may be NaN, infinite, −0.0,
huge or denormal. Each of its cases is one call of the engine, with arrays that may also be read-only, empty, not
contiguous, of another type or of another shape. A case must return, or raise an error about what was given; a process
that dies or does not end is a failure, reported with the number of its world, by which `--first` repeats it.
"""

import argparse
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from attain.core.errors import AttainError
from attain.engine.cells import on_grid, snapped, spacing
from attain.engine.score import LeastScore, LinearSums, Score, States, SumScore
from attain.engine.search import Search
from attain.engine.trees import TreeSums
from attain.methods.guarded.search import GuardedSearch, ShiftCosts, engine_crowds
from attain.methods.guarded.settings import GuardedSettings
from attain.population.guard import Guard, GuardSettings
from attain.population.measuring import Percentiles
from attain.population.population import Reference, Scale
from attain.population.relations import Relations
from attain.population.space import MeasuringSpace
from attain.tables import Region
from tests.engine.made_up import candidates, case

NUMBERS = (np.nan, -np.nan, np.inf, -np.inf, -0.0, 0.0, 1e308, -1e308, 1.7e308, 1e200, 5e-324, -5e-324, 2.0**63, -9.0)
EXPECTED = (ValueError, TypeError, IndexError, OverflowError, AttainError)
CASES = 50
"""Cases of a world."""
PATIENCE = 120
"""Seconds that the worlds of one process may take, for each."""


def hostile(cells: np.ndarray, random: np.random.Generator, share: float = 0.1) -> np.ndarray:
    """The numbers with some of them replaced."""
    chosen = random.choice(NUMBERS, cells.shape)
    return np.where(random.random(cells.shape) < share * (random.random() < 0.7), chosen, cells)


FORMS: tuple[Callable[[np.ndarray], Any], ...] = (
    *(lambda array: array[:0], lambda array: array[::-1], lambda array: array[..., 1:], lambda array: array[:-1]),
    *(lambda array: array[None], lambda array: array.astype(object), np.asfortranarray),
    lambda array: array.astype(np.float32 if array.dtype == np.float64 else np.int8),
    lambda array: np.concatenate((array, array), axis=-1),
    lambda array: np.frombuffer(b"\0" + array.tobytes(), np.uint8)[1:].view(array.dtype).reshape(array.shape),
    lambda array: array.setflags(write=False) or array,
)
"""Other types, shapes and layouts; the one before the last is not aligned, and the last is read-only."""


def strange(array: np.ndarray, random: np.random.Generator) -> Any:
    """The array itself, or one in another form or of another shape."""
    chosen = int(random.integers(24))
    return FORMS[chosen](array) if chosen < len(FORMS) else array


def scores(region: Region, random: np.random.Generator) -> tuple[States, list[Score], TreeSums]:
    """States of the columns, a linear score, one of trees and the least of both, with any numbers in them."""
    features = region.schema.features
    numeric = np.array([feature.numeric for feature in features])
    codes = [[*(f.special if f.numeric else range(len(f.levels))), np.nan] for f in features]
    states = States(numeric, np.cumsum([0, *map(len, codes)]), np.concatenate(codes))
    d, s, width = len(features), sum(map(len, codes)), int(random.integers(1, 4))
    constant, slopes, terms = (hostile(random.normal(size=n), random) for n in ((width,), (d, width), (s, width)))
    linear = LinearSums(states, constant, slopes, terms)
    trees, leaves = 3, 4  # whole trees of two levels
    nodes = np.zeros(trees * 7, dtype=[("threshold", "f8"), ("column", "i4"), ("child", "i4")])
    inner = np.arange(trees * 7) % 7 < 3
    nodes["column"] = np.where(inner, random.integers(0, d, len(nodes)), -1)
    nodes["threshold"] = hostile(random.normal(3, 4, len(nodes)), random)
    nodes["child"] = [7 * (i // 7) + 2 * (i % 7) + 1 if inner[i] else leaves * (i // 7) + i % 7 - 3 for i in range(21)]
    begin, roots = s * np.arange(len(nodes)), 7 * np.arange(trees)
    sides = random.integers(0, 2, s * len(nodes))
    values = hostile(random.normal(size=(trees * leaves, width)), random)
    group, single = np.zeros(trees, dtype=np.intp), bool(random.random() < 0.5)
    summed = TreeSums(states, random.random(s) < 0.1, (nodes, begin, sides), (roots, group), values, constant, single)
    target = int(random.integers(-1, width)) if width > 1 else -1
    one, other = (
        SumScore(some, random.choice([1.0, 1e300]), 0.1, target, random.choice([0.0, 1.0])) for some in (linear, summed)
    )
    return states, [one, other, LeastScore(one, other)], summed


def search_of(region: Region, train: np.ndarray, random: np.random.Generator) -> GuardedSearch:
    """A guarded search among real rows."""
    schema, crowd = region.schema, int(random.choice([40, 8000]))
    settings = GuardedSettings(guard=GuardSettings(neighbours=(2, 5), min_rows=3, max_crowd=crowd), shortlist=20)
    space = MeasuringSpace.fit(schema, train)
    reference = Reference.build(schema, train, met=np.ones(len(train), dtype=bool), space=space)
    guard = Guard.fit(random.choice(["connected", "typical"]), reference, train[::3], settings.guard)
    costs = ShiftCosts(Percentiles.fit(schema, train), *hostile(np.array([0.5, 0.02]), random, 0.02))
    relations = Relations.fit(schema, train)
    return GuardedSearch(guard, relations, engine_crowds(guard), (0.2, 0.02), costs, Scale(schema, train), 1, settings)


def searched(search: GuardedSearch, region: Region, score: Score | None, random: np.random.Generator) -> None:
    """One person's search, with answers of any number where it asks."""
    problem: Any = SimpleNamespace(region=region, options=int(random.integers(1, 4)))
    one = Search(search._engine_people(problem, score, bool(random.random() < 0.2)))
    owner = int(random.integers(-1, len(region) + 1)) if random.random() < 0.1 else 0
    one.begin(owner, int(random.choice([0, 1, 50, 400])), strange(hostile(region.factuals[:3], random), random))
    if score is not None and random.random() < 0.9:
        one.run()
    for _ in range(30):
        n = len(one.propose())
        one.receive(random.integers(0, 2, n).astype(np.uint8), hostile(random.normal(size=n), random))
    one.receive(*(strange(np.zeros(3, dtype=kind), random) for kind in (np.uint8, np.float64)))
    one.answers()


def cases(seed: int) -> Iterator[Callable[[], Any]]:
    """The calls of a world."""
    region, random = case(seed)
    train = hostile(candidates(region, random, int(random.choice([3, 20, 200])))[0], random, 0.02)
    arrays = {name: hostile(getattr(region, name), random) for name in ("factuals", "start", "low", "high", "cost")}
    region, d = replace(region, **arrays), train.shape[1]
    states, models, trees = scores(region, random)
    found: list[Any] = []

    def search() -> GuardedSearch:
        found[:] = found or [search_of(region, train, random)]
        return found[0]

    for _ in range(CASES):
        rows, owners, guides = candidates(region, random, int(random.integers(1, 9)))
        rows, column = strange(hostile(rows, random), random), int(random.integers(-1, d + 1))
        owners, guides = (strange(part, random) for part in (owners, guides))
        numbers, score = hostile(random.normal(size=6), random, 0.5), models[random.integers(3)]
        step = random.choice([None, 1.0, 0.1, 1 / 3, 1e-300, 1e300, 5e-324])
        weights = np.abs(hostile(random.normal(size=(d + 1, d + 1)), random))
        calls: list[Callable[[], Any]] = [
            partial(region.settler.settled, rows, owners, guides if random.random() < 0.5 else None),
            partial(region.settler.kept, rows, owners),
            partial(region.book.kept, rows),
            partial(region.book.engine.computed, rows, guides, True),
            partial(on_grid, rows, step),
            partial(spacing, rows, step),
            partial(snapped, numbers, step, numbers[::-1], numbers + 1),
            partial(states.of_column, column, strange(numbers, random)),
            partial(score.leads, rows),
            partial(score.leads_along, rows, column, strange(numbers, random)),
            partial(trees, rows),
            partial(trees.leaves_of, rows),
            partial(trees.shapley, rows, guides, weights),
            lambda rows=rows: search().guard.crowd.space.engine.points(rows),
            lambda rows=rows: search().relations.engine.offs(rows),
            lambda rows=rows: search().costs.engine.ranks(rows),
            lambda rows=rows, guides=guides: search().costs.engine.costs(rows, guides, guides),
            *(lambda score=some: searched(search(), region, score, random) for some in (None, *models, score)),
        ]
        yield calls[random.integers(len(calls))]


def outcomes(seed: int) -> Counter[str]:
    """How the calls of a world ended: `returned`, or `refused` with an error about what was given."""
    found: Counter[str] = Counter()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for call in cases(seed):
            try:
                call()
                found["returned"] += 1
            except EXPECTED:
                found["refused"] += 1
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=2000, help=f"how many, of {CASES} cases each (default 2000)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first (default 0)")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        for seed in range(given.first, given.first + given.worlds):
            print(seed, flush=True)
            found = outcomes(seed)
            print(seed, *map(found.__getitem__, ("returned", "refused")), flush=True)
        return 0
    counts, first, failed = np.zeros(2, dtype=int), given.first, 0
    while first < given.first + given.worlds:
        at_once = min(100, given.first + given.worlds - first)
        command = [sys.executable, "-m", "tests.attack.engine", "--work", f"--first={first}", f"--worlds={at_once}"]
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=PATIENCE * at_once, check=False)
            output, code = done.stdout, done.returncode
        except subprocess.TimeoutExpired as error:
            output, code = (error.stdout or b"").decode(), "no end"
        lines = [line.split() for line in output.splitlines()]
        counts += np.sum([[int(count) for count in line[1:]] for line in lines if len(line) == 3] or [[0, 0]], axis=0)
        if code:
            failed += 1
            print(f"world {lines[-1][0]}: {code}", flush=True)
        first = int(lines[-1][0]) + 1
        print(
            f"{first - given.first} worlds: {counts[0]} calls returned, {counts[1]} refused, {failed} failed",
            flush=True,
        )
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
