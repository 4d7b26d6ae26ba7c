"""`attain demo`: real counterfactuals of real people, on the data that come with the package."""

from __future__ import annotations

import argparse
import shutil
import textwrap
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attain.datasets import Dataset

_TABLE = 3
_HELP = "counterfactuals for people whom a classifier refuses credit, on the embedded German credit data"
_EPILOG = """example:
  attain demo --people 50 --seed 1
"""


def register(commands: Any) -> None:
    """Adds the command to the parser."""
    command = commands.add_parser(
        "demo", help=_HELP, description=_HELP, epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    command.add_argument("--people", type=int, default=20, help="how many refused people are explained (default 20)")
    command.add_argument(
        "--seed", type=int, default=0, help="the seed of the split, the model and the search (default 0)"
    )
    command.add_argument("--out", default="attain-demo.csv", help="where the answers go (default attain-demo.csv)")
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    """Trains a classifier, explains people whom it refuses, and shows what they could change."""
    from sklearn.model_selection import train_test_split

    from attain import CCHVAE, GrowingSpheres
    from attain.core.errors import AttainError
    from attain.core.files import check_writable, write_atomically
    from attain.datasets import load_german
    from attain.results.text import changes_table, comparison

    if given.people < 1:
        raise AttainError(f"--people is {given.people}; it takes a whole number from 1 upward")
    check_writable(given.out)
    data = load_german()
    train, test, y_train, y_test = train_test_split(
        data.X, data.y, test_size=0.3, random_state=given.seed, stratify=data.y
    )
    model = _classifier(data, given.seed).fit(train, y_train)
    refused = test[model.predict(test) != data.desired]
    people = refused.iloc[: given.people]
    _say(
        f"German credit: {len(data.X):,} real loan applications. Gradient boosting, trained on {len(train)}, is right "
        f"for {model.score(test, y_test):.0%} of the {len(test)} others and refuses {len(refused)} of them. What could "
        f"{len(people)} of those change to be accepted? C-CHVAE first learns what real applications look like."
    )
    started = time.perf_counter()
    methods = (CCHVAE(data.schema, random_state=given.seed), GrowingSpheres(data.schema, random_state=given.seed))
    results = [method.fit(train, y_train).explain(model, people, target=data.desired) for method in methods]
    faithful = results[0]
    _say("")
    print(changes_table(faithful, [i for i in range(len(faithful)) if faithful.found[i]][:_TABLE]))
    _say("")
    _say(
        "pct: the share of applicants at or below the value. total: the sum of all shifts, in percentile points; "
        "another level counts 100. outlier, connected: whether the new record is unlike real accepted people, and near "
        "one."
    )
    _say("")
    for line in str(faithful).splitlines():
        _say(line, indent="  " if line.startswith(" ") else "")
    _say("")
    _say("Beside Growing Spheres, which looks for the nearest record, whether or not anybody has such a one:")
    print(comparison(results))
    write_atomically(given.out, faithful.frame.to_csv().encode())
    _say("")
    _say(f"{time.perf_counter() - started:.0f} s in all. C-CHVAE's answers are in {given.out}.")


def _classifier(data: Dataset, seed: int) -> Any:
    """Gradient boosting on the raw frame."""
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    levels = [feature.name for feature in data.schema if not feature.numeric]
    order = [list(data.schema[name].levels) for name in levels]
    prepared = make_column_transformer((OrdinalEncoder(categories=order), levels), remainder="passthrough")
    boosting = HistGradientBoostingClassifier(
        max_iter=100, learning_rate=0.05, categorical_features=list(range(len(levels))), random_state=seed
    )
    return make_pipeline(prepared, boosting)


def _say(text: str, indent: str = "") -> None:
    width = min(shutil.get_terminal_size((100, 24)).columns, 100)
    print(textwrap.fill(text.strip(), width, initial_indent=indent, subsequent_indent=indent))
