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
from tests.attack.world import arguments
from tests.misuse import under_headings

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
COMMANDS = {
    name: (arguments(words, globals()), int(code))
    for _, name, text in under_headings(Path(__file__).with_name("hostile.txt"))
    for code, _, words in [text.partition(" ")]
}
"""By name: a command and the code with which it ends."""


@pytest.mark.parametrize("name", COMMANDS)
def test_the_data_command_nothing(name: str, hostile: Path, capfd: Any) -> None:
    given, code = COMMANDS[name]
    try:
        ended = main(given)
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
