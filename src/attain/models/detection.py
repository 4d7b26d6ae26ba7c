"""Which adapter a model needs, by the names of its class and its methods; no library is imported for that."""

from __future__ import annotations

from typing import Any, Protocol

from attain.core.errors import ModelError
from attain.models import function, lightgbm, onnx, sklearn, torch, xgboost
from attain.models.adapter import Adapter, Options


class AdapterFile(Protocol):
    """What each adapter file has."""

    def recognises(self, model: object) -> bool: ...

    def adapt(self, model: Any, options: Options) -> Adapter: ...


ADAPTERS: tuple[AdapterFile, ...] = (onnx, torch, xgboost, lightgbm, sklearn, function)
"""In the order in which they are tried: what any object with `predict` looks like comes last."""


def adapter_for(model: Any, options: Options) -> Adapter:
    """The adapter of the first library that recognises the model."""
    if isinstance(model, type):
        raise ModelError(f"the model is the class {model.__name__} itself; pass a fitted instance of it")
    for library in ADAPTERS:
        if library.recognises(model):
            return library.adapt(model, options)
    raise ModelError(
        f"an object of type {type(model).__name__} cannot be asked for predictions; pass a fitted classifier with "
        "predict, an XGBoost or LightGBM Booster, a torch module, an ONNX file, or a function of a frame"
    )
