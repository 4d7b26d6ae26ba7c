"""The commands of what delivers answers: `attain letter`, `report`, `serve`, and `audit` with its commands."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from attain.cli.demo import service_demo
from attain.cli.inputs import read_model, read_people, read_request, read_whole
from attain.cli.layer import DIFFERS, Arguments
from attain.cli.terminal import counted, note, say, say_json, width
from attain.core.errors import AttainError, FileError, listed
from attain.core.files import check_ending, check_writable, make_folder, write_atomically
from attain.core.text import table
from attain.desk import letters
from attain.desk.audit import new_key, read_key, read_lines, regenerate, verify
from attain.desk.letters.letter import ENDINGS as LETTER_ENDINGS
from attain.desk.report import ENDINGS, write_report
from attain.methods.persistence import load
from attain.results.counterfactuals import Counterfactuals
from attain.results.text import paragraphs

_SHOWN: Final = 20
"""How many problems or differences are printed; --json has all."""
_LISTED: Final = ("number", "time", "id", "kind", "status")


def letter(arguments: Arguments) -> None:
    """Writes letters, or templates for them."""
    options = None
    if arguments.write_templates is not None:
        make_folder(arguments.write_templates)
        paths = letters.save_templates(arguments.write_templates)
    elif arguments.result is None:
        raise AttainError("name a RESULT: the .json file that `attain explain` wrote")
    elif arguments.texts_template is not None:
        result = read_whole(arguments.result)
        if Path(arguments.texts_template).exists():
            raise FileError(
                f"{arguments.texts_template!r} exists already; name another file, so that no texts are lost"
            )
        write_atomically(arguments.texts_template, letters.texts_template(result.table.schema).encode())
        paths = [arguments.texts_template]
    else:
        sent = _letters(arguments, read_whole(arguments.result))
        options = [bool(one.content.options) for one in sent]
        paths = letters.save_each(sent, arguments.out) if arguments.separate else [arguments.out]
        if not arguments.separate:
            letters.save(sent, arguments.out)
    written = list(map(str, paths))
    if arguments.json:
        say_json({"written": written, "letters": len(options or ()), "with_options": sum(options or ())})
        return
    if options is not None:
        say(f"{counted(len(options), 'letter')}, {sum(options)} of them with options.")
    say(f"Written: {', '.join(written)}")


def _letters(arguments: Arguments, result: Counterfactuals) -> list[letters.Letter]:
    needed = [f"--{name}" for name in ("explainer", "model", "texts", "out") if getattr(arguments, name) is None]
    if needed:
        hint = "; --texts-template FILE writes a table of texts to fill in" if "--texts" in needed else ""
        raise AttainError(f"letters need {', '.join(needed)}{hint}")
    check_ending(check_writable(arguments.out), *LETTER_ENDINGS)
    labels: dict[str, Any] = {str(label): label for label in result.table.labels}
    if unknown := [name for name in arguments.person if name not in labels]:
        raise AttainError(f"--person: there is no {listed(unknown)}; people are {listed(labels)}")
    same = ("language", "reasons", "options", "date", "reference", "template", "page")
    return letters.write(
        result,
        load(arguments.explainer),
        read_model(arguments),
        arguments.texts,
        people=[labels[name] for name in arguments.person] or None,
        sender="\n".join(arguments.sender),
        **{name: getattr(arguments, name) for name in same},
    )


def report(arguments: Arguments) -> None:
    """Writes a report."""
    check_ending(arguments.out, *ENDINGS)
    check_writable(arguments.out)
    result = read_whole(arguments.result)
    write_report(result, arguments.out, arguments.title)
    say(f"{int(result.found.sum())} of {len(result)} people have an answer. Written: {arguments.out}")


def serve(arguments: Arguments) -> None:
    """Serves until it is interrupted."""
    from attain.desk.service import create_app, server
    from attain.desk.service.security import LOOPBACK

    with _socket(arguments.host, arguments.port) as listening:
        shown = f"[{arguments.host}]" if ":" in arguments.host else arguments.host
        app = create_app(
            **(service_demo() if arguments.demo else _service(arguments)),
            hosts=(*LOOPBACK, shown, *arguments.allow_host),
        )
        address = f"http://{shown}:{listening.getsockname()[1]}/?token={app.state.token}"
        say("The page is open to whoever has this address; Ctrl-C stops the service:")
        print(f"\n  {address}\n", flush=True)
        if shown not in LOOPBACK:
            note("the service can be reached from other machines, without encryption: put a proxy with TLS before it")
        app.state.warm_up()
        if not arguments.no_open:
            import webbrowser  # not every Python has it, and nothing else needs it

            threading.Timer(0.5, webbrowser.open, [address]).start()
        with suppress(KeyboardInterrupt):  # how the service is stopped
            server(app).run(sockets=[listening])


def _socket(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=512)
    except OSError as error:
        raise AttainError(
            f"cannot listen on {host}, port {port}: {error.strerror or error}; choose another --port or --host"
        ) from None


def _service(arguments: Arguments) -> dict[str, Any]:
    """The arguments of `create_app`, from the files that the options name."""
    needed = {"E.attain": arguments.explainer, "--model": arguments.model, "--target": arguments.target}
    if missing := [name for name, value in needed.items() if value is None]:
        raise AttainError(f"serve needs {', '.join(missing)}; `attain serve --demo` needs no files")
    explainer, model, target = read_request(arguments)
    given = {"explainer": explainer, "model": model, "target": target, "texts": arguments.texts}
    if arguments.people is not None:
        given["people"] = read_people(arguments, arguments.people, explainer.population_.schema).frame
    if arguments.title is not None:
        given["title"] = arguments.title
    return given


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
