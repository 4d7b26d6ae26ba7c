"""Which adapter a model needs, by the names of its class and its methods; no library is imported for that."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from attain.core.errors import ModelError
from attain.models import function, lightgbm, onnx, sklearn, torch, xgboost
from attain.models.adapter import Adapter, Options


class AdapterSource(Protocol):
    """A module, class or object with these two functions."""

    def recognises(self, model: object) -> bool: ...

    def adapt(self, model: Any, options: Options) -> Adapter: ...


Source = TypeVar("Source", bound=AdapterSource)

_SOURCES: list[AdapterSource] = [onnx, torch, xgboost, lightgbm, sklearn, function]
"""In the order in which they are tried: what any object with `predict` looks like comes last."""


def register(source: Source) -> Source:
    """Makes models of another library known, wherever a model is taken; can be used as a class decorator.

    The source registered last is tried first, and all of them before the built-in ones. It must recognise its models
    by the names of their classes (`library_name` helps) rather than by importing their library.
    """
    for name in ("recognises", "adapt"):
        if not callable(getattr(source, name, None)):
            raise ModelError(f"an adapter must have a function {name!r}, which {source!r} does not have")
    _SOURCES.insert(0, source)
    return source


def adapter_for(model: Any, options: Options) -> Adapter:
    """The adapter of the first source that recognises the model."""
    if isinstance(model, type):
        raise ModelError(f"the model is the class {model.__name__} itself; pass a fitted instance of it")
    for source in _SOURCES:
        if source.recognises(model):
            return source.adapt(model, options)
    raise ModelError(
        f"an object of type {type(model).__name__} cannot be asked for predictions; pass a fitted classifier with "
        "predict, an XGBoost or LightGBM Booster, a torch module, an ONNX file, a function of a frame, or an object "
        "whose adapter is registered (attain.models.register)"
    )
