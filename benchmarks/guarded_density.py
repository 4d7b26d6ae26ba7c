"""What the guarded search gains from a density: `python -m benchmarks.guarded_density --jobs 16`.

`Guarded` without a density, with trees, with a Gaussian copula and with a CHVAE, on the same splits, classifiers and
refused people. A density has two uses, each of which is switched off in a variant: it is a part of the guard, and a
source of starts. The splits are those of `benchmarks.possible`: half of the rows, 8,000 at most, train classifiers and
methods; three tenths are held out, and give the laws, the inliers and the densities that answers are judged by; refused
people of the last fifth are explained.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from attain import Guarded, densities
from attain.core import compiled
from attain.core.intervals import mean_interval
from attain.density import CHVAE
from attain.methods.guarded.guard_context import held_out
from attain.methods.guarded.settings import GuardedSettings
from attain.metrics import Background
from attain.metrics.measures import held_out_inlier
from attain.results.status import Typicality
from attain.schema import Schema
from attain.tables import Table
from benchmarks import report
from benchmarks.methods import ONE_THREAD
from benchmarks.possible import DATA, MODELS, OWN, POSSIBLE, Cell, Part

MOST_TRAINING, MOST_REAL = 8000, 5000
LEAST_DENSE = 0.05
"""An answer is dense if it is denser than this share of real people of the desired class."""


class InGuard(Guarded):
    """The density is a part of the guard, and no source of starts."""

    _settings = GuardedSettings(n_draws=0)


class AsStarts(Guarded):
    """The density is a source of starts, and no part of the guard."""

    def _guard_density(self) -> None:
        return None


DENSITIES: dict[str, Callable[[Schema], Any]] = {
    "trees": densities.TreeDensity,
    "copula": densities.GaussianCopula,
    "CHVAE": lambda schema: CHVAE(schema, verbose=False),
}
VARIANTS: dict[str, tuple[str | None, type[Guarded]]] = {
    "none": (None, Guarded),
    "trees, guard": ("trees", InGuard),
    "trees, starts": ("trees", AsStarts),
    "trees, both": ("trees", Guarded),
    "copula, both": ("copula", Guarded),
    "CHVAE, guard": ("CHVAE", InGuard),
    "CHVAE, both": ("CHVAE", Guarded),
}
JUDGES: dict[str, Callable[[Schema], Any]] = {
    "forest": lambda schema: densities.TreeDensity(schema, trees=8, leaf=10),
    "copula": densities.GaussianCopula,
}
MEASURES = ("type_valid", held_out_inlier(20), "connected_90", POSSIBLE, "total_shift", "max_shift", "changed")
COLUMNS = {
    "found": ("answered", ".1%"),
    "typical": ("typical", ".1%"),
    "held_out_inlier_20": ("inlier", ".1%"),
    "connected_90": ("connected ε.9", ".1%"),
    "possible": ("possible", ".1%"),
    "total_shift": ("TS", ".3f"),
    "max_shift": ("MS", ".3f"),
    "changed": ("changes", ".2f"),
    "log_forest": ("log p, forest", ".2f"),
    "dense_forest": ("dense, forest", ".1%"),
    "log_copula": ("log p, copula", ".2f"),
    "dense_copula": ("dense, copula", ".1%"),
    "ms": ("CPU ms", ".1f"),
}
KEYS = ["data", "classifier", "density"]


def measured(name: str, classifier: str, seed: int, people: int) -> pd.DataFrame:
    """One line per variant and person: the figures of its answer, NaN where there is none."""
    warnings.simplefilter("ignore")
    threadpool_limits(1)
    compiled.load()
    part = Part.of(Cell(name, seed, OWN, classifier, ""))
    part = replace(part, train=part.train.iloc[:MOST_TRAINING], y_train=part.y_train.iloc[:MOST_TRAINING])
    model = part.classifier(classifier)
    refused = part.asked[model.predict(part.asked) != part.desired].iloc[:people]
    background = Background(
        part.schema, model, part.train, part.y_train,
        target=part.desired, X_test=part.held_out, y_test=part.y_held_out,
    )  # fmt: skip
    judges = dict(_judges(part, model))
    rows = Table.read(part.train, part.schema).values
    kept = rows[~held_out(rows, part.y_train.to_numpy(), 0)]
    fitted = {kind: make(part.schema).fit(kept) for kind, make in DENSITIES.items()}
    found = []
    for variant, (kind, method) in VARIANTS.items():
        explainer = method(part.schema, density=fitted.get(kind or ""), figures=False).fit(part.train, part.y_train)
        explainer.explain(model, refused.iloc[:2], target=part.desired)  # the guard is built once
        started = time.process_time()
        result = explainer.explain(model, refused, target=part.desired)
        ms = 1000 * (time.process_time() - started) / len(refused)
        figures = background.evaluate(result, measures=MEASURES, resamples=1).frame.reset_index(drop=True)
        level = result.figures["typicality"].to_numpy(dtype=np.float64)
        figures["typical"] = np.where(np.isnan(level), np.nan, level == Typicality.TYPICAL)
        for judge, (log_density, least) in judges.items():
            own = np.full(len(refused), np.nan)
            own[result.owners] = log_density(result.rows)
            figures[f"log_{judge}"] = own
            figures[f"dense_{judge}"] = np.where(np.isnan(own), np.nan, own >= least)
        found.append(figures.assign(data=name, classifier=classifier, density=variant, seed=seed, ms=ms))
        print(name, classifier, variant, f"{ms:.1f} ms", flush=True)
    return pd.concat(found)


def _judges(part: Part, model: Any) -> Iterator[tuple[str, tuple[Callable[[np.ndarray], np.ndarray], float]]]:
    """By name a density fitted on held-out people, and the least that is dense: by others of the desired class."""
    asked = part.asked.iloc[:MOST_REAL]
    real = Table.read(asked[model.predict(asked) == part.desired], part.schema).values
    for name, make in JUDGES.items():
        fitted = make(part.schema).fit(part.held_out.iloc[:MOST_TRAINING])
        yield name, (fitted.log_density, float(np.quantile(fitted.log_density(real), LEAST_DENSE)))


def _compared(figures: pd.DataFrame) -> Iterator[tuple[str, ...]]:
    """For each variant, its mean difference from `none` over all people, with 95 % intervals."""
    people = figures.set_index(["data", "classifier", "seed", "person"])
    none = people[people["density"] == "none"]
    for variant in list(VARIANTS)[1:]:
        apart = (people[people["density"] == variant][list(COLUMNS)] - none[list(COLUMNS)]).astype(np.float64)
        cells = []
        for name, (_, how) in COLUMNS.items():
            low, high = mean_interval(apart[name].to_numpy())
            scale, digits = (100, 1) if how.endswith("%") else (1, int(how[1]))
            middle = scale * apart[name].mean()
            cells.append(f"{middle:+.{digits}f} ({scale * low:+.{digits}f} to {scale * high:+.{digits}f})")
        yield variant, *cells


def main() -> None:
    """Measures every cell and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=60, help="refused people of each cell")
    parser.add_argument("--seeds", type=int, default=2, help="splits of each data set")
    parser.add_argument("--data", nargs="+", default=list(DATA), choices=list(DATA))
    parser.add_argument("--jobs", type=int, default=2, help="processes, one thread each")
    given = parser.parse_args()
    cells = [(d, c, seed, given.people) for seed in range(given.seeds) for d in given.data for c in MODELS]
    os.environ |= {"OMP_NUM_THREADS": "1", "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} {ONE_THREAD}"}
    with ProcessPoolExecutor(given.jobs, get_context("spawn")) as pool:
        figures = pd.concat(pool.map(measured, *zip(*cells, strict=True)))
    figures.index.name = "person"
    figures = figures.reset_index().reindex(columns=["seed", "person", *KEYS, *COLUMNS])
    figures[list(COLUMNS)] = figures[list(COLUMNS)].astype(np.float64)
    mean = figures.groupby(KEYS, sort=False)[list(COLUMNS)].mean().reset_index()
    whole = mean.groupby("density", sort=False)[list(COLUMNS)].mean().reset_index()
    titles = [title for title, _ in COLUMNS.values()]
    lines, averages = (
        [
            ["–" if np.isnan(row[name]) else format(row[name], how) for name, (_, how) in COLUMNS.items()]
            for _, row in frame.iterrows()
        ]
        for frame in (mean, whole)
    )
    body = f"""{__doc__.split(chr(10), 2)[2].strip()}

At most {given.people} people in each of {len(cells)} cells, fewer where fewer are refused. `typical` is the share of
answers that pass the guard, which is another one in each line; all other columns are measured alike, over the answers.
Inlier, connected, possible: by local outlier factors with 20 neighbours, by ε.9 and by the laws of held-out people.
`log p` is the log-density, and `dense` the share denser than {LEAST_DENSE:.0%} of real people of the desired class, by
a forest of trees and by a copula that were fitted on held-out people.

## Means over all cells

{report.table(("density", *titles), [(name, *line) for name, line in zip(whole["density"], averages, strict=True)])}

## Difference from no density, person by person, with 95 % intervals (shares in points)

{report.table(("density", *titles), list(_compared(figures)))}

## Every cell

{report.table((*KEYS, *titles), [(*row[KEYS], *line) for (_, row), line in zip(mean.iterrows(), lines, strict=True)])}
"""
    command = f"python -m benchmarks.guarded_density --jobs {given.jobs} --people {given.people} --seeds {given.seeds}"
    report.write("guarded_density", "The guarded search with and without a density", command, body)


if __name__ == "__main__":
    main()
