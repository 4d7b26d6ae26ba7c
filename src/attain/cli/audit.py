"""`attain audit`: tamper-evident logs of explanations."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from attain.cli.arguments import add_command, add_json, add_model, add_reading
from attain.cli.exits import DIFFERS, EXIT_CODES

if TYPE_CHECKING:
    from attain.audit import AuditLog

_SHOWN = 20
"""How many problems or differences are printed; --json has all."""
_HELP = "verify logs of explanations, and repeat what they record"
_EPILOG = f"""`attain explain --audit LOG` appends one line per
person. Lines are signed with a key, which is read
from a file, or from the environment variable
ATTAIN_AUDIT_KEY.

{EXIT_CODES}
example:
  attain audit key audit.key
  attain explain credit.attain refused.csv \\
    --model model.onnx --target good \\
    --out answers.csv \\
    --audit log.jsonl --audit-key audit.key
  attain audit verify log.jsonl --key audit.key
"""
_VERIFY = "find lines that were altered, deleted, inserted or moved"
_VERIFY_EPILOG = """A truncated log is found by its head, the number
and hash of its last line: that in LOG.head, or that
given with --expect. The command prints the head;
store it elsewhere.

example:
  attain audit verify log.jsonl --key audit.key \\
    --expect 120:9f2c...
"""
_REGENERATE_EPILOG = """The row of the person in PEOPLE is found by its
content.

example:
  attain audit regenerate 9f2c41d07ab3c5e8 \\
    --log log.jsonl --key audit.key \\
    --explainer credit.attain --model model.onnx \\
    --people refused.csv
