"""A result as text: within the window, complete, undisturbed by any value."""

import numpy as np
import pandas as pd
import pytest
from rich.cells import cell_len

from attain import Counterfactuals, Feature, GrowingSpheres, Model, Schema
from attain.results.text import changes_table, comparison, points


def result() -> Counterfactuals:
    random = np.random.default_rng(0)
    X = pd.DataFrame({"年収": random.normal(0, 1, 60), "b\x1b[2J": random.normal(0, 1, 60)})
    schema = Schema(
        (Feature("年収", "real", label="収入 (とても長い名前のとても長い説明)"), Feature("b\x1b[2J", "real"))
    )
    model = Model(lambda X: (X.sum(axis=1) > 1).astype(int), accepts="numpy", classes=[0, 1])
    return GrowingSpheres(schema, samples=50).fit(X).explain(model, X.head(6), target=1, n=2)


def test_percentile_points_are_integers_from_one_up() -> None:
    assert [points(x) for x in (None, 0.0, 0.04, 0.5, 12.6)] == ["–", "0", "0.0", "0.5", "13"]


@pytest.mark.parametrize("width", [30, 60, 130, 200])
def test_changes_fit_narrow_and_wide_windows(width: int) -> None:
    made = result()
    first, left_out, last = np.flatnonzero(made.found)[:3].tolist()
    text = changes_table(made, [first, last], width=width)
    assert all(cell_len(line) <= width for line in text.splitlines())
    assert "\x1b" not in text
    assert text.count(f"Person {first}") == text.count(f"Person {last}") == 2
    assert text.count("2):") == 2
    assert f"Person {left_out}" not in text
    assert "counterfactual" in text


def test_a_summary_counts_and_gives_reasons() -> None:
    made = result()
    text = str(made)
    assert f"{made.found.sum()} of 6 people have an answer (GrowingSpheres, target 1)." in text
    assert "total shift, on average:" in text
    for status in set(made.statuses):
        assert status.name == "FOUND" or status.reason in text


@pytest.mark.parametrize("width", [30, 60, 130])
def test_methods_stand_side_by_side(width: int) -> None:
    made = result()
    text = comparison({"one": made, "another": made}, width=width)
    assert all(cell_len(line) <= width for line in text.splitlines())
    row = next(line for line in text.splitlines() if line.startswith("answered"))
    assert row.split() == ["answered", *[str(made.found.sum()), "of", "6"] * 2]
