"""`attain menu`: for one person, which few features suffice to flip the decision."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attain.cli.arguments import add_command, add_json, add_model, add_reading, add_target
from attain.cli.exits import EXIT_CODES, NOBODY

if TYPE_CHECKING:
    import pandas as pd

_SHOWN = 20
"""How many changes the table has."""
_NOT_ENOUGH = {
    "no": "Not enough by itself, for certain",
    "not found": "Not enough by itself, as far as was found",
}
_HELP = "list for one person which few features suffice to flip the decision, and which cannot"
_EPILOG = f"""The easiest change comes first. Below are features
that are not enough by themselves. Models: as for
`attain explain`.

{EXIT_CODES}
example:
  attain menu credit.attain refused.csv \\
    --person p7 --index who --most 2 \\
    --model model.onnx --target good
"""


def register(commands: Any) -> None:
    """Adds the command to the parser."""
    command = add_command(commands, "menu", _HELP, _EPILOG)
    command.add_argument("explainer", metavar="E.attain", help="a file written by `attain fit` or `save`")
    command.add_argument("people", metavar="PEOPLE", help="a CSV or Parquet file with the person's row")
    add_model(command, "a model file or module:object")
    add_target(command)
    command.add_argument("--person", metavar="NAME", help="whose menu, if PEOPLE has several: as in the --index column")
    command.add_argument("--most", type=int, default=3, metavar="N", help="features changed at once (default 3)")
    command.add_argument("--probability", type=float, metavar="P", help="require this probability of the target")
    command.add_argument("--constraints", metavar="C.toml", help="what may change in this call")
    command.add_argument("--out", metavar="FILE", help="also write the menu: .csv or .parquet")
    add_reading(command)
    add_json(command)
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Prints the menu and writes it; returns the exit code."""
    from attain.cli.classifiers import read_model, read_target
    from attain.cli.constraints import read_constraints
    from attain.cli.terminal import say, say_json, width
    from attain.core.text import plain, table
    from attain.methods.persistence import load
    from attain.results.text import SHIFT, points
    from attain.tables.files import check_ending, read_people, written

    if given.out is not None:
        check_ending(given.out)
    explainer = load(given.explainer)
    people = read_people(given.people, explainer.schema_, index=given.index, separator=given.separator).frame
    person = people.iloc[[_position(given.person, list(people.index))]]
    model = read_model(given)
    target = read_target(given, model, explainer)
    menu: pd.DataFrame = explainer.menu(
        model,
        person,
        target=target,
        probability=given.probability,
        most=given.most,
        constraints=read_constraints(given.constraints, list(person.index)),
    )
    if given.out is not None:
        written(given.out, menu.map(lambda cell: ", ".join(cell) if isinstance(cell, list) else cell), given.separator)
    entries: list[dict[Any, Any]] = menu.astype(object).where(menu.notna(), None).to_dict("records")
    if given.json:
        say_json({"person": person.index[0], "out": given.out, "menu": entries})
        return _code(entries)
    enough = [entry for entry in entries if entry["suffices"] == "yes"]
    header = ("change", "shift", *(("level",) if any(entry["typicality"] for entry in enough) else ()))
    rows = [(entry["change"], points(entry["total_shift"]), entry["typicality"])[: len(header)] for entry in enough]
    name = model.class_names.get(target, target)
    decision = f"“{plain(name)}”" if isinstance(name, str) else f"class {plain(name)}"
    say(f"Person {plain(person.index[0])}: {_how_many(len(enough), given.most)} for {decision}.")
    if enough:
        say()
        print(table(header, rows[:_SHOWN], width=width(), right=(1,)))
        say(f"\n{SHIFT}")
    for suffices, words in _NOT_ENOUGH.items():
        alone = [explainer.schema_[entry["features"][0]] for entry in entries if entry["suffices"] == suffices]
        titles = ["waiting" if feature.clock is not None else feature.title for feature in alone]
        if titles:
            say(f"{words}: {', '.join(map(plain, titles))}.")
    if len(enough) > _SHOWN:
        say(f"The first {_SHOWN} changes are shown; --out FILE writes all.")
    if given.out is not None:
        say(f"Written: {given.out}")
    return _code(entries)


def _how_many(found: int, most: int) -> str:
    if found > 1:
        return f"{found} alternatives, each enough by itself"
    if found:
        return "1 change is enough"
    return f"{f'no set of up to {most} features' if most > 1 else 'no single feature'} was found to be enough"


def _code(entries: Sequence[Mapping[Any, Any]]) -> int:
    return 0 if any(entry["suffices"] == "yes" for entry in entries) else NOBODY


def _position(name: str | None, labels: Sequence[Any]) -> int:
    """The position of the person with this name; of the only one without."""
    from attain.core.errors import DataError, listed

    found = [i for i, label in enumerate(labels) if name is None or str(label) == name]
    if len(found) == 1:
        return found[0]
    if name is None:
        raise DataError(f"PEOPLE has {len(labels)} people, and a menu is for one; choose one with --person")
    problem = "several people called" if found else "nobody called"
    raise DataError(f"PEOPLE has {problem} {name!r}; the names are {listed(map(str, labels))} (see --index)")
