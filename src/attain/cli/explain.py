"""`attain explain`: what people could change, written as a file or, for any number of people, as a folder of files."""

from __future__ import annotations

import math
import os
import sys
import time
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from attain.cli.inputs import read_constraints, read_people, read_request
from attain.cli.layer import INTERRUPTED, NO_ANSWERS, Arguments, write_config
from attain.cli.terminal import counted, note, say, say_json, say_summary, width
from attain.core.errors import AttainError, Interrupted
from attain.core.files import write_atomically
from attain.desk import scale
from attain.desk.audit import AuditLog, read_key
from attain.methods.base import Explainer
from attain.models import Model
from attain.results.counterfactuals import Counterfactuals
from attain.results.exports import table_frame
from attain.results.status import Status
from attain.results.text import SHIFT, further_options, paragraphs, people_table, summary_lines
from attain.results.text import summary as summary_text
from attain.tables.files import EXCEL, check_ending, written

_WHOLE: Final = (".json", EXCEL)
"""The formats that have all tables of a result."""
_MORE: Final = ("importance", "contributions")
"""What is found on request only, and has its own table."""
_ONE_FILE: Final = ("labels", "changes", *_MORE, "audit")
"""Options for an OUT that is one file."""
_FEW: Final = 5
"""The most people who are answered in sentences; more are in a table."""
_SHOWN: Final = 20
"""How many people the table has."""


class _Answered(NamedTuple):
    """A result, which is empty where OUT is a folder, and the counts over all people."""

    result: Counterfactuals
    summary: scale.Summary
    seconds: float
    interrupted: bool


def explain(arguments: Arguments) -> int:
    """Explains, writes and reports; returns the exit code."""
    folder = arguments.out.endswith(("/", os.sep)) or Path(arguments.out).is_dir() or not Path(arguments.out).suffix
    _check_folder(arguments) if folder else _check_file(arguments)
    log = _open_log(arguments)
    explainer, model, target = read_request(arguments)
    request = {
        "target": target,
        "probability": arguments.probability,
        "n": arguments.n,
        "ranges": arguments.ranges,
        "timeout": None if arguments.timeout == math.inf else arguments.timeout,
        "allow_unreviewed": arguments.allow_unreviewed,
    }
    answered = (
        _into_folder(arguments, explainer, model, request) if folder else _answer(arguments, explainer, model, request)
    )
    result, summary, seconds, interrupted = answered
    if not folder:
        _write(arguments, result, log)
    config = write_config(arguments.out)
    if arguments.json:
        say_json(_facts(arguments, answered, config) | ({} if folder else {"rows_scored": model.rows}))
    elif not folder:
        _say_people(arguments, result)
        say_summary(summary_text(result))
        say(f"{seconds:.1f} s; the model scored {model.rows:,} rows.")
        say(f"Written: {', '.join(filter(None, [arguments.out, arguments.changes, config]))}")
    elif not interrupted:
        statuses = {Status[name]: count for name, count in summary.status.items()}
        lines = summary_lines(result, statuses, summary.verdict, summary.changed, summary.unreviewed, summary.means)
        say_summary("\n".join([*lines, *result.notes]))
        say(f"{seconds:.1f} s")
        say(f"Written: {arguments.out}")
    if interrupted:
        return INTERRUPTED
    return NO_ANSWERS if summary.asked and not summary.found else 0


def _answer(arguments: Arguments, explainer: Explainer, model: Model, request: dict[str, Any]) -> _Answered:
    """The answers to a file of people, as one result."""
    people = read_people(arguments, arguments.people, explainer.population_.schema).frame
    constraints = read_constraints(arguments.constraints, list(people.index))
    more = {name: getattr(arguments, name) for name in _MORE}
    started, interrupted = time.perf_counter(), False
    try:
        result = explainer.explain(model, people, constraints=constraints, errors=arguments.errors, **request, **more)
    except Interrupted as stop:
        result, interrupted = cast(Counterfactuals, stop.result), True
    return _Answered(result, scale.Summary.of(result), time.perf_counter() - started, interrupted)


