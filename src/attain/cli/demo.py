"""`attain demo`: counterfactuals for real loan applications, on data that come with the package."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from attain.cli.arguments import add_command

if TYPE_CHECKING:
    from attain.datasets import Dataset
    from attain.methods import Explainer

_SHOWN = 3
"""How many people's changes are printed."""
_HELP = "explain refused loan applications of the embedded German credit data, with three methods"
_EPILOG = """example:
  attain demo --people 50 --seed 1
"""


def register(commands: Any) -> None:
    """Adds the command to the parser."""
    command = add_command(commands, "demo", _HELP, _EPILOG)
    command.add_argument("--people", type=int, default=20, help="how many refused people to explain (default 20)")
    command.add_argument("--seed", type=int, default=0, help="seed of the split, the model and the search (default 0)")
    command.add_argument("--out", default="attain-demo.csv", help="output file (default attain-demo.csv)")
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    """Trains a classifier, explains people it refuses, and shows what they could change."""
    from sklearn.model_selection import train_test_split

    from attain.cli.terminal import say, say_summary, width
    from attain.core.errors import AttainError
    from attain.core.files import check_writable
    from attain.datasets import load_german
    from attain.results.sentences import person_sentences
    from attain.results.text import LEGEND, comparison, description, summary

    if given.people < 1:
        raise AttainError(f"--people must be an integer ≥ 1, got {given.people}")
    check_writable(given.out)
    data = load_german()
    train, test, y_train, y_test = train_test_split(
        data.X, data.y, test_size=0.3, random_state=given.seed, stratify=data.y
    )
    model = classifier(data, given.seed).fit(train, y_train)
    refused = test[model.predict(test) != data.desired]
    people = refused.iloc[: given.people]
    say(
        f"German credit: {len(data.X):,} real loan applications. A gradient boosting model, trained on {len(train)} of "
        f"them, is right for {model.score(test, y_test):.0%} of the other {len(test)} and refuses {len(refused)}. What "
        f"could {len(people)} of those change to be accepted?"
    )
    say()
    started = time.perf_counter()
    results = {
        name: method.fit(train, y_train).explain(model, people, target=data.desired)
        for name, method in _methods(data, given.seed).items()
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


def _methods(data: Dataset, seed: int) -> dict[str, Explainer]:
    """The recommended method, the nearest real record, and one that looks for the nearest record of all."""
    from attain import GrowingSpheres, Guarded
    from attain.methods import NearestUnlike

    return {
        "Guarded": Guarded(data.schema, random_state=seed),
        "Nearest Unlike": NearestUnlike(data.schema, random_state=seed),
        "Growing Spheres": GrowingSpheres(data.schema, random_state=seed),
    }


def classifier(data: Dataset, seed: int) -> Any:
    """Gradient boosting on the raw frame; thresholds on the codes of levels, which searches can compile."""
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    levels = [feature.name for feature in data.schema if not feature.numeric]
    encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    return make_pipeline(
        make_column_transformer((encoder, levels), remainder="passthrough"),
        HistGradientBoostingClassifier(max_iter=100, learning_rate=0.05, random_state=seed),
    )
