"""`attain audit`: tamper-evident logs of explanations, verified, listed and repeated."""

from __future__ import annotations

from typing import Final

from attain.cli.inputs import read_model, read_people
from attain.cli.layer import DIFFERS, Arguments
from attain.cli.terminal import counted, note, say, say_json, width
from attain.core.text import table
from attain.desk.audit import new_key, read_key, read_lines, regenerate, verify
from attain.methods.persistence import load
from attain.results.text import paragraphs

_SHOWN: Final = 20
"""How many problems or differences are printed; --json has all."""
_LISTED: Final = ("number", "time", "id", "kind", "status")


def verify_log(arguments: Arguments) -> int:
    """Prints what was altered; returns the exit code."""
    found = verify(arguments.log, key=read_key(arguments.key), expect=arguments.expect)
    code = 0 if found else DIFFERS
    if arguments.json:
        facts = {name: getattr(found, name) for name in ("lines", "head", "repairs", "signed", "end_known")}
        problems = [{"line": line, "problem": text} for line, text in found.problems]
        say_json({"log": arguments.log, "intact": bool(found), **facts, "problems": problems})
        return code
    for line, text in found.problems[:_SHOWN]:
        say(f"Line {line}: {text}." if line else f"{text[0].upper()}{text[1:]}.")
    if len(found.problems) > _SHOWN:
        say(f"… and {len(found.problems) - _SHOWN} more.")
    if found.repairs:
        note(f"the log was repaired; see the lines with the numbers {', '.join(map(str, found.repairs))}")
    if not found.signed:
        note("signatures were not checked, because no key was given")
    if found and not found.end_known:
        note("there is no head to compare with, so missing lines at the end would not be noticed; pass --expect")
    lines = counted(found.lines, "line")
    if found:
        say(f"{arguments.log} is intact: {lines}.")
    else:
        say(f"{arguments.log} was not verified: {counted(len(found.problems), 'problem')} in {lines}.")
    print(f"head: {found.head}")
    return code


def list_lines(arguments: Arguments) -> None:
    """Prints the lines of a log."""
    lines = [{name: line.get(name) for name in _LISTED} for line in read_lines(arguments.log)]
    if arguments.json:
        say_json({"log": arguments.log, "lines": lines})
    else:
        print(table(_LISTED, [["" if cell is None else cell for cell in line.values()] for line in lines], right=(0,)))


def repeat(arguments: Arguments) -> int:
    """Repeats the explanation of a person in a log; returns the exit code."""
    explainer = load(arguments.explainer)
    people = read_people(arguments, arguments.people, explainer.population_.schema).frame
    found = regenerate(
        arguments.log, arguments.id, explainer, read_model(arguments), people, key=read_key(arguments.key)
    )
    code = 0 if found.same else DIFFERS
    if arguments.json:
        differences = [{"field": field, "recorded": then, "now": now} for field, then, now in found.differences]
        say_json({"id": found.line["id"], "same": found.same, "differences": differences})
        return code
    print(paragraphs(found.result, width()))
    outcome = "was reproduced byte for byte." if found.same else "was not reproduced. What differs:"
    say(f"\nLine {found.line['number']}, {found.line['id']}, {outcome}")
    for difference in found.differences[:_SHOWN]:
        say(f"  {difference}")
    return code


def create_key(arguments: Arguments) -> None:
    """Writes a new key."""
    new_key(arguments.out)
    say(
        f"Written to {arguments.out}. Keep it secret and apart from the log: whoever has it can sign lines, and test "
        "guesses at records stored as HMACs. Without it, nobody can compare records with the log."
    )
