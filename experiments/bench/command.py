"""`python -m experiments bench`: every method on the same people, against the same classifiers."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attain.cli.arguments import add_command, add_json
from attain.core.errors import AttainError

if TYPE_CHECKING:
    import pandas as pd

    from attain.datasets import Dataset
    from experiments.bench.methods import Recipe

_HELP = "compare every method on real people: validity, rules, difficulty, faithfulness, speed"
_EPILOG = """examples:
  python -m experiments bench --quick
  python -m experiments bench --out results --datasets german,compas --seeds 0,1,2
  python -m experiments bench --out results --methods cchvae,face --method mine=package.module:make
  python -m experiments bench --out all --merge results other --only-report

--methods cchvae means both of its searches, the guarded one and Algorithm 1.

A run that was stopped goes on where it was when the same command is given again. In the folder: people.parquet (one row
for each person of each cell), summary.parquet, index.html, pictures, and the parts of which they are made.
"""
_QUICK_PEOPLE, _PEOPLE = 20, 100


def register(commands: Any) -> None:
    """Adds the command to the parser."""
    command = add_command(commands, "bench", _HELP, _EPILOG)
    add = command.add_argument
    add("--quick", action="store_true", help="German credit and three classifiers, 20 people; a minute or two")
    add("--datasets", metavar="NAMES", help="german, heloc, gmsc, adult, compas, separated by commas (default: all)")
    add("--classifiers", metavar="NAMES", help="such as logistic-regression,random-forest (default: all five)")
    add("--methods", metavar="NAMES", help="such as cchvae,growing-spheres (default: all), or none")
    add(
        "--method",
        metavar="NAME",
        action="append",
        default=[],
        help="a method from outside as well: dice-genetic, dice-random, dice-kdtree, treecf, treecf-exact (where they "
        "are installed), or NAME=module:function, a function of schema and seed",
    )
    add("--seeds", default="0", help="of split, classifiers and methods, separated by commas (default 0)")
    add("--people", type=int, help="how many refused people are explained (default 100; with --quick 20)")
    add("--budget", type=int, metavar="ROWS", help="the most rows scored for one person (default: each method's own)")
    add("--jobs", type=int, help="how many processes, one thread each (default: the number of cores)")
    add("--limit", type=float, metavar="SECONDS", help="stop a cell that takes longer (default: none is stopped)")
    add("--out", metavar="FOLDER", help="where everything goes, and from where a stopped run goes on")
    add("--merge", metavar="FOLDER", nargs="+", default=[], help="first take what these folders of --out have")
    add("--only-report", action="store_true", help="run nothing: tables, pictures and page of what --out has")
    add("--markdown", metavar="FILE", help="also write the tables as Markdown")
    add("--date", help="the date told on the page (default: today)")
    add("--machine", help="the machine told on the page, where the cells were run on another (default: this one)")
    add("--command", dest="told", help="the command told on the page, where others made the parts (default: this one)")
    add_json(command)
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Runs what is not done yet, writes and reports."""
    from attain.cli.exits import INTERRUPTED
    from attain.cli.terminal import note, say, say_json, width
    from attain.core.files import check_writable
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
        note(f"stopped; what was done is kept in {given.out}: the same command goes on from there")
        return INTERRUPTED
    circumstances = _circumstances(given)
    if given.out is not None:
        write_results(Path(given.out), frame, circumstances)
    if given.markdown is not None:
        from experiments.bench.page import write_markdown

        write_markdown(Path(given.markdown), frame, circumstances)
    bad = failures(frame)
    if given.json:
        say_json({"out": given.out, "failures": bad, "cells": summarised(frame).to_dict("records")})
        return 0
    print(bench_tables(frame, width()))
    for text in bad:
        note(text)
    if given.out is not None:
        say(f"\nWritten: {given.out}")
    return 0


