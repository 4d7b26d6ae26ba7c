"""The report: everything is in one file, nothing in it runs or is loaded but what the package wrote."""

import base64
import hashlib
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from attain import Counterfactuals, Feature, Status
from attain.cli import main as cli
from attain.core.errors import MissingExtraError
from attain.desk.report import write_report
from attain.results.details import Attributions, Importances, Ranges
from attain.schema.laws import Law
from tests.counting import PATIENCE
from tests.golden import check_golden
from tests.results.handmade import result_of, reviewed

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
ATTRIBUTE = "\"><svg onload=alert(3)> ' & {{ 7 * 7 }} http://evil.example/x"
SCHEMA = reviewed(
    (
        Feature("<script>", "real", unit="<b>", label=HOSTILE),
        Feature("plan", "categorical", levels=(HOSTILE, ATTRIBUTE, "x")),
        Feature("grade", "ordinal", levels=("low", "high"), immutable=True),
    ),
    rules=("grade = high or grade = low",),
)

RANGE = [np.array([end, np.nan]) for end in (2.0, 3.0, 0.6, 0.8)]
"""The ends of the ranges of two changes, and their percentiles."""


def hostile() -> Counterfactuals:
    """Two people with an answer, one who needs none, one without; markup wherever a text may be."""
    people = pd.DataFrame(
        {"<script>": [1.0, 2.0, 3.0, 4.0], "plan": ["x", HOSTILE, ATTRIBUTE, "x"], "grade": ["low"] * 4},
        index=["a", ATTRIBUTE, HOSTILE, ""],
    )
    result = result_of(
        SCHEMA,
        people,
        {0: [{"<script>": 2.5, "plan": ATTRIBUTE}, {"plan": HOSTILE}], 1: [{"<script>": 0.5}]},
        statuses={2: Status.ALREADY_DESIRED, 3: Status.BUDGET_SPENT},
        target=HOSTILE,
        total_shift=[0.5, 0.25, 0.25],
        typicality=[0, 1, 2],
        connected=[1, 0, 1],
    )
    one = np.ones(1)
    return replace(
        result,
        method=ATTRIBUTE,
        notes=(HOSTILE,),
        laws=(Law("plan = x or plan != x", HOSTILE),),
        settings={"versions": {"attain": HOSTILE}, ATTRIBUTE: [HOSTILE], "model": {"class": HOSTILE, "classes": [1]}},
        intervals=Ranges(np.array([0, 1]), np.array([0, 1]), *RANGE, ((), (1,)), np.array([20.0, 3.0])),
        attributions=Attributions(
            "log-odds",
            9,
            np.array([0]),
            np.array([0, 2]),
            np.array([[0.5, -1.0]]),
            np.zeros((1, 2)),
            np.ones((1, 2), bool),
        ),
        importances=Importances(np.array([0]), np.array([0]), np.array([0.256]), one, one * 0, one * 0),
    )


