"""Claims of the paper about its synthetic examples, checked on the answers, seed by seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from scipy.signal import find_peaks
from scipy.special import logsumexp

from attain.datasets.dataset import BLOB_CENTRES
from experiments.paper.findings import Finding, Part, Verdict, judged
from experiments.paper.measures import averaged
from experiments.paper.settings import AR, CCHVAE, GS, GS_DENSE
from experiments.paper.synthetic import Synthetic
from experiments.paper.synthetic_figures import along, densities

UPPER, MIDDLE, LOWER_RIGHT = 0, 1, 2
"""The clusters of the blobs; the first alone has the desired label."""
_CORNER: Final = 3.0
"""Upper right of the blobs: x₁ above this, and x₂ above the boundary."""
_DENSE: Final = 0.1
"""The region of high density leaves out this share of the data: where the true density is least."""

Seeds = Sequence[Synthetic]
Networks = Mapping[str, Seeds]
"""The blobs by the autoencoder's network: linear as in the released code, or with a hidden layer as in the text."""


def _part(seeds: Seeds, what: str, test: Callable[..., object], *given: object) -> Part:
    """A test of each seed's example, with these arguments beside it."""
    return Part("", what, tuple(bool(test(example, *given)) for example in seeds))


def _parts(blobs: Networks, what: str, test: Callable[..., object], *given: object) -> list[Part]:
    """The same for each network."""
    return [replace(_part(seeds, what, test, *given), where=network) for network, seeds in blobs.items()]


def _any(blobs: Networks) -> Seeds:
    """What does not depend on the autoencoder: the data, and the answers of AR and GS."""
    return next(iter(blobs.values()))


def _each(blobs: Networks, text: Callable[[Seeds], str]) -> str:
    """A sentence for each network."""
    return " ".join(f"{network[0].upper()}{network[1:]}: {text(seeds)}." for network, seeds in blobs.items())


def _most(example: Synthetic, values: Callable[[Synthetic, str], np.ndarray], method: str, than: float = 0.5) -> bool:
    """Whether more than this share of a method's answers has the value 1."""
    return _mean(values(example, method)) > than


def _told(shares: Sequence[np.ndarray]) -> str:
    """The mean of 0/1 values over seeds and people, with its interval; NaN, no answer, is left out."""
    found = averaged([values[~np.isnan(values)][:, None] for values in shares])
    if np.isnan(found.mean[0]):
        return "none"
    return "{:.0f} % ({:.0f} to {:.0f})".format(*(100 * end[0] for end in (found.mean, found.low, found.high)))


def _mean(values: np.ndarray) -> float:
    """The mean over people with an answer; NaN without any."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def log_density(rows: np.ndarray) -> np.ndarray:
    """The true log-density (n,) of the blobs: three Gaussians of the same weight and standard deviation 1."""
    squares = ((rows[:, None, :] - np.array(BLOB_CENTRES["diagonal"])) ** 2).sum(axis=2)
    return np.asarray(logsumexp(-squares / 2, axis=1) - np.log(3 * 2 * np.pi))


def dense(blobs: Synthetic, method: str) -> np.ndarray:
    """1 for each answer in the region of high density, which holds 90 % of the data, else 0; NaN without an answer."""
    given = blobs.answers[method]
    least = np.quantile(log_density(blobs.train), _DENSE)
    inside = np.full(len(given.rows), np.nan)
    inside[given.found] = log_density(given.rows[given.found]) >= least
    return inside


def rank(blobs: Synthetic, method: str) -> np.ndarray:
    """The share of held-out real people of class 1 that are less dense than each answer; NaN without an answer."""
    given, real = blobs.answers[method], np.sort(log_density(blobs.held_out))
    ranks = np.full(len(given.rows), np.nan)
    ranks[given.found] = np.searchsorted(real, log_density(given.rows[given.found])) / len(real)
    return ranks


def in_corner(blobs: Synthetic, method: str) -> np.ndarray:
    """1 for each answer of the lower right cluster's people that ends in the upper right corner, else 0."""
    cluster, rows = blobs.extra("cluster", blobs.people_rows), blobs.answers[method].rows
    return _upper_right(blobs, rows[cluster == LOWER_RIGHT]).astype(np.float64)


def _upper_right(blobs: Synthetic, rows: np.ndarray) -> np.ndarray:
    return np.asarray((rows[:, 0] > _CORNER) & (rows[:, 1] > blobs.kind.boundary))


