"""scikit-learn classifiers and pipelines, every estimator with their methods, and `Booster` of XGBoost and LightGBM.

XGBoost's classifiers need nothing special; LightGBM's change some characters of column names.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, Literal

import numpy as np

from attain.core.arrays import as_python
from attain.core.errors import ModelError
from attain.models.adapter import Adapter, AnswerKind, Options, library_name, model_title, named_classes, plain_classes

_PROBABILITIES: Final = {
    "xgboost": ("binary:logistic", "reg:logistic", "multi:softprob"),
    "lightgbm": ("binary", "cross_entropy", "multiclass", "multiclassova"),
}
_MARGINS: Final = ("binary:logitraw", "binary:hinge", "multi:softmax")
"""Objectives of XGBoost whose predictions are scores, or labels, for which margins are asked: they rank rows."""


def recognises(model: object) -> bool:
    if _is_booster(model):
        return True
    if not hasattr(model, "predict"):
        return False
    if hasattr(model, "predict_proba") or hasattr(model, "decision_function") or hasattr(model, "classes_"):
        return True
    return any(base.__module__.startswith("sklearn.") for base in type(model).__mro__)


def _is_booster(model: object) -> bool:
    return type(model).__name__ == "Booster" and not library_name(model).isdisjoint(_PROBABILITIES)


def adapt(model: Any, options: Options) -> Adapter:
    libraries = library_name(model)
    if _is_booster(model) and "xgboost" in libraries:
        return _xgboost(model, options)
    adapter = _lightgbm(model, options) if _is_booster(model) else _estimator(model, options)
    if "lightgbm" not in libraries:
        return adapter
    names = adapter.names
    if names is not None and names == tuple(f"Column_{j}" for j in range(len(names))):
        names = None  # LightGBM's names for the columns of an array
    accepts = options.accepts or ("numpy" if names is None else "pandas")
    return replace(adapter, names=names, accepts=accepts, spell=lambda column: re.sub(r"\s", "_", column))


def _estimator(model: Any, options: Options) -> Adapter:
    title = model_title(model)
    labels = _model_labels(model, options, title)
    names = getattr(model, "feature_names_in_", None)
    width = getattr(model, "n_features_in_", None)
    # A pipeline without column names starts with a custom step, which may select columns by name.
    accepts: Literal["frame", "numpy"] = "frame" if names is not None or width is None else "numpy"
    steps, last = _split(model)
    methods = _methods(last, labels)
    return Adapter(
        title=title,
        ask=lambda kind, batch: {kind: methods[kind](batch)},
        kinds=_kinds(methods, options, title),
        classes=named_classes(title, labels, options.classes),
        model_labels=labels,
        accepts=options.accepts or accepts,
        names=None if names is None else tuple(str(name) for name in names),
        width=None if width is None else int(width),
        prepare=None if steps is None else lambda batch: transformed(steps, batch, title),
    )


def _split(model: Any) -> tuple[list[Any] | None, Any]:
    """The transforming steps of a scikit-learn pipeline, which all its answers share, and its last step.

    A pipeline with another class may do more than call its steps, and is asked as a whole.
    """
    pipeline = getattr(sys.modules.get("sklearn.pipeline"), "Pipeline", None)
    if type(model) is not pipeline or len(model.steps) < 2:
        return None, model
    return [step for _, step in model.steps[:-1] if step not in (None, "passthrough")], model.steps[-1][1]


def transformed(steps: list[Any], batch: Any, title: str) -> Any:
    """What the steps of a pipeline make of a batch; errors name the step."""
    rows = len(batch)
    for step in steps:
        try:
            batch = step.transform(batch)
        except (Exception, SystemExit) as error:
            raise ModelError(
                f"the step {type(step).__name__} of {title} raised {type(error).__name__} when transforming "
                f"{rows} rows: {error}"
            ) from error
    return batch


def _model_labels(model: Any, options: Options, title: str) -> tuple[Any, ...]:
    classes = getattr(model, "classes_", None)
    if classes is None:
        _refuse_other_estimators(model, title)
        if options.classes is None:
            raise ModelError(
                f"{title} has no classes_; fit it first, or pass Model(model, classes=[...]) with its classes in order"
            )
        return options.classes
    if isinstance(classes, list) and any(isinstance(label, list | np.ndarray) for label in classes):
        raise ModelError(f"{title} has {len(classes)} outputs; pass a model of one of them")
    return plain_classes(classes)


def _refuse_other_estimators(model: Any, title: str) -> None:
    if "sklearn" in sys.modules:
        from sklearn.base import is_regressor

        if hasattr(model, "__sklearn_tags__") and is_regressor(model):
            raise ModelError(
                f"{title} is a regressor; pass a classifier, or a function that maps its predictions to labels"
            )


def _methods(model: Any, labels: tuple[Any, ...]) -> dict[AnswerKind, Any]:
    """The model's methods by what they return."""
    methods: dict[AnswerKind, Any] = {}
    last = unwrapped(model, thresholds=False)[1]
    if hasattr(model, "predict_proba"):
        methods["probabilities"] = model.predict_proba
    threshold = _threshold(last)
    if threshold is not None:
        methods["scores"] = _over_threshold(model, last, threshold, labels)
    # One column per pair of classes is not a score of any class.
    elif hasattr(model, "decision_function") and (
        len(labels) == 2 or getattr(last, "decision_function_shape", "ovr") != "ovo"
    ):
        methods["scores"] = model.decision_function
    methods["labels"] = model.predict
    return methods


