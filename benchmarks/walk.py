"""What a reader of one call meets, counted: `python -m benchmarks.walk`.

`explain` of two people of German credit, logistic regression in a pipeline, with a new model and with a known one:
asked (as a function of a frame), and compiled. Functions, files and calls are those of this package's own Python code.

    python -m benchmarks.walk               # prints the table
    python -m benchmarks.walk --list asked  # the functions of the second call, by file, with their calls
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import attain
from attain import Guarded, Model
from attain.datasets import load_german
from experiments.bench.cases import Split
from experiments.bench.classifiers import logistic_regression

SOURCE = str(Path(attain.__file__).parent)
KINDS = ("asked", "compiled")


class Walk:
    """Counts the calls of this package's functions, and how deep they are below the first."""

    def __init__(self) -> None:
        self.calls: Counter[CodeType] = Counter()
        self.deepest = self._depth = 0

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event in ("call", "return") and frame.f_code.co_filename.startswith(SOURCE):
            self._depth += 1 if event == "call" else -1
            self.deepest = max(self.deepest, self._depth)
            if event == "call":
                self.calls[frame.f_code] += 1

    def of(self, call: Callable[[], Any]) -> Walk:
        """This walk, after the call."""
        sys.setprofile(self)
        try:
            call()
        finally:
            sys.setprofile(None)
        return self

    @property
    def by_file(self) -> dict[str, list[CodeType]]:
        """The functions of each file."""
        found: dict[str, list[CodeType]] = {}
        for code in self.calls:
            found.setdefault(code.co_filename.removeprefix(SOURCE)[1:], []).append(code)
        return dict(sorted(found.items()))


def walks(kind: str) -> tuple[Walk, Walk]:
    """The first call about a model, and the second."""
    split = Split.of(load_german(), 0)
    schema, train = split.data.schema, split.train
    model = logistic_regression(schema, 0).fit(train, split.y_train)
    people = split.test[model.predict(split.test) != split.data.desired].iloc[:2]
    explainer = Guarded(schema, random_state=0).fit(train, split.y_train)
    asked = Model(lambda frame: model.predict_proba(frame), classes=list(model.classes_))
    chosen = model if kind == "compiled" else asked
    first, again = (Walk().of(lambda: explainer.explain(chosen, people, target=split.data.desired)) for _ in KINDS)
    return first, again


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", choices=KINDS, help="print the functions of the second call")
    chosen = parser.parse_args().list
    if chosen:
        walk = walks(chosen)[1]
        for file, codes in walk.by_file.items():
            print(f"{file}: {len(codes)} functions")
            for code in sorted(codes, key=lambda code: code.co_firstlineno):
                print(f"    {walk.calls[code]:5} {code.co_qualname}")
        return
    for kind in KINDS:
        for which, walk in zip(("first", "again"), walks(kind), strict=True):
            print(
                f"{kind:9} {which}: {len(walk.calls):4} functions, {len(walk.by_file):3} files, "
                f"{walk.calls.total():6,} calls, {walk.deepest:3} deep"
            )


if __name__ == "__main__":
    main()
