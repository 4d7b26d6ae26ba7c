"""German credit, a model and people it refuses: what `attain demo` shows, and `compare` and `serve` with `--demo`."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from attain.cli.layer import Arguments
from attain.cli.terminal import note, say, say_summary, width
from attain.core.files import check_writable
from attain.datasets import Dataset, german_texts, load_german
from attain.methods import Guarded
from attain.results.sentences import person_sentences
from attain.results.text import LEGEND, description, summary

_SHOWN = 3
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


def demo(arguments: Arguments) -> None:
    """Trains a classifier, explains people it refuses, and shows what they could change."""
    check_writable(arguments.out)
    case = german_case(arguments.seed)
    data, refused = case.data, case.refused
    people = refused.iloc[: arguments.people]
    say(
        f"German credit: {len(data.X):,} real loan applications. A gradient boosting model, trained on "
        f"{len(case.train)} of them, is right for {case.model.score(case.test, case.y_test):.0%} of the other "
        f"{len(case.test)} and refuses {len(refused)}. What could {len(people)} of those change to be accepted?"
    )
    say()
    started = time.perf_counter()
    explainer = Guarded(data.schema, random_state=arguments.seed).fit(case.train, case.y_train)
    result = explainer.explain(case.model, people, target=data.desired)
    shown = result.found.nonzero()[0][:_SHOWN].tolist()
    print("\n\n".join(description(result, i, width()) for i in shown))
    say(f"\n{LEGEND}")
    if shown:
        say(f"\nIn words: {person_sentences(result)[shown[0]]}")
    say()
    say_summary(summary(result))
    say("\n`attain compare --demo` puts other methods beside this one.")
    result.to_csv(arguments.out)
    say(f"\n{time.perf_counter() - started:.0f} s in total. Written: {arguments.out}")


def service_demo() -> dict[str, Any]:
    """The arguments of `create_app` for German credit, a gradient boosting model, and the guarded search."""
    note("fitting a model and an explainer on German credit; this takes a few seconds")
    case = german_case(0)
    return {
        "explainer": Guarded(case.data.schema, random_state=0).fit(case.train, case.y_train),
        "model": case.model,
        "target": case.data.desired,
        "people": case.test.sort_index(),
        "texts": german_texts(),
        "title": "German credit",
    }
