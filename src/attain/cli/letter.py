"""`attain letter`: letters to the people concerned."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attain.cli.arguments import add_command, add_json, add_model
from attain.cli.exits import EXIT_CODES

if TYPE_CHECKING:
    from attain.letters import Letter
    from attain.results.counterfactuals import Counterfactuals

_HELP = "write letters: the decision, the reasons, and what would lead to another one"
_EPILOG = f"""RESULT is the .json file that `attain explain
--contributions` wrote; with --ranges, letters
say which other values would do. The texts of
reasons are yours: start with --texts-template.

{EXIT_CODES}
examples:
  attain letter answers.json \\
    --texts-template reasons.toml
  attain letter answers.json --texts reasons.toml \\
    --explainer credit.attain --model model.onnx \\
    --language de --person 17 --out letter.html
  attain letter --write-templates templates
"""


def register(commands: Any) -> None:
    """Adds the command to the parser."""
    command = add_command(commands, "letter", _HELP, _EPILOG)
    command.add_argument("result", metavar="RESULT", nargs="?", help="a result of `attain explain` (.json)")
    command.add_argument("--explainer", metavar="E.attain", help="the explainer that the answers were found with")
    add_model(command, "the model; see `attain explain --help`", required=False)
    command.add_argument("--texts", metavar="FILE", help="texts of reasons, names of inputs and levels: .toml or .csv")
    command.add_argument("--out", metavar="FILE", help="output file: .html or .txt")
    command.add_argument("--separate", action="store_true", help="write a file for each person: FILE-PERSON.html")
    command.add_argument("--language", default="en", metavar="en|de", help="language of the letters (default en)")
    command.add_argument(
        "--person", action="append", metavar="NAME", help="write to this person only; repeatable (default: everybody)"
    )
    command.add_argument("--reasons", type=int, default=4, metavar="N", help="at most so many reasons (default 4)")
    command.add_argument("--options", type=int, default=3, metavar="N", help="at most so many options (default 3)")
    command.add_argument(
        "--sender", action="append", default=[], metavar="LINE", help="a line of the sender; repeatable"
    )
    command.add_argument("--date", default="", metavar="TEXT", help="the date, as it should be printed")
    command.add_argument(
        "--reference", default="{person}", metavar="TEXT", help="reference; {person} is the name (default: {person})"
    )
    command.add_argument("--template", metavar="FILE", help="your own words instead of the built-in template")
    command.add_argument("--page", metavar="FILE", help="your own page of HTML around the letters")
    command.add_argument("--texts-template", metavar="FILE", help="write a table of texts to fill in, and stop")
    command.add_argument("--write-templates", metavar="FOLDER", help="write the built-in templates, and stop")
    add_json(command)
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    """Writes letters, or what is needed to write some."""
    from attain.cli.answers import read_whole
    from attain.core.errors import AttainError
    from attain.core.files import make_folder
    from attain.letters import save_templates

    if given.write_templates is not None:
        make_folder(given.write_templates)
        _report(given, [str(path) for path in save_templates(given.write_templates)])
        return
    if given.result is None:
        raise AttainError("name a RESULT: the .json file that `attain explain` wrote")
    result = read_whole(given.result)
    if given.texts_template is not None:
        _report(given, [_texts_to_fill_in(given.texts_template, result)])
        return
    needed = [f"--{name}" for name in ("explainer", "model", "texts", "out") if getattr(given, name) is None]
    if needed:
        hint = "; --texts-template FILE writes a table of texts to fill in" if "--texts" in needed else ""
        raise AttainError(f"letters need {', '.join(needed)}{hint}")
    letters = _letters(given, result)
    _report(given, _saved(given, letters), letters)


def _texts_to_fill_in(path: str, result: Counterfactuals) -> str:
    from attain.core.errors import FileError
    from attain.core.files import write_atomically
    from attain.letters import texts_template

    if Path(path).exists():
        raise FileError(f"{path!r} exists already; name another file, so that no texts are lost")
    write_atomically(path, texts_template(result.table.schema).encode())
    return path


def _letters(given: argparse.Namespace, result: Counterfactuals) -> list[Letter]:
    from attain.cli.inputs import read_model
    from attain.core.errors import AttainError, listed
    from attain.core.files import check_writable
    from attain.letters import write
    from attain.letters.letter import file_ending
    from attain.methods.persistence import load

    file_ending(check_writable(given.out))
    people = None
    if given.person is not None:
        labels = {str(label): label for label in result.table.labels}
        unknown = [name for name in given.person if name not in labels]
        if unknown:
            raise AttainError(f"--person: there is no {listed(unknown)}; people are {listed(labels)}")
        people = [labels[name] for name in given.person]
    return write(
        result,
        load(given.explainer),
        read_model(given),
        given.texts,
        language=given.language,
        people=people,
        reasons=given.reasons,
        options=given.options,
        sender="\n".join(given.sender),
        date=given.date,
        reference=given.reference,
        template=given.template,
        page=given.page,
    )


def _saved(given: argparse.Namespace, letters: list[Letter]) -> list[str]:
    from attain.letters import save, save_each

    if given.separate:
        return [str(path) for path in save_each(letters, given.out)]
    save(letters, given.out)
    return [given.out]


def _report(given: argparse.Namespace, written: list[str], letters: list[Letter] | None = None) -> None:
    from attain.cli.terminal import counted, say, say_json

    options = [len(letter.content.options) for letter in letters or ()]
    if given.json:
        say_json({"written": written, "letters": len(options), "with_options": sum(map(bool, options))})
        return
    if letters is not None:
        say(f"{counted(len(options), 'letter')}, {sum(map(bool, options))} of them with options.")
    say(f"Written: {', '.join(written)}")
