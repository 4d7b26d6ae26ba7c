"""The guarded search's targets as a table, from the figures that `benchmarks.guarded` measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from attain.core.intervals import mean_interval, share_interval
from attain.metrics.report import REAL
from benchmarks import report
from benchmarks.guarded import CONNECTED, DATA, FIRST, MODELS, OTHERS, SIZES, SPHERES, TYPICAL, number_of_parts

CLAIM = ("GMSC", "German", "Adult", "COMPAS")
"""The data that the claim rests on; HELOC was tuned on."""
ROWS_OF_OTHERS = ("NearestUnlike",)
"""Methods whose answers are training rows."""


@dataclass(frozen=True)
class Cell:
    """The figures of one data set and classifier, splits pooled."""

    data: str
    model: str
    figures: Mapping[str, np.ndarray]

    @classmethod
    def of(cls, known: Mapping[str, np.ndarray], data: str, model: str) -> Cell | None:
        """The cell, or None where it was not measured."""
        keys = [f"{data}/{place}/{model}/" for place in range(number_of_parts(data))]
        if not all(f"{key}reference" in known for key in keys):
            return None
        names = [name.removeprefix(keys[0]) for name in known if name.startswith(keys[0])]
        return cls(data, model, {
            name: np.concatenate([np.atleast_1d(known[f"{key}{name}"]) for key in keys if f"{key}{name}" in known])
            for name in names
        })  # fmt: skip

    def has(self, method: str) -> bool:
        return f"{method}/found" in self.figures

    def get(self, method: str, measure: str) -> np.ndarray:
        return self.figures[f"{method}/{measure}"]

    def mean(self, method: str, measure: str) -> float:
        """The mean over the rows answered."""
        values = self.figures.get(f"{method}/{measure}", np.empty(0))
        return float(np.nanmean(values)) if len(values) and not np.isnan(values).all() else float("nan")

    def share(self, method: str, measure: str) -> tuple[float, float, float]:
        """A share of the rows answered, with its Wilson interval."""
        return self.mean(method, measure), *share_interval(self.get(method, measure))

    def ratio(self, method: str, other: str, measure: str) -> tuple[float, float, float]:
        """The ratio of two methods' means over the rows both answer, with a bootstrap interval."""
        first, second = self.get(method, measure), self.get(other, measure)
        both = ~np.isnan(first) & ~np.isnan(second)
        pairs = np.stack((first[both], second[both]))
        if not pairs.size or not pairs[1].sum():
            return float("nan"), float("nan"), float("nan")
        random = np.random.default_rng(0)
        drawn = random.integers(pairs.shape[1], size=(1000, pairs.shape[1]))
        replicates = pairs[0][drawn].sum(axis=1) / pairs[1][drawn].sum(axis=1)
        return float(pairs[0].sum() / pairs[1].sum()), *map(float, np.quantile(replicates, (0.025, 0.975)))

    def sizes(self) -> tuple[int, ...]:
        """The neighbourhoods that its held-out people allow."""
        return tuple(k for k in SIZES if k <= 20) if self.data == "German" else SIZES

    def auc(self, method: str) -> float:
        """The two-sample AUC, mean over splits."""
        values = self.figures.get(f"{method}/AUC")
        return float("nan") if values is None else float(np.mean(values.reshape(-1, 5)[:, 0]))


def not_worse(cell: Cell) -> tuple[float, float]:
    """Shares of rows on which the guarded answer is worse on none, and on all, of the four criteria."""
    pairs = [
        (cell.get(CONNECTED, name), cell.get(FIRST, name), sign)
        for name, sign in (("total_shift", 1), ("max_shift", 1), ("held_out_inlier_20", -1), ("connected_90", -1))
    ]
    both = np.all([~np.isnan(a) & ~np.isnan(b) for a, b, _ in pairs], axis=0)
    worse = np.array([sign * a[both] > sign * b[both] + 1e-12 for a, b, sign in pairs])
    return float((~worse.any(axis=0)).mean()), float(worse.all(axis=0).mean())


def write(known: Mapping[str, np.ndarray], commit: str) -> None:
    """Writes `results/guarded.md`."""
    cells = [cell for data in DATA for model in MODELS if (cell := Cell.of(known, data, model)) is not None]
    cells.sort(key=lambda cell: (cell.data == "HELOC", CLAIM.index(cell.data) if cell.data in CLAIM else 0))
    body = "\n\n".join(
        (
            f"Defaults frozen in commit {commit}. Shares with Wilson intervals, ratios with bootstrap intervals, 95 %. "
            "HELOC is development data (its 30 % set aside, seed 2026); the claim rests on the others. ✗ marks a "
            "target that was missed. Target 7 is in `person.md`, target 8 in `guarded_peers.md`.",
            "## Targets\n\n" + report.table(*_targets(cells)),
            "## The ladder, and the price of faithfulness\n\n" + report.table(*_ladder(cells)),
            "## All methods\n\n" + report.table(*_all(cells)),
        )
    )
    report.write("guarded", "The guarded search against its targets", "python -m benchmarks.guarded", body)


def _mark(text: str, good: bool) -> str:
    return text if good else f"{text} ✗"


