"""`Model`: any classifier, the adapter that it needs, and what cannot be seen of it from outside."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any, Protocol, TypeVar, get_args

from attain.core.errors import ModelError, check_choice, check_integer
from attain.core.files import file_digest
from attain.core.frames import library_names
from attain.models import functions, onnx, sklearn
from attain.models.adapter import Accepts, Adapter, Label, Options, Returns, plain_classes


class AdapterSource(Protocol):
    """A module, class or object with these two functions."""

    def recognises(self, model: object) -> bool: ...

    def adapt(self, model: Any, options: Options) -> Adapter: ...


Source = TypeVar("Source", bound=AdapterSource)

_SOURCES: list[AdapterSource] = [onnx, sklearn, functions]
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


class Model:
    """Any classifier, ready to be asked about rows.

    `explain(classifier, ...)` wraps classifiers itself. Wrap one yourself to say what cannot be seen from outside.

    Parameters
    ----------
    model
        A fitted scikit-learn classifier or pipeline (or one with its methods: XGBoost, LightGBM), an XGBoost or
        LightGBM `Booster`, a torch module, an ONNX file (path, bytes or onnxruntime session), or a function.
    accepts
        What the model takes: "pandas" or "polars" frames, or "numpy" arrays. By default, frames for a model that was
        fitted with column names, arrays for one that was not, and the kind of the training frame for a function.
    classes
        The classes, in the order of the columns of probabilities, for a model that does not know them; by default
        0, 1, … A model with one column gives the probability or the score of the second class. For a model that
        knows its classes under other names (0 and 1 of an encoded target), what to call them.
    returns
        Which answer the model gives, or which of its answers to use: "labels", "probabilities", or "scores" (the
        class with the largest score wins; one column decides by its sign). By default, a torch module returns logits,
        turned into probabilities; a function that returns several columns, or one with fractions between 0 and 1,
        returns probabilities; any other function returns labels.
    class_names
        What texts call the classes, by class: ``{0: "refused", 1: "granted"}``. `target` and labels stay as they are.
    batch_rows
        The maximum number of rows per call.

    Attributes
    ----------
    calls, rows
        How often the model was asked so far, and about how many rows in all. What a search asks of the compiled score
        of a linear model or of trees counts like what it asks of the model itself. Safe when several threads use the
        model.
    file_digest
        The SHA-256 of the file that the model was read from, in hexadecimal: known for ONNX files, None for others,
        and set by the command line.
    """

    def __init__(
        self,
        model: Any,
        *,
        accepts: Accepts | None = None,
        classes: Sequence[Label] | None = None,
        returns: Returns | None = None,
        class_names: Mapping[Any, str] | None = None,
        batch_rows: int = 100_000,
    ) -> None:
        if isinstance(model, Model):
            raise ModelError("the model is a Model already; pass the classifier itself, or use Model.of")
        if accepts is not None:
            check_choice("accepts", accepts, ("numpy", *library_names()))
        if returns is not None:
            check_choice("returns", returns, get_args(Returns))
        check_integer("batch_rows", batch_rows, 1)
        self.model = model
        self.batch_rows = batch_rows
        self.class_names = _named(class_names)
        self.calls = self.rows = 0
        self._lock = Lock()
        self.options = Options(accepts, _distinct(classes), returns)
        self.adapter = adapter_for(model, self.options)
        self.file_digest = file_digest(model) if isinstance(model, str | bytes | os.PathLike) else None

    @classmethod
    def of(cls, model: Any) -> Model:
        """The model itself if it is a `Model` already, else wrapped."""
        return model if isinstance(model, Model) else cls(model)

    def count(self, rows: int) -> None:
        """Counts one call about `rows` rows."""
        with self._lock:
            self.calls += 1
            self.rows += rows

    def __repr__(self) -> str:
        return f"Model({self.adapter.title}, calls={self.calls}, rows={self.rows})"

    def __getstate__(self) -> dict[str, Any]:
        """All but the adapter and the lock, which cannot be pickled."""
        return {name: value for name, value in self.__dict__.items() if name not in ("adapter", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=Lock())
        self.adapter = adapter_for(self.model, self.options)


def _distinct(classes: Sequence[Label] | None) -> tuple[Label, ...] | None:
    if classes is None:
        return None
    plain = () if isinstance(classes, str) else plain_classes(classes)
    if len(plain) < 2 or len(set(plain)) < len(plain):
        raise ModelError(f"classes must be at least two different labels, such as ['bad', 'good'], got {classes!r}")
    return plain


def _named(names: Mapping[Any, str] | None) -> dict[Label, str]:
    if names is None:
        return {}
    if not isinstance(names, Mapping) or not all(isinstance(name, str) and name.strip() for name in names.values()):
        raise ModelError(
            f"class_names must be a text for each class, such as {{0: 'refused', 1: 'granted'}}, got {names!r}"
        )
    return dict(zip(plain_classes(list(names)), names.values(), strict=True))
