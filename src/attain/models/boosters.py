"""`Booster` of XGBoost and LightGBM, and LightGBM's classifiers, which change some characters of column names.

XGBoost's classifiers, with scikit-learn's methods, need nothing special.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any, Final

from attain.core.errors import ModelError
from attain.models import sklearn
from attain.models.adapter import Adapter, AnswerKind, Options, library_name, model_title

_PROBABILITIES: Final = {
    "xgboost": ("binary:logistic", "reg:logistic", "multi:softprob"),
    "lightgbm": ("binary", "cross_entropy", "multiclass", "multiclassova"),
}
_MARGINS: Final = ("binary:logitraw", "binary:hinge", "multi:softmax")
"""Objectives of XGBoost whose predictions are scores, or labels, for which margins are asked: they rank rows."""


def recognises(model: object) -> bool:
    libraries = library_name(model)
    if type(model).__name__ == "Booster":
        return not libraries.isdisjoint(_PROBABILITIES)
    return "lightgbm" in libraries and sklearn.recognises(model)


def adapt(model: Any, options: Options) -> Adapter:
    if "xgboost" in library_name(model):
        return _xgboost(model, options)
    adapter = _lightgbm(model, options) if type(model).__name__ == "Booster" else sklearn.adapt(model, options)
    names = adapter.names
    if names is not None and names == tuple(f"Column_{j}" for j in range(len(names))):
        names = None  # LightGBM's names for the columns of an array
    accepts = options.accepts or ("numpy" if names is None else "pandas")
    return replace(adapter, names=names, accepts=accepts, spell=lambda column: re.sub(r"\s", "_", column))


def _xgboost(model: Any, options: Options) -> Adapter:
    learner = json.loads(model.save_config())["learner"]
    objective, names = learner["objective"]["name"], model.feature_names
    margins = options.returns is None and objective in _MARGINS

    def ask(kind: AnswerKind, batch: Any) -> dict[AnswerKind, Any]:
        from xgboost import DMatrix

        return {kind: model.predict(DMatrix(batch, enable_categorical=True), output_margin=margins)}

    return Adapter(
        title=model_title(model),
        ask=ask,
        kinds=("scores" if margins else _kind(model, "xgboost", objective, options),),
        classes=_classes(learner["learner_model_param"]["num_class"], options),
        accepts=options.accepts or ("numpy" if names is None else "frame"),
        names=None if names is None else tuple(names),
        width=int(model.num_features()),
    )


def _lightgbm(model: Any, options: Options) -> Adapter:
    objective = str(model.dump_model(num_iteration=1).get("objective", "of your own"))
    return Adapter(
        title=model_title(model),
        ask=lambda kind, batch: {kind: model.predict(batch)},
        kinds=(_kind(model, "lightgbm", objective, options),),
        classes=_classes(model.num_model_per_iteration(), options),
        names=tuple(model.feature_name()),
        width=int(model.num_feature()),
    )


def _kind(model: Any, library: str, objective: str, options: Options) -> AnswerKind:
    """What the predictions are."""
    if options.returns is None and objective.split()[0] not in _PROBABILITIES[library]:
        raise ModelError(
            f"{model_title(model)} was trained with the objective {objective!r}, which is not a classification; if its "
            "predictions are labels, probabilities or scores, pass for example Model(model, returns='probabilities')"
        )
    return options.returns or "probabilities"


def _classes(count: Any, options: Options) -> tuple[Any, ...]:
    return tuple(range(max(2, int(count)))) if options.classes is None else options.classes
