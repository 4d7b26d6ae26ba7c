"""The autoencoder family: `python -m benchmarks.family`.

Each member learns 80 % of HELOC (the paper's version), and of German credit (split seed 7); CPU seconds of one thread
to train, compilation included. Bounds are of the free columns given the immutable ones (VAE and HIVAE: of the free
columns), 50 draws, in nats per held-out person. The judge tells draws from
at most 1,500 held-out people, 0.5 is perfect. Then C-CHVAE and REVISE search each member's latent space for the
first 30 people whom a logistic regression refuses: % answered /
inliers / connected ε.9 / possible; TS, MS. Inliers to MS are over answered people. German credit has no laws, so that
`possible` is not measured there.

At the end one VAEAC, fitted once with the paper's immutable columns, is searched by C-CHVAE with other ones. To fit the
explainer means encoding the training rows; nothing is trained.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from attain import density
from attain.core.intervals import mean_interval
from attain.density.columns import Columns
from attain.methods import CCHVAE, REVISE
from attain.metrics import compare_methods
from attain.schema import Schema
from attain.tables import Table
from benchmarks import report
from benchmarks.tasks import Task, paper_task
from experiments.research.judge import judge

SPLIT, PEOPLE, JUDGED = 7, 30, 1_500
DATA = ("HELOC", "German")
MEMBERS: dict[str, Callable[[Schema], Any]] = {
    "VAE": density.VAE,
    "CVAE, CHVAE by default": density.CVAE,
    "HIVAE, 3 components": lambda schema: density.HIVAE(schema, components=3),
    "CHVAE, 3 components": lambda schema: density.CHVAE(schema, components=3),
    "CHVAE, the paper's": lambda schema: density.CHVAE(schema, likelihoods="paper", hidden=0),
    "BetaVAE": density.BetaVAE,
    "WAE": density.WAE,
    "AAE": density.AAE,
    "VAEAC": density.VAEAC,
}
CHOICES: tuple[tuple[str, ...], ...] = (
    (),
    ("ExternalRiskEstimate", "NumTotalTrades", "PercentInstallTrades"),
    ("MSinceOldestTradeOpen", "NumInqLast6M", "MaxDelqEver", "NumRevolvingTradesWBalance"),
)


def line(name: str, task: Task, held: np.ndarray, marginals: np.ndarray) -> tuple[list[str], Any]:
    """One model's line, and the fitted model."""
    schema = task.data.schema
    made = MEMBERS[name](schema).set_params(verbose=False)
    started = time.process_time()
    made.fit(task.train)
    seconds = time.process_time() - started
    bound = made.log_density(held, samples=50)
    low, high = mean_interval(bound - marginals)
    cells = [
        name,
        f"{seconds:.1f}",
        f"{bound.mean():.2f}",
        f"{(bound - marginals).mean():+.2f} [{low:+.2f}, {high:+.2f}]",
        str(judge(held, made.sample(held))),
        f"{made.active_units.sum()} of {len(made.active_units)}",
    ]
    explainers = {
        method.__name__: method(schema, autoencoder=made, figures=False, random_state=0) for method in (CCHVAE, REVISE)
    }
    found = compare_methods(
        explainers, task.model, task.train, task.y_train, task.refused.head(PEOPLE), target=task.data.desired,
        schema=schema, X_test=task.test, y_test=task.y_test,
    ).table  # fmt: skip
    return [*cells, *(_searched(found.loc[method]) for method in explainers)], made


def marginals_of(schema: Schema, train: np.ndarray, held: np.ndarray) -> np.ndarray:
    """The log-density of held-out rows if every free column had its histogram, whatever the others are."""
    columns = Columns.fit(schema, train)
    raw = np.tile(columns.initial(), (len(held), 1))
    rows = columns.log_density(raw, columns.prepare(held).astype(np.float64))
    return np.asarray(rows.sum(axis=1) + columns.log_base(held))


def _searched(found: Any) -> str:
    if found["status"] != "ok":
        return str(found["reason"])
    values = (found.get(key, np.nan) for key in ("found_charged", "inlier", "connected_90", "possible"))
    shares = " / ".join("–" if np.isnan(value) else f"{100 * value:.0f}" for value in values)
    return f"{shares}; {found['total_shift']:.2f}, {found['max_shift']:.2f}"


def choices(task: Task, fitted: Any) -> list[list[str]]:
    """The lines of one fitted VAEAC with other columns immutable."""
    lines, people = [], task.refused.head(PEOPLE)
    for immutable in CHOICES:
        schema = task.data.schema.change(task.data.schema.names, immutable=False).change(immutable, immutable=True)
        started = time.process_time()
        explainer = CCHVAE(schema, autoencoder=fitted, figures=False, random_state=0).fit(task.train, task.y_train)
        seconds = time.process_time() - started
        result = explainer.explain(task.model, people, target=task.data.desired)
        rows = Table.read(people, schema).values
        held = list(schema.immutable_columns)
        kept = result.answers[result.found][:, held].tobytes() == rows[result.found][:, held].tobytes()
        lines.append([", ".join(immutable) or "none", f"{result.found.mean():.0%}", str(kept), f"{seconds:.2f}"])
    return lines


def measured(name: str, models: Sequence[str]) -> tuple[list[list[str]], list[list[str]]]:
    """The lines of a data set, and those of a VAEAC with other immutable columns on HELOC."""
    task = paper_task(name, SPLIT)
    train, held = (Table.read(part, task.data.schema).values for part in (task.train, task.test.head(JUDGED)))
    marginals = marginals_of(task.data.schema, train, held)
    lines: list[list[str]] = []
    others: list[list[str]] = []
    for model in models:
        found, made = line(model, task, held, marginals)
        lines.append(found)
        print(" | ".join([name, *found]), flush=True)
        others += choices(task, made) if (model, name) == ("VAEAC", "HELOC") else []
    return lines, others


def main() -> None:
    """Measures every model and writes the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=[*MEMBERS], default=[*MEMBERS])
    given = parser.parse_args()
    with threadpool_limits(1):
        found = {name: measured(name, given.models) for name in DATA}
    tables = [f"## {name}\n\n{report.table(_HEADER, lines)}" for name, (lines, _) in found.items()]
    others = report.table(_CHOICES_HEADER, found["HELOC"][1])
    report.write(__doc__, *tables, f"## Other immutable columns\n\n{others}")


_HEADER = ("model", "CPU s", "bound", "above marginals", "judge's AUC", "active units", "CCHVAE", "REVISE")
_CHOICES_HEADER = ("immutable", "answered", "immutable cells kept", "CPU s to fit the explainer")

if __name__ == "__main__":
    main()
