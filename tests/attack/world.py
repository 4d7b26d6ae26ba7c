"""Small files of every format that the package reads, and how each is read and used."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

import attain
from attain import audit, scale
from attain.cli.commands import commands
from attain.cli.inputs import read_constraints, read_table, read_whole
from attain.core.errors import AttainError
from attain.desk.letters.texts import LANGUAGES, Texts, texts_template
from attain.desk.scale.answers import AnswersFolder, Shards
from attain.methods import NearestUnlike
from attain.methods.persistence import inspect
from attain.results.exports import TABLES, table_frame
from attain.schema.text import read_file
from attain.tables import Table
from attain.tables.files import read_any, read_people
from attain.testing import people

KEY = b"k" * 32
CONSTRAINTS = """
immutable = ["housing"]

[bounds]
income = { lower = 500, upper = 9000 }

[range]
cards = { down = -1, up = 1 }

[people.p3]
immutable = ["debt"]
"""


@dataclass(frozen=True)
class Format:
    """A format of files: reading has limits of time and memory, and what was read must be usable."""

    files: tuple[str, ...]
    read: Callable[[Path], Any]
    use: Callable[[Any], object] = lambda loaded: None


@cache
def trained() -> tuple[pd.DataFrame, pd.Series, Any]:
    """Training rows, labels and a model."""
    X = people.frame(60)
    y = people.labels(X)
    return X, y, people.linear_model(X, y)


@cache
def refused() -> pd.DataFrame:
    """Two people to explain."""
    X, _, model = trained()
    return X[model.predict(X) == people.REFUSED].iloc[:2]


def arguments(words: str, named: dict[str, Any]) -> list[str]:
    """The arguments of a command, in which `NAME` stands for several others and `{NAME}` for a text."""
    return [one for word in words.split() for one in (named[word] if word in named else [word.format(**named)])]


def write_all(folder: Path) -> None:
    """Writes a small file of every format."""
    X, y, model = trained()
    schema = people.schema()
    y.to_frame().join(X).to_csv(folder / "people.csv")
    X.to_parquet(folder / "people.parquet")
    schema.to_toml(folder / "schema.toml")
    (folder / "constraints.toml").write_text(CONSTRAINTS)
    (folder / "texts.toml").write_text(texts_template(schema, ["en"]))
    guarded = attain.Guarded(schema, budget=3000, laws=people.LAWS).fit(X, y)
    guarded.save(folder / "guarded.attain")
    NearestUnlike(schema).fit(X, y).save(folder / "nearest.attain")
    attain.GrowingSpheres(schema, budget=300).fit(X).save(folder / "spheres.attain", reference="none")
    for library, frame in (("polars", _polars(X)), ("pyarrow", _arrow(X))):
        if frame is not None:
            attain.GrowingSpheres(schema, budget=300).fit(frame).save(folder / f"{library}.attain")
    result = guarded.explain(
        model, refused(), target=people.DESIRED, n=2, ranges=True, importance=True, contributions=True
    )
    (folder / "answers.json").write_text(result.to_json())
    result.to_csv(folder / "table.csv")
    log = audit.AuditLog(folder / "audit.log", key=KEY)
    log.append(result)
    (folder / "audit.log.head").rename(folder / "audit.head")
    batch = scale.ExplainBatch(NearestUnlike(schema).fit(X, y), model, target=people.DESIRED)
    scale.explain(folder / "people.parquet", folder / "out", batch, people_per_file=40, workers=1)
    for name in ("_run.json", "part-00000000.parquet"):
        (folder / name).write_bytes((folder / "out" / name).read_bytes())
    (folder / "config.toml").write_text(
        'command = "fit"\n[arguments]\ndata = "people.csv"\n[flags]\nschema = "schema.toml"\nseed = 3\n'
        'out = "e.attain"\nset = ["budget=300"]\n[versions]\nattain = "0.1.0"\n'
    )


def _polars(X: pd.DataFrame) -> Any:
    with suppress(ImportError):
        import polars

        return polars.from_pandas(X.astype({"housing": "category"}))


def _arrow(X: pd.DataFrame) -> Any:
    with suppress(ImportError):
        import pyarrow

        return pyarrow.Table.from_pandas(X.astype({"housing": "category"}), preserve_index=False)


def _explained(explainer: Any) -> None:
    _, _, model = trained()
    assert str(explainer.explain(model, refused(), target=people.DESIRED))


def _load(path: Path) -> Any:
    with suppress(attain.errors.FileError):  # it builds nothing, so it may see less than `load`
        inspect(path)
    return attain.load(path)


def _shown(result: Any) -> None:
    """Everything that a result can show or write."""
    _ = str(result), repr(result), result._repr_html_(), result.frame, result.status, result.verdict, result.figures
    _ = result.sentences.tolist() if hasattr(result.sentences, "tolist") else list(result.sentences)
    for label in result.table.labels[:3]:
        result.describe(label, 80)
    for table in TABLES:
        with suppress(AttainError):  # not every table was asked for
            table_frame(result, table)
    again = attain.Counterfactuals.from_json(result.to_json())
    assert again.statuses == result.statuses


def _folder(path: Path) -> Any:
    """The folder of answers of which the file is one."""
    place = path.parent / "folder"
    place.mkdir(exist_ok=True)
    for name in ("_run.json", "part-00000000.parquet", "part-00000001.parquet"):
        source = path if path.name == name else path.parent / "base" / "out" / name
        (place / name).write_bytes(source.read_bytes())
    shards = Shards(place)
    for number in shards.done():
        shards.summary(number)
    return AnswersFolder(str(place), str(path.parent / "base" / "people.parquet"), people.schema())


def _measured(folder: Any) -> None:
    from attain.metrics import RealPeople

    X, y, model = trained()
    against = RealPeople(people.schema(), model, X, y, target=people.DESIRED)
    against.evaluate(folder.slices(people.DESIRED), measures=["found", "valid"])


def _log(path: Path) -> Any:
    audit.verify(path, key=KEY)
    lines = list(audit.read_lines(path))
    assert audit.AuditLog(path, key=KEY).head
    return lines


def _head(path: Path) -> Any:
    log = path.with_suffix(".log")
    log.write_bytes((path.parent / "base" / "audit.log").read_bytes())
    Path(f"{log}.head").write_bytes(path.read_bytes())
    return _log(log)


def _config(path: Path) -> Any:
    try:
        return commands.commands["fit"].make_context("fit", ["--config", str(path)]).params
    except click.UsageError:  # it names the option that is wrong
        return None


def _table(path: Path) -> Any:
    X, _, _ = trained()
    known = Table.read(X, people.schema())
    return read_table(str(path), known, target=people.DESIRED, probability=None, index="who")


def _people(path: Path) -> Any:
    read_any(str(path))
    return read_people(str(path), people.schema(), label="decision" if path.suffix == ".csv" else None)


FORMATS = {
    "explainer": Format(
        ("guarded.attain", "nearest.attain", "spheres.attain", "polars.attain", "pyarrow.attain"), _load, _explained
    ),
    "answers": Format(("answers.json",), lambda path: read_whole(str(path)), _shown),
    "schema": Format(
        ("schema.toml",),
        read_file,
        lambda schema: attain.GrowingSpheres(schema, budget=50).fit(trained()[0]) and schema.to_toml(),
    ),
    "constraints": Format(
        ("constraints.toml",), lambda path: read_constraints(str(path), ["p3"]), lambda found: _constrained(found)
    ),
    "config": Format(("config.toml",), _config),
    "texts": Format(("texts.toml",), lambda path: Texts.read(path, LANGUAGES["en"], people.schema())),
    "people": Format(
        ("people.csv", "people.parquet"),
        _people,
        lambda found: Table.read(found.frame, people.schema(), errors="status"),
    ),
    "table of answers": Format(("table.csv",), _table),
    "folder": Format(("_run.json", "part-00000000.parquet"), _folder, _measured),
    "audit log": Format(("audit.log",), _log),
    "audit head": Format(("audit.head",), _head),
}


def _constrained(found: Any) -> None:
    X, y, model = trained()
    chosen = X.loc[["p3"]]
    NearestUnlike(people.schema()).fit(X, y).explain(model, chosen, target=people.DESIRED, constraints=found)
    np.testing.assert_array_equal(chosen, X.loc[["p3"]])
