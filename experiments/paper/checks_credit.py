"""Claims of the paper about its credit data, checked on the measures of the answers.

Every check looks at the rows that each method's own classifier refuses, seed by seed. A method is ahead in a measure if
it is at every k, or at every ε: the quantiles of real people's distances and, unless distances are raw, the absolute
grid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

import numpy as np

from attain.population.population import QUANTILES
from experiments.paper.credit import Results
from experiments.paper.findings import Finding, Part, judged
from experiments.paper.measures import Line, averaged, mean
from experiments.paper.settings import (
    AR,
    CCHVAE,
    GS,
    GS_DENSE,
    HCLS,
    HCLS_LEAST,
    HCLS_LEAST_FREE,
    HCLS_LEAST_PRINTED,
    HCLS_PRINTED,
    RIVALS,
)

Seeds = Sequence[Results]
Studies = Mapping[str, Seeds]
"""The results of each study, by seed."""

OTHERS: Final = (*RIVALS, HCLS_LEAST)
"""The rivals as the paper set them, and HCLS at the least budget that suffices."""
SHIFTS: Final = {"total_shift": "TS", "max_shift": "MS"}
_BUDGETS: Final = {HCLS: "all of the budget", HCLS_LEAST: "the least budget"}
_SIMILAR: Final = 0.1
"""Two curves are called very similar where they are nowhere farther apart than this."""


def outliers(results: Results, method: str, *, raw: bool = False) -> np.ndarray:
    """The share of outliers at each k."""
    return mean(results.line(method, raw=raw).outliers())


def near(results: Results, method: str, *, raw: bool = False) -> np.ndarray:
    """The share connected at ε.5 to ε.95."""
    return mean(results.line(method, raw=raw).connected_relative())


def connected(results: Results, method: str, *, raw: bool = False) -> np.ndarray:
    """The share connected at ε.5 to ε.95 and then, unless distances are raw, on the absolute grid."""
    absolute = mean(results.line(method).connected(results.study.epsilons))
    return near(results, method, raw=True) if raw else np.concatenate((near(results, method), absolute))


def fewer_outliers(results: Results, one: str, other: str, *, raw: bool = False) -> bool:
    """At every k, or neither method has any."""
    own, its = outliers(results, one, raw=raw), outliers(results, other, raw=raw)
    return bool(((own < its) | ((own == 0) & (its == 0))).all())


def better_connected(results: Results, one: str, other: str, *, raw: bool = False) -> bool:
    """At every ε, or both methods always are."""
    own, its = connected(results, one, raw=raw), connected(results, other, raw=raw)
    return bool(((own > its) | ((own == 1) & (its == 1))).all())


Tests = Mapping[tuple[str, str], Callable[[Results], bool]]
"""By what is tested, and against which method (or ""), the test of one seed."""
Curve = Callable[..., np.ndarray]
_AHEAD: Final[Mapping[str, Callable[..., bool]]] = {
    "fewer outliers than": fewer_outliers,
    "better connected than": better_connected,
}


def shift(results: Results, method: str, measure: str) -> float:
    """The mean of a measure of difficulty over people answered."""
    return float(mean(results.line(method).shifts(measure))[0])


def _parts(studies: Studies, tests: Tests, ending: str = "") -> list[Part]:
    """Each test on each study, by seed."""
    return [
        Part(seeds[0].study.title + ending, what, tuple(test(results) for results in seeds), other)
        for seeds in studies.values()
        for (what, other), test in tests.items()
    ]


def _against(ahead: str, others: Sequence[str], *, raw: bool = False) -> Tests:
    """Whether C-CHVAE is ahead of each of the others."""
    return {(ahead, other): partial(_AHEAD[ahead], one=CCHVAE, other=other, raw=raw) for other in others}


def told(
    seeds: Seeds, methods: Sequence[str], values: Callable[[Line], np.ndarray], *, raw: bool = False, share: bool = True
) -> str:
    """Each method's mean over seeds and people, with its interval."""
    texts = []
    for method in methods:
        found = averaged([values(results.line(method, raw=raw)) for results in seeds])
        ends = (found.mean[0], found.low[0], found.high[0])
        if np.isnan(ends[0]):
            texts.append(f"{method} without an answer")
        elif share:
            texts.append("{} {:.0f} % ({:.0f} to {:.0f})".format(method, *(100 * end for end in ends)))
        else:
            texts.append("{} {:.2f} ({:.2f} to {:.2f})".format(method, *ends))
    return ", ".join(texts)


def _each(studies: Studies, text: Callable[[Seeds], str]) -> str:
    """A sentence for each study."""
    return " ".join(f"{seeds[0].study.title}: {text(seeds)}." for seeds in studies.values())


def _at_20(line: Line) -> np.ndarray:
    return line.outliers(20)


def _at_90(line: Line) -> np.ndarray:
    return line.connected_relative((0.9,))


