"""The figures of the synthetic examples: blobs (Figure 2) and discretised moons (Figure 7)."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from attain.core.drawing import COLOURS, panels
from experiments.paper.settings import AR, CCHVAE, GS
from experiments.paper.synthetic import Synthetic

_CLUSTERS: Final = ("vermilion", "purple", "blue")
_GRID: Final = 200
_HISTOGRAM: Final = 24


def along(example: Synthetic) -> tuple[np.ndarray, np.ndarray]:
    """The codes ẑ of the training people and z̃* of the answers, along the axis on which ẑ vary most."""
    middle = example.codes.mean(axis=0)
    axis = np.linalg.svd(example.codes - middle, full_matrices=False)[2][0]
    axis = axis * np.sign(axis[np.abs(axis).argmax()])
    found = ~np.isnan(example.answer_codes[:, 0])
    return (example.codes - middle) @ axis, (example.answer_codes[found] - middle) @ axis


def densities(example: Synthetic) -> pd.DataFrame:
    """The density of ẑ over a grid, by cluster and in all, and of z̃*; the parts by cluster add up to the whole."""
    cluster = example.extra("cluster", example.train_rows)
    codes, answers = along(example)
    every = np.concatenate((codes, answers))
    grid = np.linspace(every.min() - 0.3, every.max() + 0.3, _GRID)
    # One bandwidth for all, or the parts would not add up.
    width = 0.25 * float(codes.std()) * len(codes) ** -0.2
    frame = {"z": grid}
    for number in np.unique(cluster):
        mine = codes[cluster == number]
        frame[f"cluster {number + 1}"] = _kernel(mine, width, grid) * len(mine) / len(codes)
    frame["all"] = _kernel(codes, width, grid)
    frame["counterfactuals"] = _kernel(answers, width, grid)
    return pd.DataFrame(frame)


def _kernel(values: np.ndarray, width: float, grid: np.ndarray) -> NDArray[np.float64]:
    """The Gaussian kernel estimate on the grid; 0 without values."""
    if not len(values):
        return np.zeros(len(grid))
    bumps = np.exp(-0.5 * ((grid[:, None] - values) / width) ** 2).mean(axis=1)
    return np.asarray(bumps / (width * np.sqrt(2 * np.pi)))


def blobs(example: Synthetic) -> tuple[Any, pd.DataFrame]:
    """Figure 2, six panels, and the numbers it shows."""
    figure, axes = panels(2, 3, width=10.0, height=6.4)
    cluster = example.extra("cluster", example.train_rows)
    curves = densities(example)
    colours = [COLOURS[name] for name in _CLUSTERS]
    numbers = []
    for axis, rows, title, panel in (
        (axes[0, 0], example.reconstruction, "(a) Reconstructed training data", "reconstruction"),
        (axes[1, 0], example.train, "(d) True data generating process", "true data"),
    ):
        for number, colour in enumerate(colours):
            axis.plot(*rows[cluster == number].T, ".", ms=2.2, alpha=0.35, color=colour, rasterized=True)
        axis.set_title(title)
        numbers.append(_points(panel, rows, [f"cluster {number + 1}" for number in cluster]))
    for number, colour in enumerate(colours):
        curve = curves[f"cluster {number + 1}"]
        axes[0, 1].fill_between(curves["z"], curve, color=colour, alpha=0.5, lw=0, label=f"cluster {number + 1}")
    axes[0, 1].set_title("(b) Density of ẑ, by cluster")
    axes[0, 1].legend()
    axes[0, 2].fill_between(curves["z"], curves["all"], color=COLOURS["blue"], alpha=0.5, lw=0, label="all ẑ")
    axes[0, 2].fill_between(
        curves["z"], curves["counterfactuals"], color=COLOURS["vermilion"], alpha=0.5, lw=0, label="z̃*"
    )
    axes[0, 2].set_title("(c) Density of z̃* on that of ẑ")
    axes[0, 2].legend(loc="upper left")
    for axis in axes[0, 1:]:
        axis.set_xlabel("latent code")
        axis.set_ylabel("density")
    for axis, methods, title in (
        (axes[1, 1], (GS, AR), "(e) Test data, answers of GS and AR"),
        (axes[1, 2], (CCHVAE,), "(f) Test data, answers of C-CHVAE"),
    ):
        axis.plot(*example.people.T, ".", ms=4, color=COLOURS["grey"], label="test data")
        for method, mark, colour in zip(methods, ("o", "x"), ("vermilion", "black"), strict=False):
            given = example.answers[method]
            axis.plot(*given.rows.T, mark, ms=3.5, alpha=0.6, color=COLOURS[colour], label=method)
        axis.set_title(title)
        axis.legend(loc="lower left")
    for axis in (axes[0, 0], *axes[1]):
        axis.axhline(example.kind.boundary, color=COLOURS["black"], lw=0.8, ls="--")
        axis.set_xlim(-9.5, 10)
        axis.set_ylim(-3, 13)
        axis.set_xlabel("x₁")
        axis.set_ylabel("x₂")
    numbers.append(_points("answers", example.people, ["test data"] * len(example.people)))
    numbers += [_points("answers", given.rows, [name] * len(given.rows)) for name, given in example.answers.items()]
    melted = curves.melt("z", var_name="series", value_name="x2").rename(columns={"z": "x1"})
    numbers.append(melted.assign(panel="latent density (x1 code, x2 density)"))
    return figure, pd.concat(numbers)[["panel", "series", "x1", "x2"]]


def moons(example: Synthetic) -> tuple[Any, pd.DataFrame]:
    """Figure 7, eight panels, and the numbers it shows."""
    figure, axes = panels(3, 3, width=10.0, height=9.2)
    levels = example.data.schema["x2"].levels
    test = np.flatnonzero(~np.isin(np.arange(len(example.data.X)), example.train_rows))
    refused = example.data.X.iloc[test].query("x1 <= 0")
    test_values = np.column_stack((refused["x1"], [levels.index(level) for level in refused["x2"]]))
    for axis, rows, title in (
        (axes[0, 0], example.train, "(a) Data generating process"),
        (axes[0, 1], test_values, "(b) Test data of class 0"),
        (axes[0, 2], example.reconstruction, "(c) Reconstructed training data"),
    ):
        _histogram(axis, rows, len(levels))
        axis.set_title(title)
    for letter, axis, name in zip("def", axes[1], (AR, GS, CCHVAE), strict=True):
        given = example.answers[name]
        axis.plot(example.train[:, 0], example.train[:, 1] + 1, ".", ms=1.5, color="#d8d8d8", rasterized=True)
        axis.plot(example.people[:, 0], example.people[:, 1] + 1, ".", ms=4, color=COLOURS["grey"], label="before")
        axis.plot(given.rows[:, 0], given.rows[:, 1] + 1, "o", ms=4.5, color=COLOURS["vermilion"], label="after")
        axis.set_title(f"({letter}) {int(given.found.sum())} answers by {name}")
        axis.legend(loc="lower left")
    labels = example.data.y.to_numpy()[example.train_rows]
    for label, colour in ((0, "blue"), (1, "orange")):
        rows = example.train[labels == label]
        axes[2, 0].plot(
            rows[:, 0], rows[:, 1] + 1, ".", ms=2, color=COLOURS[colour], label=f"y = {label}", rasterized=True
        )
    axes[2, 0].set_title("(g) Data generating process, labels")
    axes[2, 0].legend(loc="lower left")
    distance = np.linalg.norm(example.answer_codes - example.own_codes, axis=1)
    shown = axes[2, 1].scatter(example.people[:, 0], example.people[:, 1] + 1, c=distance, s=26, cmap="viridis")
    # in the empty panel, so that the others keep their size
    figure.colorbar(shown, cax=axes[2, 2].inset_axes((0.05, 0.1, 0.06, 0.8)), label="‖Δz‖ of the panel to the left")
    axes[2, 1].set_title("(h) Test data, by how far z must move")
    axes[2, 2].set_axis_off()
    for axis in axes.ravel()[:-1]:
        axis.axvline(0.0, color=COLOURS["black"], lw=0.8, ls="--")
        axis.set_xlabel("x₁")
        axis.set_ylabel("category of x₂")
        axis.set_xlim(-1.15, 2.15)
        axis.set_ylim(0.2, len(levels) + 0.8)
        axis.set_yticks([1, 5, 9, 14, 19])
    numbers = [
        _points("true data", example.train, [f"y = {label}" for label in labels]),
        _points("test data of class 0", test_values, ["test data"] * len(test_values)),
        _points("reconstruction", example.reconstruction, ["reconstruction"] * len(example.reconstruction)),
        _points("latent move", example.people, ["test data"] * len(distance)).assign(latent_move=distance),
    ]
    numbers += [_points("answers", given.rows, [name] * len(given.rows)) for name, given in example.answers.items()]
    frame = pd.concat(numbers).rename(columns={"x2": "category"})
    return figure, frame.assign(category=frame["category"] + 1)


def _histogram(axis: Any, rows: np.ndarray, levels: int) -> None:
    counts, across, up = np.histogram2d(
        rows[:, 0], rows[:, 1] + 1, bins=(_HISTOGRAM, levels), range=((-1.05, 2.05), (0.5, levels + 0.5))
    )
    axis.pcolormesh(across, up, np.where(counts > 0, counts, np.nan).T, cmap="Blues", vmin=0, rasterized=True)


def _points(panel: str, rows: np.ndarray, series: list[str]) -> pd.DataFrame:
    return pd.DataFrame({"panel": panel, "series": series, "x1": rows[:, 0], "x2": rows[:, 1]})
