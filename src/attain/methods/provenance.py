"""What answers follow from, as JSON: the field `settings` of a result. Nothing in it depends on time or place."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from attain.core.arrays import as_python
from attain.methods.persistence import Savable, class_name, data_digest, described_parameters, fitted_digest, versions
from attain.models import Goal
from attain.schema import Constraints

if TYPE_CHECKING:
    from attain.methods.session import Session


class LearnedDigests(NamedTuple):
    """Hashes of what `fit` learned, and of the rows and labels it learned from; None where there are none."""

    explainer: str | None
    training: str | None


def learned_digests(explainer: Savable) -> LearnedDigests:
    return LearnedDigests(fitted_digest(explainer), _training_digest(explainer) if explainer.has_rows_ else None)


def _training_digest(explainer: Savable) -> str:
    """A hash of the cells and labels: other rules about the same data change nothing."""
    table = explainer.table_
    columns = [(feature.name, [str(level) for level in feature.levels]) for feature in table.schema]
    labels = None if explainer.labels_ is None else list(explainer.labels_)
    return data_digest((columns, labels), {"table": table.values + 0.0})  # turns -0.0 into 0.0


def call_settings(
    session: Session,
    goal: Goal,
    others: Sequence[Goal],
    constraints: Constraints | Mapping[str, Any] | None,
    asked: Mapping[str, Any],
) -> dict[str, Any]:
    """The settings of one call of `explain`; `asked` are further arguments of it, by name."""
    explainer = session.explainer
    if explainer._digests is None:
        explainer._digests = learned_digests(explainer)
    digests, described = explainer._digests, session.kept("parameters", lambda: described_parameters(explainer))
    return {
        "versions": dict(_versions()),
        "method": class_name(type(explainer)),
        "parameters": dict(described),
        "seed": explainer._seed,
        "explainer_digest": digests.explainer,
        "target": as_json(goal.target),
        "probability": goal.probability,
        **{name: as_json(value) for name, value in asked.items()},
        "robust": [_model_facts(other) for other in others],
        "constraints": _constraint_facts(Constraints.of(constraints)),
        "model": _model_facts(session.goal),
        "training": {
            "rows": len(explainer.table_) if explainer.has_rows_ else None,
            "columns": len(explainer.table_.schema),
            "labels": explainer.labels_ is not None,
            "digest": digests.training,
        },
    }


@cache
def _versions() -> dict[str, str]:
    return {"python": platform.python_version(), **versions()}


def _model_facts(goal: Goal) -> dict[str, Any]:
    model, names = goal.model.model, goal.model.class_names
    named = model if hasattr(model, "__qualname__") else type(model)
    of_file = isinstance(model, str | bytes | os.PathLike)
    module = "onnxruntime" if of_file else getattr(named, "__module__", None) or "unknown"
    library = module.partition(".")[0]
    return {
        "library": library,
        "library_version": getattr(sys.modules.get(library), "__version__", None),
        "class": "ONNX file" if of_file else f"{module}.{named.__qualname__}",
        "classes": [as_json(label) for label in goal.classes],
        "class_names": [names.get(label) for label in goal.classes] if names else None,
        "answers_digest": goal.answers_digest,
        "file_digest": goal.model.file_digest,
    }


def _constraint_facts(given: Constraints) -> dict[str, Any]:
    """The constraints that were given; those of single people are a list, because keys of JSON are strings."""
    facts = {item.name: as_json(getattr(given, item.name)) for item in fields(given)}
    facts["people"] = [
        {"person": as_json(label), **_constraint_facts(Constraints.of(own))} for label, own in given.people.items()
    ]
    return {name: value for name, value in facts.items() if value not in (None, [], {})}


def as_json(value: Any) -> Any:
    """A value as JSON holds it: tuples and arrays as lists, what JSON lacks as text."""
    value = value.tolist() if isinstance(value, np.ndarray) else as_python(value)
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return sorted((as_json(item) for item in value), key=str)
    if isinstance(value, tuple | list):
        return [as_json(item) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
