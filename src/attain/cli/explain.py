"""`attain explain`: what people could change, by a saved explainer and a model."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from attain.cli.arguments import add_command, add_config, add_json, add_model, add_reading, add_target
from attain.cli.audit import add_audit, open_log
from attain.cli.exits import EXIT_CODES, INTERRUPTED, NOBODY
from attain.core.checks import TIMEOUT

if TYPE_CHECKING:
    from attain.models import Model
    from attain.results.counterfactuals import Counterfactuals

_FEW = 5
"""Up to so many people are answered in sentences, more in a table."""
_SHOWN = 20
"""How many people the table has."""
_MANY = 5_000
"""From so many people on, writing takes seconds, and is announced."""
_MORE = {
    "ranges": "say in which range each change may lie",
    "importance": "find how much each change matters, and for what",
    "contributions": "find why each decision was made",
}
"""What is found only if it is asked for, as an argument of `explain` and a table of the result."""
_HELP = "find what people could change so that a model decides differently"
_EPILOG = f"""models:
  .onnx          ONNX
  .json, .ubj    XGBoost
  .txt, .lgb     LightGBM
  .skops         skops; --trust its unknown types
  module:object  imports the module, so its code
                 runs; this folder comes first
  .pkl, .joblib  a pickle; needs --trust-pickle

OUT has one row for each option: the person, the
number of the option, the status, a sentence that
says what to change, the features, the figures. A
person without an answer has one row with their
own record, and the sentence says why. If OUT ends
with .json, it has the whole result; with .xlsx,
all its tables, one sheet each.

If OUT is a folder, such as answers/, any number
of people are answered in constant memory, on all
cores, into Parquet files in it. Stopped at any
moment, the same command goes on from there.

{EXIT_CODES}
example:
  attain explain credit.attain refused.csv \\
    --model model.onnx --target good --n 3 \\
    --out answers.csv --changes changes.csv
