"""`attain letter` and `attain report`: what people are sent about a result, and what experts read about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from attain.cli.inputs import read_model, read_whole
from attain.cli.layer import Arguments
from attain.cli.terminal import counted, say, say_json
from attain.core.errors import AttainError, FileError, listed
from attain.core.files import check_ending, check_writable, make_folder, write_atomically
from attain.desk import letters
from attain.desk.letters.letter import ENDINGS as LETTER_ENDINGS
from attain.desk.report import ENDINGS, write_report
from attain.methods.persistence import load
from attain.results.counterfactuals import Counterfactuals


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
