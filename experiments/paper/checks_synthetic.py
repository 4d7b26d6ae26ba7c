"""Claims of the paper about its synthetic examples, checked on the answers."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

import numpy as np
from scipy.signal import find_peaks

from attain import metrics
from experiments.paper.findings import Finding, Verdict, finding
from experiments.paper.settings import CCHVAE
from experiments.paper.synthetic import Synthetic
from experiments.paper.synthetic_figures import densities

UPPER, MIDDLE, LOWER_RIGHT = 0, 1, 2
"""The clusters of the blobs; the first alone has the desired label."""
_CORNER = 3.0
"""Upper right of the blobs: x₁ above this, and x₂ above the boundary."""


def _needs_answers(check: Callable[[Synthetic], Finding]) -> Callable[[Synthetic], Finding]:
    """The check, left open where C-CHVAE has no answer for anybody."""

    @wraps(check)
    def checked(example: Synthetic) -> Finding:
        if not example.answers[CCHVAE].found.any():
            return Finding(Verdict.OPEN, "C-CHVAE has no answer for anybody here.")
        return check(example)

    return checked


def _in_corner(blobs: Synthetic, rows: np.ndarray) -> np.ndarray:
    return np.asarray((rows[:, 0] > _CORNER) & (rows[:, 1] > blobs.kind.boundary))


def reconstruction_has_three_clusters(blobs: Synthetic) -> Finding:
    """Each cluster's reconstruction has its centre within one standard deviation of the cluster's."""
    cluster = blobs.extra("cluster", blobs.train_rows)
    apart = [
        float(np.linalg.norm(blobs.reconstruction[cluster == c].mean(axis=0) - blobs.train[cluster == c].mean(axis=0)))
        for c in range(3)
    ]
    return finding(
        max(apart) < 1,
        "The centres of the three reconstructed clusters lie "
        + ", ".join(f"{value:.2f}" for value in apart)
        + " from the true ones; a cluster's standard deviation is 1.",
    )


def latent_density_has_three_modes(blobs: Synthetic) -> Finding:
    """Three peaks in the density of ẑ, each made by one cluster."""
    curves = densities(blobs)
    whole = curves["all"].to_numpy()
    peaks, _ = find_peaks(np.concatenate(([0.0], whole, [0.0])), prominence=0.1 * whole.max())
    places = curves["z"].to_numpy()[peaks - 1]
    cluster, codes = blobs.extra("cluster", blobs.train_rows), blobs.codes[:, 0]
    nearest = np.abs(codes[:, None] - places).argmin(axis=1)
    pure = [float((cluster[nearest == peak] == _mode(cluster[nearest == peak])).mean()) for peak in range(len(places))]
    return finding(
        len(places) == 3 and min(pure) > 0.9,
        f"The density of ẑ has {len(places)} peaks, at {', '.join(f'{place:.2f}' for place in places)}; of the people "
        f"round each, {', '.join(f'{share:.0%}' for share in pure)} come from one cluster.",
    )


def _mode(values: np.ndarray) -> int:
    return int(np.bincount(values).argmax())


@_needs_answers
def counterfactual_codes_on_two_modes(blobs: Synthetic) -> Finding:
    """z̃* lie with the codes of the two clusters next to the boundary, and on both."""
    cluster, codes = blobs.extra("cluster", blobs.train_rows), blobs.codes[:, 0]
    centres = np.array([np.median(codes[cluster == c]) for c in range(3)])
    answers = blobs.answer_codes[~np.isnan(blobs.answer_codes[:, 0]), 0]
    share = np.bincount(np.abs(answers[:, None] - centres).argmin(axis=1), minlength=3) / len(answers)
    return finding(
        bool(share[LOWER_RIGHT] < 0.05 and min(share[UPPER], share[MIDDLE]) > 0.05),
        f"Nearest to the code of the upper left cluster lie {share[UPPER]:.0%} of the z̃*, of the middle one "
        f"{share[MIDDLE]:.0%}, of the lower right one {share[LOWER_RIGHT]:.0%}. Decoded without chance, the latent "
        "line is one curve, and everybody's answer is where it crosses the boundary, at z = "
        f"{np.median(answers):.2f}, between the modes at {centres[MIDDLE]:.2f} and {centres[UPPER]:.2f}.",
    )


def nearest_methods_go_to_the_empty_corner(blobs: Synthetic) -> Finding:
    """Answers of AR and GS for the lower right cluster end where nobody lives."""
    cluster = blobs.extra("cluster", blobs.people_rows)
    share = {m: float(_in_corner(blobs, blobs.answers[m].rows[cluster == LOWER_RIGHT]).mean()) for m in ("AR", "GS")}
    real = float(_in_corner(blobs, blobs.train).mean())
    return finding(
        min(share.values()) > 0.9 and real < 0.001,
        f"Of the lower right cluster's answers, {share['AR']:.0%} (AR) and {share['GS']:.0%} (GS) lie in the upper "
        f"right corner, where {real:.2%} of the data are.",
    )


def nearest_methods_agree(blobs: Synthetic) -> Finding:
    """AR and GS give almost identical answers."""
    apart = np.linalg.norm(blobs.answers["AR"].rows - blobs.answers["GS"].rows, axis=1)
    return finding(
        bool(np.nanquantile(apart, 0.95) < 0.25),
        f"AR's and GS's answers lie {np.nanmedian(apart):.2f} apart in the median, 95 % of them within "
        f"{np.nanquantile(apart, 0.95):.2f}; a cluster's standard deviation is 1.",
    )


def nearest_methods_are_sparse(blobs: Synthetic) -> Finding:
    """AR and GS change x₂ only."""
    kept = {m: float((blobs.answers[m].rows[:, 0] == blobs.people[:, 0]).mean()) for m in ("AR", "GS")}
    return finding(
        min(kept.values()) == 1, f"x₁ stays as it is in {kept['AR']:.0%} of AR's and {kept['GS']:.0%} of GS's answers."
    )


@_needs_answers
def cchvae_stays_among_people(blobs: Synthetic) -> Finding:
    """Most of C-CHVAE's answers are not outliers, and fewer are than of GS."""
    own, other = (float(np.nanmean(blobs.outliers(method))) for method in (CCHVAE, "GS"))
    corner = float(_in_corner(blobs, blobs.answers[CCHVAE].rows).mean())
    return finding(
        own < 0.5 and own < other,
        f"Local outliers (k = 20): {own:.0%} of C-CHVAE's answers, {other:.0%} of GS's; in the empty corner "
        f"{corner:.0%} of C-CHVAE's.",
    )


