"""Digests of every method's answers: `python -m benchmarks.recorded_answers`.

As `tests/recorded/answers.md`, which `make test` compares, with more people and with all digits: two runs with the same
digests gave the same answers to the last bit. Four tables: German credit, HELOC (special codes), Give Me Some Credit
(missing cells), and made-up people (clocks, paces, missing and special cells, derived columns, rules); logistic
regression and boosted trees; one and three options. Each method has its defaults, but Actionable Recourse a grid of 100
steps, and methods with an autoencoder answer on the first and the last table only.

    python -m benchmarks.recorded_answers                      # writes results/recorded_answers.md
    python -m benchmarks.recorded_answers --against FILE.md    # what differs from an earlier table; writes nothing
    python -m benchmarks.recorded_answers --methods Guarded    # some methods (--tables: tables) only; writes nothing

Answers depend on the processor and on library versions in their last bits: compare tables of one machine.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace
from pathlib import Path

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks import report
from experiments.bench.cases import Split
from experiments.bench.methods import METHODS
from experiments.data import load_gmsc, load_heloc
from tests.recorded.recording import HEADER, Case, case_of, differences, german, lines, made_up, read

TRAINING_ROWS = 3_000


def numbers(split: Split) -> Case:
    """A split of numbers, the first training rows only, so that no method takes long."""
    cut = replace(split, train=split.train.iloc[:TRAINING_ROWS], y_train=split.y_train.iloc[:TRAINING_ROWS])
    models = {
        "logistic regression": make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(max_iter=1000)),
        "boosted trees": HistGradientBoostingClassifier(max_iter=60, random_state=0),
    }
    return case_of(cut, models, 12)


def latent(case: Case) -> Case:
    """The same, with an autoencoder for the methods that need one."""
    return replace(case, autoencoder=lambda: "chvae")


TABLES = {
    "German credit": lambda: latent(german()),
    "HELOC": lambda: numbers(Split.of(load_heloc(), 0)),
    "GMSC": lambda: numbers(Split.of(load_gmsc(), 0)),
    "made-up people": lambda: latent(made_up()),
}


def main() -> None:
    """Records, compares and writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="*", choices=list(METHODS), help="methods to record (default: all)")
    parser.add_argument("--tables", nargs="*", choices=list(TABLES), help="tables to record (default: all)")
    parser.add_argument("--against", type=Path, help="the table of an earlier run")
    given = parser.parse_args()
    earlier = {} if given.against is None else read(given.against)
    warnings.simplefilter("ignore")
    tables = {name: TABLES[name] for name in given.tables or TABLES}
    found, differing = [], 0
    for line in lines(tables, given.methods or list(METHODS), (1, 3), digits=17):
        found.append(line)
        changed = differences(line, earlier.get(line[:4])) if given.against is not None else []
        differing += bool(changed)
        print(" | ".join(line), *changed, sep="\n    ", flush=True)
    if given.against is not None:
        print(f"{differing} of {len(found)} lines differ")
    elif given.methods is None and given.tables is None:
        report.write(__doc__, report.table(HEADER, found))


if __name__ == "__main__":
    main()
