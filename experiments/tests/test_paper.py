"""The paper's experiments end to end, small: every file, its bytes, and a run that is stopped and goes on."""

import hashlib
import importlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from attain.core.errors import AttainError, FileError
from attain.datasets import make_moons
from attain.tables import Table
from experiments.data import gmsc_schema
from experiments.paper import FULL, QUICK, run, synthetic
from experiments.paper.classifiers import above, linear_above
from experiments.paper.credit import BEFORE, COMMON, Credit, as_read
from experiments.paper.findings import Verdict
from experiments.paper.measures import REAL
from experiments.paper.settings import HELOC_CORRECTED, HELOC_PRINTED
from experiments.paper.tables import shown, summary
from experiments.store import Artifact, Store

# the package has a function of the same name
paper_run = importlib.import_module("experiments.paper.run")

TINY = replace(
    QUICK,
    blobs=replace(QUICK.blobs, rows=300, people=20, epochs=60),
    blobs_hidden=replace(QUICK.blobs_hidden, rows=300, people=20, hidden=(16,), epochs=60),
    moons=replace(QUICK.moons, rows=300, people=5, hidden=(16,), components=1, epochs=60),
    studies=(replace(QUICK.studies[0], latent_dim=2, epochs=2, people=4, few_people=1),),
)
ROOT = Path(__file__).parents[2]


def bytes_of(folder):
    """The hash of every file in the folder, by its path."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run from beginning to end."""
    folder = tmp_path_factory.mktemp("whole")
    return folder, run(folder, settings=TINY)


@pytest.mark.slow
def test_every_figure_and_table_is_there(whole):
    folder, claims = whole
    names = {path.stem for path in folder.iterdir() if path.suffix == ".csv"}
    wanted = {
        "figure-1-search",
        "figure-2-blobs",
        "figure-2-blobs-hidden-layer",
        "figure-7-moons",
        "table-1-counterfactuals",
        "table-2-related-work",
    }
    wanted |= {f"figure-3-german-{ending}" for ending in ("faithfulness", "other-settings")}
    wanted |= {f"figure-5-german-{ending}" for ending in ("difficulty", "other-settings")}
    assert names == wanted | {"table-3-german-features", "results-german", "claims"}
    for name in (name for name in names if name.startswith("figure")):
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (folder / f"{name}.svg").read_text(encoding="utf-8")[:2000]
    assert set(claims["verdict"]) <= {verdict.value for verdict in Verdict}


@pytest.mark.slow
def test_the_page_has_every_claim_and_no_address_outside(whole):
    folder, claims = whole
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == 8
    assert page.count("cannot be checked") >= (claims["verdict"] == "cannot be checked").sum()
    assert page.index("The five claims") < page.index("Every other claim") < page.index("Properties")
    assert "immutable cells of C-CHVAE" in page
    assert all(name in page for name in ("Actionable Recourse", "Growing Spheres", "hill climbing with local search"))
    assert 'src="http' not in page
    assert str(folder) not in page


@pytest.mark.slow
def test_the_numbers_of_the_figures_are_those_of_the_answers(whole):
    folder, _ = whole
    blobs = pd.read_csv(folder / "figure-2-blobs.csv")
    spheres = blobs.query("panel == 'answers' and series == 'GS'")
    assert len(spheres) == 20
    assert (spheres["x2"] > 6).all()
    density = blobs[blobs["panel"].str.startswith("latent")].pivot_table("x2", "x1", "series")
    assert np.trapezoid(density["all"], density.index) == pytest.approx(1, abs=0.02)
    parts = density[["cluster 1", "cluster 2", "cluster 3"]].sum(axis=1)
    assert parts.to_numpy() == pytest.approx(density["all"].to_numpy())
    curves = pd.read_csv(folder / "figure-3-german-faithfulness.csv")
    assert curves["share"].dropna().between(0, 1).all()
    several = curves["people answered"] >= 2  # of one person, nothing is known of others
    assert (curves["low"] <= curves["high"])[several].all()
    assert curves["low"][~several].isna().all()
    over = curves.query("panel == 'connected over epsilon'").dropna().groupby("method")["share"]
    assert over.apply(lambda share: share.is_monotonic_increasing).all()
    shifts = pd.read_csv(folder / "figure-5-german-difficulty.csv")
    assert (shifts["max_shift"] <= shifts["total_shift"] + 1e-8).all()


