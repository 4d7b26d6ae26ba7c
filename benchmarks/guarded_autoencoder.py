"""What the guarded search gains from an autoencoder: `python -m benchmarks.guarded_autoencoder`.

`Guarded` with its default autoencoder and with `autoencoder=None`, on the same splits, classifiers and refused rows.
The measures are not the guard's own: outlier factors and distances among held-out real rows of the desired class, the
density of a CHVAE that was fitted on held-out rows only, and whether a classifier can tell answers from real rows.
Training rows are capped, so that the table takes minutes.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from attain import Guarded
from attain.datasets import Dataset, load_adult, load_compas, load_german, load_heloc
from attain.density import CHVAE
from attain.metrics import Background
from attain.metrics.measures import held_out_inlier
from benchmarks import report
from experiments import CLASSIFIERS

DATA: dict[str, Callable[[], Dataset]] = {
    "German": load_german,
    "COMPAS": load_compas,
    "HELOC": lambda: load_heloc(version="paper"),
    "Adult": load_adult,
}
MODELS = ("logistic regression", "gradient boosting")
VARIANTS: dict[str, Any] = {"CHVAE": "chvae", "none": None}
MEASURES = ("type_valid", "total_shift", "max_shift", "changed", held_out_inlier(20), "connected_90", "connected_95")
MOST_TRAINING = 8000
COLUMNS = {
    "found": ("answered", ".1%"),
    "type_valid": ("type-valid", ".1%"),
    "typical": ("typical", ".1%"),
    "held_out_inlier_20": ("inlier, held-out", ".1%"),
    "connected_90": ("connected ε.9", ".1%"),
    "connected_95": ("connected ε.95", ".1%"),
    "dense": ("dense, held-out", ".1%"),
    "auc": ("AUC", ".3f"),
    "total_shift": ("TS", ".3f"),
    "max_shift": ("MS", ".3f"),
    "changed": ("changes", ".2f"),
    "scored": ("rows scored", ".0f"),
    "fit": ("fit, CPU s", ".1f"),
    "explain": ("explain, CPU ms a row", ".1f"),
}


def measured(name: str, seed: int, rows: int) -> list[dict[str, Any]]:
    """The averages of one split: one entry per variant and classifier."""
    warnings.simplefilter("ignore")
    threadpool_limits(1)
    data = DATA[name]()
    train, test, y_train, y_test = train_test_split(data.X, data.y, test_size=0.3, random_state=seed, stratify=data.y)
    train, y_train = train.iloc[:MOST_TRAINING], y_train.iloc[:MOST_TRAINING]
    outside = CHVAE(data.schema, random_state=1, verbose=False).fit(test.iloc[:MOST_TRAINING])
    found = []
    for variant, autoencoder in VARIANTS.items():
        started = time.process_time()
        explainer = Guarded(data.schema, autoencoder=autoencoder, figures=False).fit(train, y_train)
        fitting = time.process_time() - started
        for classifier in MODELS:
            model = CLASSIFIERS[classifier](data.schema, 0).fit(train, y_train)
            refused = test[model.predict(test) != data.desired]
            refused = refused.sample(min(rows, len(refused)), random_state=seed)
            explainer.explain(model, refused.iloc[:2], target=data.desired)  # the guard is built once
            started = time.process_time()
            result = explainer.explain(model, refused, target=data.desired)
            explaining = time.process_time() - started
            background = Background(data.schema, model, train, y_train, target=data.desired, X_test=test, y_test=y_test)
            assert background.held_out is not None
            evaluation = background.evaluate(result, measures=MEASURES, resamples=1)
            real = outside.log_density(background.held_out.values[:1000], 20)
            found.append(
                {
                    "data": name,
                    "classifier": classifier,
                    "autoencoder": variant,
                    **evaluation.frame.mean(),
                    "typical": (result.option_figures["typicality"] == 0).mean(),
                    "dense": (outside.log_density(result.rows, 20) >= np.quantile(real, 0.05)).mean(),
                    "auc": evaluation.two_sample(resamples=1).auc,
                    "scored": result.figures["rows_scored"].mean(),
                    "fit": fitting,
                    "explain": 1000 * explaining / len(refused),
                }
            )
            print(found[-1], flush=True)
    return found


def main() -> None:
    """Measures every split and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=80, help="refused rows of each split")
    parser.add_argument("--seeds", type=int, default=2, help="splits of each data set")
    parser.add_argument("--jobs", type=int, default=2, help="processes, one thread each")
    given = parser.parse_args()
    splits = [(name, seed, given.rows) for name in DATA for seed in range(given.seeds)]
    with ProcessPoolExecutor(given.jobs, get_context("spawn")) as pool:
        found = [one for split in pool.map(measured, *zip(*splits, strict=True)) for one in split]
    keys = ["data", "classifier", "autoencoder"]
    mean = pd.DataFrame(found).groupby(keys, sort=False).mean().reset_index()
    lines = [
        (*(row[key] for key in keys), *(format(row[name], how) for name, (_, how) in COLUMNS.items()))
        for _, row in mean.iterrows()
    ]
    body = f"""Means over {given.seeds} splits (70/30) of {given.rows} refused rows each, with at most {MOST_TRAINING:,}
training rows. `typical` is the share of answers that pass the guard, which is another one in each line; all other
columns are measured alike, over the answers. Inlier: by the local outlier factor with 20 neighbours among held-out
real rows. Dense: denser than 5 % of these, by a CHVAE fitted on held-out rows. AUC: of a classifier that tells answers
from held-out real rows; 0.5 is best.

{report.table((*keys, *(title for title, _ in COLUMNS.values())), lines)}"""
    command = "python -m benchmarks.guarded_autoencoder"
    report.write("guarded_autoencoder", "The guarded search with and without an autoencoder", command, body)


if __name__ == "__main__":
    main()
