"""Methods side by side: the figures of separate evaluations, answers that do not count, methods that cannot run."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from attain import GrowingSpheres
from attain.core.errors import ModelError
from attain.methods import NearestUnlike
from attain.metrics import AnswerMatrix, compare_methods, evaluate, paired_comparison
from attain.metrics.comparison import note
from attain.tables import Table
from attain.testing import people
from tests.metrics.conftest import LABELS, TEST, TEST_LABELS, TRAIN, asked


@pytest.fixture(scope="module")
def rows(model: Any) -> pd.DataFrame:
    return asked(model, 6, 1)


class Refuses:
    """Cannot take the model."""

    def fit(self, X: Any, y: Any) -> None: ...

    def explain(self, model: Any, X: Any, **request: Any) -> Any:
        raise ModelError("it takes trees only")


class Breaks(Refuses):
    def explain(self, model: Any, X: Any, **request: Any) -> Any:
        raise ZeroDivisionError("by nothing")


class Copies(Refuses):
    """Half of the answers are the rows themselves, the others break a rule."""

    def explain(self, model: Any, X: Any, *, target: Any, **request: Any) -> Any:
        table = Table.read(X, people.schema())
        answers = table.values.copy()
        answers[::2, people.schema().position("age")] += 40
        return AnswerMatrix(table, answers, np.ones(len(X), dtype=bool), target)


@pytest.fixture(scope="module")
def compared(model: Any, rows: pd.DataFrame) -> Any:
    spheres = GrowingSpheres(people.schema(), budget=3000)
    methods = {"spheres": spheres, "nearest": "nearest-unlike"}
    methods |= {"refuses": Refuses(), "breaks": Breaks(), "copies": Copies()}
    return compare_methods(methods, model, TRAIN, LABELS, rows, target=people.DESIRED, X_test=TEST, y_test=TEST_LABELS)


def test_lines_are_those_of_separate_evaluations(compared: Any, model: Any, rows: pd.DataFrame) -> None:
    assert compared.table.index.tolist() == ["spheres", "nearest", "refuses", "breaks", "copies"]
    made = {"spheres": GrowingSpheres(people.schema(), budget=3000), "nearest": NearestUnlike(people.schema())}
    for name, method in made.items():
        result = method.fit(TRAIN, LABELS).explain(model, rows, target=people.DESIRED)
        alone = evaluate(result, model, TRAIN, LABELS, X_test=TEST, y_test=TEST_LABELS).summary
        line = compared.table.loc[name]
        assert (line["status"], line["n"], line["broken"]) == ("ok", 6, 0)
        for measure in ("found", "total_shift", "inlier", "held_out_inlier", "connected_90", "rows_scored"):
            assert line[measure] == pytest.approx(alone.loc[measure, "mean"])
            for end in ("", "_low", "_high"):
                assert line[f"{measure}_charged{end}"] == pytest.approx(alone.loc[measure, f"charged{end}"])


def test_answers_that_break_a_rule_or_do_not_flip_the_decision_are_none(compared: Any) -> None:
    line = compared.table.loc["copies"]
    assert (line["status"], line["broken"], line["n"]) == ("ok", 4, 7)
    assert line["found_charged"] == 0
    assert line["total_shift_charged"] == len(people.schema().free)


def test_a_method_that_cannot_run_is_a_line_with_the_reason(compared: Any) -> None:
    ends = compared.table[["status", "reason"]].to_dict("index")
    assert ends["refuses"] == {"status": "not applicable", "reason": "it takes trees only"}
    assert ends["breaks"] == {"status": "failed", "reason": "ZeroDivisionError: by nothing"}
    text = compared.text(100)
    assert "not applicable" in text
    assert "refuses: it takes trees only" in text
    assert max(map(len, text.splitlines())) <= 100


def test_pairs_are_those_of_the_evaluations(compared: Any) -> None:
    pd.testing.assert_frame_equal(compared.paired(), paired_comparison(compared.evaluations))
    measured = set(compared.paired()["measure"])
    assert measured - {"possible"} == {"found", "total_shift", "max_shift", "inlier", "connected_90"}
    two = paired_comparison(compared.evaluations, ["found", "inlier"])
    pd.testing.assert_frame_equal(compared.paired(["found", "inlier"]), two)


def test_table_plot_and_page_are_written_without_addresses_outside(compared: Any, tmp_path: Path) -> None:
    written = compared.write(tmp_path / "out")
    assert [path.name for path in written] == ["comparison.csv", "index.html", "trade-off.png", "trade-off.svg"]
    table = pd.read_csv(tmp_path / "out" / "comparison.csv", index_col="method")
    assert table.loc["spheres", "total_shift"] == pytest.approx(compared.table.loc["spheres", "total_shift"])
    page = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == 1
    assert "it takes trees only" in page
    assert "://" not in page
    assert str(tmp_path) not in page


def test_without_any_that_can_run_there_is_a_table_and_a_page(model: Any, rows: Any, tmp_path: Path) -> None:
    comparison = compare_methods([Refuses()], model, TRAIN, LABELS, rows, target=people.DESIRED, schema=people.schema())
    assert comparison.paired().empty
    assert [path.name for path in comparison.write(tmp_path)] == ["comparison.csv", "index.html"]
    assert "not applicable" in str(comparison)


def test_equal_names_are_kept_apart(model: Any, rows: pd.DataFrame) -> None:
    two = [GrowingSpheres(people.schema(), budget=500), GrowingSpheres(people.schema(), budget=600)]
    given: dict[str, Any] = {"model": model, "X_train": TRAIN, "y_train": LABELS, "X": rows, "target": people.DESIRED}
    assert compare_methods(two, **given).table.index.tolist() == ["GrowingSpheres", "GrowingSpheres 2"]


def test_a_note_explains_what_is_in_the_table() -> None:
    line = {"method": "A", "status": "ok", "reason": "", "found_charged": 1.0}
    for full in (False, True):
        assert "possible" in note(full=full)
        assert "possible" not in note([line], full=full)
        assert "real people" not in note([line], full=full)
        assert "possible" in note([{**line, "possible": 1.0}], full=full)
