"""Advice followed, and nothing else: `python -m benchmarks.advice`.

The schema that `Schema.infer` gives with the preset `lending`, with every item of its own advice followed that has a
line to do so; gradient boosting; the guarded search without an autoencoder; the first 20 refused people of each data
set, those that are not on disk left out. The page has what they are told, word by word. `UNFIT` says which of these
sentences a loan officer would not hand out, and why: read by a person, on the day it names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from attain import Guarded, Schema
from attain.core.errors import AttainError
from attain.datasets import Dataset, load_adult, load_german, load_gmsc, load_heloc
from benchmarks import report

DATA: Final[Mapping[str, Callable[[], Dataset]]] = {
    "HELOC": load_heloc,
    "GMSC": load_gmsc,
    "German credit": load_german,
    "Adult": load_adult,
}
PEOPLE: Final = 20
ROWS: Final = 12_000

READ: Final = "2026-11-16"
UNFIT: Final[Mapping[str, Mapping[int, str]]] = {
    "HELOC": {
        1: "six changes at once, which together pay off nearly everything",
        14: "seven changes in six months, five of them debts to pay down",
    },
    "GMSC": {
        9: "hardly anybody raises an income by 63 % in two years",
    },
    "German credit": {12: "a person of 68 without work is told to take it up"},
    "Adult": {
        2: "from domestic help to executive, and self-employed, at once",
        8: "80 hours of work a week",
        11: "from machine operator to executive, and a degree",
        12: "75 hours of work a week",
        13: "a person of 73 is sent back to school, and then into another job",
    },
}
"""By data set and number: what a loan officer would not hand out."""


def schema_of(train: pd.DataFrame) -> Schema:
    """The inferred schema, with its advice followed."""
    schema = Schema.infer(train, preset="lending")
    for item in schema.advise(train):
        if item.changes:
            schema = schema.change(item.column, **item.changes)
    return schema


def sentences(data: Dataset) -> list[str]:
    """What the first refused people are told."""
    rows = data.X.sample(min(ROWS, len(data.X)), random_state=1)
    train, test, y_train, _ = train_test_split(rows, data.y.loc[rows.index], test_size=0.3, random_state=0)
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    encoded = make_column_transformer((codes, make_column_selector(dtype_exclude=np.number)), remainder="passthrough")
    model = make_pipeline(encoded, HistGradientBoostingClassifier(max_iter=100, random_state=0)).fit(train, y_train)
    refused = test[model.predict(test) != data.desired].head(PEOPLE)
    explainer = Guarded(schema_of(train), random_state=0).fit(train, y_train)
    return list(explainer.explain(model, refused, target=data.desired).sentences)


def section(name: str, told: list[str]) -> Iterator[str]:
    """The sentences of a data set, with those marked that are not fit."""
    unfit = UNFIT.get(name, {})
    yield f"## {name}: {len(unfit)} of {len(told)} not fit to hand out\n"
    for number, text in enumerate(told, start=1):
        yield f"{number}. {text}" + (f" **Not fit: {unfit[number]}.**" if number in unfit else "")
    yield ""


def main() -> None:
    """Explains 20 people of each data set that is there, and writes what they are told."""
    lines = [
        f"Read as a loan officer would on {READ}: which sentences are not fit to hand out, and why, is marked. "
        "The default pace of incomes was chosen with the sentences of GMSC in view: for it, this page is no test.\n"
    ]
    for name, load in DATA.items():
        try:
            data = load()
        except AttainError as error:
            print(f"{name} is left out: {error}")
            continue
        lines += section(name, sentences(data))
    report.write(
        "advice", "What people are told when advice is followed", "python -m benchmarks.advice", "\n".join(lines)
    )


if __name__ == "__main__":
    main()
