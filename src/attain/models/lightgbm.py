"""LightGBM's `Booster`, and its classifiers, which change some characters of column names."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from attain.core.errors import ModelError
from attain.models import sklearn
from attain.models.adapter import Adapter, AnswerKind, Options, library_name, model_title

_PROBABILITIES = ("binary", "cross_entropy", "multiclass", "multiclassova")


def recognises(model: object) -> bool:
    return "lightgbm" in library_name(model) and (type(model).__name__ == "Booster" or sklearn.recognises(model))


def adapt(model: Any, options: Options) -> Adapter:
    adapter = _booster(model, options) if type(model).__name__ == "Booster" else sklearn.adapt(model, options)
    names = adapter.names
    if names is not None and names == tuple(f"Column_{j}" for j in range(len(names))):
        names = None  # LightGBM's names for the columns of an array
    accepts = options.accepts or ("numpy" if names is None else "pandas")
    return replace(adapter, names=names, accepts=accepts, spell=_spell)


def _spell(column: str) -> str:
    return re.sub(r"\s", "_", column)


def _booster(model: Any, options: Options) -> Adapter:
    title = model_title(model)
    objective = str(model.dump_model(num_iteration=1).get("objective", "of your own"))
    if options.returns is None and objective.split()[0] not in _PROBABILITIES:
        raise ModelError(
            f"{title} was trained with the objective {objective!r}, which is not a classification of LightGBM; if its "
            "predictions are labels, probabilities or scores, pass for example Model(model, returns='scores')"
        )
    kind: AnswerKind = options.returns or "probabilities"
    count = max(2, int(model.num_model_per_iteration()))
    return Adapter(
        title=title,
        ask=lambda kind, batch: {kind: model.predict(batch)},
        kinds=(kind,),
        classes=tuple(range(count)) if options.classes is None else options.classes,
        names=tuple(model.feature_name()),
        width=int(model.num_feature()),
    )
