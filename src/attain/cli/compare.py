"""`attain compare` and `attain demo`: methods side by side, on your own data or on German credit."""

from __future__ import annotations

import time
from typing import Any, Final, NamedTuple

import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from attain.cli.inputs import read_constraints, read_model, read_people, read_target, read_training
from attain.cli.layer import NOBODY, Given
from attain.cli.terminal import note, say, say_json, say_summary, width
from attain.core.drawing import style
from attain.core.errors import AttainError
from attain.core.files import check_writable
from attain.datasets import Dataset, load_german
from attain.methods import GrowingSpheres, Guarded, NearestUnlike
from attain.metrics import compare_methods
from attain.results.sentences import person_sentences
from attain.results.text import LEGEND, comparison, description, summary
from attain.schema import Schema
from attain.schema.toml import read_file
from attain.tables.files import read_any

_DEMO_ROWS: Final = 20
_SHOWN: Final = 3
"""How many people's changes are printed."""


class Case(NamedTuple):
    """German credit in two halves, and a model trained on one."""

    data: Dataset
    model: Any
    train: pd.DataFrame
    test: pd.DataFrame
    y_train: pd.Series[Any]
    y_test: pd.Series[Any]

    @property
    def refused(self) -> pd.DataFrame:
        """The people whom the model refuses."""
        return self.test[self.model.predict(self.test) != self.data.desired]


def german_case(seed: int) -> Case:
    """German credit, with gradient boosting on the raw frame: thresholds on codes of levels, which are compiled."""
    data = load_german()
    train, test, y_train, y_test = train_test_split(data.X, data.y, test_size=0.3, random_state=seed, stratify=data.y)
    levels = [feature.name for feature in data.schema if not feature.numeric]
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    model = make_pipeline(
        make_column_transformer((encoder, levels), remainder="passthrough"),
        HistGradientBoostingClassifier(max_iter=100, learning_rate=0.05, random_state=seed),
    )
    return Case(data, model.fit(train, y_train), train, test, y_train, y_test)


def compare(given: Given) -> int:
    """Compares, writes and reports; returns the exit code."""
    names = [name.strip() for name in given.methods.split(",") if name.strip()]
    if not names:
        raise AttainError("--methods must name at least one method, such as growing-spheres")
    compared = compare_methods(names, **comparison_inputs(given))
    written = [] if given.out is None else list(map(str, compared.write(given.out)))
    if given.json:
        tables = {"pairs": compared.paired(), "broken_laws": compared.broken_laws}
        records = {name: table.to_dict("records") for name, table in tables.items()}
        say_json({"out": written, "methods": compared.lines, **records})
    else:
        print(compared.text(width()))
        if written:
            say(f"\nWritten: {', '.join(written)}")
    return 0 if any(one.frame["found"].any() for one in compared.evaluations.values()) else NOBODY


def comparison_inputs(given: Given) -> dict[str, Any]:
    """The arguments of `compare_methods` but for the methods."""
    if given.out is not None:
        style()  # raises before the long work if Matplotlib is not installed
    if not given.demo:
        return {**_files(given), "random_state": given.seed}
    if given.train is not None:
        raise AttainError("--demo brings its own data; leave the files out")
    case = german_case(given.seed)
    return {
        "model": case.model,
        "X_train": case.train,
        "y_train": case.y_train,
        "X": case.refused.iloc[:_DEMO_ROWS],
        "target": case.data.desired,
        "schema": case.data.schema,
        "X_test": case.test,
        "y_test": case.y_test,
        "random_state": given.seed,
    }


def _files(given: Given) -> dict[str, Any]:
    needed = {"TRAIN": given.train, "PEOPLE": given.people, "--model": given.model, "--target": given.target}
    if missing := [name for name, value in needed.items() if value is None]:
        raise AttainError(f"{', '.join(missing)} must be given; --demo needs no files")
    if given.schema is None:
        frame, _ = read_any(given.train, index=given.index, separator=given.separator)
        note("no --schema: it is inferred, and every column may change; `attain schema infer` writes one to edit")
        schema = Schema.infer(frame.drop(columns=[] if given.label is None else [given.label]))
    else:
        schema = read_file(given.schema)
    training, model = read_training(given, schema), read_model(given)
    people = read_people(given, given.people, schema, index=False).frame
    return {
        **training,
        "model": model,
        "X": people,
        "target": read_target(given.target, model, training["X_train"], schema),
        "probability": given.probability,
        "schema": schema,
        "constraints": read_constraints(given.constraints, list(people.index)),
    }


def demo(given: Given) -> None:
    """Trains a classifier, explains people it refuses, and shows what they could change."""
    check_writable(given.out)
    case = german_case(given.seed)
    data, refused = case.data, case.refused
    people = refused.iloc[: given.people]
    say(
        f"German credit: {len(data.X):,} real loan applications. A gradient boosting model, trained on "
        f"{len(case.train)} of them, is right for {case.model.score(case.test, case.y_test):.0%} of the other "
        f"{len(case.test)} and refuses {len(refused)}. What could {len(people)} of those change to be accepted?"
    )
    say()
    started = time.perf_counter()
    kinds = {"Guarded": Guarded, "Nearest Unlike": NearestUnlike, "Growing Spheres": GrowingSpheres}
    results = {
        name: kind(data.schema, random_state=given.seed)
        .fit(case.train, case.y_train)
        .explain(case.model, people, target=data.desired)
        for name, kind in kinds.items()
    }
    first, *others = results
    result = results[first]
    shown = result.found.nonzero()[0][:_SHOWN].tolist()
    print("\n\n".join(description(result, i, width()) for i in shown))
    say(f"\n{LEGEND}")
    if shown:
        say(f"\nIn words: {person_sentences(result)[shown[0]]}")
    say()
    say_summary(summary(result))
    say(f"\n{first} beside {' and '.join(others)}:")
    print(comparison(results, width()))
    result.to_csv(given.out)
    say(f"\n{time.perf_counter() - started:.0f} s in total. Written: {given.out}")
