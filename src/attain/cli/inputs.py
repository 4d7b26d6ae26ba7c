"""What options name, read from files: explainer, model and target, people, constraints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from attain.cli.layer import Given
from attain.cli.terminal import note
from attain.core.errors import AttainError, FileError, did_you_mean, listed
from attain.core.files import read_toml
from attain.methods.base import Explainer
from attain.methods.persistence import load
from attain.models import Model
from attain.models.files import class_names, find_target, known_classes, load_model
from attain.schema import Schema
from attain.tables import Table, files

_SIDES: Final = {"range": ("down", "up"), "bounds": ("lower", "upper")}


def read_request(given: Given) -> tuple[Explainer, Model, Any]:
    """The explainer, the model, which is told what texts call its classes, and the target."""
    explainer: Explainer = load(given.explainer)
    model = read_model(given)
    classes = known_classes(model, explainer.layout_, explainer.table_.values)
    if given.class_names is not None:
        model.class_names = class_names(given.class_names, classes)
    return explainer, model, find_target(given.target, classes)


def read_model(given: Given) -> Model:
    """The model."""
    return load_model(
        given.model,
        classes=None if given.classes is None else [name.strip() for name in given.classes.split(",")],
        trusted=given.trust,
        trust_pickle=given.trust_pickle,
    )


def read_target(text: str, model: Model, train: Any, schema: Schema) -> Any:
    """The class with this name, where there are training data instead of an explainer."""
    table = Table.read(train, schema, "the training data")
    return find_target(text, known_classes(model, table.layout, table.values))


def read_people(
    given: Given, path: str, schema: Schema, *, label: str | None = None, index: bool = True
) -> files.People:
    """The people of a file, with a note on columns that are ignored.

    Where `index` is false, the file need not have the column of --index.
    """
    people = files.read_people(
        path,
        schema,
        index=given.index if index or given.index in files.columns_of(path, given.separator) else None,
        label=label,
        separator=given.separator,
        categories=getattr(given, "levels", None) == "category",
    )
    if people.left_out:
        note(f"{path}: columns that are not in the schema are ignored: {listed(people.left_out)}")
    return people


def read_training(given: Given, schema: Schema) -> dict[str, Any]:
    """Training and held-out data, as arguments of `Background` and `compare_methods`."""
    train = read_people(given, given.train, schema, label=given.label, index=False)
    found = {"X_train": train.frame, "y_train": train.labels}
    if given.test is not None:
        test = read_people(given, given.test, schema, label=given.label, index=False)
        found |= {"X_test": test.frame, "y_test": test.labels}
    return found


def column_names(texts: Sequence[str], columns: Iterable[str], flag: str) -> list[str]:
    """Column names from an option that takes several, separated by commas or given repeatedly."""
    known = list(columns)
    names = [name.strip() for text in texts for name in ([text] if text in known else text.split(","))]
    unknown = [name for name in names if name and name not in known]
    if unknown:
        meant = did_you_mean(unknown[0], known) or f"; its columns are {listed(known, 40)}"
        raise AttainError(f"{flag}: the file has no column {listed(unknown)}{meant}")
    return list(dict.fromkeys(filter(None, names)))


def read_constraints(path: str | None, people: Sequence[Any]) -> dict[str, Any] | None:
    """The keys of `attain.Constraints` from a TOML file; people are matched by their label as a string.

    TOML has no null for an open side, so limits are written `{ lower = 0 }` and `{ down = -1, up = 2 }`, or as a pair.
    """
    if path is None:
        return None
    given = _with_pairs(read_toml(path, "--constraints:"))
    if isinstance(given.get("people"), dict):
        labels = {str(label): label for label in people}
        given["people"] = {labels.get(name, name): _with_pairs(limits) for name, limits in given["people"].items()}
    return given


def _with_pairs(content: Any) -> Any:
    """The content with a pair of sides for each of its limits."""
    if not isinstance(content, Mapping):
        return content
    limits = {key: content[key] for key in _SIDES if isinstance(content.get(key), Mapping)}
    pairs = {key: {name: _pair(key, name, sides) for name, sides in named.items()} for key, named in limits.items()}
    return {**content, **pairs}


def _pair(key: str, name: str, given: Any) -> Any:
    if not isinstance(given, Mapping):
        return tuple(given) if isinstance(given, list) else given
    unknown = [side for side in given if side not in _SIDES[key]]
    if unknown:
        sides = " and ".join(_SIDES[key])
        raise FileError(f"--constraints: {key} of {name!r} has unknown keys {listed(unknown)}; use {sides}")
    return tuple(given.get(side) for side in _SIDES[key])
