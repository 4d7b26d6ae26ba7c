"""Answers as their readers see them, before a review and after: `python -m benchmarks.reading`.

The tables, classifiers and scripted reviewers of `benchmarks.review`, and with `--reading` the two tables that nothing
is tuned on. The first ten held-out people whom each classifier refuses: their sentences with the inferred schema, and
with that of the finished review. `reading.csv` beside this page has all sentences, the questions between them with the
decisions taken, and what a person who reads as those who must follow says of each sentence: `fit` to be handed out,
`doubtful`, or `unfit`, with a reason. A mark is kept as long as its sentence is the same, so that one without a mark
has not been read. The marks are of readers who had not written any of this, and knew the stage; names of columns are
not counted against a sentence. That nothing in a record may change is fit where it is true: nobody can change a tumour.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import zip_longest
from typing import Final

import benchmarks.review as reviewing
from attain.datasets import Dataset
from benchmarks import report
from benchmarks.tasks import READING, breast_cancer, read_table

PEOPLE: Final = 10
PLACE: Final = report.RESULTS / "reading.csv"
KEY: Final = ("table", "classifier", "person", "review", "sentence")
COLUMNS: Final = (*KEY, "mark", "why")
MARKS: Final = ("fit", "doubtful", "unfit", "")
LABORATORY: Final = "breast cancer, what would have to be measured"
"""What a laboratory wants to know of the tumours: measures may differ, and what looks computed from others follows."""
FURTHER: Mapping[str, Mapping[str, str]] = {
    LABORATORY: {"f": ".*area|.*perimeter", "c": ".*"},
    "cards": {
        "n": "LIMIT_BAL|SEX|EDUCATION|MARRIAGE",
        "y": "AGE",
        "d": "PAY_0|BILL_AMT1",
        "u": "PAY_AMT1",
        "p": "PAY_[2-6]|BILL_AMT.|PAY_AMT.",
    },
    "student": {
        "y": "age",
        "p": "failures|nursery|G1|G2",
        "u": "studytime",
        "d": "Dalc|Walc|goout|absences",
        "c": "schoolsup|famsup|paid|activities|higher|internet|freetime",
        "n": ".*",
    },
}
"""Reviewers of further tables, as in `benchmarks.review.REVIEWERS`."""
Row = dict[str, str]


def rows_of(table: str, data: Dataset) -> Iterator[Row]:
    """The sentences before a review of each classifier's answers, the questions and decisions, the sentences after."""
    for linear in (True, False):
        review = reviewing.begun(data, linear)
        before = review.result.sentences
        while not review.done:
            reviewing.answer(table, review.questions()[0], review)
        row = partial(_row, table, "logistic regression" if linear else "boosting")
        after = review.result.sentences
        yield from (row(person, "before", text) for person, text in before.iloc[:PEOPLE].items())
        for asked in review.frame().dropna(subset="choice").to_dict("records"):
            left = f"not reviewed after it: {100 * asked['unreviewed']:.0f} % of the answers"
            yield row("", "question", f"{asked['question']}: {asked['evidence']}", asked["text"], left)
        yield from (row(person, "after", text) for person, text in after.iloc[:PEOPLE].items())


def _row(*cells: object) -> Row:
    """A row of the file; mark and reason may be missing."""
    return {name: str(cell) for name, cell in zip_longest(COLUMNS, cells, fillvalue="")}


def _marked(rows: list[Row]) -> list[Row]:
    """The rows with the marks that the same sentences have in the file, after those of other tables."""
    known = []
    if PLACE.exists():
        with PLACE.open(encoding="utf-8", newline="") as file:
            known = list(csv.DictReader(file))
    marks = {tuple(row[name] for name in KEY): row for row in known if row["review"] != "question"}
    tables = {row["table"] for row in rows}
    made = [{**row, **marks.get(tuple(row[name] for name in KEY), {})} for row in rows]
    return [*(row for row in known if row["table"] not in tables), *made]


def _counts(rows: list[Row]) -> str:
    """How many sentences have each mark, by table and stage."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for row in rows:
        if row["review"] != "question":
            counts.setdefault((row["table"], row["review"]), Counter())[row["mark"]] += 1
    lines = [[*key, *(count[mark] for mark in MARKS)] for key, count in counts.items()]
    return report.table(("table", "review", "fit", "doubtful", "unfit", "not read"), lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reading", action="store_true", help="the tables that nothing is tuned on instead")
    parser.add_argument("--tables", nargs="+", help="these only; marks of the others stay")
    parser.add_argument("--count", action="store_true", help="explain nobody: count the marks in the file")
    given = parser.parse_args()
    reviewing.REVIEWERS = {**reviewing.REVIEWERS, **FURTHER}
    loaders: dict[str, Callable[[], Dataset]] = {**reviewing.TABLES, LABORATORY: breast_cancer}
    if given.reading:
        loaders = {name: partial(read_table, name) for name in READING}
    rows: list[Row] = []
    for table in () if given.count else given.tables or loaders:
        rows += rows_of(table, loaders[table]())
        print(f"{table}: done", flush=True)
    rows = _marked(rows)
    with PLACE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    report.write(__doc__, _counts(rows))


if __name__ == "__main__":
    main()
