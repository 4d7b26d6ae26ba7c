"""CPU time of every method as tables grow: `python -m benchmarks.limits`.

All methods on made-up tables of 5 to 500 columns, 2 to 1,000 levels a column, and 0 to 200 rules: numbers with steps,
special codes and missing cells, levels with transitions, derived columns, and rules of five kinds. 1,000 training rows,
a logistic regression or, for Feature Tweaking, a forest of 30 trees; “function” is the same classifier as a function,
which no method can look into. One thread. What is learned from the training rows (`fit`) and about the model (the first
call) is counted apart, and so are the seconds that the classifier itself takes to answer: a call to scikit-learn's
encoders of 300 columns with 1,000 levels takes a third of a second. Laws and the autoencoder, with 64 hidden units, are
found once for all methods of a table: they are not part of `fit`; what rests on the autoencoder learns from 200 rows.
Each person has two seconds, by a clock that shows CPU time; solvers stop by the wall's.

CPU seconds a person, the mean of 2 in one call. In brackets, where it is more than 1: without the seconds of the
classifier itself. Bold: more than 1 even so. T: somebody's 2 seconds were spent. –: not measured. Columns are levels /
rules.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

COLUMNS, LEVELS, RULES = (5, 20, 100, 500), (2, 50, 1_000), (0, 20, 200)
ROWS, PEOPLE = 1_000, 2
LATENT_ROWS = 200
"""Training rows of methods with an autoencoder: what is measured is the search."""
TIMEOUT = 2.0
"""CPU seconds for each person; cells that reach it are marked."""
LIMIT = 1.0
"""CPU seconds a person that no cell should take."""
HIDDEN, EPOCHS = 64, 1
"""Of the autoencoder: a search takes as long with one that is trained well."""


@dataclass(frozen=True)
class Line:
    """A method with its settings, and the classifier that it explains."""

    method: str
    model: str = "linear"

    @property
    def name(self) -> str:
        return self.method if self.model == "linear" else f"{self.method}, {self.model}"


LINES = (
    Line("Guarded"),
    Line("Guarded", "function"),
    Line("CCHVAE"),
    Line("NearestUnlike"),
    Line("GrowingSpheres"),
    Line("GrowingSpheres", "function"),
    Line("FACE"),
    Line("ActionableRecourse"),
    Line("ActionableRecourse", "function"),
    Line("Russell"),
    Line("FeatureTweaking", "forest"),
    Line("BudgetedInverseClassification"),
    Line("HillClimbingLocalSearch"),
    Line("HillClimbingLocalSearch", "function"),
    Line("Wachter"),
    Line("Wachter", "function"),
    Line("REVISE"),
)


class World:
    """A made-up table with its schema, labels and classifiers."""

    def __init__(self, columns: int, levels: int, rules: int, rows: int = ROWS) -> None:
        import numpy as np
        import pandas as pd

        from attain import Schema, laws

        self._random = np.random.default_rng([columns, levels, rules])
        self._rows, self._levels = rows, levels
        cells: dict[str, Any] = {}
        features = []
        for j in range(columns):
            feature, values = self._column(j, cells)
            features.append(feature)
            cells[feature.name] = values
        self.X = pd.DataFrame(cells)
        schema = Schema(tuple(features), rules=tuple(self._rules(rules, features)))
        self.schema = schema.with_laws(laws.find(self.X, schema))
        numbers = self.X.select_dtypes("number").rank(pct=True).fillna(0.5).to_numpy()
        texts = self.X.select_dtypes(exclude="number")
        effect = sum((texts[name].str[1:].astype(int).to_numpy() % 7) / 3 for name in texts)
        score = numbers @ self._random.normal(size=numbers.shape[1]) + 0.3 * effect
        self.y = np.where(score > np.quantile(score, 0.7), "yes", "no")

    def _column(self, j: int, cells: dict[str, Any]) -> tuple[Any, Any]:
        """A feature and its cells: levels in three columns of five, a derived column in one of ten, numbers else."""
        import numpy as np

        from attain import Feature

        random, rows, name = self._random, self._rows, f"x{j}"
        if j % 5 in (1, 2, 4):
            names = tuple(f"l{k}" for k in range(self._levels))
            values = np.array(names)[random.integers(self._levels, size=rows)]
            values[: min(rows, self._levels)] = names[:rows]
            if j % 5 == 2:
                return Feature(name, "ordinal", levels=names, direction="increase"), values
            allowed = {names[0]: names[1 : 1 + self._levels // 2]} if j % 10 == 1 else {}
            return Feature(name, "categorical", levels=names, transitions=allowed, immutable=j % 20 == 4), values
        if j % 10 == 8:
            first, second = f"x{j - 5}", f"x{j - 8}"
            formula = f"{first} / ({second} + 1)"
            return Feature(name, "real", derived=formula), cells[first] / (cells[second] + 1)
        if j % 20 == 5:
            values = np.where(random.random(rows) < 0.1, -9, random.poisson(4, rows))
            return Feature(name, "count", special={-9: "unknown"}, transitions={-9: ("value",)}), values
        values = np.round(random.lognormal(3, 0.6, rows), 1)
        if j % 20 == 13:
            values = np.where(random.random(rows) < 0.1, np.nan, values)
            return Feature(name, "positive", step=0.1, fillable=True), values
        return Feature(name, "positive", step=0.1 if j % 2 else None, direction="increase" if j % 3 else "any"), values

    def _rules(self, number: int, features: list[Any]) -> Iterator[str]:
        """Rules that all rows keep, one kind after the other."""
        import numpy as np

        random = self._random
        numeric = [f.name for f in features if f.numeric and f.derived is None and not f.special and not f.fillable]
        levels = [f.name for f in features if not f.numeric]
        for k in range(number):
            a, b = (numeric[i] for i in random.integers(len(numeric), size=2))
            c, d = (levels[i] for i in random.choice(len(levels), size=2, replace=False))
            level = f"l{random.integers(self._levels)}"
            x, y, chosen = self.X[a], self.X[b], self.X[c] == level
            most = float(np.ceil(x.where(chosen, 0).max()))
            others = sorted(set(f"l{i}" for i in range(self._levels)) - set(self.X[d][chosen]))
            kind = k % 5
            if kind == 3 and not others:
                kind = 0
            yield (
                f"if {c} = {level} then {a} <= {most}",
                f"{a} <= {np.ceil((x / y).max())} * {b}",
                f"{a} + 2 * {b} <= {np.ceil((x + 2 * y).max())}",
                f"not ({c} = {level} and {d} = {others[0] if others else ''})",
                f"{a} * {b} <= {np.ceil((x * y).max())} or {a} <= {float(np.ceil(x.median()))}",
            )[kind]

    def model(self, kind: str) -> Any:
        """A classifier of this kind, fitted."""
        from sklearn.compose import make_column_selector, make_column_transformer
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.impute import SimpleImputer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

        numbers, texts = make_column_selector(dtype_include="number"), make_column_selector(dtype_exclude="number")
        if kind == "forest":
            encoder = make_column_transformer((SimpleImputer(), numbers), (OrdinalEncoder(), texts))
            forest = RandomForestClassifier(n_estimators=30, max_depth=6, random_state=0)
            return make_pipeline(encoder, forest).fit(self.X, self.y)
        scaler = make_pipeline(SimpleImputer(), StandardScaler())
        encoder = make_column_transformer((scaler, numbers), (OneHotEncoder(handle_unknown="ignore"), texts))
        linear = make_pipeline(encoder, LogisticRegression(max_iter=200)).fit(self.X, self.y)
        return linear if kind == "linear" else lambda frame: linear.predict_proba(frame)


class Stopwatch:
    """CPU seconds spent in a function."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def around(self, function: Callable[..., Any], sign: float = 1.0) -> Callable[..., Any]:
        """The function with its time added, or with sign −1 taken off."""

        def timed(*given: Any, **named: Any) -> Any:
            started = time.process_time()
            try:
                return function(*given, **named)
            finally:
                self.seconds += sign * (time.process_time() - started)

        return timed