"""


def register(commands: Any) -> None:
    """Adds the command to the parser."""
    command = add_command(commands, "explain", _HELP, _EPILOG)
    command.add_argument("explainer", metavar="E.attain", help="a file written by `attain fit` or `save`")
    command.add_argument(
        "people", metavar="PEOPLE", help="a CSV or Parquet file with one row per person; for many, a folder of Parquet"
    )
    add_model(command, "a model file or module:object; see below")
    add_target(command)
    command.add_argument(
        "--out", required=True, metavar="OUT", help="output file: .csv, .xlsx, .parquet, .json; or a folder"
    )
    command.add_argument("--labels", action="store_true", help="call features by their labels and units in OUT")
    command.add_argument("--changes", metavar="FILE", help="also write one row per changed cell: .csv or .parquet")
    for name, text in _MORE.items():
        command.add_argument(
            f"--{name}",
            nargs="?",
            const=True,
            metavar="FILE",
            help=f"{text}; write it to FILE, or into a .json or .xlsx OUT",
        )
    command.add_argument("--n", type=int, default=1, help="number of options for each person (default 1)")
    command.add_argument("--probability", type=float, metavar="P", help="require this probability of the target")
    command.add_argument("--constraints", metavar="C.toml", help="what may change in this call")
    command.add_argument(
        "--timeout",
        type=_seconds,
        default=TIMEOUT,
        metavar="S",
        help=f"the most seconds for each person (default {TIMEOUT:g}), or none for no limit",
    )
    command.add_argument(
        "--figures",
        choices=("on", "off"),
        help="whether to compare answers with real people (default: as the explainer was fitted)",
    )
    command.add_argument(
        "--errors",
        choices=("status", "raise"),
        default="status",
        help="what to do with a record that cannot be read: note it in OUT as UNREADABLE (default), or stop",
    )
    many = command.add_argument_group("many people", "where OUT is a folder")
    many.add_argument("--workers", type=int, metavar="N", help="number of processes (default: one for each core)")
    many.add_argument(
        "--people-per-file", type=int, default=2000, metavar="N", help="people in each file of answers (default 2000)"
    )
    add_audit(command)
    add_reading(command)
    add_config(command)
    add_json(command)
    command.set_defaults(run=run)


def _seconds(text: str) -> float | None:
    return None if text == "none" else float(text)


def run(given: argparse.Namespace) -> int:
    """Explains, writes and reports; returns the exit code."""
    from attain.cli.answers import write_answers, write_table
    from attain.cli.config import write_config
    from attain.cli.constraints import read_constraints
    from attain.cli.explain_many import explain_many, is_folder
    from attain.cli.inputs import read_model, read_target
    from attain.cli.terminal import counted, note
    from attain.core.errors import Interrupted
    from attain.methods.persistence import load
    from attain.tables.files import EXCEL, check_ending, read_people

    if is_folder(given.out):
        return explain_many(given)
    check_ending(given.out, also=(".json", EXCEL))
    tables = _tables(given)
    for path in tables.values():
        check_ending(path)
    explainer = load(given.explainer)
    if given.figures is not None:
        explainer.set_params(figures=given.figures == "on")
    people = read_people(given.people, explainer.schema_, index=given.index, separator=given.separator)
    if people.left_out:
        note(f"ignored columns that the explainer does not know: {', '.join(people.left_out)}")
    constraints = read_constraints(given.constraints, list(people.frame.index))
    model = read_model(given)
    log = open_log(given)
    target = read_target(given, model, explainer)
    started = time.perf_counter()
    interrupted = False
    try:
        result = explainer.explain(
            model,
            people.frame,
            target=target,
            probability=given.probability,
            n=given.n,
            constraints=constraints,
            errors=given.errors,
            **{name: getattr(given, name) is not None for name in _MORE},
            timeout=given.timeout,
        )
    except Interrupted as stop:
        result, interrupted = stop.result, True
    seconds = time.perf_counter() - started
    if result.unreadable:
        note(f"{len(result.unreadable)} of {len(result)} records cannot be read; {given.out} says why: UNREADABLE")
    if log is not None:  # nothing is handed out that is not on record
        added = len(log.append(result))
        note(f"appended {counted(added, 'line')} to {given.audit}; its head is {log.head}")
    if len(result) >= _MANY:
        note(f"writing {given.out}")
    write_answers(given.out, result, given.separator, given.labels)
    for name, path in tables.items():
        write_table(path, result, name, given.separator)
    _report(given, result, model, seconds, write_config(given.out, given))
    if interrupted:
        return INTERRUPTED
    return NOBODY if result.share_found == 0 else 0


def _report(given: argparse.Namespace, result: Counterfactuals, model: Model, seconds: float, config: str) -> None:
    from attain.cli.terminal import say, say_json, say_summary, width
    from attain.results.text import SHIFT, further_options, paragraphs, people_table, summary

    if given.json:
        say_json(
            {
                "out": given.out,
                "changes": given.changes,
                **{name: getattr(given, name) for name in _MORE},
                "config": config,
                "explainer": result.method,
                "target": result.target,
                "people": len(result),
                "found": int(result.found.sum()),
                "share_found": result.share_found,
                "options": len(result.owners),
                "status": dict(Counter(map(str, result.statuses))),
                "notes": list(result.notes),
                "rows_scored": model.rows,
                "seconds": round(seconds, 3),
            }
        )
        return
    if len(result) <= _FEW:
        print(paragraphs(result, width()))
    else:
        print(people_table(result, range(min(len(result), _SHOWN)), width()))
        say("\n".join(["", SHIFT, *further_options(result, given.out)]))
    if len(result) > _SHOWN:
        say(f"{_SHOWN} of {len(result)} people are shown; all are in {given.out}.")
    say()
    say_summary(summary(result))
    rate = f" ({len(result) / seconds:,.0f} people per second)" if len(result) > _FEW and seconds > 0 else ""
    say(f"{seconds:.1f} s{rate}; the model scored {model.rows:,} rows.")
    say(f"Written: {', '.join([given.out, *_tables(given).values(), config])}")


def _tables(given: argparse.Namespace) -> dict[str, str]:
    """The tables that are written beside OUT, each with its file; those without one are in OUT."""
    from attain.core.errors import AttainError
    from attain.tables.files import EXCEL

    for name in _MORE.keys() - {"ranges"}:
        if getattr(given, name) is True and not given.out.lower().endswith((".json", EXCEL)):
            raise AttainError(
                f"--{name} has no FILE, and {given.out!r} has one row for each option; name a FILE, or write OUT as "
                f".json or {EXCEL}"
            )
    return {name: path for name in ("changes", *_MORE) if isinstance(path := getattr(given, name), str)}
