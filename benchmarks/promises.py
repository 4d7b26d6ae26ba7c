"""Promises kept on random schemas: `python -m benchmarks.promises`.

Answers of all methods are checked by code that shares nothing with the package's: rules, laws, conditions and derived
columns as Python functions (`benchmarks.random_schemas`), single columns by `tests.changes`, the decision by the
classifier itself, about the frame that comes out.

Checked for each answer: the classifier decides as asked about the frame that came out; immutable cells are the same to
the bit; bounds, steps, directions, ranges, reach, transitions, special codes and missing cells; rules and conditions;
laws that the person keeps; derived columns; the constraints of the call. For each call: dtypes, statuses, the budget,
and that people without an answer have their own record. A refusal is an error in a sentence, such as for a classifier
that a method does not take; a call is interrupted after 30 CPU seconds, and what it found until then is checked. What
was tried is kept, one line for each schema and method, so that a run that was stopped goes on where it was.

    python -m benchmarks.promises --schemas 160 --kept promises.jsonl
    python -m benchmarks.promises --until-stopped --first 1000 --jobs 2      # writes nothing; also `make attack`
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from attain import methods
from attain.core.errors import AttainError, Interrupted
from attain.results.counterfactuals import Counterfactuals
from attain.results.status import Status
from benchmarks import report
from benchmarks.random_schemas import World, make_world, record
from tests.changes import faults

METHODS = tuple(name for name in methods.__all__ if name != "Explainer")
ONLY: dict[str, tuple[str, ...]] = {
    "FeatureTweaking": ("tree", "forest"),
    "Russell": ("linear",),
    "BudgetedInverseClassification": ("linear",),
}
"""The classifiers that a method takes, where it does not take all."""
LATENT, EVERY = ("CCHVAE", "REVISE"), 8
"""Methods with an autoencoder, which is compiled anew for each schema: tried on one schema in so many."""
OPTIONS, BUDGET, SECONDS = 8, 2_000, 30
FEW = {"ActionableRecourse": 12, "Russell": 40, "Guarded": 80, "REVISE": 60, "BudgetedInverseClassification": 60}
"""How many people methods are asked about that take longer; others are asked about all."""
LIBRARIES = ("pandas", "pandas", "polars", "pyarrow")


def main(arguments: Sequence[str] | None = None) -> None:
    """Tries what was not tried yet, and writes the table of all that was."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schemas", type=int, default=160)
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--kept", type=Path, default=Path("promises.jsonl"))
    parser.add_argument("--seconds", type=float, default=1500, help="seconds after which nothing new is begun")
    parser.add_argument("--until-stopped", action="store_true", help="schema after schema, until Ctrl-C or --seconds")
    parser.add_argument("--first", type=int, default=None, help="the first schema of --until-stopped (default: random)")
    parser.add_argument("--jobs", type=int, default=1, help="processes of --until-stopped")
    given = parser.parse_args(arguments)
    if given.until_stopped:
        first = int.from_bytes(os.urandom(4)) if given.first is None else given.first
        sys.exit(1 if attack(first, given.methods, given.jobs, given.seconds) else 0)
    lines = given.kept.read_text(encoding="utf-8").splitlines() if given.kept.exists() else []
    known = [json.loads(line) for line in lines]
    done = {(line["schema"], line["method"]) for line in known}
    with given.kept.open("a", encoding="utf-8") as file:
        for seed in range(given.schemas):
            wanted = [name for name in given.methods if (seed, name) not in done]
            for line in tried(seed, wanted) if wanted else ():
                file.write(json.dumps(line) + "\n")
                file.flush()
                known.append(line)
            if time.process_time() > given.seconds:
                break
    report.write(__doc__, *body(known))