class Page(HTMLParser):
    """A page's elements, texts by element, and scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.elements.append((tag, dict(attrs)))
        self._open = tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.setdefault(self._open, []).append(data)

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def written(result: Counterfactuals, folder: Path, **options: Any) -> str:
    write_report(result, folder / "r.html", **options)
    return (folder / "r.html").read_text(encoding="utf-8")


def section(text: str, name: str) -> str:
    """The part of the page below a heading."""
    return text.split(f">{name}</h2>")[1].split("<h2")[0].strip() + "\n"


def test_markup_in_names_and_values_is_text(tmp_path: Path) -> None:
    text = written(hostile(), tmp_path, title=HOSTILE)
    page = Page(text)
    assert page.of("script") == []
    assert len(page.of("img")) == 1  # the plot
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    assert page.texts["title"] == [HOSTILE]
    assert HOSTILE in " ".join(page.texts["td"])
    assert "{{ 7 * 7 }}" in text
    assert page.texts["h3"][1:5] == ["a", ATTRIBUTE, HOSTILE, "(no name)"]


def test_the_page_loads_and_runs_nothing(tmp_path: Path) -> None:
    text = written(hostile(), tmp_path)
    page = Page(text)
    for _, attributes in page.elements:
        assert (attributes.get("src") or "data:").startswith("data:")
        assert (attributes.get("href") or "#").startswith("#")
        assert "style" not in attributes
    style = "".join(page.texts["style"])
    assert not re.search(r"url\(|@import", style)
    assert set(re.findall(r"\w+://[\w.]+", text)) == {"http://evil.example"}  # the data's own text
    policy = page.of("meta")[1]["content"]
    part = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)[0]
    assert f"style-src 'sha256-{base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()}'" in str(policy)
    assert "script-src" not in str(policy)
    assert str(policy).startswith("default-src 'none'; img-src data:; ")
    assert "unsafe" not in str(policy)


@pytest.mark.parametrize("name", ["hostile", "timed"])
def test_each_person_has_their_options(name: str, tmp_path: Path) -> None:
    text = written({"hostile": hostile, "timed": timed}[name](), tmp_path)
    check_golden(section(text, "People"), Path(__file__).parent / "golden" / f"report-{name}.html")


def test_figures_have_the_intervals_of_the_textbook(tmp_path: Path) -> None:
    people = pd.DataFrame({"<script>": np.zeros(40), "plan": ["x"] * 40, "grade": ["low"] * 40})
    result = result_of(
        SCHEMA,
        people,
        {i: [{"<script>": 1.0}] for i in range(30)},
        total_shift=[0.1, 0.3] * 15,
        typicality=[0] * 20 + [1] * 10,
    )
    cells = Page(written(result, tmp_path)).texts["td"]
    for k, n in ((30, 40), (20, 30)):
        low, high = binomtest(k, n).proportion_ci(0.95, method="wilson")
        assert f"{100 * k / n:.0f} %" in cells
        assert f"{100 * low:.0f} to {100 * high:.0f} %" in cells
    assert cells[cells.index("total shift (TS)") + 1] == "20.0"
    low, high = map(float, cells[cells.index("total shift (TS)") + 2].split(" to "))
    assert low == pytest.approx(20 - 1.96 * 10 / np.sqrt(30), abs=0.5)
    assert high == pytest.approx(20 + 1.96 * 10 / np.sqrt(30), abs=0.5)
    assert "10" in cells  # people without an answer
    assert Status.OUT_OF_REACH.remedy in cells


def test_headings_are_in_order_and_everything_has_a_name(tmp_path: Path) -> None:
    page = Page(written(hostile(), tmp_path))
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert page.of("html")[0]["lang"] == "en"
    targets = [str(a["href"])[1:] for a in page.of("a")]
    assert set(targets) <= {attributes.get("id") for _, attributes in page.elements}
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_the_same_result_gives_the_same_bytes(tmp_path: Path) -> None:
    result = hostile()
    assert written(result, tmp_path) == written(Counterfactuals.from_json(result.to_json()), tmp_path)


def test_rules_laws_and_settings_are_told(tmp_path: Path) -> None:
    text = written(hostile(), tmp_path)
    page = Page(text)
    assert "1 of 1 rules of the schema are kept by all 3 options." in page.texts["p"]
    assert "1 of 1 laws found in the training data are kept by all 3 options." in page.texts["p"]
    assert "Held fixed for everybody: grade." in page.texts["p"]
    assert ATTRIBUTE in page.texts["dt"]
    assert HOSTILE in page.texts["li"]


TITLE = "O'Hara's people & \"friends\"\n--title"


@pytest.mark.parametrize("title", [None, TITLE])
def test_the_command_that_is_shown_writes_the_same_bytes(
    title: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = replace(hostile(), target_name="granted")
    text = written(result, tmp_path, title=title)
    monkeypatch.chdir(tmp_path)
    Path("answers.json").write_text(result.to_json(), encoding="utf-8")
    command, *arguments = shlex.split("".join(Page(text).texts["code"]))
    assert command == "attain"
    assert cli(arguments) == 0
    assert Path("report.html").read_text(encoding="utf-8") == text


TIMED = reviewed(
    (
        Feature("since", "count", clock=True),
        Feature("months", "count", clock=True),
        Feature("debt", "count", pace=2),
        Feature("limit", "count"),
        Feature("share", "real", derived="debt / limit"),
    )
)


def timed() -> Counterfactuals:
    """The first person waits, the second acts and waits, the third takes as long as the change needs."""
    frame = pd.DataFrame(
        {"since": [3] * 3, "months": [50] * 3, "debt": [20] * 3, "limit": [10] * 3, "share": [2.0] * 3}
    )
    options = [
        {"since": 9, "months": 56},
        {"since": 9, "months": 56, "debt": 15, "share": 1.5},
        {"since": 8, "months": 55, "debt": 10, "share": 1.0},
    ]
    result = result_of(TIMED, frame, {i: [option] for i, option in enumerate(options)}, total_shift=[0.5] * 3)
    option, column = np.array([(1, 2), (1, 4), (2, 2), (2, 4)]).T
    gain, needed = np.array([0.5, np.nan, 0.7, np.nan]), np.array([0.0, 0, 1, 0])
    return replace(result, importances=Importances(option, column, gain, needed, np.zeros(4), np.zeros(4)))


def test_waiting_is_one_row_for_all_clocks(tmp_path: Path) -> None:
    text = written(timed(), tmp_path)
    cells = Page(text).texts["td"]
    assert cells[cells.index("waiting") : cells.index("waiting") + 3] == ["waiting", "67 % (2)", "6 months"]
    assert not {"since", "months"} & set(Page(section(text, "What changes")).texts["td"])
    assert cells[cells.index("changes asked for") + 1] == "2.0"  # waiting; debt, share and waiting; debt and share


def test_inputs_that_hardly_count_are_not_named(tmp_path: Path) -> None:
    result = hostile()
    weights = np.array([[-0.09, -1.0]])
    assert result.attributions is not None
    few = replace(result, attributions=replace(result.attributions, contribution=weights))
    against = "Counts most against this person: grade (low)"
    assert against in Page(written(few, tmp_path)).texts["p"]
    both = replace(result, attributions=replace(result.attributions, contribution=weights * [[2, 1]]))
    assert f"{against}, {HOSTILE} (1 <b>)" in Page(written(both, tmp_path)).texts["p"]


def test_nobody_and_nobody_with_an_answer_have_a_report_too(tmp_path: Path) -> None:
    people = pd.DataFrame({"<script>": [1.0], "plan": ["x"], "grade": ["low"]})
    assert "no answer within reach" in written(result_of(SCHEMA, people, {}), tmp_path)
    assert "What 0 people could change" in written(result_of(SCHEMA, people.iloc[:0], {}), tmp_path)


def test_ten_thousand_people_make_a_small_file(tmp_path: Path) -> None:
    n = 10_000
    people = pd.DataFrame({"<script>": np.arange(n) / 7, "plan": ["x"] * n, "grade": ["low"] * n})
    result = result_of(SCHEMA, people, {i: [{"<script>": -1.0}] for i in range(n)}, total_shift=[0.25] * n)
    text = written(result, tmp_path)
    assert len(text) < 11e6
    assert len([a for a in Page(text).of("details") if a.get("class") == "person"]) == n


def test_pages_need_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'attain\[report\]'"):
        write_report(hostile(), tmp_path / "r.html")
    assert not (tmp_path / "r.html").exists()


@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs Chromium")
def test_a_browser_shows_the_people_and_runs_nothing_else(tmp_path: Path) -> None:
    written(hostile(), tmp_path)
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", (tmp_path / "r.html").as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE).stdout
    page = Page(shown)
    assert len([a for a in page.of("details") if a.get("class") == "person"]) == 4
    assert ATTRIBUTE in page.texts["h3"]
    assert "score +0.26" in "".join(page.texts["span"])
    assert len(page.of("img")) == 1  # the plot