def _into_folder(arguments: Arguments, explainer: Explainer, model: Model, request: dict[str, Any]) -> _Answered:
    """The answers to any number of people, in constant memory, as Parquet files."""
    batch = scale.ExplainBatch(explainer, model, constraints=read_constraints(arguments.constraints, ()), **request)
    options = {name: getattr(arguments, name) for name in ("index", "separator", "people_per_file", "workers")}
    started, interrupted = time.perf_counter(), False
    try:
        summary = scale.explain(arguments.people, arguments.out, batch, **options, note=note)
    except Interrupted as stop:
        summary, interrupted = cast(scale.Summary, stop.result), True
        text = "attain: interrupted; the same command goes on from here; people answered so far:"
        print(f"{text} {summary.people:,}", file=sys.stderr)
    return _Answered(batch.empty, summary, time.perf_counter() - started, interrupted)


def _check_folder(arguments: Arguments) -> None:
    """Refuses options for one file."""
    unfit = [f"--{name}" for name in _ONE_FILE if getattr(arguments, name) not in (None, False)]
    unfit += ["--errors raise"] if arguments.errors == "raise" else []
    if unfit:
        raise AttainError(f"{', '.join(unfit)}: not possible where OUT is a folder; name a file such as answers.csv")


def _check_file(arguments: Arguments) -> None:
    """Refuses files that cannot be written, or cannot hold what was requested."""
    check_ending(arguments.out, also=_WHOLE)
    if arguments.changes is not None:
        check_ending(arguments.changes)
    for name in _MORE:
        if getattr(arguments, name) and not arguments.out.lower().endswith(_WHOLE):
            raise AttainError(
                f"--{name}: {arguments.out!r} has one row for each option; write OUT as {' or '.join(_WHOLE)}"
            )


def _open_log(arguments: Arguments) -> AuditLog | None:
    """The log, if its end is not damaged."""
    if arguments.audit is None:
        return None
    log = AuditLog(arguments.audit, key=read_key(arguments.audit_key), inputs=arguments.audit_inputs)
    _ = log.head  # raises where nothing can be appended, before any work is done
    return log


def _write(arguments: Arguments, result: Counterfactuals, log: AuditLog | None) -> None:
    if result.unreadable:
        first = next(iter(result.unreadable.values()))
        note(f"{len(result.unreadable)} of {len(result)} records cannot be read: UNREADABLE, first with {first}")
    if result.failures:
        first = next(iter(result.failures.values()))
        note(f"{counted(len(result.failures), 'record')} could not be searched for: FAILED, first with {first}")
    if log is not None:  # nothing is handed out that is not on record
        added = len(log.append(result))
        note(f"appended {counted(added, 'line')} to {arguments.audit}; its head is {log.head}")
    if arguments.out.lower().endswith(".json"):
        write_atomically(arguments.out, result.to_json().encode())
    elif arguments.out.lower().endswith(EXCEL):
        result.to_excel(arguments.out, labels=arguments.labels)
    else:
        written(arguments.out, table_frame(result, "answers", arguments.labels), arguments.separator)
    if arguments.changes is not None:
        written(arguments.changes, table_frame(result, "changes"), arguments.separator)


def _facts(arguments: Arguments, answered: _Answered, config: str) -> dict[str, Any]:
    result, summary, seconds, _ = answered
    return {
        "out": arguments.out,
        "changes": arguments.changes,
        "config": config,
        "explainer": result.method,
        "target": result.target,
        "people": summary.people,
        "found": summary.found,
        "share_found": summary.found / summary.asked if summary.asked else None,
        "options": summary.options,
        "status": summary.status,
        "notes": list(result.notes),
        "seconds": round(seconds, 3),
    }


def _say_people(arguments: Arguments, result: Counterfactuals) -> None:
    if len(result) <= _FEW:
        print(paragraphs(result, width()))
    else:
        print(people_table(result, range(min(len(result), _SHOWN)), width()))
        say("\n".join(["", SHIFT, *further_options(result, arguments.out)]))
    if len(result) > _SHOWN:
        say(f"{_SHOWN} of {len(result)} people are shown; all are in {arguments.out}.")
    say()