def classifier_stopwatch() -> Stopwatch:
    """Counts the seconds that models take to answer or encode, without those of writing rows in the form they take."""
    from attain.models.encoding import Preprocessing
    from attain.models.reader import Reader
    from attain.search import problem

    problem.time = SimpleNamespace(perf_counter=time.process_time)  # type: ignore[attr-defined]
    watch = Stopwatch()
    Reader.read = watch.around(Reader.read)  # type: ignore[method-assign]
    Reader.batch = watch.around(Reader.batch, -1.0)  # type: ignore[method-assign]
    Preprocessing.inputs = watch.around(Preprocessing.inputs)  # type: ignore[method-assign]
    return watch


def measured(world: World, line: Line, models: dict[str, Any], autoencoder: Any, watch: Stopwatch) -> dict[str, float]:
    """CPU seconds of fitting, of the first call, and a person after it; the share found, and of those without time."""
    from attain import Model, Status, methods

    if line.model not in models:
        models[line.model] = world.model(line.model)
    model = models[line.model]
    if line.model == "function":
        model = Model(model, classes=["no", "yes"])
    method = getattr(methods, line.method)
    latent = line.method in ("CCHVAE", "REVISE")
    settings, rows = ({"autoencoder": autoencoder()}, LATENT_ROWS) if latent else ({}, len(world.X))
    told = models["forest"].predict(world.X) if line.model == "forest" else models["linear"].predict(world.X)
    people = world.X[told == "no"].iloc[: PEOPLE + 1]
    started = time.process_time()
    explainer = method(world.schema, figures=False, **settings).fit(world.X[:rows], world.y[:rows])
    fitted, watch.seconds = time.process_time(), 0.0
    explainer.explain(model, people.iloc[:1], target="yes", timeout=TIMEOUT)
    first, encoding, watch.seconds = time.process_time(), watch.seconds, 0.0
    result = explainer.explain(model, people.iloc[1:], target="yes", timeout=TIMEOUT)
    seconds = (time.process_time() - first) / PEOPLE
    late = sum(status is Status.TIME_SPENT for status in result.statuses) / PEOPLE
    return {
        "fit": fitted - started,
        "first": first - fitted,
        "first classifier": encoding,
        "person": seconds,
        "classifier": watch.seconds / PEOPLE,
        "found": float(result.found.mean()),
        "late": late,
    }