def proximate(studies: Studies) -> Finding:
    """C-CHVAE has fewer outliers than the others."""
    return judged(
        _parts(studies, _against("fewer outliers than", OTHERS)),
        _each(studies, lambda seeds: f"outliers at k = 20: {told(seeds, (CCHVAE, *OTHERS), _at_20)}"),
    )


def joined(studies: Studies) -> Finding:
    """C-CHVAE is better connected than the others."""
    return judged(
        _parts(studies, _against("better connected than", OTHERS)),
        _each(studies, lambda seeds: f"connected at ε.9: {told(seeds, (CCHVAE, *OTHERS), _at_90)}"),
    )


def outperforms(studies: Studies) -> Finding:
    """Both, with z-scored distances and with raw ones."""
    parts: list[Part] = []
    for raw, ending in ((False, ", z-scored distances"), (True, ", raw distances")):
        tests = {name: test for ahead in _AHEAD for name, test in _against(ahead, OTHERS, raw=raw).items()}
        parts += _parts(studies, tests, ending)

    def text(seeds: Seeds) -> str:
        methods = (CCHVAE, *OTHERS)
        return "; ".join(
            f"{space}: outliers at k = 20 {told(seeds, methods, _at_20, raw=raw)}, connected at ε.9 "
            f"{told(seeds, methods, _at_90, raw=raw)}"
            for raw, space in ((False, "z-scored"), (True, "raw"))
        )

    return judged(parts, _each(studies, text))


def alike(studies: Studies) -> Finding:
    """GS and AR are nowhere farther apart than ten points, with GS's sparsity step and without."""

    def gap(results: Results, curve: Curve, spheres: str) -> float:
        return float(np.abs(curve(results, spheres) - curve(results, AR)).max())

    def similar(results: Results, curve: Curve, spheres: str) -> bool:
        return gap(results, curve, spheres) <= _SIMILAR

    curves: dict[str, Curve] = {"outliers": outliers, "connectedness": near}
    pairs = [(name, spheres) for spheres in (GS, GS_DENSE) for name in curves]
    tests = {
        (f"{name} of AR and", spheres): partial(similar, curve=curves[name], spheres=spheres) for name, spheres in pairs
    }

    def text(seeds: Seeds) -> str:
        gaps = [
            f"{100 * np.mean([gap(results, curves[name], spheres) for results in seeds]):.0f} points in {name} "
            f"({spheres})"
            for name, spheres in pairs
        ]
        return f"farthest apart, in the mean over seeds: {', '.join(gaps)}"

    return judged(_parts(studies, tests), _each(studies, text) + " Within ten points counts as very similar.")


def hcls_is_worst(studies: Studies) -> Finding:
    """HCLS has the most outliers at every k, and is the least connected at every ε from ε.5 to ε.95."""
    rest = (CCHVAE, AR, GS)

    def most_outliers(results: Results, method: str) -> bool:
        return all(bool((outliers(results, method) > outliers(results, other)).all()) for other in rest)

    def least_connected(results: Results, method: str) -> bool:
        own = near(results, method)
        return all(bool(((own < its) | ((own == 0) & (its == 0))).all()) for its in (near(results, m) for m in rest))

    tests = {
        (f"{what}, with", spent): partial(test, method=method)
        for method, spent in _BUDGETS.items()
        for what, test in (("most outliers", most_outliers), ("least connected", least_connected))
    }

    def text(seeds: Seeds) -> str:
        methods = (HCLS, HCLS_LEAST, *rest)
        return f"outliers at k = 20: {told(seeds, methods, _at_20)}; connected at ε.9: {told(seeds, methods, _at_90)}"

    return judged(_parts(studies, tests), _each(studies, text))


def hcls_is_weak(studies: Studies) -> Finding:
    """HCLS has more outliers than AR and GS at every k."""
    tests = {
        (f"with {spent} more outliers than", other): partial(fewer_outliers, one=other, other=method)
        for method, spent in _BUDGETS.items()
        for other in (AR, GS)
    }
    return judged(
        _parts(studies, tests),
        _each(studies, lambda seeds: f"outliers at k = 20: {told(seeds, (HCLS, HCLS_LEAST, AR, GS), _at_20)}")
        + " With all of its budget HCLS goes deep into the desired side instead of stopping behind the boundary.",
    )


def gap_is_twenty_points(studies: Studies) -> Finding:
    """The largest gap in outliers to the best rival is between 15 and 25 points."""

    def gaps(results: Results) -> np.ndarray:
        return np.asarray(np.min([outliers(results, other) for other in RIVALS], axis=0) - outliers(results, CCHVAE))

    def text(seeds: Seeds) -> str:
        best = ", ".join(f"{100 * gaps(results).max():.0f}" for results in seeds)
        each = ", ".join(
            f"{100 * np.mean([(outliers(r, other) - outliers(r, CCHVAE)).max() for r in seeds]):.0f} to {other}"
            for other in RIVALS
        )
        return f"largest gap over k to the best rival, by seed: {best} points; in the mean over seeds {each}"

    test = {("a largest gap of 15 to 25 points to the best rival", ""): lambda r: bool(0.15 <= gaps(r).max() <= 0.25)}
    return judged(_parts(studies, test), _each(studies, text))


