"""Blobs and moons beside what the CHVAE makes of them: `python -m benchmarks.recovery`.

For the paper's two synthetic examples: the data, their reconstruction and as many samples; for blobs the number of
clusters that samples fall into (a cluster counts with at least a tenth of them), and for both the share of samples with
real people near them.
"""

from __future__ import annotations

import matplotlib
import numpy as np

from attain.datasets import Dataset, make_blobs, make_moons
from attain.density import CHVAE
from attain.tables import Table
from benchmarks import report

PEOPLE = 3000
SIZES = {"likelihoods": "paper", "latent_dim": 2, "components": 3, "hidden": (64,), "epochs": 100, "random_state": 0}


def views(data: Dataset) -> dict[str, np.ndarray]:
    """The data, their reconstruction and samples, as rows of the matrix."""
    values = Table.read(data.X, data.schema).values
    model = CHVAE(data.schema, **SIZES).fit(values)  # type: ignore[arg-type]
    codes = model.encode(values)
    return {
        "data": values,
        "reconstruction": model.decode_rows(codes, values),
        "samples": model.sample(values, random_state=1),
    }


def near(samples: np.ndarray, values: np.ndarray) -> float:
    """The share of samples that have a real person within a tenth of a standard deviation in every column."""
    scale = values.std(axis=0)
    return float(np.mean([(np.abs(values - row) <= 0.1 * scale).all(axis=1).any() for row in samples[:500]]))


def modes(samples: np.ndarray, data: Dataset) -> int:
    """How many of the clusters a tenth of the samples or more fall into."""
    cluster = np.asarray(data.extras["cluster"])
    centres = np.array([data.X[cluster == c].mean() for c in np.unique(cluster)])
    nearest = ((samples[:, None, :] - centres) ** 2).sum(axis=2).argmin(axis=1)
    return int((np.bincount(nearest, minlength=len(centres)) >= len(samples) / 10).sum())


def main() -> None:
    """Fits both, draws them and writes the page."""
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 3, figsize=(10, 6), layout="constrained", sharex="row", sharey="row")
    lines = []
    for row, data in zip(axes, (make_blobs(PEOPLE), make_moons(PEOPLE)), strict=True):
        seen = views(data)
        for axis, (title, values) in zip(row, seen.items(), strict=True):
            axis.plot(*values.T, ".", markersize=2, alpha=0.4)
            axis.set_title(f"{data.name}: {title}")
        found = f"{modes(seen['samples'], data)} of 3" if data.name == "blobs" else "–"
        lines.append((data.name, found, f"{near(seen['samples'], seen['data']):.0%}"))
    figure.savefig(report.RESULTS / "recovery.png", dpi=100)
    body = report.table(("data", "modes found in samples", "samples with a real person near"), lines)
    body += "\n\n![data, reconstruction and samples](recovery.png)"
    report.write("recovery", "Blobs and moons recovered", "python -m benchmarks.recovery", body)


if __name__ == "__main__":
    main()
