"""Plots of results: what is drawn are the numbers of the result, and names from the data are shown as they are."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.text import Text

from attain import Counterfactuals, Feature, Schema, Status
from attain.core.drawing import detached, label, save
from attain.core.errors import AttainError, DataError, MissingExtraError
from attain.results.details import Importances, Ranges
from attain.results.levers import time_waited
from attain.results.plots import Plots
from tests.results.handmade import result_of

HOSTILE = "$x_1$ <script>"
LONG = "a very long name of a column " * 8
SCHEMA = Schema(
    (
        Feature("duration", "count", unit="months"),
        Feature(HOSTILE, "real"),
        Feature("housing", "categorical", levels=("rents", "owns", "$y^2$ <b>")),
        Feature("amount", "positive", label=LONG, unit="DM"),
    )
)
PEOPLE = pd.DataFrame(
    {"duration": [48, 24, 12], HOSTILE: [0.5, 1.5, -2.0], "housing": "rents", "amount": [1e12, 250.0, 3.0]},
    index=["Ada", "Bo", "Cy"],
)


def handmade() -> Counterfactuals:
    """Ada has two options; Bo has one; Cy has none."""
    options = {
        0: [{"duration": 24, "housing": "owns", HOSTILE: 1.0}, {"amount": 2e12}],
        1: [{"duration": 12, "amount": 300.0}],
    }
    result = result_of(
        SCHEMA, PEOPLE, options, total_shift=[1.6, 0.3, 0.5], max_shift=[1.0, 0.3, 0.3], typicality=[0, 1, 2]
    )
    before, after = np.full((3, 4), np.nan), np.full((3, 4), np.nan)
    before[:, [0, 1, 3]] = [[0.9, 0.2, 0.99], [0.9, 0.2, 0.99], [0.4, 0.5, 0.6]]
    after[:, [0, 1, 3]] = [[0.4, 0.25, 0.99], [0.9, 0.2, 1.0], [0.1, 0.5, 0.8]]
    shift = np.where(np.isnan(before), 0.0, np.abs(after - before))
    shift[0, 2] = 1.0
    return replace(result, percentiles=(before, after, shift))


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    pyplot.close("all")


def texts(ax: Any) -> list[str]:
    """All texts of the axes that are not empty."""
    return [text.get_text() for text in ax.findobj(Text) if text.get_text().strip()]


def points(ax: Any, marker: str) -> np.ndarray:
    """The places of all markers of a kind, (n, 2)."""
    found = [line.get_xydata() for line in ax.lines if line.get_marker() == marker]
    return np.concatenate(found) if found else np.empty((0, 2))


def test_changes_go_from_the_current_percentile_to_the_suggested_one() -> None:
    ax = handmade().plot.changes("Ada")
    assert isinstance(ax, Axes)
    # rows by shift: housing (no percentile), duration, then the real feature; amount does not change
    np.testing.assert_allclose(points(ax, "o"), [[90, 1], [20, 2]])
    np.testing.assert_allclose(points(ax, "<"), [[40, 1]])
    np.testing.assert_allclose(points(ax, ">"), [[25, 2]])
    shown = texts(ax)
    assert {"48", "24 months", "rents", "→ owns", "duration", "0.5", "1"} <= set(shown)
    assert ax.get_title(loc="left") == "Person Ada, option 1: what leads to the decision “good”"
    assert "typical · total shift 160 points" in shown
    assert not any("range" in text for text in shown)
    assert {"Person Ada, option 2: what leads to the decision “good”", "unusual · total shift 30 points"} <= set(
        texts(handmade().plot.changes("Ada", 2))
    )


def test_a_band_shows_the_range_that_still_holds() -> None:
    ranges = Ranges(
        option=np.array([0, 0, 0]),
        column=np.array([0, 1, 2]),
        low=np.array([6.0, 0.9, np.nan]),
        high=np.array([30.0, 2.0, np.nan]),
        low_percentile=np.array([0.1, 0.22, np.nan]),
        high_percentile=np.array([0.55, 0.6, np.nan]),
        levels=((), (), (2,)),
        checked=np.array([20.0, 20, 2]),
    )
    result = replace(handmade(), intervals=ranges)
    ax = result.plot.changes("Ada")
    bands = [line.get_xdata().tolist() for line in ax.lines if line.get_linewidth() == 9]
    np.testing.assert_allclose(bands, [[10, 55], [22, 60]])
    assert {"or $y^2$ <b>", "range that still holds"} <= set(texts(ax))
    assert Counterfactuals.from_json(result.to_json()).ranges["low_percentile"].tolist()[:2] == [10.0, 22.0]


def timed(ranges: bool = False) -> Counterfactuals:
    """One person who may wait, or pay a debt off; a range that is a point."""
    schema = Schema(
        (
            Feature("MSinceMostRecentTradeOpened", "count", clock=True),
            Feature("months", "count", clock=True),
            Feature("debt", "count", pace=2),
        )
    )
    person = pd.DataFrame({"MSinceMostRecentTradeOpened": [3], "months": [50], "debt": [20]}, index=["Di"])
    advanced = {"MSinceMostRecentTradeOpened": 8, "months": 55}
    result = result_of(schema, person, {0: [advanced, {**advanced, "debt": 10}]}, total_shift=[0.5, 0.75])
    where = {"option": np.array([1]), "column": np.array([2]), "levels": ((),)}
    ends = {"low": np.array([10.0]), "high": np.array([10.0])}
    places = {"low_percentile": np.array([0.4]), "high_percentile": np.array([0.4])}
    known = Importances(np.array([1]), np.array([2]), np.array([0.5]), np.ones(1), *[np.zeros(1)] * 2)
    intervals = Ranges(**where, **ends, **places, checked=np.array([1.0])) if ranges else None
    return replace(result, intervals=intervals, importances=known)


def test_waiting_is_one_row_and_clocks_come_last() -> None:
    result = timed()
    ax = result.plot.changes("Di")
    assert [tick.get_text().replace("\n", " ") for tick in ax.get_yticklabels()] == [
        "waiting",
        "MSinceMostRecentTrade Opened (with time)",
        "months (with time)",
    ]
    assert {"5 months", "total shift 50 points · wait 5 months"} <= set(texts(ax))
    assert "total shift 75 points · takes 5 months" in texts(result.plot.changes("Di", 2))
    both = result.plot.options("Di")
    assert [tick.get_text() for tick in both.get_yticklabels()][:2] == ["debt", "waiting"]
    assert texts(both).count("unchanged") == 2  # the debt by the first option, waiting by the second


def test_waiting_is_one_lever() -> None:
    result = timed()
    ax = result.plot.overview()
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["waiting"]
    assert {"100 %", "5 months"} <= set(texts(ax))
    assert time_waited(np.array([18.0, 1.0, 5.0])) == "1 to 18 months, median 5"


def test_a_range_of_one_value_is_not_drawn() -> None:
    for option in (1, 2):
        ax = timed(ranges=True).plot.changes("Di", option)
        assert "range that still holds" not in texts(ax)
        assert not [line for line in ax.lines if line.get_linewidth() == 9]


def test_the_key_keeps_clear_of_the_axis_and_no_point_lies_on_a_label() -> None:
    result = timed()
    for ax in (result.plot.changes("Di"), result.plot.options("Di")):
        ax.figure.draw_without_rendering()
        key = ax.get_legend().get_window_extent()
        assert not key.overlaps(ax.xaxis.label.get_window_extent())
        assert not key.overlaps(ax.get_window_extent())
        assert not any(text.get_text().endswith(("change", "changes")) for text in ax.texts)
        assert key.x1 <= ax.figure.bbox.x1


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("MSinceMostRecentTradeOpen", "MSinceMostRecent\nTradeOpen"),
        ("the NumberOfTime30-59DaysPastDue", "the NumberOf\nTime30-59Days\nPastDue"),
        ("number_of_open_trades", "number_of_open_\ntrades"),
        ("x" * 40, f"{'x' * 16}\n{'x' * 16}\n{'x' * 8}"),
        ("a few plain words in a row", "a few plain\nwords in a row"),
        ("", ""),
    ],
)
def test_long_names_break_between_words(name: str, lines: str) -> None:
    assert label(name, 16, 3) == lines


def test_options_stand_side_by_side() -> None:
    ax = handmade().plot.options("Ada")
    np.testing.assert_allclose(sorted(points(ax, "o")[:, 0]), [20, 90, 99 + 124])
    assert {"Option 1", "Option 2", "unchanged"} <= set(texts(ax))
    assert texts(ax).count("unchanged") == 4
    assert "Option 1" not in texts(handmade().plot.options("Bo"))


def test_somebody_without_an_answer_is_told_why() -> None:
    for ax in (handmade().plot.changes("Cy"), handmade().plot.options("Cy")):
        assert ax.get_title(loc="left") == "Person Cy: no answer"
        assert Status.OUT_OF_REACH.reason in texts(ax)


def test_people_and_options_that_are_not_there() -> None:
    plot = handmade().plot
    with pytest.raises(DataError, match="no row has the label 'Eve'"):
        plot.changes("Eve")
    with pytest.raises(AttainError, match="option must be an integer from 1 to 2, got 3"):
        plot.changes("Ada", 3)
    twins = result_of(SCHEMA, PEOPLE.set_axis(["Ada", "Ada", "Cy"]), {0: [{"duration": 3}]})
    with pytest.raises(DataError, match="2 rows have the label 'Ada'"):
        twins.plot.options("Ada")


def test_no_two_texts_overlap() -> None:
    schema = Schema(tuple(Feature(f"feature {i} {LONG}", "positive", unit="€") for i in range(10)))
    person = pd.DataFrame({name: [123456789.123] for name in schema.names})
    option = {name: 987654321.5 + i for i, name in enumerate(schema.names)}
    result = result_of(schema, person, {0: [option, option, option]}, total_shift=[1.0, 1.0, 1.0])
    places = np.linspace(0, 1, 10)[None].repeat(3, axis=0)
    result = replace(result, percentiles=(places, 1 - places, np.abs(1 - 2 * places)))
    for ax in (result.plot.changes(0), result.plot.options(0)):
        ax.figure.draw_without_rendering()
        whole = ax.figure.bbox
        visible = [t for t in ax.findobj(Text) if t.get_text().strip() and t.get_visible()]
        boxes = [t.get_window_extent() for t in visible]
        for i, box in enumerate(boxes):
            assert whole.x0 - 1 <= box.x0, visible[i]
            assert box.x1 <= whole.x1 + 1, visible[i]
            for j in range(i):
                one, other = box.padded(-1), boxes[j].padded(-1)
                assert not one.overlaps(other), (visible[i], visible[j])


def test_names_are_literal_and_long_ones_are_cut() -> None:
    result = handmade()
    figure, own = pyplot.subplots()
    for ax in (
        result.plot.changes("Ada"),
        result.plot.options("Ada"),
        result.plot.overview(),
        result.plot.changes("Ada", ax=own),
    ):
        assert not any(text.get_parse_math() for text in ax.findobj(Text))
        assert any(text.startswith("$x_1$") for text in texts(ax))
        assert all(len(line) < 90 for text in texts(ax) for line in text.splitlines())
    figure.canvas.draw()


@pytest.mark.parametrize(
    "draw",
    [
        lambda plot, ax: plot.changes("Ada", ax=ax),
        lambda plot, ax: plot.options("Ada", ax=ax),
        lambda plot, ax: plot.overview(["x", "y", "x"], ax=ax),
    ],
)
def test_axes_that_are_given_are_used(draw: Callable[[Plots, Any], Any]) -> None:
    ax = detached(5, 4)
    assert draw(handmade().plot, ax) is ax
    assert not pyplot.get_fignums()
    assert draw(handmade().plot, None).figure.number == 1


def test_the_overview_has_signed_shifts_and_shares() -> None:
    ax = handmade().plot.overview()
    # of the best answers: duration changes twice, the others once
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels[0] == "duration"
    assert len(labels) == 4
    np.testing.assert_allclose(sorted(points(ax, "o")[:, 0]), [-50, -30, 5, 20])
    assert {"100 %", "50 %", "→ owns (1)", "the best answers of 2 of 3 people"} <= set(texts(ax))


def test_groups_are_bands_of_numbers_and_small_ones_are_put_together() -> None:
    people = pd.DataFrame({"duration": np.arange(40.0), HOSTILE: 0.0, "housing": "rents", "amount": 1.0})
    result = result_of(SCHEMA, people, {i: [{HOSTILE: 1.0}] for i in range(40)})
    assert {"0 to 9 (10)", "30 to 39 (10)"} <= set(texts(result.plot.overview("duration")))
    shown = texts(result.plot.overview([f"group {i % 10}" for i in range(40)]))
    assert {"group 0 (4)", "group 4 (4)", "5 other groups (20)"} <= set(shown)
    with pytest.raises(DataError, match="one group for each of the 40 people, got 2"):
        result.plot.overview(["a", "b"])
    with pytest.raises(DataError, match="by is 'height'"):
        result.plot.overview("height")


def test_special_codes_are_groups_of_their_own() -> None:
    schema = Schema((Feature("late", "count", special={-8: "no record"}), Feature("x", "real")))
    people = pd.DataFrame({"late": [-8, *range(20)], "x": 0.0})
    result = result_of(schema, people, {i: [{"x": 1.0}] for i in range(21)})
    shown = [text for text in texts(result.plot.overview("late")) if text.endswith(")")]
    assert shown == ["0 to 4 (5)", "5 to 9 (5)", "10 to 14 (5)", "15 to 19 (5)", "no record (1)"]


def test_nobody_has_an_answer() -> None:
    empty = result_of(SCHEMA, PEOPLE, {})
    for ax in (empty.plot.overview(), empty.plot.overview("housing")):
        ax.figure.canvas.draw()


def test_equal_results_give_equal_bytes(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        save(Plots(handmade(), detached).options("Ada").figure, tmp_path / folder, "options")
        save(Plots(handmade(), detached).overview().figure, tmp_path / folder, "overview")
    for name in ("options.png", "options.svg", "overview.png", "overview.svg"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    drawn = (tmp_path / "one" / "options.svg").read_text(encoding="utf-8")
    assert "<script>" not in drawn


def test_without_matplotlib_a_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    result = handmade()
    assert "<img src='data:image/png;base64," in result._repr_html_()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'attain\[report\]'"):
        result.plot.changes("Ada")
    html = result._repr_html_()
    assert "<img" not in html
    assert "24 months" in html


def test_a_notebook_draws_the_first_people_with_an_answer() -> None:
    html = handmade()._repr_html_()
    assert html.count("<img") == 2
    assert "<script>" not in html
    assert html.count("<tr") == html.count("</tr>")
    glyphs = result_of(SCHEMA, PEOPLE.set_axis(["漢字", "🙂", "Cy"]), {0: [{"duration": 3}], 1: [{"duration": 3}]})
    assert glyphs._repr_html_().count("<img") == 2
