"""A hostile data set through every command: nothing of it reaches a terminal, a page or a spreadsheet as a command."""

import csv
import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from attain.cli import main
from attain.core.text import CONTROLS

ESCAPE = "\x1b[31m\x07\x08\x9b2J\u202e\u2066"
MARKUP = "<script>alert(1)</script><img src=x onerror=alert(1)>"
FORMULA = "=HYPERLINK(1)"
EVIL = f"{FORMULA}{ESCAPE}{MARKUP}"
INCOME, DEBT, HOME = f"{EVIL}income", f"@debt{ESCAPE}{MARKUP}", f"+home{ESCAPE}{MARKUP}"
LEVELS = [f"{EVIL}rents", f"-1+1{ESCAPE}{MARKUP}owns", "parents\x0b\x85"]
GOOD, BAD = f"{EVIL}good", f"@bad{ESCAPE}{MARKUP}"
FILE = f"da{ESCAPE}ta"
PERSON = f"first{ESCAPE}{MARKUP}"
MODULE = """
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

X = pd.read_parquet("train.parquet")
y = X.pop("decision")
classifier = make_pipeline(
    make_column_transformer((OneHotEncoder(), [X.columns[2]]), remainder="passthrough"), LogisticRegression()
).fit(X, y)


def raising(frame):
    raise ValueError("\\x1b[31mout of \\u202e order\\x07")
"""


@pytest.fixture(scope="module")
def _hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    random = np.random.default_rng(0)
    income, debt = random.normal(3, 1, 120), random.normal(2, 1, 120)
    X = pd.DataFrame({INCOME: income, DEBT: debt, HOME: random.choice(LEVELS, 120)})
    X["decision"] = np.where(income - debt + random.normal(0, 0.3, 120) > 1, GOOD, BAD)
    X.index = pd.Index([f"p{i}{ESCAPE}{MARKUP}" for i in range(120)], name="who")
    X.to_parquet(folder / "train.parquet")
    X.reset_index().to_csv(folder / f"{FILE}.csv", index=False)
    bad = X[X["decision"] == BAD].iloc[:6].drop(columns="decision")
    bad.index = pd.Index([PERSON, *bad.index[1:]], name="who")
    bad.to_parquet(folder / f"{FILE}.parquet")
    (folder / "evil.py").write_text(MODULE)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["schema", "infer", "train.parquet", "--drop", "decision", "--out", f"{FILE}.toml"]) == 0
        fitted = ["fit", f"{FILE}.csv", "--schema", f"{FILE}.toml", "--index", "who", "--label", "decision"]
        assert main([*fitted, "--out", f"{FILE}.attain", "--method", "nearest-unlike"]) == 0
        assert main([*EXPLAIN, "--out", "r.json", "--contributions", "--allow-unreviewed"]) == 0
        assert main(["letter", "r.json", "--texts-template", "texts.toml"]) == 0
        text = Path("texts.toml").read_text(encoding="utf-8")
        Path("texts.toml").write_text(text.replace(' = ""', f" = {json.dumps(MARKUP)}"), encoding="utf-8")
        assert main(["audit", "key", "audit.key"]) == 0
        assert main([*EXPLAIN, "--out", "o.csv", "--audit", "log.jsonl", "--audit-key", "audit.key"]) == 0
    return folder


