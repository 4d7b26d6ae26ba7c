"""Claims of the paper about its credit data, checked on the measures of the answers.

Every check looks at the rows that each method's own classifier refuses; what holds for rows that both refuse is added
beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from attain.tables import unchanged
from experiments.paper.credit import COMMON, OWN, Results
from experiments.paper.findings import Finding, Verdict, finding
from experiments.paper.settings import CCHVAE, CORRECTED, NEIGHBOURS, PRINTED, RELEASED, TITLES

OTHERS = ("AR", "GS", CORRECTED)
"""The methods that the paper compares with."""
_SIMILAR = 0.05
"""Two curves are called very similar where they are nowhere farther apart than this."""

Curve = Callable[[Results, str, str], np.ndarray]


def outliers(results: Results, method: str, cohort: str = OWN) -> np.ndarray:
    """The share of outliers at each k."""
    return averaged(results.line(method, cohort).outliers())


def connected(results: Results, method: str, cohort: str = OWN) -> np.ndarray:
    """The share connected at ε.5 to ε.95 and then on the absolute grid."""
    line = results.line(method, cohort)
    relative, absolute = line.connected_relative(), line.connected(results.study.epsilons)
    return np.concatenate((averaged(relative), averaged(absolute)))


def averaged(values: np.ndarray) -> np.ndarray:
    """The mean of each column; NaN, which is neither more nor less than anything, where nobody has an answer."""
    return np.asarray(values.mean(axis=0)) if len(values) else np.full(values.shape[1], np.nan)


def shift(results: Results, method: str, measure: str) -> float:
    """The mean of a measure of difficulty over people answered."""
    line = results.line(method)
    return float(averaged(getattr(line, measure)[line.found][:, None])[0])


def _range(shares: np.ndarray) -> str:
    if np.isnan(shares).any():
        return "no answers"
    low, high = f"{100 * shares.min():.0f}", f"{100 * shares.max():.0f}"
    return f"{low} %" if low == high else f"{low} to {high} %"


def _listed(results: Results, curve: Curve, methods: Sequence[str], cohort: str = OWN, first: int | None = None) -> str:
    return ", ".join(f"{method} {_range(curve(results, method, cohort)[:first])}" for method in methods)


def fewest_outliers(results: Results) -> Finding:
    """C-CHVAE has fewer outliers than every other method at every k."""

    def holds(cohort: str) -> bool:
        own = outliers(results, CCHVAE, cohort)
        return all(bool((own < outliers(results, other, cohort)).all()) for other in OTHERS)

    return finding(
        holds(OWN),
        f"Outliers over k = {NEIGHBOURS[0]} to {NEIGHBOURS[-1]}: {_listed(results, outliers, (CCHVAE, *OTHERS))}."
        + _beside(holds(OWN), holds(COMMON)),
    )


def most_connected(results: Results) -> Finding:
    """C-CHVAE is more often connected than every other method at every ε (or both always are)."""

    def holds(cohort: str) -> bool:
        own = connected(results, CCHVAE, cohort)
        others = [connected(results, other, cohort) for other in OTHERS]
        return all(bool(((own > other) | ((own == 1) & (other == 1))).all()) for other in others)

    return finding(
        holds(OWN),
        f"Connected at ε.5 to ε.95: {_listed(results, connected, (CCHVAE, *OTHERS), first=4)}; from ε = "
        f"{results.study.epsilons[0]} to {results.study.epsilons[-1]}: "
        + ", ".join(f"{method} {_range(connected(results, method)[4:])}" for method in (CCHVAE, *OTHERS))
        + "."
        + _beside(holds(OWN), holds(COMMON)),
    )


def _beside(own: bool, common: bool) -> str:
    """What holds for rows that both classifiers refuse."""
    return f" Among rows that both classifiers refuse it {'also ' if own == common else ''}" + (
        "holds." if common else "does not hold."
    )


def outperforms(results: Results) -> Finding:
    """Both at once, at every k and every ε."""
    first, second = fewest_outliers(results), most_connected(results)
    both = first.verdict is second.verdict is finding(True, "").verdict
    return finding(both, f"{first.reason} {second.reason}")


def alike(results: Results, one: str = "GS", other: str = "AR") -> Finding:
    """GS and AR are nowhere farther apart than five points."""
    gaps = [
        float(np.abs(curve(results, one, OWN) - curve(results, other, OWN)).max()) for curve in (outliers, connected)
    ]
    return finding(
        all(gap <= _SIMILAR for gap in gaps),
        f"Their shares of outliers differ by up to {100 * gaps[0]:.0f} points over k, their shares of connected "
        f"answers by up to {100 * gaps[1]:.0f} points over ε; five points are called very similar here.",
    )


def hcls_is_worst(results: Results) -> Finding:
    """HCLS has the most outliers at every k and is the least connected at every ε."""
    rest = (CCHVAE, "AR", "GS")
    own, near = outliers(results, CORRECTED), connected(results, CORRECTED)
    most = np.all([own > outliers(results, other) for other in rest], axis=0)
    least = np.all(
        [(near < other) | ((near == 0) & (other == 0)) for other in (connected(results, name) for name in rest)], axis=0
    )
    return finding(
        bool(most.all() and least.all()),
        f"Outliers over k: {_listed(results, outliers, (CORRECTED, *rest))}; connected at ε.5 to ε.95: "
        f"{_listed(results, connected, (CORRECTED, *rest), first=4)}. It has the most outliers at {most.sum()} of "
        f"{len(most)} k, and is the least connected at {least.sum()} of {len(least)} ε. HCLS is judged against its own "
        "classifier's people.",
    )


def hcls_is_weak(results: Results) -> Finding:
    """HCLS has more outliers than AR and GS at every k."""
    own = outliers(results, CORRECTED)
    return finding(
        all(bool((own > outliers(results, other)).all()) for other in ("AR", "GS")),
        f"Outliers over k: {_listed(results, outliers, (CORRECTED, 'AR', 'GS'))}. HCLS spends its whole budget, so "
        "it goes deep into the desired side instead of stopping behind the boundary.",
    )


def directions_matter(results: Results) -> Finding:
    """Careless directions make HCLS worse: the printed arrows against the corrected ones."""
    if PRINTED not in results.study.hcls:
        return Finding(Verdict.OPEN, "There is one set of directions only.")
    right, printed = (results.line(method) for method in (CORRECTED, PRINTED))
    shares = [float(averaged(line.outliers(20))[0]) for line in (right, printed)]
    answered = [float(line.found.mean()) for line in (right, printed)]
    return finding(
        shares[1] - shares[0] > _SIMILAR or answered[0] - answered[1] > _SIMILAR,
        f"With corrected directions {answered[0]:.0%} of people have an answer and {shares[0]:.0%} of the answers are "
        f"outliers (k = 20); with the arrows as printed {answered[1]:.0%} and {shares[1]:.0%}.",
    )


def gap_is_twenty_points(results: Results) -> Finding:
    """The largest gap in outliers to the best other method is about 20 points."""
    own = outliers(results, CCHVAE)
    best = np.min([outliers(results, other) for other in OTHERS], axis=0) - own
    worst = np.max([outliers(results, other) for other in OTHERS], axis=0) - own
    return finding(
        0.15 <= best.max() <= 0.25,
        f"The gap to the best other method is up to {100 * best.max():.0f} points (at k = "
        f"{NEIGHBOURS[int(best.argmax())]}), to the worst up to {100 * worst.max():.0f}. Between 15 and 25 to the best "
        "counts as 20 here.",
    )


def gap_grows_with_epsilon(results: Results) -> Finding:
    """The gap in connectedness to the best other method is larger at large ε."""
    best = np.max([connected(results, other) for other in OTHERS], axis=0)
    gap = connected(results, CCHVAE) - best
    parts = ", ".join(
        f"{100 * value:+.0f} at {epsilon}" for epsilon, value in zip(results.study.epsilons, gap[4:], strict=True)
    )
    return finding(
        bool(gap[3] > gap[0] and gap[-1] > gap[4]),
        f"Points ahead of the best other method: {100 * gap[0]:+.0f} at ε.5, {100 * gap[3]:+.0f} at ε.95; on the "
        f"absolute grid {parts}. Every gap must close in the end, since every row is connected at a large ε.",
    )


def harder(results: Results, measures: tuple[str, ...] = ("total_shift", "max_shift")) -> Finding:
    """C-CHVAE's answers ask more, in the mean, than those of every other method."""
    names = {"total_shift": "TS", "max_shift": "MS"}
    below: set[str] = set()
    parts = []
    for measure in measures:
        means = {m: shift(results, m, measure) for m in (CCHVAE, *OTHERS)}
        below |= {other for other in OTHERS if not means[CCHVAE] > means[other]}
        parts.append(f"mean {names[measure]}: " + ", ".join(f"{m} {value:.2f}" for m, value in means.items()))
    text = "; ".join(parts)
    against = [other for other in OTHERS if other in below]
    rest = [other for other in OTHERS if other not in below]
    beside = f" It holds against {' and '.join(rest)}, not against {' and '.join(against)}." if against and rest else ""
    return finding(not below, text[0].upper() + text[1:] + "." + beside)