def _kinds(methods: Mapping[AnswerKind, Any], options: Options, title: str) -> tuple[AnswerKind, ...]:
    if options.returns is None:
        return tuple(methods)
    if options.returns not in methods:
        raise ModelError(f"returns={options.returns!r}, but {title} gives only {' and '.join(methods)}")
    return tuple(kind for kind in methods if kind in (options.returns, "labels"))


def unwrapped(model: Any, *, thresholds: bool = True) -> tuple[list[Any], Any]:
    """The transforming steps before the estimator that decides, and that estimator.

    Looks inside pipelines, parameter searches and, unless `thresholds` is False, wrappers that move the threshold,
    which leaves the order of rows as it is.
    """
    steps: list[Any] = []
    while True:
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif thresholds and hasattr(model, "response_method") and hasattr(model, "estimator_"):
            model = model.estimator_
        elif isinstance(getattr(model, "steps", None), list) and model.steps:
            steps += [step for _, step in model.steps[:-1] if step is not None and step != "passthrough"]
            model = model.steps[-1][1]
        else:
            return steps, model


def _threshold(last: Any) -> float | None:
    """The threshold of an estimator that wraps another one and decides at a tuned or fixed score."""
    if not hasattr(last, "response_method"):
        return None
    threshold = getattr(last, "best_threshold_", getattr(last, "threshold", None))
    return float(threshold) if isinstance(threshold, int | float) else None


def _over_threshold(model: Any, last: Any, threshold: float, labels: tuple[Any, ...]) -> Any:
    """The score minus the threshold, whose sign is the decision of such an estimator."""
    by_probability = last.response_method != "decision_function" and hasattr(model, "predict_proba")
    first = getattr(last, "pos_label", None) is not None and as_python(last.pos_label) == labels[0]
    column, sign = (0, -1) if first else (1, 1)

    def over(batch: Any) -> np.ndarray:
        if by_probability:
            score = np.asarray(model.predict_proba(batch))[:, column]
        else:
            score = sign * np.asarray(model.decision_function(batch))
        return sign * (score - threshold)

    return over


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
        kinds=("scores" if margins else _booster_kind(model, "xgboost", objective, options),),
        classes=_booster_classes(learner["learner_model_param"]["num_class"], options),
        accepts=options.accepts or ("numpy" if names is None else "frame"),
        names=None if names is None else tuple(names),
        width=int(model.num_features()),
    )


def _lightgbm(model: Any, options: Options) -> Adapter:
    objective = str(model.dump_model(num_iteration=1).get("objective", "of your own"))
    return Adapter(
        title=model_title(model),
        ask=lambda kind, batch: {kind: model.predict(batch)},
        kinds=(_booster_kind(model, "lightgbm", objective, options),),
        classes=_booster_classes(model.num_model_per_iteration(), options),
        names=tuple(model.feature_name()),
        width=int(model.num_feature()),
    )


def _booster_kind(model: Any, library: str, objective: str, options: Options) -> AnswerKind:
    """What the predictions are."""
    if options.returns is None and objective.split()[0] not in _PROBABILITIES[library]:
        raise ModelError(
            f"{model_title(model)} was trained with the objective {objective!r}, which is not a classification; if its "
            "predictions are labels, probabilities or scores, pass for example Model(model, returns='probabilities')"
        )
    return options.returns or "probabilities"


def _booster_classes(count: Any, options: Options) -> tuple[Any, ...]:
    return tuple(range(max(2, int(count)))) if options.classes is None else options.classes