@pytest.fixture
def hostile(_hostile: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(_hostile)
    monkeypatch.setenv("COLUMNS", "100")
    return _hostile


MODEL = ["--model", "evil:classifier"]
EXPLAIN = ["explain", f"{FILE}.attain", f"{FILE}.parquet", *MODEL, "--target", GOOD]
MEASURE = [*MODEL, "--train", f"{FILE}.csv", "--label", "decision", "--index", "who"]
LETTER = ["letter", "r.json", "--explainer", f"{FILE}.attain", *MODEL, "--texts", "texts.toml"]
COMPARE = ["compare", f"{FILE}.csv", f"{FILE}.parquet", *MODEL, "--label", "decision", "--target", GOOD]
COMMANDS: dict[str, tuple[list[str], int]] = {
    "schema infer": (["schema", "infer", f"{FILE}.csv", "--drop", "who,decision"], 0),
    "schema show": (["schema", "show", f"{FILE}.toml"], 0),
    "schema show, JSON": (["schema", "show", f"{FILE}.toml", "--json"], 0),
    "schema check": (["schema", "check", f"{FILE}.toml", f"{FILE}.csv"], 0),
    "schema that is none": (["schema", "show", f"{FILE}.csv"], 1),
    "laws": (["laws", f"{FILE}.csv", "--schema", f"{FILE}.toml"], 0),
    "inspect": (["inspect", f"{FILE}.attain"], 0),
    "inspect, JSON": (["inspect", f"{FILE}.attain", "--json"], 0),
    "inspect nothing": (["inspect", f"{FILE}{FILE}.attain"], 1),
    "fit": (["fit", f"{FILE}.csv", "--schema", f"{FILE}.toml", "--out", f"{FILE}2.attain", "--method", "guarded"], 0),
    "fit with an unknown label": (["fit", f"{FILE}.csv", "--schema", f"{FILE}.toml", "--out", "x", "--label", EVIL], 1),
    "explain, table": ([*EXPLAIN, "--out", "a.csv", "--changes", "changes.csv"], 0),
    "explain, tab": ([*EXPLAIN, "--out", "a.tsv", "--labels"], 0),
    "explain, Excel": ([*EXPLAIN, "--out", "a.xlsx"], 0),
    "explain, JSON": ([*EXPLAIN, "--out", "a.json", "--json"], 0),
    "explain, folder": ([*EXPLAIN, "--out", f"out{ESCAPE}/", "--workers", "1"], 0),
    "explain with an unknown target": ([*EXPLAIN[:-1], EVIL, "--out", "a.csv"], 1),
    "explain with a model that raises": ([*EXPLAIN[:4], "evil:raising", *EXPLAIN[5:], "--out", "a.csv"], 1),
    "report": (["report", "r.json", "--out", "report.html"], 0),
    "letter": ([*LETTER, "--out", "letters.html"], 0),
    "letters, one each": ([*LETTER, "--separate", "--out", "to.txt"], 0),
    "evaluate": (["evaluate", "r.json", *MEASURE, "--out", "measured.csv", "--groups", HOME], 0),
    "evaluate, JSON": (["evaluate", "r.json", *MEASURE, "--json"], 0),
    "compare": ([*COMPARE, "--methods", "nearest-unlike", "--schema", f"{FILE}.toml", "--out", f"com{ESCAPE}pared"], 0),
    "audit list": (["audit", "list", "log.jsonl"], 0),
    "audit verify": (["audit", "verify", "log.jsonl", "--key", "audit.key"], 0),
    "audit of something else": (["audit", "verify", f"{FILE}.csv"], 4),
    "an unknown command": ([EVIL], 2),
    "an unknown flag": (["fit", f"--{EVIL}"], 2),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_data_command_nothing(name: str, hostile: Path, capfd: Any) -> None:
    arguments, code = COMMANDS[name]
    try:
        ended = main(arguments)
    except SystemExit as error:
        ended = int(str(error.code))
    streams = capfd.readouterr()
    assert ended == code, streams.err
    assert streams.out + streams.err
    assert not CONTROLS.findall(streams.out + streams.err)
    check_pages(hostile)
    check_tables(hostile)


def test_programs_get_the_names_as_they_are(hostile: Path, capfd: Any) -> None:
    assert main(["schema", "show", f"{FILE}.toml", "--json"]) == 0
    names = [feature["name"] for feature in json.loads(capfd.readouterr().out)["feature"]]
    assert names == [INCOME, DEBT, HOME]


def check_pages(folder: Path) -> None:
    """No page that was written has markup of the data."""
    for path in (*folder.rglob("*.html"), *folder.rglob("*.svg")):
        page = path.read_text(encoding="utf-8")
        assert not re.search(r"<script>alert|<img src=x|onerror=alert\(1\)>", page), path


def check_tables(folder: Path) -> None:
    """No table that was written has a cell that a spreadsheet takes for a formula."""
    for path in (*folder.rglob("*.csv"), *folder.rglob("*.tsv")):
        separator = "\t" if path.suffix == ".tsv" else ","
        for row in csv.reader(io.StringIO(path.read_text(encoding="utf-8")), delimiter=separator):
            cells = [cell for cell in row if re.match(r"[=+\-@\t\r]", cell) and not _is_number(cell)]
            assert not cells or FILE in path.name, path
    for path in folder.rglob("*.xlsx"):
        with zipfile.ZipFile(path) as archive:
            sheets = [archive.read(name).decode() for name in archive.namelist() if "sheet" in name]
        assert not re.search(r"<f[ >]|<(t|v)[^>]*>[=+@]", "".join(sheets))


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
