"""Runs the blocks of a page one after the other, and says what each of them shows.

The build of the site inserts what is shown; the tests run the same blocks. A block of `python` shows what it prints,
the value of its last line, and the figures it draws, as a notebook does. In a block of `console`, the lines after `$ `
are commands of `attain`.
"""

import ast
import base64
import contextlib
import html
import io
import json
import os
import re
import shlex
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FENCE = re.compile(r"^( *)```(python|console)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
WIDTH = 86
"""Of printed tables, in characters."""


def blocks(text: str) -> list[tuple[str, str]]:
    """(language, source) of each block that is run."""
    return [(language, textwrap.dedent(source)) for _, language, source in FENCE.findall(text)]


def as_markdown(notebook: str) -> str:
    """A notebook as a page."""
    cells = [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(notebook)["cells"]]
    return "\n\n".join(f"```python\n{source}\n```" if kind == "code" else source for kind, source in cells) + "\n"


def read(page: Path) -> str:
    """The text of a page, or of a notebook as a page."""
    text = page.read_text(encoding="utf-8")
    return as_markdown(text) if page.suffix == ".ipynb" else text


def run(text: str, name: str, names: dict[str, Any] | None = None) -> Iterator[str]:
    """The HTML of what each block of a page shows, "" for nothing. Files are written to the current folder."""
    names = {"__name__": "__main__"} if names is None else names
    for number, (language, source) in enumerate(blocks(text), start=1):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            value = _commands(source) if language == "console" else _value(source, f"{name}, block {number}", names)
        parts = [_text(printed.getvalue()), _shown(value), *_pictures()]
        yield "".join(f'<div class="output">{part}</div>' for part in parts if part)


def run_apart(text: str, name: str) -> list[str]:
    """The same in an empty folder, for a process of its own."""
    import pandas as pd

    pd.set_option("display.width", WIDTH, "display.max_columns", 8, "display.max_rows", 12)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return list(run(text, name))


def _value(source: str, name: str, names: dict[str, Any]) -> Any:
    """The value of the last line, where that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec"), names)
    return eval(compile(ast.Expression(last.value), name, "eval"), names) if isinstance(last, ast.Expr) else None


def _commands(source: str) -> None:
    """Runs each command, and prints its notes after what it prints."""
    from attain.cli import main

    for line in source.replace("\\\n", " ").splitlines():
        program, *arguments = shlex.split(line.removeprefix("$ "), comments=True)
        assert program == "attain", f"not a command of attain: {line}"
        notes = io.StringIO()
        with contextlib.redirect_stderr(notes):
            code = main(arguments)
        print(notes.getvalue(), end="")
        assert code == 0, f"{line} ended with the exit code {code}: {notes.getvalue()}"


def _text(text: str) -> str:
    """Text as it is printed: sentences fill the page, and long lines of anything else are wrapped."""
    text = text.rstrip()
    if not text:
        return ""
    if "  " not in text:  # no columns
        return f'<pre class="prose">{html.escape(text)}</pre>'
    lines = (textwrap.fill(line, WIDTH) if len(line) > WIDTH else line for line in text.splitlines())
    return f"<pre>{html.escape(chr(10).join(lines))}</pre>"


def _shown(value: Any) -> str:
    """The value as HTML, or as text; axes and figures are shown as pictures instead."""
    import pandas as pd

    if value is None or "matplotlib" in f"{type(getattr(value, 'flat', [value])[0])}":
        return ""
    if isinstance(value, pd.Series):
        value = value.to_frame(value.name if value.name is not None else "")
    if isinstance(value, pd.DataFrame):
        return value.to_html(border=0, max_rows=8, max_cols=10, classes="frame", na_rep="")
    return value._repr_html_() if hasattr(value, "_repr_html_") else _text(repr(value))


def _pictures() -> Iterator[str]:
    """The figures that are open, which are closed."""
    if "matplotlib.pyplot" not in sys.modules:
        return
    from matplotlib import pyplot

    for number in pyplot.get_fignums():
        drawn = io.BytesIO()
        pyplot.figure(number).savefig(drawn, format="png", dpi=120, bbox_inches="tight")
        yield f'<img alt="figure" src="data:image/png;base64,{base64.b64encode(drawn.getvalue()).decode()}">'
    pyplot.close("all")


os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("COLUMNS", str(WIDTH))