@_needs_answers
def cchvae_is_connected(blobs: Synthetic) -> Finding:
    """Most of C-CHVAE's answers are connected."""
    epsilon = blobs.reference.epsilon
    share = float(np.nanmean(blobs.connected(CCHVAE)))
    other = float(np.nanmean(blobs.connected("GS")))
    near = float(np.nanmedian(metrics.nearest_distance(blobs.answers[CCHVAE].rows, blobs.reference)))
    return finding(
        share > 0.5,
        f"Within ε.95 = {epsilon[0.95]:.3f} standard deviations of the data, where 95 % of real desired people have "
        f"another, {share:.0%} of C-CHVAE's answers have one and {other:.0%} of GS's. C-CHVAE's are nearly one "
        f"point, just beyond the boundary and between two clusters, {near:.3f} from the nearest real desired person.",
    )


def _categories(moons: Synthetic, method: str) -> list[int]:
    given = moons.answers[method]
    return sorted({int(code) + 1 for code in given.rows[given.found, 1]})


def categories_are(moons: Synthetic, method: str, wanted: set[int]) -> Finding:
    """The categories of a method's answers are exactly these."""
    found = _categories(moons, method)
    before = sorted({int(code) + 1 for code in moons.people[:, 1]})
    parts = ", ".join(map(str, found))
    return finding(
        set(found) == wanted,
        f"The {int(moons.answers[method].found.sum())} answers of {method} are in the categories {parts}; the people "
        f"asked about are in {', '.join(map(str, before))}."
        + ("" if method == CCHVAE else " The rule looks at x₁ alone, so a method that takes back what is not needed "
           "leaves the category as it is."),
    )  # fmt: skip


def answers_in_every_category(moons: Synthetic) -> Finding:
    """C-CHVAE's answers are in all categories."""
    found = _categories(moons, CCHVAE)
    levels = len(moons.data.schema["x2"].levels)
    return finding(
        len(found) == levels,
        f"C-CHVAE's answers are in {len(found)} of {levels} categories. The text also names three only, against this.",
    )


@_needs_answers
def moons_answers_have_people_near(moons: Synthetic) -> Finding:
    """C-CHVAE's answers are less often outliers than those of AR and GS."""
    share = {m: float(np.nanmean(moons.outliers(m))) for m in moons.answers}
    parts = ", ".join(f"{method} {value:.0%}" for method, value in share.items())
    return finding(
        share[CCHVAE] < min(share["AR"], share["GS"]), f"Local outliers (k = 20) among the answers: {parts}."
    )