def harder_in_one(results: Results) -> Finding:
    """The same for the maximum shift alone."""
    return harder(results, ("max_shift",))


def faithfulness_has_a_price(studies: Sequence[Results]) -> Finding:
    """On every data set C-CHVAE has fewer outliers than AR and GS, and larger shifts."""
    holds, parts = True, []
    for results in studies:
        share = {m: float(averaged(results.line(m).outliers(20))[0]) for m in (CCHVAE, "AR", "GS")}
        total, largest = ({m: shift(results, m, name) for m in share} for name in ("total_shift", "max_shift"))
        for other in ("AR", "GS"):
            holds &= share[CCHVAE] < share[other]
            holds &= total[CCHVAE] > total[other] and largest[CCHVAE] > largest[other]
        parts.append(
            f"{TITLES[results.study.name]}: "
            + ", ".join(f"{m} {share[m]:.0%} outliers, TS {total[m]:.2f}, MS {largest[m]:.2f}" for m in share)
        )
    return finding(holds, "; ".join(parts) + ".")


def immutable_cells_stay(studies: Sequence[Results]) -> Finding:
    """C-CHVAE's answers have the person's own immutable cells, bit for bit."""
    cells = different = 0
    for results in studies:
        given, schema = results.answers[CCHVAE], results.credit.data.schema
        own = results.credit.test_values[given.people[given.found]][:, schema.immutable_columns]
        answers = given.rows[given.found][:, schema.immutable_columns]
        cells, different = cells + own.size, different + int((~unchanged(own, answers)).sum())
    data = " and ".join(TITLES[results.study.name] for results in studies)
    return finding(different == 0, f"{data}: {different} of {cells} immutable cells differ from the person's own.")


def released_code_is_the_method(studies: Sequence[Results]) -> Finding:
    """The search of the released code gives answers like Algorithm 1's."""
    gaps, parts = [], []
    for results in studies:
        share = {m: float(averaged(results.line(m).outliers(20))[0]) for m in (CCHVAE, RELEASED)}
        near = {m: float(averaged(results.line(m).connected_relative())[2]) for m in share}
        gaps += [abs(figures[CCHVAE] - figures[RELEASED]) for figures in (share, near)]
        parts.append(
            f"{TITLES[results.study.name]}: outliers (k = 20) {share[CCHVAE]:.0%} by Algorithm 1 and "
            f"{share[RELEASED]:.0%} by the released search, connected (ε.9) {near[CCHVAE]:.0%} and {near[RELEASED]:.0%}"
        )
    return finding(
        all(gap <= _SIMILAR for gap in gaps),
        "; ".join(parts)
        + ". Both with the same autoencoder; the released search decodes by random draws, without a box, "
        "and takes the least distance in input space.",
    )