"""


def register(commands: Any) -> None:
    """Adds the command and its parts to the parser."""
    command = add_command(commands, "audit", _HELP, _EPILOG)
    parts = command.add_subparsers(dest="part", metavar="COMMAND", required=True)
    verify = add_command(parts, "verify", _VERIFY, _VERIFY_EPILOG)
    verify.add_argument("--expect", metavar="HEAD", help="a head that was stored elsewhere, NUMBER:HASH")
    lines = add_command(parts, "list", "list the lines of a log", "example:\n  attain audit list log.jsonl\n")
    text = "remove an incomplete last line, and record that"
    repair = add_command(parts, "repair", text, "example:\n  attain audit repair log.jsonl --key audit.key\n")
    text = "repeat an explanation, and compare it with the log"
    regenerate = add_command(parts, "regenerate", text, _REGENERATE_EPILOG)
    regenerate.add_argument("id", metavar="ID", help="the id of a line, or its first digits")
    regenerate.add_argument("--log", required=True, metavar="LOG", help="the log")
    regenerate.add_argument("--explainer", required=True, metavar="E.attain", help="a file written by `attain fit`")
    add_model(regenerate, "a model file or module:object, as in `attain explain`")
    regenerate.add_argument("--people", required=True, metavar="PEOPLE", help="a table with the person's record")
    add_reading(regenerate)
    key = add_command(parts, "key", "create a key", "example:\n  attain audit key audit.key\n")
    key.add_argument("out", metavar="FILE", help="the file to create, readable by you only")
    key.set_defaults(run=_key)
    for part, run in ((verify, _verify), (lines, _list), (repair, _repair), (regenerate, _regenerate)):
        if part is not regenerate:
            part.add_argument("log", metavar="LOG", help="a log written by `attain explain --audit`")
        if part is not lines:
            _add_key(part)
        add_json(part)
        part.set_defaults(run=run)


def _add_key(command: argparse.ArgumentParser, flag: str = "--key") -> None:
    command.add_argument(flag, metavar="FILE", help="the key (default: the environment variable ATTAIN_AUDIT_KEY)")


def add_audit(command: argparse.ArgumentParser) -> None:
    """Flags of a command that adds to a log."""
    command.add_argument("--audit", metavar="LOG", help="also append a line per person to this log")
    _add_key(command, "--audit-key")
    command.add_argument(
        "--audit-inputs",
        choices=("hmac", "plain"),
        default="hmac",
        metavar="HOW",
        help="store people's records as HMACs (hmac, the default), or in plain text (plain)",
    )
    command.add_argument(
        "--audit-answers",
        choices=("plain", "hmac"),
        default="plain",
        metavar="HOW",
        help="store suggested values in plain text (plain, the default), or as HMACs (hmac)",
    )


def open_log(given: argparse.Namespace) -> AuditLog | None:
    """The log that the flags of `add_audit` name, if its end is not damaged."""
    from attain.audit import AuditLog, read_key
    from attain.core.errors import AttainError

    if given.audit is None:
        return None
    key = read_key(given.audit_key)
    if key is None and "hmac" in (given.audit_inputs, given.audit_answers):
        raise AttainError(
            "--audit needs a key: pass --audit-key FILE, or set the environment variable ATTAIN_AUDIT_KEY; "
            "`attain audit key FILE` creates one"
        )
    log = AuditLog(given.audit, key=key, inputs=given.audit_inputs, answers=given.audit_answers)
    _ = log.head  # raises where nothing can be appended, before any work is done
    return log


def _verify(given: argparse.Namespace) -> int:
    from attain.audit import read_key, verify
    from attain.cli.terminal import counted, note, say, say_json

    found = verify(given.log, key=read_key(given.key), expect=given.expect)
    if given.json:
        problems = [{"line": line, "problem": text} for line, text in found.problems]
        facts = {name: getattr(found, name) for name in ("lines", "head", "repairs", "signed", "end_known")}
        say_json({"log": given.log, "intact": bool(found), **facts, "problems": problems})
        return 0 if found else DIFFERS
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
    if found:
        say(f"{given.log} is intact: {counted(found.lines, 'line')}.")
    else:
        say(
            f"{given.log} was not verified: {counted(len(found.problems), 'problem')} in "
            f"{counted(found.lines, 'line')}."
        )
    print(f"head: {found.head}")
    return 0 if found else DIFFERS


def _list(given: argparse.Namespace) -> None:
    from attain.audit import read_lines
    from attain.cli.terminal import say_json
    from attain.core.text import table

    shown = ("number", "time", "id", "kind", "status")
    lines = [{name: line.get(name) for name in shown} for line in read_lines(given.log)]
    if given.json:
        say_json({"log": given.log, "lines": lines})
    else:
        print(table(shown, [["" if cell is None else cell for cell in line.values()] for line in lines], right=(0,)))


def _repair(given: argparse.Namespace) -> None:
    from attain.audit import AuditLog, read_key
    from attain.cli.terminal import say, say_json

    log = AuditLog(given.log, key=read_key(given.key), inputs="plain")
    repaired = log.repair()
    if given.json:
        say_json({"log": given.log, "repaired": repaired, "head": log.head})
    else:
        say(f"{given.log} is repaired; its last line records what was wrong." if repaired else "Nothing to repair.")
        print(f"head: {log.head}")


def _regenerate(given: argparse.Namespace) -> int:
    from attain.audit import read_key, regenerate
    from attain.cli.inputs import read_model
    from attain.cli.terminal import say, say_json, width
    from attain.methods.persistence import load
    from attain.results.text import paragraphs
    from attain.tables.files import read_people

    explainer = load(given.explainer)
    people = read_people(given.people, explainer.schema_, index=given.index, separator=given.separator)
    found = regenerate(given.log, given.id, explainer, read_model(given), people.frame, key=read_key(given.key))
    if given.json:
        differences = [{"field": field, "recorded": then, "now": now} for field, then, now in found.differences]
        say_json({"id": found.line["id"], "same": found.same, "differences": differences})
        return 0 if found.same else DIFFERS
    print(paragraphs(found.result, width()))
    say()
    if found.same:
        say(f"Line {found.line['number']}, {found.line['id']}, was reproduced byte for byte.")
        return 0
    say(f"Line {found.line['number']}, {found.line['id']}, was not reproduced. What differs:")
    for difference in found.differences[:_SHOWN]:
        say(f"  {difference}")
    return DIFFERS


def _key(given: argparse.Namespace) -> None:
    from attain.audit import new_key
    from attain.cli.terminal import say

    new_key(given.out)
    say(
        f"Written to {given.out}. Keep it secret and apart from the log: whoever has it can sign lines, and test "
        "guesses at records stored as HMACs. Without it, nobody can compare records with the log."
    )