def cells(columns: int, levels: int, rules: int, wanted: list[str]) -> dict[str, dict[str, float]]:
    """The figures of some lines on one table."""
    from functools import cache

    world = World(columns, levels, rules)

    @cache
    def autoencoder() -> Any:
        from attain.density import CHVAE

        return CHVAE(world.schema, hidden=HIDDEN, random_state=0, epochs=EPOCHS, verbose=False).fit(
            world.X[:LATENT_ROWS]
        )

    models = {"linear": world.model("linear")}
    models["function"] = models["linear"].predict_proba
    watch, found = classifier_stopwatch(), {}
    for line in LINES:
        if line.name in wanted:
            found[line.name] = measured(world, line, models, autoencoder, watch)
    return found


def shown(figures: dict[str, float] | None) -> str:
    """A cell of the table."""
    if figures is None:
        return "–"
    text = f"{figures['person']:.2g}"
    if figures["late"]:
        text += " T"
    if figures["person"] <= LIMIT:
        return text
    own = figures["person"] - figures["classifier"]
    return f"**{text}**" if own > LIMIT else f"{text} ({own:.2g})"


def once(figures: dict[str, float] | None) -> str:
    """A cell of the table of seconds that are spent once."""
    if figures is None:
        return "–"
    own = figures["first"] - figures["first classifier"]
    return f"{figures['fit']:.2g} + {own:.2g} + {figures['first classifier']:.2g}"


def write(found: dict[str, dict[str, float]]) -> None:
    """The table of what was measured."""
    from benchmarks import report

    over = sum(figures["person"] > LIMIT for figures in found.values())
    own = sum(figures["person"] - figures["classifier"] > LIMIT for figures in found.values())
    late = sum(figures["late"] > 0 for figures in found.values())
    cases = len(LINES) * len(COLUMNS) * len(LEVELS) * len(RULES)
    parts = [
        f"{len(found)} of {cases} cells measured: {over} above a second, {own} without the classifier; {late} with "
        "somebody without time."
    ]
    for columns in (number for number in COLUMNS if any(key.startswith(f"({number},") for key in found)):
        kinds = list(product(LEVELS, RULES))
        lines = [
            (line.name, *(shown(found.get(f"{(columns, *kind)} {line.name}")) for kind in kinds)) for line in LINES
        ]
        header = ("method", *(f"{levels:,} / {rules}" for levels, rules in kinds))
        parts.append(f"## {columns} columns\n\n{report.table(header, lines)}")
        fixed = [(line.name, *(once(found.get(f"{(columns, *kind)} {line.name}")) for kind in kinds)) for line in LINES]
        parts.append(f"Seconds of `fit` + the first call + the classifier in it:\n\n{report.table(header, fixed)}")
    report.write(__doc__, *parts)


def main() -> None:
    """Measures all tables that were not measured by a run that was interrupted, and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kept = Path(tempfile.gettempdir()) / "attain-limits.json"
    parser.add_argument("--keep", type=Path, default=kept, help="where cells are kept until all are measured")
    parser.add_argument("--lines", nargs="*", default=[line.name for line in LINES], help="the methods to measure")
    parser.add_argument("--columns", type=int, nargs="*", default=COLUMNS)
    parser.add_argument("--levels", type=int, nargs="*", default=LEVELS)
    parser.add_argument("--rules", type=int, nargs="*", default=RULES)
    parser.add_argument("--cells", type=int, nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.cells:
        print(json.dumps(cells(*given.cells, given.lines)))
        return
    from benchmarks.harness import alone

    found: dict[str, dict[str, float]] = json.loads(given.keep.read_text()) if given.keep.exists() else {}
    for table in product(given.columns, given.levels, given.rules):
        names = [name for name in given.lines if f"{table} {name}" not in found]
        if names:
            figures = alone("limits", "--cells", *table, "--lines", *names)
            found |= {f"{table} {name}": each for name, each in figures.items()}
            given.keep.write_text(json.dumps(found, indent=1))
    write(found)


if __name__ == "__main__":
    main()