def _share(values: tuple[float, float, float]) -> str:
    return f"{100 * values[0]:.1f} [{100 * values[1]:.1f}, {100 * values[2]:.1f}]"


def _percent(value: float) -> str:
    return "–" if np.isnan(value) else f"{100 * value:.1f}"


def _ratio(values: tuple[float, float, float]) -> str:
    return f"{values[0]:.2f} [{values[1]:.2f}, {values[2]:.2f}]"


def _targets(cells: list[Cell]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    header = (
        "data", "classifier", "people", "1 type-valid, % (≥ 99.5)", "2 held-out LOF inliers, % (≥ 98 at every k)",
        "3 connected ε.9, % (real − 3)", "3 connected ε.95, %", "4 TS / Alg. 1 (≤ .40)", "4 MS / Alg. 1 (≤ .65)",
        "4 not worse on any, % (≥ 80)", "4 worse on all, % (0)", "5 typical TS / GS (≤ 1.2)",
        "5 connected TS / GS (≤ 1.7 linear, 1.1 trees)", "6 AUC; least of others",
    )  # fmt: skip
    rows = []
    for cell in cells:
        valid = cell.share(CONNECTED, "found")
        inliers = {k: cell.share(CONNECTED, f"held_out_inlier_{k}") for k in cell.sizes()}
        worst = min(inliers.values())
        real = [cell.mean("real", f"connected_{share}") for share in (90, 95)]
        near = [cell.share(CONNECTED, f"connected_{share}") for share in (90, 95)]
        ts, ms = (cell.ratio(CONNECTED, FIRST, measure) for measure in ("total_shift", "max_shift"))
        fine, all_worse = not_worse(cell)
        typical, connected = (cell.ratio(method, SPHERES, "total_shift") for method in (TYPICAL, CONNECTED))
        limit = 1.1 if cell.model == "gradient boosting" else 1.7
        others = {name: cell.auc(name) for name in (FIRST, SPHERES, *OTHERS) if name not in ROWS_OF_OTHERS}
        least = min((value, name) for name, value in others.items() if not np.isnan(value))
        rows.append((
            cell.data, cell.model, str(len(cell.get(CONNECTED, "found"))),
            _mark(_share(valid), valid[0] >= 0.995),
            _mark("; ".join(f"k = {k}: {_share(v)}" for k, v in inliers.items()), worst[0] >= 0.98),
            _mark(f"{_share(near[0])}; real {100 * real[0]:.1f}", near[0][0] >= real[0] - 0.03),
            _mark(f"{_share(near[1])}; real {100 * real[1]:.1f}", near[1][0] >= real[1] - 0.03),
            _mark(_ratio(ts), ts[0] <= 0.4), _mark(_ratio(ms), ms[0] <= 0.65),
            _mark(f"{100 * fine:.1f}", fine >= 0.8), _mark(f"{100 * all_worse:.1f}", all_worse == 0),
            _mark(_ratio(typical), typical[0] <= 1.2), _mark(_ratio(connected), connected[0] <= limit),
            _mark(f"{cell.auc(CONNECTED):.3f}; {least[0]:.3f} ({least[1]})", cell.auc(CONNECTED) < least[0]),
        ))  # fmt: skip
    return header, rows


def _ladder(cells: list[Cell]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    header = ("data", "classifier", "typical, %", "unusual, %", "outside, %", "TS", "least TS of any answer (linear)")
    rows = []
    for cell in cells:
        level = cell.get(CONNECTED, "typicality")
        level = level[~np.isnan(level)]
        easiest = cell.mean(CONNECTED, "easiest_shift")
        low, high = mean_interval(cell.get(CONNECTED, "total_shift"))
        shares = (f"{100 * np.mean(level == step):.1f}" for step in range(3))
        least = "–" if np.isnan(easiest) else f"{easiest:.3f}"
        shown = f"{cell.mean(CONNECTED, 'total_shift'):.3f} [{low:.3f}, {high:.3f}]"
        rows.append((cell.data, cell.model, *shares, shown, least))
    return header, rows


def _all(cells: list[Cell]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    header = (
        "data", "classifier", "method", "type-valid, %", "TS", "MS", "changes", "LOF inliers k = 20, %",
        "held-out, %", "connected ε.9, %", "ε.95, %", "possible, %", "AUC", "rows scored",
    )  # fmt: skip
    shares = ("inlier_20", "held_out_inlier_20", "connected_90", "connected_95", "possible")
    rows = []
    for cell in cells:
        for method in (CONNECTED, TYPICAL, FIRST, SPHERES, *OTHERS):
            if not cell.has(method):
                continue
            rows.append((
                cell.data, cell.model, method, f"{100 * cell.mean(method, 'found'):.1f}",
                *(f"{cell.mean(method, name):.3f}" for name in ("total_shift", "max_shift")),
                f"{cell.mean(method, 'changed'):.1f}",
                *(_percent(cell.mean(method, name)) for name in shares),
                f"{cell.auc(method):.3f}", f"{cell.mean(method, 'rows'):.0f}",
            ))  # fmt: skip
        real = (_percent(cell.mean("real", name)) for name in shares)
        rows.append((cell.data, cell.model, REAL, *[""] * 4, *real, "", ""))
    return header, rows