def _frame(given: argparse.Namespace) -> pd.DataFrame:
    """The people of every cell, after running those that are wanted and not done."""
    from experiments.bench.classifiers import CLASSIFIERS, QUICK
    from experiments.bench.run import read_people, settings
    from experiments.bench.run import run as bench
    from experiments.store import Store

    parts = None if given.out is None else Path(given.out) / "parts"
    people = given.people or (_QUICK_PEOPLE if given.quick else _PEOPLE)
    for folder in given.merge:
        source = Path(folder) / "parts"
        assert parts is not None
        store = Store.opened(parts) if (parts / "settings.json").exists() else _like(parts, source)
        store.take(source)
    if given.only_report:
        assert parts is not None
        return read_people(Store.opened(parts))
    recipes = _methods(given.methods, given.method)
    usual = QUICK if given.quick else tuple(CLASSIFIERS)
    classifiers = _chosen("--classifiers", given.classifiers, list(CLASSIFIERS), usual)
    loaders = _loaders()
    names = _chosen("--datasets", given.datasets, list(loaders), ("german",) if given.quick else tuple(loaders))
    if parts is not None:
        Store(parts, settings(people, given.budget))  # refuses another run's folder before data are read
    return bench(
        [loaders[name]() for name in names],
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


def _loaders() -> dict[str, Callable[[], Dataset]]:
    """HELOC and GMSC as in the paper: without missing values, so that every classifier takes them."""
    from attain import datasets

    return {
        "german": datasets.load_german,
        "heloc": lambda: datasets.load_heloc(version="paper"),
        "gmsc": lambda: datasets.load_gmsc(version="paper"),
        "adult": datasets.load_adult,
        "compas": datasets.load_compas,
    }


def _methods(names: str | None, outside: Sequence[str]) -> dict[str, Recipe]:
    """Methods of the package by name, and those from outside."""
    from experiments.bench.methods import METHODS, OUTSIDE, Factory

    recipes: dict[str, Recipe] = {}
    if names is None:
        recipes |= METHODS
    elif names.strip().lower() != "none":
        for text in _parts(names):
            alike = [
                name for name, made in METHODS.items() if _squeezed(text) in (_squeezed(name), _squeezed(made.kind))
            ]
            if not alike:
                raise AttainError(f"--methods names {text!r}; it takes {', '.join(METHODS)}, or none")
            recipes |= {name: METHODS[name] for name in alike}
    for text in outside:
        name, equals, path = text.partition("=")
        if not equals and name not in OUTSIDE:
            raise AttainError(f"--method is {text!r}; it takes {', '.join(OUTSIDE)}, or NAME=module:function")
        factory = Factory(path) if equals else OUTSIDE[name]
        factory.load()
        recipes[name] = factory
    if not recipes:
        raise AttainError("no method is named; leave --methods out for all of them, or name one with --method")
    return recipes


def _chosen(flag: str, names: str | None, known: Sequence[str], usual: Sequence[str]) -> list[str]:
    """Names from a flag, in any case, with blanks or hyphens; each must be known."""
    if names is None:
        return list(usual)
    found = []
    for text in _parts(names):
        alike = [name for name in known if _squeezed(name) == _squeezed(text)]
        if not alike:
            raise AttainError(f"{flag} names {text!r}; it takes {', '.join(known)}")
        found += alike
    if not found:
        raise AttainError(f"{flag} is empty; it takes {', '.join(known)}")
    return list(dict.fromkeys(found))


def _seeds(text: str) -> list[int]:
    try:
        return list(dict.fromkeys(int(part) for part in _parts(text)))
    except ValueError:
        raise AttainError(f"--seeds is {text!r}; it takes whole numbers separated by commas, such as 0,1,2") from None


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _squeezed(text: str) -> str:
    return re.sub(r"[-_, ]", "", text).lower()


def _circumstances(given: argparse.Namespace) -> Any:
    from experiments.bench.page import Circumstances, this_machine

    command = given.told or shlex.join(["attain", *sys.argv[1:]])
    return Circumstances(command, given.date or date.today().isoformat(), given.machine or this_machine())


def _check(given: argparse.Namespace) -> None:
    for flag, value, least in (("--people", given.people, 1), ("--budget", given.budget, 2), ("--jobs", given.jobs, 1)):
        if value is not None and value < least:
            raise AttainError(f"{flag} is {value}; it takes a whole number from {least} upward")
    if given.limit is not None and given.limit <= 0:
        raise AttainError(f"--limit is {given.limit}; it takes seconds above 0")
    if min(_seeds(given.seeds), default=-1) < 0:
        raise AttainError(f"--seeds is {given.seeds!r}; it takes whole numbers from 0 upward")
    if given.out is None and (given.merge or given.only_report):
        raise AttainError("--merge and --only-report work on a folder; name it with --out")
    if given.out is not None and Path(given.out).is_file():
        raise AttainError(f"--out is {given.out!r}, which is a file; it takes a folder")
