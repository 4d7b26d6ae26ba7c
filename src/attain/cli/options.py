"""The options that commands share, and how options are declared."""

from __future__ import annotations

import math
from typing import Any

import click
from click import IntRange

from attain.cli.layer import read_config


def argument(metavar: str, name: str, help: str) -> click.Argument:
    """An argument by its place; a metavar in brackets says that it may be left out."""
    return click.Argument([name], metavar=metavar, help=help, required=not metavar.startswith("["))


def option(flag: str, metavar: str, help: str, **settings: Any) -> click.Option:
    """An option with a value."""
    return click.Option([flag], metavar=metavar, help=help, **settings)


def choice(flag: str, help: str, *choices: str) -> click.Option:
    """An option whose value is one of several, the first by default."""
    return click.Option([flag], type=click.Choice(choices), help=help, default=choices[0])


def switch(flag: str, help: str) -> click.Option:
    """An option without a value."""
    return click.Option([flag], is_flag=True, help=help)


def seconds(text: str) -> float:
    """A number of seconds, infinity for `none`."""
    return math.inf if text == "none" else float(text)


def from_config(context: click.Context, _: click.Parameter, path: str | None) -> None:
    """Fills in arguments that the command line lacks from a file."""
    if path is not None:
        context.default_map = read_config(path, context.command)


EXPLAINER = argument("E.attain", "explainer", "A file written by `attain fit` or `save`.")
DATA = argument("DATA", "data", "A CSV or Parquet file.")
JSON = switch("--json", "Report as JSON.")
SEED = option("--seed", "N", "Seed of whatever is drawn.", type=IntRange(0), default=0)
PROBABILITY = option("--probability", "P", "Require this probability of the target.", type=float)
LABEL = option("--label", "COLUMN", "Column with the true labels, as the model names them.")
CONSTRAINTS = option("--constraints", "C.toml", "What may change in this call.")
TEST = option("--test", "DATA", "People that neither model nor method has seen.")
CONFIG = option(
    "--config",
    "FILE",
    "Read arguments from a file written by an earlier run; the command line overrides it.",
    is_eager=True,
    expose_value=False,
    callback=from_config,
)
LEVELS = choice(
    "--levels", "Columns of levels as strings, or as pandas categories, as boosters require.", "text", "category"
)
READING = (
    option("--index", "COLUMN", "Column with the names of people; row numbers by default."),
    option("--separator", "TEXT", r"Separator of CSV files; a comma by default, \t for a tab."),
)


def model_options(required: bool) -> tuple[click.Option, ...]:
    """The options of a command that reads a model."""
    return (
        option("--model", "M", "A model file or module:object; see `attain explain --help`.", required=required),
        option("--classes", "A,B", "Names for the model's classes, in its order."),
        option("--trust", "TYPE", "Trust this type in a skops file; repeatable.", multiple=True),
        switch("--trust-pickle", "Read a pickle, which runs the code in it with your permissions."),
    )


def target_options(required: bool) -> tuple[click.Option, ...]:
    """The options of a command that asks for a class."""
    return (
        option("--target", "T", "The desired class, as the model names it.", required=required),
        option("--class-names", "A,B", "What texts call the model's classes, in its order."),
    )


MODEL, OPTIONAL_MODEL = model_options(required=True), model_options(required=False)
COMPARISON = (
    argument("[TRAIN]", "train", "The training data, CSV or Parquet."),
    argument("[PEOPLE]", "people", "The people to explain, CSV or Parquet."),
    switch("--demo", "Use German credit, a gradient boosting model, 20 people."),
    *OPTIONAL_MODEL,
    target_options(required=False)[0],
    PROBABILITY,
    LABEL,
    TEST,
    option("--schema", "S.toml", "The schema; inferred from TRAIN by default."),
    CONSTRAINTS,
    option("--out", "OUT", "Output folder for table, plot and page."),
    SEED,
    LEVELS,
    *READING,
    JSON,
)
"""What is compared, and where the comparison is written."""