def gap_grows_with_epsilon(studies: Studies) -> Finding:
    """The gap in connectedness to the best rival is larger at ε.95 than at ε.5."""

    def gaps(results: Results, curve: Curve = near) -> np.ndarray:
        return np.asarray(curve(results, CCHVAE) - np.max([curve(results, other) for other in RIVALS], axis=0))

    def text(seeds: Seeds) -> str:
        over = np.mean([gaps(results, connected) for results in seeds], axis=0)
        parts = ", ".join(f"{100 * gap:+.0f} at ε{str(q)[1:]}" for q, gap in zip(QUANTILES, over, strict=False))
        return f"{parts}, {100 * over[-1]:+.0f} at ε = {seeds[0].study.epsilons[-1]:g}"

    test = {("a larger gap at ε.95 than at ε.5", ""): lambda results: bool(gaps(results)[-1] > gaps(results)[0])}
    return judged(
        _parts(studies, test),
        "Points ahead of the best rival, in the mean over seeds. "
        + _each(studies, text)
        + " Every gap closes in the end, since every row is connected at a large ε.",
    )


def harder(studies: Studies, measures: Sequence[str] = tuple(SHIFTS)) -> Finding:
    """C-CHVAE's answers ask more, in the mean, than those of each of the others."""
    tests = {
        (f"greater {SHIFTS[name]} than", other): partial(_dearer, other=other, measure=name)
        for name in measures
        for other in OTHERS
    }

    def text(seeds: Seeds) -> str:
        return "; ".join(_shifts(seeds, name) for name in measures)

    return judged(_parts(studies, tests), _each(studies, text))


def _dearer(results: Results, other: str, measure: str) -> bool:
    return shift(results, CCHVAE, measure) > shift(results, other, measure)


def _shifts(seeds: Seeds, measure: str) -> str:
    means = told(seeds, (CCHVAE, *OTHERS), partial(Line.shifts, name=measure), share=False)
    return f"{SHIFTS[measure]} {means}"


def harder_in_one(studies: Studies) -> Finding:
    """The same for the maximum shift alone."""
    return harder(studies, ("max_shift",))


def faithfulness_has_a_price(studies: Studies) -> Finding:
    """Against each of the others C-CHVAE has fewer outliers (k = 20) and greater TS and MS."""

    def pays(results: Results, other: str) -> bool:
        share = [mean(results.line(method).outliers(20))[0] for method in (CCHVAE, other)]
        return bool(share[0] < share[1]) and all(_dearer(results, other, name) for name in SHIFTS)

    tests = {("fewer outliers, greater TS and MS than", other): partial(pays, other=other) for other in OTHERS}

    def text(seeds: Seeds) -> str:
        shares = f"outliers at k = 20: {told(seeds, (CCHVAE, *OTHERS), _at_20)}"
        return "; ".join((shares, *(_shifts(seeds, name) for name in SHIFTS)))

    return judged(_parts(studies, tests), _each(studies, text))


def _more(results: Results, one: str, other: str) -> bool:
    """Whether a method has more outliers (k = 20) than another."""
    share = [float(mean(results.line(name).outliers(20))[0]) for name in (one, other)]
    return share[0] > share[1]


def directions_need_care(studies: Studies) -> Finding:
    """Careless directions make HCLS's answers less typical: the printed arrows against corrected ones."""
    tests = {
        ("more outliers with the printed arrows, with", _BUDGETS[HCLS]): partial(_more, one=HCLS_PRINTED, other=HCLS),
        ("more outliers with the printed arrows, with", _BUDGETS[HCLS_LEAST]): partial(
            _more, one=HCLS_LEAST_PRINTED, other=HCLS_LEAST
        ),
    }
    return judged(_parts(studies, tests), _directions(studies))


def directions_restrict(studies: Studies) -> Finding:
    """Directions for every feature make HCLS's answers less typical than none."""
    tests = {
        ("more outliers with the printed arrows than without any", ""): partial(
            _more, one=HCLS_LEAST_PRINTED, other=HCLS_LEAST_FREE
        ),
        ("more outliers with corrected arrows than without any", ""): partial(
            _more, one=HCLS_LEAST, other=HCLS_LEAST_FREE
        ),
    }
    return judged(_parts(studies, tests), _directions(studies))


def _directions(studies: Studies) -> str:
    methods = (HCLS, HCLS_PRINTED, HCLS_LEAST, HCLS_LEAST_PRINTED, HCLS_LEAST_FREE)
    return _each(studies, lambda seeds: f"outliers at k = 20: {told(seeds, methods, _at_20)}")