def corner_and_density(blobs: Networks) -> Finding:
    """GS and AR send the lower right cluster where nobody lives; C-CHVAE's answers are where data are dense."""
    seeds = _any(blobs)
    return judged(
        (
            *(_part(seeds, f"{m} in the empty corner", _most, in_corner, m, 0.9) for m in (AR, GS)),
            *_parts(blobs, "none of C-CHVAE's there", lambda b: _mean(in_corner(b, CCHVAE)) == 0),
            *_parts(blobs, "most of C-CHVAE's in the region of high density", _most, dense, CCHVAE),
            *_parts(blobs, "more of them than of GS's", lambda b: _mean(dense(b, CCHVAE)) > _mean(dense(b, GS))),
        ),
        "Of the lower right cluster's answers "
        + ", ".join(f"{_told([in_corner(b, m) for b in seeds])} of {m}'s" for m in (AR, GS))
        + " end in the upper right corner, where "
        + f"{np.mean([_upper_right(b, b.train).mean() for b in seeds]):.2%} of the data are. "
        + _density_told(blobs),
    )


def _density_told(blobs: Networks) -> str:
    def text(seeds: Seeds, methods: Sequence[str]) -> str:
        return ", ".join(
            f"{m} {_told([dense(b, m) for b in seeds])}, rank {np.nanmean([_mean(rank(b, m)) for b in seeds]):.2f}"
            for m in methods
        )

    return (
        "In the region that holds 90 % of the data, by the true density, and the mean rank of the answers' true "
        f"density among real people of class 1: {text(_any(blobs), (GS, AR))}. "
        + _each(blobs, lambda seeds: text(seeds, (CCHVAE,)))
    )


def dense_and_connected(blobs: Networks) -> Finding:
    """Most of C-CHVAE's answers are dense, and connected."""

    def text(seeds: Seeds, methods: Sequence[str]) -> str:
        return ", ".join(f"{m} {_told([b.connected(m) for b in seeds])}" for m in methods)

    return judged(
        (
            *_parts(blobs, "most in the region of high density", _most, dense, CCHVAE),
            *_parts(blobs, "most connected", _most, Synthetic.connected, CCHVAE),
        ),
        f"{_density_told(blobs)} Within ε.95, where 95 % of real desired people have another: "
        f"{text(_any(blobs), (GS, AR))}. " + _each(blobs, lambda seeds: text(seeds, (CCHVAE,))),
    )


def three_clusters(blobs: Networks) -> Finding:
    """Each cluster's reconstruction has its centre within one standard deviation of the cluster's."""

    def apart(example: Synthetic) -> float:
        cluster = example.extra("cluster", example.train_rows)
        moved = example.reconstruction - example.train
        return float(np.linalg.norm([moved[cluster == c].mean(axis=0) for c in range(3)], axis=1).max())

    def text(seeds: Seeds) -> str:
        return f"farthest centre from the true one, by seed {', '.join(f'{apart(example):.2f}' for example in seeds)}"

    return judged(
        _parts(blobs, "centres of the three clusters within one standard deviation", lambda b: apart(b) < 1),
        _each(blobs, text) + " A cluster's standard deviation is 1.",
    )


def modes(blobs: Synthetic) -> tuple[np.ndarray, float]:
    """The peaks in the density of ẑ, and the least share of people round a peak who are of one cluster."""
    curves = densities(blobs)
    whole = curves["all"].to_numpy()
    peaks, _ = find_peaks(np.concatenate(([0.0], whole, [0.0])), prominence=0.1 * whole.max())
    places = curves["z"].to_numpy()[peaks - 1]
    cluster = blobs.extra("cluster", blobs.train_rows)
    nearest = np.abs(along(blobs)[0][:, None] - places).argmin(axis=1)
    pure = [np.bincount(cluster[nearest == peak]).max() / (nearest == peak).sum() for peak in range(len(places))]
    return places, float(min(pure))


def on_modes(blobs: Synthetic) -> np.ndarray:
    """The share (3,) of the z̃* inside each cluster's region, which holds 99 % of its codes; NaN without answers."""
    cluster, (codes, answers) = blobs.extra("cluster", blobs.train_rows), along(blobs)
    if not len(answers):
        return np.full(3, np.nan)
    regions = np.array([np.quantile(codes[cluster == c], (0.005, 0.995)) for c in range(3)])
    return np.asarray(((answers >= regions[:, :1]) & (answers <= regions[:, 1:])).mean(axis=1))


def two_of_three_modes(blobs: Networks) -> Finding:
    """Most z̃* lie on the modes of ẑ of the two clusters next to the boundary, some on each."""

    def on_two(example: Synthetic) -> bool:
        upper, middle = on_modes(example)[[UPPER, MIDDLE]]
        return bool(upper + middle > 0.5 and min(upper, middle) > 0.05)

    def text(seeds: Seeds) -> str:
        found = [modes(example) for example in seeds]
        own = sum(len(places) == 3 and pure > 0.9 for places, pure in found)
        inside = [on_modes(example).sum() for example in seeds]
        return (
            f"ẑ has three modes, one for each cluster, on {own} of {len(seeds)} seeds; z̃* inside the region that holds "
            f"99 % of some cluster's codes, by seed {', '.join(f'{share:.0%}' for share in inside)}"
        )

    return judged(
        _parts(blobs, "most z̃* on the two modes next to the boundary, some on each", on_two), _each(blobs, text)
    )


