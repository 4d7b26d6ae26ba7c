"""CPU time of the guarded search beside other versions: `python -m benchmarks.person`.

CPU time on one thread, children included, of processes that have just started, with nothing warmed up: a saved
explainer and a model are loaded, and asked. The model is fitted once, and the same for every version; fitting is not
counted. People are refused ones.

- 200 people in a call: milliseconds of each in the first call of a process, with all that is learned about the model,
  and in brackets in the same call again.
- One person alone: the median of 15 people after a first one, without the time of the model itself, and in brackets
  with it.
- The first answer: seconds from importing the package to the answer about one person, beyond loading pandas, people and
  model.
- The service is the demonstration's, client and server on two cores. New options are what the page asks for after a
  feature was locked: five cards, then their details.
- Threads: how many times as many people two threads answer as one, in calls of ten. This is wall time, so that it needs
  a quiet machine.

✗ marks a target that is missed. Memory may be 5 % above that of the version named last.

    python -m benchmarks.person --beside ef07078 --beside COMMIT
    python -m benchmarks.person --beside FOLDER --cells "HELOC/*" service --people 20      # writes nothing
    python -m benchmarks.person --glance         # one cell, in seconds, beside the committed table; writes nothing
"""

from __future__ import annotations

import argparse
import math
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks import harness, report
from benchmarks.tasks import ALL, hand_over
from experiments.bench.classifiers import CLASSIFIERS

EARLIER = "ef07078"
PEOPLE = 200
LINEAR, BOOSTING, FOREST = "logistic regression", "gradient boosting", "random forest"
ALONE, FIRST, CARDS, PER_SECOND, THREADS = 8, 1.2, 0.2, 20, 1.7
SERVICE, THREADED = "service", "HELOC"
GLANCE = "breast cancer/gradient boosting"


class Case(NamedTuple):
    """A data set, how many of its rows train, and by classifier the most milliseconds a person in a call of 200."""

    data: str
    rows: int | None
    targets: Mapping[str, float]


CASES = {
    "HELOC": Case("HELOC", 5_700, {LINEAR: 2, BOOSTING: 3.5}),
    "GMSC": Case("GMSC", 2_160, {LINEAR: 2, BOOSTING: 3.5}),
    "Adult": Case("Adult", 15_100, {LINEAR: 2, BOOSTING: 3.5}),
    "GMSC, all rows": Case("GMSC", None, {LINEAR: 4, BOOSTING: 7}),
    "breast cancer": Case("breast cancer", None, {BOOSTING: 10, FOREST: 15}),
    "80 columns": Case("80 columns", 5_800, {LINEAR: 12, BOOSTING: 12}),
}
"""The first three and the last have some 2,000 real people of the desired class, the fourth has 10⁵."""
CELLS = {f"{name}/{kind}": (case, kind) for name, case in CASES.items() for kind in case.targets}


def measured(cell: str, people: int, sources: Sequence[Path]) -> tuple[int, list[dict[str, float]]]:
    """How many real people of the desired class there are, and the figures of each version."""
    case, kind = CELLS[cell]
    data = ALL[case.data]()
    X = data.X if case.rows is None else data.X.sample(case.rows, random_state=0)
    labels = (data.y.loc[X.index] == data.desired).to_numpy(dtype=np.int64)
    model = CLASSIFIERS[kind](data.schema, 0)
    if kind == FOREST:
        model.set_params(randomforestclassifier__max_depth=None)
    model.fit(X, labels)
    real = len(X[(model.predict(X) == 1) & (labels == 1)].drop_duplicates())
    refused = data.X[model.predict(data.X) != 1].iloc[:people]
    asked = ("fit", "first", "together", *(["threads"] if cell.split("/")[0] == THREADED else []))
    with tempfile.TemporaryDirectory() as place:
        hand_over(Path(place), data.schema, X, labels, refused, model)
        figures = []
        for number, source in enumerate(sources):
            found: dict[str, float] = {}
            for what in asked:
                found |= harness.alone("versions", what, place, number, source=source)
            figures.append(found)
    return real, figures


def line(figures: Sequence[Mapping[str, float]], name: str, target: float, digits: int, beside: str = "") -> list[str]:
    """The target and a figure of each version; a larger one is better of those that are counted per second or core."""
    more = name in ("per_second", "threads")
    shown = [f"{one[name]:.{digits}f}" + (f" ({one[beside]:.{digits}f})" if beside else "") for one in figures]
    now = figures[-1][name]
    if now < target if more else now > target:
        shown[-1] += " ✗"
    aim = "" if math.isinf(target) else f"{'≥' if more else '≤'} {target:g}"
    return [aim, *shown]


