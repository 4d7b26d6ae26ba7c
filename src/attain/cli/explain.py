"""`attain explain`: what people could change, for a saved explainer and a model."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from attain.cli.arguments import add_command, add_config, add_json, add_reading
from attain.cli.exits import INTERRUPTED, NOBODY, RUNS_CODE

if TYPE_CHECKING:
    from attain.methods import Explainer
    from attain.models import Model
    from attain.results.counterfactuals import Counterfactuals

_SHOWN = 2
"""How many people's changes are printed."""
_HELP = "find what people could change so that a model decides otherwise"
_EPILOG = """models:
  .onnx          ONNX
  .json, .ubj    XGBoost's own format
  .txt, .lgb     LightGBM's own format
  .skops         skops; --trust its unknown types
  module:object  imports the module, so its code
                 runs; found in this folder too
  .pkl, .joblib  a pickle; needs --trust-pickle

OUT has one row for each option: the person, the
option's number, the status, the features, the
figures. A person without an answer has one row of
missing cells, and the status says why. With the
ending .json, OUT holds the whole result.

exit codes:
  0    done
  1    misuse; the message says how to mend it
  2    unknown or missing flags
  3    written, but nobody who needed an answer
       has one
  130  stopped by Ctrl-C; what was done is written

example:
  attain explain credit.attain refused.csv \\
    --model model.onnx --target good --n 3 \\
    --out answers.csv --changes changes.csv
"""


def register(commands: Any) -> None:
    """Adds the command to the parser."""
    command = add_command(commands, "explain", _HELP, _EPILOG)
    command.add_argument("explainer", metavar="E.attain", help="a file written by `attain fit` or `save`")
    command.add_argument("people", metavar="PEOPLE", help="a CSV or Parquet file of the people")
    command.add_argument("--model", required=True, metavar="M", help="a model file or module:object; see below")
    command.add_argument("--target", required=True, metavar="T", help="the desired class, as the model names it")
    command.add_argument("--out", required=True, metavar="OUT", help="where the answers go: .csv, .parquet or .json")
    command.add_argument("--changes", metavar="FILE", help="where the changed cells go, one a row: .csv or .parquet")
    command.add_argument("--n", type=int, default=1, help="how many options each person is offered (default 1)")
    command.add_argument(
        "--probability", type=float, metavar="P", help="ask for at least this probability of the target"
    )
    command.add_argument("--constraints", metavar="C.toml", help="what may change in this call")
    command.add_argument(
        "--figures",
        choices=("on", "off"),
        help="whether answers are compared with real people (default: as the explainer was fitted)",
    )
    command.add_argument("--classes", metavar="A,B", help="names for the model's classes, in its order")
    command.add_argument(
        "--trust", action="append", default=[], metavar="TYPE", help="a type in a skops file that you trust"
    )
    command.add_argument("--trust-pickle", action="store_true", help=f"read a pickle, which {RUNS_CODE}")
    add_reading(command)
    add_config(command)
    add_json(command)
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Explains, writes and reports; gives the exit code."""
    from attain.cli.classifiers import find_target, load_classifier
    from attain.cli.config import write_config
    from attain.cli.constraints import read_constraints
    from attain.cli.frames import check_ending, read_people
    from attain.cli.results import write_answers, write_changes
    from attain.cli.terminal import note
    from attain.methods.persistence import load
    from attain.results.status import Status

    check_ending(given.out, also=(".json",))
    if given.changes is not None:
        check_ending(given.changes)
    explainer = load(given.explainer)
    if given.figures is not None:
        explainer.set_params(figures=given.figures == "on")
    people = read_people(given.people, explainer.schema_, index=given.index, separator=given.separator)
    if people.left_out:
        note(f"left out, since the explainer does not know them: {', '.join(people.left_out)}")
    constraints = read_constraints(given.constraints, list(people.frame.index))
    model = load_classifier(
        given.model,
        classes=None if given.classes is None else [name.strip() for name in given.classes.split(",")],
        trusted=given.trust,
        trust_pickle=given.trust_pickle,
    )
    target = find_target(given.target, _classes(model, explainer))
    started = time.perf_counter()
    result = explainer.explain(
        model, people.frame, target=target, probability=given.probability, n=given.n, constraints=constraints
    )
    seconds = time.perf_counter() - started
    write_answers(given.out, result, given.separator)
    if given.changes is not None:
        write_changes(given.changes, result, given.separator)
    config = write_config(given.out, given)
    _report(given, result, model, seconds, config)
    if Status.INTERRUPTED in result.statuses:
        return INTERRUPTED
    asked = [status for status in result.statuses if status is not Status.ALREADY_DESIRED]
    return NOBODY if asked and not result.found.any() else 0


def _classes(model: Model, explainer: Explainer) -> tuple[Any, ...]:
    """The model's classes; one that does not tell them is asked about some training rows."""
    from attain.models import probe_rows
    from attain.models.reader import Reader

    known = model.adapter.classes
    return known or Reader(model, explainer.layout_, probe_rows(explainer.table_.values)).classes


def _report(given: argparse.Namespace, result: Counterfactuals, model: Model, seconds: float, config: str) -> None:
    from attain.cli.terminal import say, say_json

    files = [name for name in (given.out, given.changes, config) if name is not None]
    if given.json:
        say_json(
            {
                "out": given.out,
                "changes": given.changes,
                "config": config,
                "explainer": result.method,
                "target": result.target,
                "people": len(result),
                "found": int(result.found.sum()),
                "share_found": result.share_found,
                "options": len(result.owners),
                "status": dict(Counter(status.name for status in result.statuses)),
                "notes": list(result.notes),
                "rows_scored": model.rows,
                "seconds": round(seconds, 3),
            }
        )
        return
    first = [i for i in range(len(result)) if result.found[i]][:_SHOWN]
    if first:
        from attain.results.text import changes_table

        print(changes_table(result, first))
        print()
    say(str(result))
    rate = f"{len(result) / seconds:,.0f} people a second" if seconds > 0 else "at once"
    say(f"{seconds:.1f} s, {rate}; the model was asked about {model.rows:,} records.")
    say(f"Written: {', '.join(files)}")