def nearest_methods_agree(blobs: Networks) -> Finding:
    """AR and GS give almost identical answers: 95 % within a quarter of a cluster's standard deviation."""
    seeds = _any(blobs)

    def apart(example: Synthetic, spheres: str) -> float:
        distance = np.linalg.norm(example.answers[AR].rows - example.answers[spheres].rows, axis=1)
        return float(np.nanquantile(distance, 0.95))

    return judged(
        [_part(seeds, f"AR and {m}", lambda b, spheres: apart(b, spheres) < 0.25, m) for m in (GS, GS_DENSE)],
        "95 % of the answers lie within "
        + " and ".join(f"{np.mean([apart(b, m) for b in seeds]):.2f} of AR's ({m})" for m in (GS, GS_DENSE))
        + "; a cluster's standard deviation is 1.",
    )


def nearest_methods_are_sparse(blobs: Networks) -> Finding:
    """AR and GS change x₂ only."""
    seeds = _any(blobs)

    def kept(example: Synthetic, method: str) -> np.ndarray:
        return np.asarray(example.answers[method].rows[:, 0] == example.people[:, 0], dtype=np.float64)

    methods = (AR, GS, GS_DENSE)
    return judged(
        [_part(seeds, m, lambda b, method: kept(b, method).all(), m) for m in methods],
        "x₁ stays as it is in " + ", ".join(f"{_told([kept(b, m) for b in seeds])} ({m})" for m in methods) + ".",
    )


def any_classifier(blobs: Networks, moons: Seeds) -> Finding:
    """C-CHVAE was given a bare function that says 0 or 1, and nothing that measures distances between inputs."""
    examples = {**{f"blobs, {network}": seeds for network, seeds in blobs.items()}, "moons": moons}

    def share(seeds: Seeds) -> str:
        return f"answered {np.mean([example.answers[CCHVAE].found.mean() for example in seeds]):.0%}"

    return judged(
        _parts(examples, "everybody has an answer", lambda example: example.answers[CCHVAE].found.mean() > 0.99),
        "Given I(x > b) as a function that returns 0 or 1 and nothing else. " + _each(examples, share),
    )


def categories(moons: Synthetic, method: str) -> list[int]:
    """The categories of a method's answers, from 1."""
    given = moons.answers[method]
    return sorted({int(code) + 1 for code in given.rows[given.found, 1]})


def categories_are(seeds: Seeds, method: str) -> Finding:
    """Which categories 25 answers fall into depends on the data, which cannot be made from the text."""
    found = "; ".join(", ".join(map(str, categories(moons, method))) for moons in seeds)
    return Finding(
        Verdict.OPEN,
        "The text does not lead to the 19 categories, so that their numbers cannot be matched. With two half circles "
        f"that overlap by 0.2, rounded to one decimal, the answers of {method} are in the categories {found} (by seed)."
        + (" The rule looks at x₁ alone, so the least change leaves the category as it is." if method == AR else ""),
    )


def spheres_in_every_category(seeds: Seeds) -> Finding:
    """GS's answers are in every category in which people are asked about."""

    def every(moons: Synthetic, method: str) -> bool:
        return {int(code) + 1 for code in moons.people[:, 1]} <= set(categories(moons, method))

    numbers = [len(set(moons.people[:, 1])) for moons in seeds]
    return judged(
        [_part(seeds, f"{m} in every category of those asked about", every, m) for m in (GS, GS_DENSE)],
        f"The 25 people are in {', '.join(map(str, numbers))} categories, by seed (class 0 has 11 of the 19); answers "
        + ", ".join(f"of {m} in {', '.join(str(len(categories(e, m))) for e in seeds)}" for m in (GS, GS_DENSE))
        + ".",
    )


def answers_for_every_category(seeds: Seeds) -> Finding:
    """C-CHVAE has an answer for people of every category."""
    return judged(
        [_part(seeds, "an answer for everybody", lambda moons: moons.answers[CCHVAE].found.all())],
        "Answered, by seed: "
        + ", ".join(f"{moons.answers[CCHVAE].found.sum()} of {len(moons.people)}" for moons in seeds)
        + ".",
    )


def fragmented(seeds: Seeds) -> Finding:
    """Answers of AR and GS are mostly outliers; fewer of C-CHVAE's are."""
    share = {m: [moons.outliers(m) for moons in seeds] for m in (AR, GS, CCHVAE)}
    return judged(
        (
            *(_part(seeds, f"most of {m}'s are outliers", _most, Synthetic.outliers, m) for m in (AR, GS)),
            _part(seeds, "few of C-CHVAE's are", lambda e: _mean(e.outliers(CCHVAE)) < 0.5),
        ),
        "Local outliers (k = 20) among the answers: "
        + ", ".join(f"{m} {_told(values)}" for m, values in share.items())
        + ".",
    )
