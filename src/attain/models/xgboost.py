"""XGBoost's own `Booster`; its classifiers with scikit-learn's methods need nothing special."""

from __future__ import annotations

import json
from typing import Any

from attain.core.errors import ModelError
from attain.models.adapter import Adapter, AnswerKind, Options, library_name, model_title

_PROBABILITIES = ("binary:logistic", "reg:logistic", "multi:softprob")
_MARGINS = ("binary:logitraw", "binary:hinge", "multi:softmax")


def recognises(model: object) -> bool:
    return type(model).__name__ == "Booster" and "xgboost" in library_name(model)


def adapt(model: Any, options: Options) -> Adapter:
    title = model_title(model)
    learner = json.loads(model.save_config())["learner"]
    kind, margins = _kind(learner["objective"]["name"], options, title)
    count = max(2, int(learner["learner_model_param"]["num_class"]))
    names = model.feature_names

    def ask(kind: AnswerKind, batch: Any) -> dict[AnswerKind, Any]:
        from xgboost import DMatrix

        matrix = DMatrix(batch, enable_categorical=True)
        return {kind: model.predict(matrix, output_margin=margins)}

    return Adapter(
        title=title,
        ask=ask,
        kinds=(kind,),
        classes=tuple(range(count)) if options.classes is None else options.classes,
        accepts=options.accepts or ("numpy" if names is None else "frame"),
        names=None if names is None else tuple(names),
        width=int(model.num_features()),
    )


def _kind(objective: str, options: Options, title: str) -> tuple[AnswerKind, bool]:
    """What the booster's predictions are, and whether to ask for margins, which rank rows where labels only decide."""
    if options.returns is not None:
        return options.returns, False
    if objective in _PROBABILITIES:
        return "probabilities", False
    if objective in _MARGINS:
        return "scores", True
    raise ModelError(
        f"{title} was trained with the objective {objective!r}, which is not a classification; if its predictions "
        "are labels, probabilities or scores, pass for example Model(model, returns='probabilities')"
    )
