"""How large an autoencoder to search: `python -m benchmarks.capacity`.

The whole capacity card of `attain.metrics.capacity`, on German credit and HELOC (the paper's version): 80 % of the rows
train each network, the others give the bound, the judge and the laws, and the first 40 people whom a logistic
regression refuses are explained.
"""

from __future__ import annotations

import argparse
import time

from threadpoolctl import threadpool_limits

from attain.core.drawing import written
from attain.metrics import Capacity, capacity
from benchmarks import report
from benchmarks.tasks import paper_task

SPLIT, PEOPLE = 7, 40
DATA = ("German", "HELOC")


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


def main() -> None:
    """Sweeps the data sets and writes the tables and plots."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    given = parser.parse_args()
    with threadpool_limits(1):
        parts = [section(name) for name in given.data]
    text = "\n\n".join([(__doc__ or "").split("\n", 2)[2].strip(), *parts])
    report.write("capacity", "The capacity card", "python -m benchmarks.capacity", text)


if __name__ == "__main__":
    main()
