"""The autoencoder family side by side: `python -m benchmarks.family`.

Each member learns 80 % of HELOC (the paper's version). Held-out bounds and the judge are those of
`benchmarks.densities`. Then C-CHVAE and REVISE search each member's latent space, and the guarded search takes it as
its density, for the first 30 people whom a logistic regression refuses. At the end one VAEAC, fitted once, is searched
with three choices of immutable columns.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from attain import densities, density
from attain.core.intervals import mean_interval
from attain.methods import CCHVAE, REVISE, Guarded
from attain.metrics import compare_methods, judge
from attain.schema import Schema
from attain.tables import Table
from benchmarks import report
from benchmarks.tasks import Task, paper_task

SPLIT, PEOPLE, JUDGED = 7, 30, 1_500
MEMBERS: dict[str, Callable[[Schema], Any]] = {
    "VAE": density.VAE,
    "CVAE": density.CVAE,
    "HIVAE": lambda schema: density.HIVAE(schema, components=3),
    "CHVAE": lambda schema: density.CHVAE(schema, components=3),
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
    """One member's line, and the fitted member."""
    schema = task.data.schema
    made = MEMBERS[name](schema).set_params(verbose=False)
    started = time.process_time()
    made.fit(task.train)
    seconds = time.process_time() - started
    bound = made.log_density(held, 50)
    low, high = mean_interval(bound - marginals)
    cells = [
        name,
        f"{seconds:.0f}",
        f"{bound.mean():.2f}",
        f"{(bound - marginals).mean():+.2f} [{low:+.2f}, {high:+.2f}]",
        str(judge(held, densities.AutoencoderDensity.of(made).sample(held))),
        f"{made.active_units.sum()} of {len(made.active_units)}",
    ]
    options = {"figures": False, "random_state": 0}
    explainers = {
        "CCHVAE": CCHVAE(schema, autoencoder=made, **options),
        "REVISE": REVISE(schema, autoencoder=made, **options),
        "Guarded": Guarded(schema, density=made, **options),
    }
    found = compare_methods(
        explainers, task.model, task.train, task.y_train, task.refused.head(PEOPLE), target=task.data.desired,
        schema=schema, X_test=task.test, y_test=task.y_test,
    ).table  # fmt: skip
    return [*cells, *(_searched(found.loc[method]) for method in explainers)], made


def _searched(found: Any) -> str:
    if found["status"] != "ok":
        return str(found["reason"])
    shares = " / ".join(f"{100 * found[key]:.0f}" for key in ("found_charged", "inlier", "connected_90", "possible"))
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


def main() -> None:
    """Measures every member and writes the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--members", nargs="+", choices=list(MEMBERS), default=list(MEMBERS))
    parser.add_argument("--dry-run", action="store_true", help="do not write the result file")
    given = parser.parse_args()
    task = paper_task("HELOC", SPLIT)
    train, held = (Table.read(part, task.data.schema).values for part in (task.train, task.test.head(JUDGED)))
    lines: list[list[str]] = []
    others: list[list[str]] = []
    with threadpool_limits(1):
        marginals = densities.TreeDensity(task.data.schema, max_depth=0).fit(train).log_density(held)
        for name in given.members:
            found, made = line(name, task, held, marginals)
            lines.append(found)
            print(" | ".join(found), flush=True)
            others += choices(task, made) if name == "VAEAC" else []
    print(*others, sep="\n")
    if not given.dry_run:
        body = f"{_TEXT}\n\n{report.table(_HEADER, lines)}"
        body += f"\n\n{_CHOICES}\n\n{report.table(_CHOICES_HEADER, others)}"
        report.write("family", "The autoencoder family", "python -m benchmarks.family", body)


_HEADER = ("model", "CPU s", "bound", "above marginals", "judge's AUC", "active units", "CCHVAE", "REVISE", "Guarded")
_CHOICES_HEADER = ("immutable", "answered", "immutable cells kept", "CPU s to fit the explainer")
_TEXT = f"""HELOC, 80 % of the rows for training, split seed {SPLIT}. HIVAE and CHVAE have 3 components. CPU seconds
of one thread to train, compilation included. Bounds are of the free columns given the immutable ones (VAE and HIVAE:
of the free columns), 50 draws, in nats per held-out person; the judge tells draws from {JUDGED:,} held-out people,
0.5 is perfect. Under the methods: % answered / inliers / connected ε.9 / possible; TS, MS, of the first {PEOPLE}
people whom a logistic regression refuses. Inliers to MS are over answered people."""
_CHOICES = """One VAEAC, fitted once with the paper's immutable columns, searched by C-CHVAE with other ones. To fit the
explainer means encoding the training rows; nothing is trained."""

if __name__ == "__main__":
    main()