def attack(first: int, names: Sequence[str], jobs: int, seconds: float) -> int:
    """Tries schemas from `first` on, prints each failure and the counts so far, and returns the number of failures."""
    counts = {name: Counter[str]() for name in (*names, "all")}
    until = time.monotonic() + seconds
    with Pool(jobs, signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool:
        try:
            for start in itertools.count(first, 4 * jobs):
                for lines in pool.imap_unordered(partial(_all_tried, names=names), range(start, start + 4 * jobs)):
                    counts["all"]["schemas"] += 1
                    for line in lines:
                        found = {name: line[name] for name in ("people", "answers")}
                        found |= {"refusals": "refused" in line, "failures": len(line["complaints"])}
                        counts[line["method"]].update({"schemas": 1, **found})
                        counts["all"].update(found)
                        for complaint in line["complaints"]:
                            print(f"FAILED: schema {line['schema']}, {line['method']}: {complaint}", flush=True)
                print(_counted(counts["all"]), flush=True)
                if time.monotonic() > until:
                    break
        except KeyboardInterrupt:
            print()
    print(f"From schema {first} on:")
    for name, found in counts.items():
        print(f"{name:30s} {_counted(found)}")
    return counts["all"]["failures"]


def _counted(found: Counter[str]) -> str:
    return ", ".join(f"{found[name]:,} {name}" for name in ("schemas", "people", "answers", "refusals", "failures"))


def _all_tried(seed: int, names: Sequence[str]) -> list[dict[str, Any]]:
    return list(tried(seed, names))


def tried(seed: int, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """For each method that takes the classifier, what was tried on a random schema, and what failed."""
    warnings.simplefilter("ignore")
    everybody = make_world(seed)
    for name in names:
        world = replace(everybody, people=everybody.people.iloc[-FEW.get(name, len(everybody.people)) :])
        if world.kind not in ONLY.get(name, (world.kind,)) or (name in LATENT and seed % EVERY):
            continue
        yield {"schema": seed, "method": name, "model": world.kind, **outcome(world, name, LIBRARIES[seed % 4])}


def outcome(world: World, name: str, library: str) -> dict[str, Any]:
    """The answers of a method to all people of a world, counted, with every complaint about them."""
    started = time.process_time()
    interrupted = False
    try:
        explainer = getattr(methods, name)(world.schema, budget=BUDGET, **options(world, name))
        explainer.fit(world.train, world.labels.tolist())
        people = _as(library, world.people)
        with _limited(SECONDS):
            result = explainer.explain(
                world.model, people, target=world.target, n=OPTIONS, constraints=world.constraints
            )
    except Interrupted as stopped:
        result, interrupted = stopped.result, True
    except AttainError as error:  # a refusal, in a sentence
        return {"people": 0, "answers": 0, "refused": str(error), "complaints": [], "seconds": 0.0}
    except Exception as error:
        return {"people": 0, "answers": 0, "complaints": [f"raised {type(error).__name__}: {error}"], "seconds": 0.0}
    complaints = [
        *check(world, result, library),
        *(f"a search ended with {error}" for error in result.failures.values()),
    ]
    statuses = Counter(status.name for status in result.statuses)
    return {
        "people": len(result),
        "answers": len(result.rows),
        "interrupted": interrupted,
        "statuses": dict(statuses),
        "complaints": complaints,
        "seconds": round(time.process_time() - started, 2),
    }


def options(world: World, name: str) -> dict[str, Any]:
    """Parameters that keep a method quick."""
    if name in LATENT:
        from attain.density import CHVAE

        return {"autoencoder": CHVAE(world.schema, likelihoods="paper", hidden=0, epochs=3, verbose=False)}
    return {"grid": 50} if name == "ActionableRecourse" else {}


def check(world: World, result: Counterfactuals, library: str) -> Iterator[str]:
    """What is wrong with a result, in words."""
    people, listed, frame = world.people, _pandas(result.options), _pandas(result.frame)
    listed, frame = (one.astype(world.people.dtypes.to_dict()) for one in (listed, frame))
    frame.index = people.index
    if library == "pandas" and not result.frame.dtypes.equals(people.dtypes):
        yield "dtypes: the frame has others than the people's"
    refused = world.predict(people) != world.target
    for label, status, was_refused in zip(people.index, result.statuses, refused, strict=True):
        if (status is Status.ALREADY_DESIRED) == bool(was_refused) and status is not Status.UNREADABLE:
            yield f"status: {label} is {status.name}, but the classifier {'refused' if was_refused else 'accepted'}"
    if (np.asarray(result.person_figures["rows_scored"]) > BUDGET).any():
        yield "budget: exceeded"
    found = np.asarray(result.found)
    if not frame[~found].equals(people[~found]):
        yield "frame: somebody without an answer does not have their own record"
    if not len(listed):
        return
    flipped = world.predict(listed[people.columns.tolist()]) == world.target
    befores = people.to_dict("records")
    afters = listed[people.columns.tolist()].to_dict("records")
    for owner, after, flips in zip(result.owners, afters, flipped, strict=True):
        label = people.index[owner]
        if not flips:
            yield f"decision: an answer of {label} does not flip it"
        yield from (f"{what} ({label})" for what in wrong(world, befores[owner], after))


def wrong(world: World, before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    """What is wrong with changing one record into another."""
    schema = world.schema
    old, new = record(before, schema), record(after, schema)
    yield from faults(schema, old, new)
    changed = {name for name in old if not _same(before[name], after[name])}
    known_old, known_new = (record(one, schema, known_only=True) for one in (before, after))
    yield from (f"rule: {rule.text}" for rule in world.rules if rule.holds(known_new) is False)
    for law in world.laws:
        if law.holds(known_new) is False and law.holds(known_old) is not False:
            yield f"law: {law.text}"
    for one in schema:
        if one.immutable and one.clock is None and one.name in changed:
            yield f"immutable: {one.name} {before[one.name]!r} → {after[one.name]!r}"
    for name, rule in world.conditions.items():
        if name in changed and rule.holds(known_old):
            yield f"immutable_if: {name}"
    for name, (sources, made) in world.derived.items():
        value = made(new) if changed & set(sources) else before[name]
        if abs(after[name] - value) > 1e-5 * max(abs(value), 1e-3):
            yield f"derived: {name} is {after[name]!r}, not {value!r}"
    yield from _against_constraints(world, old, new, changed)


def _against_constraints(world: World, old: dict[str, Any], new: dict[str, Any], changed: set[str]) -> Iterator[str]:
    given = world.constraints
    yield from (f"constraint: {name} is immutable" for name in given.get("immutable", ()) if name in changed)
    for name, way in given.get("direction", {}).items():
        one = world.schema[name]
        ends = [None if row[name] in one.special else row[name] for row in (old, new)]
        if name in changed and None not in ends:
            low, high = (one.levels.index(end) if one.levels else end for end in ends)
            if (high < low) == (way == "increase"):
                yield f"constraint: {name} may only {way}"
    clocks = {one.name for one in world.schema if one.clock is not None}
    counted = len(changed - clocks - set(world.derived)) + bool(changed & clocks)
    if counted > given.get("max_changes", counted):
        yield f"constraint: {counted} changes"


def body(known: Sequence[dict[str, Any]]) -> tuple[str, str]:
    """The table of all that is kept, one row for each method."""
    rows = []
    for name in (*METHODS, "all"):
        mine = [line for line in known if name in (line["method"], "all")]
        answers, complaints = (
            sum(values) for values in ([x["answers"] for x in mine], [len(x["complaints"]) for x in mine])
        )
        people, spent = sum(line["people"] for line in mine), sum(line["seconds"] for line in mine)
        refusals = sum("refused" in line for line in mine)
        stopped = sum(line.get("interrupted", False) for line in mine)
        row = (
            name,
            len({line["schema"] for line in mine}),
            f"{people:,}",
            f"{answers:,}",
            complaints,
            refusals,
            stopped,
        )
        rows.append((*row, f"{spent:,.0f}"))
    header = ("method", "schemas", "people", "answers checked", "failures", "refusals", "interrupted", "CPU s")
    kinds = Counter(what.split(":")[0] for line in known for what in line["complaints"])
    said = ", ".join(f"{kind} ({count})" for kind, count in kinds.most_common()) or "none"
    return report.table(header, rows), f"Failures by kind: {said}."


class _limited:
    """Ctrl-C after some CPU seconds."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __enter__(self) -> None:
        signal.signal(signal.SIGVTALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_VIRTUAL, self._seconds)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _as(library: str, frame: pd.DataFrame) -> Any:
    if library == "polars":
        import polars

        return polars.from_pandas(frame)
    if library == "pyarrow":
        import pyarrow

        return pyarrow.Table.from_pandas(frame, preserve_index=False)
    return frame


def _pandas(frame: Any) -> pd.DataFrame:
    return frame.copy() if isinstance(frame, pd.DataFrame) else frame.to_pandas()


def _same(one: Any, other: Any) -> bool:
    """Equal to the bit, or both missing."""
    if pd.isna(one) or pd.isna(other):
        return bool(pd.isna(one) and pd.isna(other))
    if isinstance(one, float):
        return np.float64(one).tobytes() == np.float64(other).tobytes()
    return bool(one == other)


if __name__ == "__main__":
    main()
