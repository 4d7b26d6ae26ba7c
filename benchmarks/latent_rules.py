"""C-CHVAE, the component and when a search ends: `python -m benchmarks.latent_rules`.

Which mixture component a code is decoded with while it moves (`CCHVAE(component=...)`), and when a search without a hit
ends (`CCHVAE(stop=...)`). The paper's synthetic examples, whose true density is known, and its credit data, at most
10,000 training rows of each; 200 people for each seed of data, training and search, 5 seeds by default. r = 0: the
share of answers that are the plain reconstruction. True density: the mean rank of an answer's among those of real
people of the desired class. Outliers: local, k = 20; connected: within ε.9. Means over answers, then over seeds; in
brackets the seed with the fewest answered.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from attain import CCHVAE, metrics
from attain.datasets import Dataset, make_blobs, make_moons
from attain.datasets.dataset import BLOB_CENTRES
from attain.density import CHVAE
from attain.methods.cchvae import Stop
from attain.methods.latent import Component
from benchmarks import report
from experiments.bench.classifiers import logistic_regression
from experiments.data import load_gmsc, load_heloc

ROWS, PEOPLE = 10_000, 200


def blobs_density(rows: np.ndarray) -> np.ndarray:
    """The density of the blobs but for a constant, (n,)."""
    centres = np.array(BLOB_CENTRES["diagonal"])
    return np.asarray(np.exp(-0.5 * ((rows[:, None, :] - centres) ** 2).sum(axis=2)).sum(axis=1))


def moons_density(rows: np.ndarray) -> np.ndarray:
    """The density of the moons but for a constant, (n,): of x₁, where the category is the one that belongs to it."""
    x, tenth = rows[:, 0], np.rint(rows[:, 1]) - 8
    total = np.zeros(len(rows))
    for cosine, sign, shift in ((x, 1, 0.0), (1 - x, -1, 0.2)):
        sine = np.sqrt(np.maximum(1 - cosine**2, 0.0))
        belongs = (np.abs(cosine) < 1) & (np.rint(10 * (shift + sign * sine)) == tenth)
        total += np.where(belongs, 1 / np.maximum(sine, 1e-3), 0.0)
    return total


_PAPER: dict[str, Any] = {"likelihoods": "paper", "hidden": 0}


@dataclass(frozen=True)
class Task:
    """A data set, an autoencoder's sizes, a classifier, and the true density, where it is known."""

    make: Callable[[int], Dataset]
    sizes: dict[str, Any]
    classifier: Callable[[Dataset, pd.DataFrame, pd.Series], Any]
    density: Callable[[np.ndarray], np.ndarray] | None = None


def _rule(column: str, boundary: float) -> Callable[[Dataset, pd.DataFrame, pd.Series], Any]:
    def decide(frame: pd.DataFrame) -> np.ndarray:
        return np.where(frame[column] > boundary, 1, 0)

    return lambda data, train, labels: decide


def _regression(data: Dataset, train: pd.DataFrame, labels: pd.Series) -> Any:
    return logistic_regression(data.schema, 0).fit(train, labels)


TASKS = {
    "blobs, linear": Task(
        lambda seed: make_blobs(ROWS, seed), {"latent_dim": 2, "components": 3}, _rule("x2", 6.0), blobs_density
    ),
    "blobs, hidden 64": Task(
        lambda seed: make_blobs(ROWS, seed),
        {"latent_dim": 2, "components": 3, "hidden": (64,)},
        _rule("x2", 6.0),
        blobs_density,
    ),
    "moons, hidden 64": Task(
        lambda seed: make_moons(ROWS, seed),
        {"latent_dim": 2, "components": 2, "hidden": (64,)},
        _rule("x1", 0.0),
        moons_density,
    ),
    "GMSC": Task(lambda seed: load_gmsc(version="paper"), {"latent_dim": 6, "components": 5}, _regression),
    "HELOC": Task(lambda seed: load_heloc(version="paper"), {"latent_dim": 6, "components": 3}, _regression),
}


def measured(task: Task, seed: int) -> list[dict[str, Any]]:
    """The figures of every rule, for one seed."""
    data = task.make(seed)
    order = np.random.default_rng(seed).permutation(len(data.X))
    train, test = (data.X.iloc[part] for part in (order[: ROWS * 4 // 5], order[ROWS * 4 // 5 :]))
    labels = data.y.loc[train.index]
    model = task.classifier(data, train, labels)
    decide = model if callable(model) else model.predict
    people = test[decide(test) != data.desired].iloc[:PEOPLE]
    autoencoder = CHVAE(data.schema, **_PAPER | task.sizes, random_state=seed, verbose=False).fit(train)
    found = []
    for rule, stop in [
        *((rule, "all") for rule in get_args(Component)),
        *(("argmax", stop) for stop in get_args(Stop)),
    ]:
        explainer = CCHVAE(
            data.schema, laws=None, autoencoder=autoencoder, component=rule, stop=stop, figures=False, random_state=seed
        ).fit(train, labels)
        result = explainer.explain(model, people, target=data.desired)
        reference = explainer.session(model, target=data.desired).decided.reference
        answered = result.found
        figures = {
            "answered": float(answered.mean()),
            "r = 0": float(np.nanmean(result.figures["reconstruction_flip"])) if answered.any() else np.nan,
            "outliers": float(np.nanmean(metrics.outlier(result.answers, reference, 20, answered))),
            "connected": float(
                np.nanmean(metrics.connected(result.answers, reference, reference.epsilon[0.9], found=answered))
            ),
            "latent distance": float(np.nanmean(result.figures["latent_distance"])),
        }
        if task.density is not None:
            real = np.sort(task.density(reference.values))
            rank = np.searchsorted(real, task.density(result.answers[answered])) / len(real)
            figures["true density"] = float(rank.mean()) if len(rank) else np.nan
        found.append({"component": rule, "stop": stop, "seed": seed, **figures})
    return found


def main() -> None:
    """Measures every rule on every data set, and writes both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    lines: dict[str, list[Any]] = {"component": [], "stop": []}
    with threadpool_limits(1):
        for name, task in TASKS.items():
            every = pd.DataFrame([line for seed in range(given.seeds) for line in measured(task, seed)])
            print(name, every.to_string(), flush=True)
            for kind, chosen in (
                ("component", every[every["stop"] == "all"].drop_duplicates(["component", "seed"])),
                ("stop", every[every["component"] == "argmax"].drop_duplicates(["stop", "seed"])),
            ):
                for rule, of in chosen.groupby(kind, sort=False):
                    lines[kind].append((name, rule, *_shown(of)))
    header = ("answered (least)", "r = 0", "true density", "outliers", "connected", "latent distance")
    report.write(
        __doc__,
        "## The component\n\n" + report.table(("data", "component", *header), lines["component"]),
        '## When a search ends\n\nWith `component="argmax"`.\n\n'
        + report.table(("data", "stop", *header), lines["stop"]),
    )


def _shown(of: pd.DataFrame) -> tuple[str, ...]:
    mean = of.drop(columns=["component", "stop"]).mean()
    density = mean.get("true density", np.nan)
    return (
        f"{mean['answered']:.0%} ({of['answered'].min():.0%})",
        f"{mean['r = 0']:.0%}",
        "" if np.isnan(density) else f"{density:.2f}",
        f"{mean['outliers']:.0%}",
        f"{mean['connected']:.0%}",
        f"{mean['latent distance']:.2f}",
    )


if __name__ == "__main__":
    main()