@pytest.mark.slow
def test_the_diagram_has_the_code_of_the_answer(whole):
    folder, _ = whole
    numbers = pd.read_csv(folder / "figure-1-search.csv", dtype=str, keep_default_na=False).set_index("what")
    codes = numbers.loc[[name for name in numbers.index if name.startswith("latent code")]].astype(float)
    moved = np.linalg.norm(codes["after"] - codes["before"])
    assert moved == pytest.approx(float(numbers.loc["latent distance", "after"]), abs=1e-4)
    for name in ("age", "foreign_worker"):
        assert numbers.loc[name, "before"] == numbers.loc[name, "after"]
    assert (
        float(numbers.loc["probability of good", "before"]) < 0.5 < float(numbers.loc["probability of good", "after"])
    )


class Stopped(Exception):
    """The moment a run is killed."""


def stop(self, judge, answers):
    raise Stopped


def test_a_folder_of_another_run_is_refused(tmp_path):
    Store(tmp_path / "parts", {"quick": False})
    with pytest.raises(AttainError, match="other settings"):
        run(tmp_path, settings=TINY)


def made_up(monkeypatch):
    """Puts cheap parts in the place of the autoencoder's: answers that anybody can check."""

    def learned(kind, example, data, train, y_train, people, chosen, seed):
        codes = np.linspace(-1, 1, len(train))[:, None]
        values, own = Table.read(train, data.schema).values, Table.read(people, data.schema).values
        arrays = {"people": chosen, "rows": own, "found": np.ones(len(own), dtype=bool), "own_codes": own[:, :1]}
        return Artifact({}, {**arrays, "answer_codes": own[:, :1] + 1, "codes": codes, "reconstruction": values})

    def answered(self, method, asked, weights):
        calls.append((self.seed, method.kind))
        found = np.arange(len(asked)) % 2 == 0
        rows = np.where(found[:, None], self.test_values[asked], np.nan)
        return Artifact({}, {"people": asked, "rows": rows, "found": found})

    calls = []
    monkeypatch.setattr(synthetic, "_learned", learned)
    monkeypatch.setattr(Credit, "_trained", lambda self: Artifact({}, {"weights": np.zeros(1)}))
    monkeypatch.setattr(Credit, "_answered", answered)
    return calls


def computed(folder, seeds=1):
    settings = replace(TINY, seeds=seeds)
    paper_run._compute(settings, folder, None, 1)
    return paper_run._collected(settings, folder, None)


def test_finished_parts_are_not_computed_again_and_all_end_the_same(tmp_path, monkeypatch):
    calls = made_up(monkeypatch)
    computed(tmp_path / "whole", seeds=2)
    assert calls == [(seed, method.kind) for seed in range(2) for method in TINY.studies[0].methods.values()]
    with monkeypatch.context() as patched:
        patched.setattr(Credit, "_measured", stop)
        with pytest.raises(Stopped):
            computed(tmp_path / "stopped")
    calls.clear()
    computed(tmp_path / "stopped")
    assert calls == []
    computed(tmp_path / "stopped", seeds=2)  # a folder takes further seeds
    assert {seed for seed, _ in calls} == {1}
    assert bytes_of(tmp_path / "stopped") == bytes_of(tmp_path / "whole")


