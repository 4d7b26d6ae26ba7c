"""The paper's claims: checks that hold and checks that fail, on made-up measures with known answers."""

from types import SimpleNamespace

import numpy as np
import pytest

from experiments.paper import checks_credit as credit
from experiments.paper import checks_theory as theory
from experiments.paper.claims import CLAIMS, Outcome, on, on_any, on_both
from experiments.paper.credit import COMMON, OWN
from experiments.paper.findings import Finding, Verdict, finding
from experiments.paper.measures import Line, averaged
from experiments.paper.settings import CCHVAE, CORRECTED, FULL, NEIGHBOURS, PRINTED, RELEASED

HOLDS, FAILS = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED
EPSILON = {0.5: 1.0, 0.75: 2.0, 0.9: 3.0, 0.95: 4.0}


def line(method, *, outliers=0.0, nearest=(1.0,) * 10, total=1.0, largest=0.5, found=10):
    """Ten people: a share of outliers at every k, and the distance of each to the nearest real person."""
    flags = (np.arange(10) < round(10 * outliers)).astype(float)
    return Line(
        method,
        people=np.arange(10),
        found=np.arange(10) < found,
        outlier=np.repeat(flags[:, None], len(NEIGHBOURS), axis=1),
        nearest=np.array(nearest, dtype=float),
        total_shift=np.full(10, total),
        max_shift=np.full(10, largest),
        changed=np.ones(10),
        epsilon=EPSILON,
    )


def results(**lines):
    """A study whose lines are given: `cchvae`, `ar`, `gs`, `hcls`, `printed`, `released`."""
    names = {"cchvae": CCHVAE, "ar": "AR", "gs": "GS", "hcls": CORRECTED, "printed": PRINTED, "released": RELEASED}
    by_name = {names[key]: line(names[key], **given) for key, given in lines.items()}
    study = SimpleNamespace(
        name="gmsc", epsilons=(0.5, 5.0), hcls={m: {} for m in by_name if m in (CORRECTED, PRINTED)}
    )
    return SimpleNamespace(study=study, line=lambda method, cohort=OWN: by_name[method])


FAR, CLOSE = (6.0,) * 10, (0.4,) * 10


def test_fewest_outliers_is_strict():
    others = {"ar": {"outliers": 0.3}, "gs": {"outliers": 0.2}, "hcls": {"outliers": 0.9}}
    assert credit.fewest_outliers(results(cchvae={"outliers": 0.1}, **others)).verdict is HOLDS
    assert credit.fewest_outliers(results(cchvae={"outliers": 0.2}, **others)).verdict is FAILS


def test_fewest_outliers_adds_what_holds_for_rows_that_both_refuse():
    better = results(cchvae={"outliers": 0.1}, ar={"outliers": 0.3}, gs={"outliers": 0.2}, hcls={"outliers": 0.9})
    worse = results(cchvae={"outliers": 0.5}, ar={"outliers": 0.3}, gs={"outliers": 0.2}, hcls={"outliers": 0.9})
    mixed = SimpleNamespace(
        study=better.study, line=lambda method, cohort=OWN: (worse if cohort == COMMON else better).line(method)
    )
    found = credit.fewest_outliers(mixed)
    assert found.verdict is HOLDS
    assert found.reason.endswith("Among rows that both classifiers refuse it does not hold.")


def test_most_connected_needs_every_epsilon():
    some = (0.4,) * 5 + (6.0,) * 5
    everywhere = results(cchvae={"nearest": CLOSE}, ar={"nearest": some}, gs={"nearest": FAR}, hcls={"nearest": FAR})
    assert credit.most_connected(everywhere).verdict is HOLDS
    late = results(cchvae={"nearest": (0.8,) * 10}, ar={"nearest": some}, gs={"nearest": FAR}, hcls={"nearest": FAR})
    assert credit.most_connected(late).verdict is FAILS  # at ε = 0.5 AR is ahead