def tables(found: Mapping[str, tuple[int, list[dict[str, float]]]], names: Sequence[str]) -> list[str]:
    """A table for each question that all cells are asked, and one of threads."""

    def rows(name: str, targets: Mapping[str, float], digits: int, beside: str = "") -> list[list[str]]:
        return [
            [*cell.split("/"), f"{real:,}", *line(figures, name, targets[cell], digits, beside)]
            for cell, (real, figures) in found.items()
            if all(name in one for one in figures)
        ]

    def same(value: float) -> dict[str, float]:
        return dict.fromkeys(found, value)

    together = {cell: CELLS[cell][0].targets[CELLS[cell][1]] for cell in found}
    before = {cell: round(1.05 * figures[-2]["memory"]) for cell, (_, figures) in found.items()}
    header = ("data", "classifier", "real people", "target", *names)
    parts = {
        f"{PEOPLE} people in a call, ms each (again)": rows("together", together, 1, "again"),
        "One person alone, ms (with the model)": rows("alone", same(ALONE), 1, "whole"),
        "Import and first answer, s": rows("first", same(FIRST), 2),
        "Peak memory, MB": rows("memory", before, 0),
        "Answered, share": rows("found", same(math.inf), 3),
        "Two threads to one": rows("threads", same(THREADS), 2),
        "Fitting, s": rows("fit", same(math.inf), 1),
    }
    return [f"## {title}\n\n{report.table(header, lines)}" for title, lines in parts.items() if lines]


def service(sources: Sequence[Path], names: Sequence[str]) -> str:
    """What the service takes for new options, and how many new questions it answers a second."""
    figures: list[dict[str, Any]] = [harness.alone("service", "--brief", source=source) for source in sources]
    lines = [
        ["new options on the page, CPU s", *line(figures, "page", CARDS, 3)],
        ["of these the five cards, CPU s", *line(figures, "cards", math.inf, 3)],
        ["new questions a second", *line(figures, "per_second", PER_SECOND, 1)],
        ["questions without an answer", *line(figures, "lost", 0, 0)],
    ]
    return f"## The service\n\n{report.table(('question', 'target', *names), lines)}"


def glance() -> str:
    """The figures of one cell here, and those that the committed table gives."""
    _, (here,) = measured(GLANCE, PEOPLE, [report.ROOT])
    committed = (report.RESULTS / "person.md").read_text(encoding="utf-8").splitlines()
    machine = next(text for text in committed if text.startswith("Made by"))
    rows = [row.strip(" |✗").split(" | ") for row in committed if row.startswith(f"| {GLANCE.replace('/', ' | ')} |")]
    together = f"{here['together']:.1f} ({here['again']:.1f})", rows[0][-1]
    alone = f"{here['alone']:.1f} ({here['whole']:.1f})", rows[1][-1]
    lines = [
        f"CPU time of the guarded search, {GLANCE}, for information; committed: {machine.partition('; ')[2]}",
        f"  {PEOPLE} people in a call, ms each (again): {together[0]:>14s}; committed: {together[1]}",
        f"  one person alone, ms (with the model): {alone[0]:>17s}; committed: {alone[1]}",
    ]
    return "\n".join(lines)


def main() -> None:
    """Measures every cell beside other versions, and writes the tables if all were measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beside", action="append", help="a commit, or the folder of a checkout; repeatable")
    parser.add_argument("--cells", nargs="+", default=["*"], help="patterns of DATA/CLASSIFIER, or service")
    parser.add_argument("--people", type=int, default=PEOPLE, help="people in a call")
    parser.add_argument("--glance", action="store_true", help="one cell only, beside the committed table")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.glance:
        print(glance())
        return
    beside = given.beside or [EARLIER]
    names = [*(Path(commit).name for commit in beside), "now"]
    chosen = [cell for cell in (*CELLS, SERVICE) if any(fnmatch(cell, pattern) for pattern in given.cells)]
    with ExitStack() as stack:
        sources = [*(stack.enter_context(harness.checked_out(commit)) for commit in beside), report.ROOT]
        found = {cell: measured(cell, given.people, sources) for cell in chosen if cell != SERVICE}
        parts = tables(found, names) + ([service(sources, names)] if SERVICE in chosen else [])
    if given.cells == ["*"] and given.people == PEOPLE:
        report.write(__doc__, *parts)
    else:
        print(*parts, sep="\n\n")


if __name__ == "__main__":
    main()
