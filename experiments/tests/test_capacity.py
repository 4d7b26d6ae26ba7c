"""The capacity card: which networks are swept, what is measured, recommended and written."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attain.testing import people
from experiments.__main__ import main
from experiments.research.capacity import QUICK, Capacity, _networks, capacity
from experiments.research.judge import judge
from tests.density.outside import SamplingPCA


class Network(SamplingPCA):
    """A network that needs no training: its latent size is all that counts."""

    def __init__(self, schema: Any, latent_dim: int = 2) -> None:
        super().__init__(schema, latent_dim)
        self.latent_dim = latent_dim


def network(schema: Any, *, latent_dim: int, **_: Any) -> Network:
    return Network(schema, latent_dim)


@pytest.fixture(scope="module")
def card() -> Capacity:
    with pytest.MonkeyPatch.context() as patch:
        return swept(patch)


def swept(patch: pytest.MonkeyPatch, **options: Any) -> Capacity:
    patch.setattr("experiments.research.capacity.CHVAE", network)
    X = people.frame(300)
    y = people.labels(X)
    model = people.linear_model(X, y)
    refused = X[model.predict(X) != "granted"].head(25)
    return capacity(
        model, X, y, refused, target="granted", schema=people.schema(), sweep={"latent_dim": (1, 6)}, **options
    )


def test_one_parameter_at_a_time_leaves_the_centre() -> None:
    found = _networks(QUICK)
    assert list(found) == ["centre", "latent_dim 2", "hidden 0", "components 3", "beta 4.0"]
    for name, sizes in found.items():
        assert sum(sizes[key] != found["centre"][key] for key in sizes) == (name != "centre")


def test_every_figure_is_measured_with_its_interval(card: Capacity) -> None:
    assert list(card.table.index) == ["centre", "latent_dim 1"]
    assert (card.table["status"] == "ok").all()
    assert (card.table["active_units"] >= 1).all()
    for measure in ("auc", "found", "inlier", "connected_90", "total_shift", "max_shift", "good"):
        value, low, high = (card.table[f"{measure}{end}"] for end in ("", "_low", "_high"))
        assert ((low <= value + 1e-9) & (value <= high + 1e-9)).all(), measure
    for name, evaluation in card.comparison.evaluations.items():
        frame = evaluation.frame[evaluation.asked]
        good = (frame["found"] & (frame["inlier"] == 1) & (frame["connected_90"] == 1)).mean()
        assert card.table.loc[name, "good"] == pytest.approx(good)


def test_what_is_certified_is_connected(card: Capacity) -> None:
    answered = card.table["found"] > 0
    assert answered.any()
    assert (card.table["certified"] <= card.table["connected_90"] + 1e-9)[answered].all()


def test_the_recommendation_is_the_network_with_most_good_answers(card: Capacity) -> None:
    assert card.table.loc[card.recommended, "good"] == card.table["good"].max()
    assert card.recommendation.startswith(f"Recommended: {card.recommended} (latent_dim=")


def test_it_is_written_as_table_and_plot(card: Capacity, tmp_path: Path) -> None:
    written = card.write(tmp_path / "out")
    assert [path.name for path in written] == ["capacity.csv", "capacity.png"]
    assert "latent_dim 1" in str(card)


def test_what_needs_laws_is_left_out_where_there_are_none(card: Capacity) -> None:
    for share, shown in ((np.nan, False), (1.0, True)):
        laws = dict.fromkeys(("possible", "possible_low", "possible_high"), share)
        other = replace(card, table=card.table.assign(**laws))
        header, rows = other.cells()
        assert ("possible" in header) == shown
        assert {len(row) for row in rows} == {len(header)}
        assert ("possible is not measured: no laws were found in the held-out rows." in other.note) != shown


def test_no_network_is_started_after_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    late = swept(monkeypatch, seconds=1e-9)
    assert (late.table["status"] == "failed").all()
    assert late.table["reason"].str.startswith("not started: the limit of seconds was reached").all()


def test_the_command_prints_the_card(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("experiments.research.capacity.CHVAE", network)
    assert main(["capacity", "--demo", "--quick", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["recommended"] in [line["network"] for line in shown["networks"]]
    assert len(shown["networks"]) == 5


def test_a_judge_knows_shifted_rows_and_not_equal_ones() -> None:
    real, alike = np.random.default_rng(0).normal(size=(2, 2000, 1))
    assert abs(judge(real, alike).auc - 0.5) < 0.03
    # no judge tells N(0, 1) from N(1, 1) with an AUC above Φ(1 / √2) = 0.760
    assert 0.72 < judge(real, alike + 1).auc < 0.78