def test_outperforms_needs_both():
    good = {"cchvae": {"outliers": 0.1, "nearest": CLOSE}}
    bad = {name: {"outliers": 0.5, "nearest": FAR} for name in ("ar", "gs", "hcls")}
    assert credit.outperforms(results(**good, **bad)).verdict is HOLDS
    assert credit.outperforms(results(cchvae={"outliers": 0.6, "nearest": CLOSE}, **bad)).verdict is FAILS
    assert credit.outperforms(results(cchvae={"outliers": 0.1, "nearest": FAR}, **bad)).verdict is FAILS


@pytest.mark.parametrize(("share", "verdict"), [(0.2, HOLDS), (0.3, FAILS)])
def test_alike_is_within_five_points(share, verdict):
    assert credit.alike(results(gs={"outliers": 0.2}, ar={"outliers": share})).verdict is verdict


def test_hcls_is_worst_in_both_measures():
    rest = {name: {"outliers": 0.2, "nearest": CLOSE} for name in ("cchvae", "ar", "gs")}
    assert credit.hcls_is_worst(results(hcls={"outliers": 0.9, "nearest": FAR}, **rest)).verdict is HOLDS
    assert credit.hcls_is_worst(results(hcls={"outliers": 0.1, "nearest": FAR}, **rest)).verdict is FAILS
    assert credit.hcls_is_weak(results(hcls={"outliers": 0.9}, ar={"outliers": 0.2}, gs={})).verdict is HOLDS
    assert credit.hcls_is_weak(results(hcls={"outliers": 0.2}, ar={"outliers": 0.2}, gs={})).verdict is FAILS


@pytest.mark.parametrize(("others", "verdict"), [(0.2, HOLDS), (0.4, FAILS), (0.1, FAILS)])
def test_twenty_points_are_neither_ten_nor_forty(others, verdict):
    given = {name: {"outliers": others} for name in ("ar", "gs", "hcls")}
    assert credit.gap_is_twenty_points(results(cchvae={}, **given)).verdict is verdict


def test_a_gap_that_grows_with_epsilon():
    still = {name: {"nearest": FAR} for name in ("ar", "gs", "hcls")}
    growing = results(cchvae={"nearest": (0.4, 0.9, *[3.5] * 8)}, **still)
    assert credit.gap_grows_with_epsilon(growing).verdict is HOLDS
    closing = {"nearest": (4.5,) * 10}
    ahead = results(cchvae={"nearest": CLOSE}, ar=closing, gs=closing, hcls=closing)
    assert credit.gap_grows_with_epsilon(ahead).verdict is FAILS  # ahead by 100 points, and by 0 at ε = 5


def test_harder_looks_at_every_other_method_and_at_people_answered_only():
    easy = {"total": 0.5, "largest": 0.2}
    assert credit.harder(results(cchvae={}, ar=easy, gs=easy, hcls=easy)).verdict is HOLDS
    hard = results(cchvae={}, ar=easy, gs=easy, hcls={"total": 2.0, "largest": 0.2})
    assert credit.harder(hard).verdict is FAILS
    assert credit.harder_in_one(hard).verdict is HOLDS
    assert "TS: C-CHVAE 1.00, AR 0.50, GS 0.50, HCLS 2.00" in credit.harder(hard).reason


def test_directions_matter_where_outliers_or_answers_change():
    assert credit.directions_matter(results(hcls={"outliers": 0.1}, printed={"outliers": 0.3})).verdict is HOLDS
    assert credit.directions_matter(results(hcls={}, printed={"found": 8})).verdict is HOLDS
    assert credit.directions_matter(results(hcls={}, printed={})).verdict is FAILS
    assert credit.directions_matter(results(hcls={})).verdict is Verdict.OPEN


def test_faithfulness_has_a_price_on_every_data_set():
    easy = {"outliers": 0.5, "total": 0.1, "largest": 0.1}
    dear = results(cchvae={}, ar=easy, gs=easy)
    free = results(cchvae={"total": 0.05}, ar=easy, gs=easy)
    assert credit.faithfulness_has_a_price([dear, dear]).verdict is HOLDS
    assert credit.faithfulness_has_a_price([dear, free]).verdict is FAILS


