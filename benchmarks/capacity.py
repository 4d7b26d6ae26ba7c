"""The capacity card: `python -m benchmarks.capacity`.

The whole capacity card of `experiments.research.capacity`, on German credit and HELOC (the paper's version): 80 % of
the rows train each network, the others give the bound, the judge and the laws, and the first 40 people whom a logistic
regression refuses are explained.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from attain.core.drawing import written
from attain.density import CHVAE
from attain.methods import CCHVAE
from attain.metrics import nearest_distance
from attain.population.population import Reference
from attain.tables import Table
from benchmarks import report
from benchmarks.tasks import paper_task
from experiments.research.autoencoder_certificate import certified_distance
from experiments.research.capacity import Capacity, capacity

SPLIT, PEOPLE = 7, 40
DATA = ("German", "HELOC")
CLOSE: tuple[dict[str, Any], ...] = (
    {"latent_dim": 6, "hidden": 64},
    {"latent_dim": 12, "hidden": 64, "beta": 0.2},
    {"latent_dim": 20, "hidden": 0, "beta": 0.05, "epochs": 200, "patience": 200},
)
"""Networks of increasing precision."""


def swept(name: str) -> Capacity:
    """The card of one data set."""
    task = paper_task(name, SPLIT)
    return capacity(
        task.model, task.train, task.y_train, task.refused.head(PEOPLE), target=task.data.desired,
        schema=task.data.schema, X_test=task.test, y_test=task.y_test,
    )  # fmt: skip


def section(name: str) -> str:
    """The card of one data set as Markdown; writes its plot."""
    started = time.process_time()
    card = swept(name)
    seconds = time.process_time() - started
    picture = f"capacity-{name.lower()}.png"
    (report.RESULTS / picture).write_bytes(written(card.plot().get_figure(root=True), "png"))
    header, rows = card.cells()
    parts = (f"## {name}", report.table(header, rows), card.recommendation, f"{seconds:.0f} CPU seconds in all.")
    return "\n\n".join([*parts, card.note, f"![The bound of each network against its good answers]({picture})"])


def certificate() -> str:
    """How many answers are certified where reconstructions are close, on German credit."""
    task, lines = paper_task("German", SPLIT), []
    schema, desired = task.data.schema, task.data.desired
    met = task.model.predict(task.train) == desired
    reference = Reference.build(schema, Table.read(task.train, schema).values, met=met)
    for sizes in CLOSE:
        autoencoder = CHVAE(schema, **sizes, verbose=False).fit(task.train)
        explainer = CCHVAE(schema, autoencoder=autoencoder, figures=False, random_state=0).fit(task.train, task.y_train)
        result = explainer.explain(task.model, task.refused.head(PEOPLE), target=desired)
        answers = result.answers[result.found]
        distances = [nearest_distance(answers, reference)]
        distances += [certified_distance(answers, autoencoder, reference, steps=steps) for steps in (1, 16)]
        shares = [f"{np.mean(distance <= reference.epsilon[0.9]):.0%}" for distance in distances]
        lines.append([", ".join(f"{name} {value}" for name, value in sizes.items()), str(len(answers)), *shares])
    header = ("network", "answers", "connected", "certified", "certified by the length of the curve")
    return f"## The certificate where reconstructions are close\n\nGerman credit.\n\n{report.table(header, lines)}"


def main() -> None:
    """Sweeps the data sets and writes the tables and plots."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    given = parser.parse_args()
    with threadpool_limits(1):
        parts = [*(section(name) for name in given.data), certificate()]
    report.write(__doc__, *parts)


if __name__ == "__main__":
    main()
