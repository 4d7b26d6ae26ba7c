"""`attain letter` and `attain report`: what people are sent about a result, and what experts read about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from attain import letters
from attain.cli.inputs import read_model, read_whole
from attain.cli.layer import Given
from attain.cli.terminal import counted, say, say_json
from attain.core.errors import AttainError, FileError, listed
from attain.core.files import check_ending, check_writable, make_folder, write_atomically
from attain.letters.letter import ENDINGS as LETTER_ENDINGS
from attain.methods.persistence import load
from attain.results.counterfactuals import Counterfactuals
from attain.results.report import ENDINGS


def letter(given: Given) -> None:
    """Writes letters, or what is needed to write some."""
    options = None
    if given.write_templates is not None:
        make_folder(given.write_templates)
        paths = letters.save_templates(given.write_templates)
    elif given.result is None:
        raise AttainError("name a RESULT: the .json file that `attain explain` wrote")
    elif given.texts_template is not None:
        result = read_whole(given.result)
        if Path(given.texts_template).exists():
            raise FileError(f"{given.texts_template!r} exists already; name another file, so that no texts are lost")
        write_atomically(given.texts_template, letters.texts_template(result.table.schema).encode())
        paths = [given.texts_template]
    else:
        sent = _letters(given, read_whole(given.result))
        options = [bool(one.content.options) for one in sent]
        paths = letters.save_each(sent, given.out) if given.separate else [given.out]
        if not given.separate:
            letters.save(sent, given.out)
    written = list(map(str, paths))
    if given.json:
        say_json({"written": written, "letters": len(options or ()), "with_options": sum(options or ())})
        return
    if options is not None:
        say(f"{counted(len(options), 'letter')}, {sum(options)} of them with options.")
    say(f"Written: {', '.join(written)}")


def _letters(given: Given, result: Counterfactuals) -> list[letters.Letter]:
    needed = [f"--{name}" for name in ("explainer", "model", "texts", "out") if getattr(given, name) is None]
    if needed:
        hint = "; --texts-template FILE writes a table of texts to fill in" if "--texts" in needed else ""
        raise AttainError(f"letters need {', '.join(needed)}{hint}")
    check_ending(check_writable(given.out), *LETTER_ENDINGS)
    labels: dict[str, Any] = {str(label): label for label in result.table.labels}
    if unknown := [name for name in given.person if name not in labels]:
        raise AttainError(f"--person: there is no {listed(unknown)}; people are {listed(labels)}")
    same = ("language", "reasons", "options", "date", "reference", "template", "page")
    return letters.write(
        result,
        load(given.explainer),
        read_model(given),
        given.texts,
        people=[labels[name] for name in given.person] or None,
        sender="\n".join(given.sender),
        **{name: getattr(given, name) for name in same},
    )


def report(given: Given) -> None:
    """Writes a report."""
    check_ending(given.out, *ENDINGS)
    check_writable(given.out)
    result = read_whole(given.result)
    result.report(given.out, given.title)
    say(f"{int(result.found.sum())} of {len(result)} people have an answer. Written: {given.out}")
