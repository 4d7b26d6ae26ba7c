"""Time and memory of answers against what they grow with: `python -m benchmarks.growth`.

Made-up people of mixed kinds, and a classifier trained on them. One thing varies at a time: people, features, levels,
rows that the explainer was fitted on, latent dimensions (CCHVAE), trees of a forest. Each point runs in a process of
its own, so that its peak memory is its own, with one thread; kernels are loaded before the clock starts.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from typing import Any

USUAL = {"people": 100, "features": 10, "levels": 4, "rows": 4000, "latent": 4, "trees": 0}
POINTS = {
    "people": (100, 400, 1600),
    "features": (5, 10, 20, 40),
    "rows": (1000, 4000, 16_000),
    "trees": (10, 40, 160),
    "levels": (2, 8, 32),
    "latent": (2, 4, 8, 16),
}
"""What varies, and its values; trees are 0 for a logistic regression."""
TITLES = {"rows": "rows fitted on", "latent": "latent dimensions"}
METHODS = ("Guarded", "CCHVAE")


def one(method: str, point: dict[str, int]) -> dict[str, float]:
    """CPU seconds of fitting, CPU milliseconds for each person, the share with an answer, and peak memory in MB."""
    import numpy as np
    import pandas as pd
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from attain import Feature, Guarded, Schema, methods

    kinds = ("real", "positive", "count", "ordinal", "categorical")
    features: list[Any] = []
    for j in range(point["features"]):
        kind = kinds[j % len(kinds)]
        levels = tuple(range(point["levels"])) if kind in ("ordinal", "categorical") else ()
        features.append(Feature(f"x{j}", kind, levels=levels, immutable=j % 10 == 9))  # type: ignore[arg-type]
    random = np.random.default_rng(0)
    number = point["rows"] + 8 * point["people"]
    common = random.normal(size=number)
    columns = {}
    for feature in features:
        base = 0.7 * common + 0.7 * random.normal(size=number)
        made = {"real": base.round(3), "positive": np.exp(base).round(3), "count": np.floor(np.exp(base))}
        level = np.clip(np.floor((base + 2) / 4 * point["levels"]), 0, point["levels"] - 1)
        columns[feature.name] = made.get(feature.kind, level)
    X = pd.DataFrame(columns).astype({f.name: int for f in features if f.levels or f.kind == "count"})
    label = (common + 0.5 * random.normal(size=number) > 0.3).astype(int)
    train, y = X.iloc[: point["rows"]], label[: point["rows"]]
    forest = RandomForestClassifier(max(point["trees"], 1), max_depth=6, random_state=0)
    model = forest if point["trees"] else make_pipeline(StandardScaler(), LogisticRegression())
    model.fit(train, y)
    others = X.iloc[point["rows"] :]
    refused = others[model.predict(others) == 0].iloc[: point["people"]]
    schema = Schema(tuple(features))
    if method == "CCHVAE":
        from attain.density import CHVAE

        density = CHVAE(
            schema, likelihoods="paper", hidden=0, latent_dim=point["latent"], components=3, epochs=5, verbose=False
        )
        explainer: Any = methods.CCHVAE(schema, autoencoder=density, laws=None)
    else:
        explainer = Guarded(schema, laws=None)
    started = time.process_time()
    explainer.fit(train, y)
    fitting = time.process_time() - started
    explainer.warm_up()
    explainer.explain(model, refused.iloc[:20], target=1)
    started = time.process_time()
    result = explainer.explain(model, refused, target=1)
    seconds = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "fit": fitting,
        "milliseconds": 1000 * seconds / len(refused),
        "found": result.share_found,
        "memory": peak,
    }


def main() -> None:
    """Measures every point and writes table and plot."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--point", nargs=2, metavar=("METHOD", "JSON"))
    parser.add_argument("--only", nargs="+", choices=list(POINTS), default=list(POINTS))
    given = parser.parse_args()
    if given.point:
        print(json.dumps(one(given.point[0], json.loads(given.point[1]))))
        return
    measured: dict[tuple[str, str, int], dict[str, float]] = {}
    for name in given.only:
        for value in POINTS[name]:
            for method in METHODS:
                if name != "latent" or method == "CCHVAE":
                    measured[name, method, value] = _run(method, {**USUAL, name: value})
                    print(name, method, value, json.dumps(measured[name, method, value]), flush=True)
        _write(measured)


def _write(measured: dict[tuple[str, str, int], dict[str, float]]) -> None:
    """Writes the table and the plot of what is measured so far."""
    from benchmarks import report

    header = ("what grows", "value", "method", "fitting, CPU s", "CPU ms for each person", "found", "peak memory, MB")
    lines = [
        (
            TITLES.get(name, name),
            f"{value:,}",
            method,
            f"{m['fit']:.1f}",
            f"{m['milliseconds']:.2f}",
            f"{m['found']:.0%}",
            f"{m['memory']:.0f}",
        )
        for (name, method, value), m in measured.items()
    ]
    _plot(measured)
    usual = ", ".join(f"{TITLES.get(name, name)} {value:,}" for name, value in USUAL.items() if value)
    body = f"All else: {usual}, a logistic regression. Fitting takes longer, and more memory, where JAX compiles a "
    body += f"program that its cache lacks.\n\n{report.table(header, lines)}\n\n![growth](growth.png)"
    report.write("growth", "Answers: time and memory against what they grow with", "python -m benchmarks.growth", body)


def _run(method: str, point: dict[str, int]) -> dict[str, float]:
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.growth", "--point", method, json.dumps(point)]
    alone = {**os.environ, **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=alone)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _plot(measured: dict[tuple[str, str, int], dict[str, float]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    from benchmarks import report

    names = list(dict.fromkeys(name for name, _, _ in measured))
    figure, axes = pyplot.subplots(
        2, len(names), figsize=(2.6 * len(names), 5), layout="constrained", squeeze=False, sharey="row"
    )
    for column, name in enumerate(names):
        for method, style in zip(METHODS, ("C0o-", "C1s--"), strict=True):
            points = {value: m for (n, of, value), m in measured.items() if (n, of) == (name, method)}
            for axis, figure_of in zip(axes[:, column], ("milliseconds", "memory"), strict=True):
                axis.plot(list(points), [m[figure_of] for m in points.values()], style, label=method)
        for axis in axes[:, column]:
            axis.set_xscale("log")
            axis.set_xticks(POINTS[name], [f"{value:,}" for value in POINTS[name]])
            axis.minorticks_off()
            axis.grid(alpha=0.3)
        axes[1, column].set_xlabel(TITLES.get(name, name))
    axes[0, 0].set_ylabel("CPU ms for each person")
    axes[0, 0].set_yscale("log")
    axes[0, 0].yaxis.set_major_formatter("{x:g}")
    axes[1, 0].set_ylabel("peak memory, MB")
    axes[1, 0].set_ylim(bottom=0)
    axes[0, 0].legend()
    figure.savefig(report.RESULTS / "growth.png", dpi=110)


if __name__ == "__main__":
    main()
