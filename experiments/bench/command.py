"""`python -m experiments bench`: every method on the same rows, against the same classifiers."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attain.cli.layer import INTERRUPTED, Arguments
from attain.cli.terminal import note, say, say_json, width
from attain.core.errors import AttainError
from experiments.bench.methods import METHODS, OUTSIDE, Factory, MethodFactory

if TYPE_CHECKING:
    import pandas as pd


_QUICK_PEOPLE, _PEOPLE = 20, 100


def run(given: Arguments) -> int:
    """Performs the missing runs, writes and reports."""
    from attain.core.files import check_writable
    from benchmarks.report import made_by
    from experiments.bench.page import check_arrow, write_results
    from experiments.bench.report import bench_tables
    from experiments.bench.run import failures
    from experiments.bench.summary import summarised

    _check(given)
    if given.out is not None:
        check_arrow()
    if given.markdown is not None:
        check_writable(given.markdown)
    try:
        frame = _frame(given)
    except KeyboardInterrupt:
        if given.out is None:
            raise
        note(f"stopped; finished runs are kept in {given.out}: the same command resumes")
        return INTERRUPTED
    command = given.command or shlex.join(["python", "-m", "experiments", *sys.argv[1:]])
    made = made_by(command, given.date, given.machine)
    if given.out is not None:
        write_results(Path(given.out), frame, made)
    if given.markdown is not None:
        from experiments.bench.page import write_markdown

        write_markdown(Path(given.markdown), frame, made)
    bad = failures(frame)
    if given.json:
        say_json({"out": given.out, "failures": bad, "lines": summarised(frame).to_dict("records")})
        return 0
    print(bench_tables(frame, width()))
    for text in bad:
        note(text)
    if given.out is not None:
        say(f"\nWritten: {given.out}")
    return 0


def _frame(given: Arguments) -> pd.DataFrame:
    """The rows of every run, after performing those that are missing."""
    from experiments.bench.cases import LOADERS
    from experiments.bench.classifiers import CLASSIFIERS, QUICK
    from experiments.bench.run import read_rows, settings
    from experiments.bench.run import run as bench
    from experiments.store import Store

    parts = None if given.out is None else Path(given.out) / "runs"
    people = given.people or (_QUICK_PEOPLE if given.quick else _PEOPLE)
    for folder in given.merge:
        source = Path(folder) / "runs"
        assert parts is not None
        store = Store.opened(parts) if (parts / "settings.json").exists() else _like(parts, source)
        store.merge(source)
    if given.only_report:
        assert parts is not None
        return read_rows(Store.opened(parts))
    recipes = _methods(given.methods, given.method)
    usual = QUICK if given.quick else tuple(CLASSIFIERS)
    classifiers = _chosen("--classifiers", given.classifiers, list(CLASSIFIERS), usual)
    names = _chosen("--datasets", given.datasets, list(LOADERS), ("german",) if given.quick else tuple(LOADERS))
    if parts is not None:
        Store(parts, settings(people, given.budget))  # raises for the folder of another benchmark, before data are read
    return bench(
        [LOADERS[name]() for name in names],
        people=people,
        seeds=_seeds(given.seeds),
        classifiers={name: CLASSIFIERS[name] for name in classifiers},
        explainers=recipes,
        budget=given.budget,
        jobs=given.jobs or os.cpu_count() or 1,
        limit=given.limit,
        folder=parts,
    )


def _like(parts: Path, source: Path) -> Any:
    """A new store with the settings of another."""
    import json

    from experiments.store import Store

    Store.opened(source)
    return Store(parts, json.loads((source / "settings.json").read_text(encoding="utf-8")))


def _methods(names: str | None, outside: Sequence[str]) -> dict[str, MethodFactory]:
    """Methods of the package by name, and those from outside."""
    recipes: dict[str, MethodFactory] = {}
    if names is None:
        recipes |= METHODS
    elif names.strip().lower() != "none":
        for text in _parts(names):
            alike = [
                name for name, made in METHODS.items() if _squeezed(text) in (_squeezed(name), _squeezed(made.kind))
            ]
            if not alike:
                raise AttainError(f"--methods must be of {', '.join(METHODS)}, or none, got {text!r}")
            recipes |= {name: METHODS[name] for name in alike}
    for text in outside:
        name, equals, path = text.partition("=")
        if not equals and name not in OUTSIDE:
            raise AttainError(f"--method must be one of {', '.join(OUTSIDE)}, or NAME=module:function, got {text!r}")
        factory = Factory(path) if equals else OUTSIDE[name]
        factory.load()
        recipes[name] = factory
    if not recipes:
        raise AttainError("there is no method to run; leave --methods out for all of them, or add one with --method")
    return recipes


def _chosen(flag: str, names: str | None, known: Sequence[str], usual: Sequence[str]) -> list[str]:
    """Names from a flag, in any case, with blanks or hyphens; raises if one is unknown."""
    if names is None:
        return list(usual)
    found = []
    for text in _parts(names):
        alike = [name for name in known if _squeezed(name) == _squeezed(text)]
        if not alike:
            raise AttainError(f"{flag} must be of {', '.join(known)}, got {text!r}")
        found += alike
    if not found:
        raise AttainError(f"{flag} must name at least one of {', '.join(known)}")
    return list(dict.fromkeys(found))


def _seeds(text: str) -> list[int]:
    try:
        return list(dict.fromkeys(int(part) for part in _parts(text)))
    except ValueError:
        raise AttainError(f"--seeds must be integers separated by commas, such as 0,1,2, got {text!r}") from None


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _squeezed(text: str) -> str:
    return re.sub(r"[-_, ]", "", text).lower()


def _check(given: Arguments) -> None:
    for flag, value, least in (("--people", given.people, 1), ("--budget", given.budget, 2), ("--jobs", given.jobs, 1)):
        if value is not None and value < least:
            raise AttainError(f"{flag} must be an integer ≥ {least}, got {value}")
    if given.limit is not None and given.limit <= 0:
        raise AttainError(f"--limit must be a number of seconds > 0, got {given.limit}")
    if min(_seeds(given.seeds), default=-1) < 0:
        raise AttainError(f"--seeds must be integers ≥ 0, got {given.seeds!r}")
    if given.out is None and (given.merge or given.only_report):
        raise AttainError("--merge and --only-report need a folder; name it with --out")
    if given.out is not None and Path(given.out).is_file():
        raise AttainError(f"--out must be a folder, got the file {given.out!r}")