def test_the_released_search_must_be_close_in_both_measures():
    same = results(cchvae={"outliers": 0.1}, released={"outliers": 0.1})
    other = results(cchvae={"outliers": 0.1}, released={"outliers": 0.1, "nearest": FAR})
    assert credit.released_code_is_the_method([same]).verdict is HOLDS
    assert credit.released_code_is_the_method([same, other]).verdict is FAILS


def test_the_definitions_of_the_paper_on_cases_with_known_answers():
    assert theory.staying_costs_nothing().verdict is HOLDS
    down = theory.adding_never_costs_less()
    assert down.verdict is FAILS
    assert "pays 0.6 for going to 1, and 0.2" in down.reason
    order = theory.proximity_orders_like_the_outlier_factor()
    assert order.verdict is FAILS
    assert "P 1.00 and 2.00, but LOF (k = 2) 1.33 and 1.00" in order.reason
    shell = theory.shells_are_sampled_evenly()
    assert shell.verdict is FAILS
    assert "50.0% of the samples and has 5.5% of the volume" in shell.reason
    assert theory.shells_are_sampled_evenly(1).verdict is HOLDS  # on a line, length is volume
    assert "x₂ has 11 values" in theory.moons_have_19_categories().reason


def test_a_claim_about_data_that_are_not_here_is_left_open_and_tells_the_others():
    study = results(cchvae={}, ar={}, gs={}, hcls={})
    outcome = Outcome(FULL, None, None, {"german": study})
    said = {
        finding(True, "It is so."): "On German credit it holds: It is so.",
        finding(False, "German credit: AR 3."): "On German credit it does not hold: AR 3.",
        Finding(Verdict.OPEN, "No."): "On German credit it cannot be checked either: No.",
    }
    for given, sentence in said.items():
        for check in (on("gmsc", lambda _, given=given: given), on_both(lambda _, given=given: given)):
            found = check(outcome)
            assert found.verdict is Verdict.OPEN
            assert found.reason.startswith("It needs Give Me Some Credit")
            assert found.reason.endswith(f", which a quick run does not have. {sentence}")
        assert on_any(lambda _, given=given: given)(outcome) == given
    here = Outcome(FULL, None, None, {"gmsc": study, "heloc": study})
    assert on("gmsc", lambda _: finding(False, "no"))(here) == Finding(FAILS, "no")
    assert on_both(lambda both: finding(len(both) == 2, "yes"))(here) == Finding(HOLDS, "yes")


def test_claims_are_many_and_distinct():
    assert len(CLAIMS) == len({(claim.section, claim.text) for claim in CLAIMS}) >= 15


def test_means_and_intervals_of_nothing_and_of_equal_people():
    nothing = averaged(np.empty((0, 3)), 50, 0)
    assert np.isnan(nothing.mean).all()
    assert np.isnan(nothing.low).all()
    same = averaged(np.ones((5, 2)), 50, 0)
    assert (same.mean == 1).all()
    assert (same.low == 1).all()
    assert (same.high == 1).all()
    half = averaged(np.repeat([[0.0], [1.0]], 50, axis=0), 2000, 0)
    assert half.mean[0] == 0.5
    assert half.low[0] == pytest.approx(0.4, abs=0.02)  # 1.96 standard errors of .05
    assert half.high[0] == pytest.approx(0.6, abs=0.02)


def test_connectedness_is_the_distribution_of_nearest_distances():
    given = line("AR", nearest=(0.5, 1.5, 2.5, 3.5, 4.5, 4.6, 4.7, 4.8, 4.9, 5.5), found=9)
    assert given.connected((1.5, 4.5)).mean(axis=0) == pytest.approx([2 / 9, 5 / 9])
    assert given.connected_relative().mean(axis=0) == pytest.approx([1 / 9, 2 / 9, 3 / 9, 4 / 9])
    assert len(given.among(np.array([1, 9])).outliers()) == 1