def test_measures_of_answers_that_change_nothing(tmp_path, monkeypatch):
    made_up(monkeypatch)
    seeds = computed(tmp_path).studies["german"]
    results = seeds[0]
    for method in ("AR", "HCLS"):
        line, judge = results.line(method), results.study.methods[method].judge
        assert len(line.people) == 4
        assert (line.total_shift[line.found] == 0).all()
        assert np.isnan(line.total_shift[~line.found]).all()
        before = results.beside(BEFORE, judge)
        assert line.people.tolist() == before.people.tolist()
        assert line.nearest[line.found].tolist() == before.nearest[line.found].tolist()
        refused = results.credit.linear if judge == "LR" else results.credit.machine
        assert set(refused.predict(results.credit.test.iloc[line.people])) == {"bad"}
    both = results.credit.cohort(COMMON, "LR")
    assert both.tolist() == results.credit.cohort(COMMON, "SVM").tolist()
    real = results.beside(REAL)
    assert np.quantile(real.nearest, 0.9) == pytest.approx(real.epsilon[0.9])
    table = summary(seeds).query("people == 'own' and method == 'AR'").iloc[0]
    assert (table["asked"], table["answered"], table["TS"]) == (4, 2, 0)
    assert shown(summary(seeds)).query("people == 'own' and method == 'AR'")["TS"].item() == "0.00 (0.00–0.00)"


def test_raw_distances_are_those_in_original_units(tmp_path, monkeypatch):
    made_up(monkeypatch)
    results = computed(tmp_path).studies["german"][0]
    credit, line = results.credit, results.line("AR", raw=True)
    numbers = [j for j, feature in enumerate(credit.schema) if feature.ordered]
    others = [j for j in range(len(credit.schema)) if j not in numbers]
    accepted = credit.verdicts.arrays["LR/train"] & credit.desired_train
    own, real = credit.test_values[line.people[0]], credit.train_values[accepted]
    squares = ((real[:, numbers] - own[numbers]) ** 2).sum(axis=1) + 2 * (real[:, others] != own[others]).sum(axis=1)
    assert line.nearest[0] == pytest.approx(np.sqrt(squares.min()))


def test_codes_are_read_as_counts_or_as_states():
    schema, late = gmsc_schema("paper"), "NumberOfTimes90DaysLate"
    counts, states = FULL.studies[:2]
    assert (counts.name, states.name) == ("gmsc", "gmsc-states")
    assert counts.data == states.data == "gmsc"
    assert not as_read(schema, counts)[late].special
    assert set(as_read(schema, states)[late].special) == {96, 98}


def test_the_linear_classifier_of_the_examples_decides_like_the_rule():
    people = make_moons(200).X
    linear, bare = linear_above(people, "x1", 0.0), above("x1", 0.0)
    assert (linear.predict(people) == bare(people)).all()
    assert linear.decision_function(people) == pytest.approx(people["x1"].to_numpy())


def test_a_file_in_the_place_of_the_folder_is_told(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(FileError, match="taken"):
        run(tmp_path / "taken", settings=TINY)


def test_the_printed_directions_differ_from_the_corrected_ones_where_the_table_errs():
    assert {name for name in HELOC_CORRECTED if HELOC_CORRECTED[name] != HELOC_PRINTED[name]} == {
        "PercentTradesNeverDelq",
        "MaxDelq2PublicRecLast12M",
        "MaxDelqEver",
        "NumBank2NatlTradesWHighUtilization",
    }


@pytest.mark.slow
def test_a_killed_process_goes_on_and_ends_with_the_same_bytes(tmp_path):
    command = [sys.executable, "-m", "experiments", "paper", "--quick", "--out"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    process = subprocess.Popen([*command, str(killed)], env=environment, cwd=ROOT, stdout=subprocess.DEVNULL)
    try:
        while process.poll() is None and len(list(killed.glob("parts/*.part"))) < 5:
            time.sleep(0.05)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert not (killed / "index.html").exists()
    for folder, jobs in ((killed, "1"), (whole, "2")):
        given = [*command, str(folder), "--jobs", jobs]
        subprocess.run(given, env=environment, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    assert bytes_of(killed) == bytes_of(whole)
