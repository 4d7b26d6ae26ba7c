"""A function of a frame, or an object with only `predict`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from attain.core.errors import ModelError
from attain.models.adapter import SMALLEST_PROBABILITY, Adapter, AnswerKind, Answers, Options, model_title


def recognises(model: object) -> bool:
    return callable(model) or callable(getattr(model, "predict", None))


def adapt(model: Any, options: Options) -> Adapter:
    call: Callable[[Any], Any] = model if callable(model) else model.predict
    name = getattr(model, "__qualname__", None)
    title = f"the function {name!r}" if name else model_title(model)

    def gradient(batch: np.ndarray, k: int) -> tuple[Any, Any]:
        return _lead_and_gradient(call, batch, k, probabilities=options.returns != "scores")

    adapter = Adapter(
        title=title,
        ask=lambda kind, batch: {kind: call(batch)},
        kinds=(options.returns or "output",),
        classes=options.classes,
        accepts=options.accepts or "native",
        gradient=gradient if options.accepts == "numpy" and options.returns != "labels" else None,
    )
    if options.returns is not None:
        return adapter

    def settle(answers: Answers) -> Adapter:
        return replace(adapter, kinds=(kind_of(answers["output"], title),), settle=None)

    return replace(adapter, settle=settle)


def kind_of(output: np.ndarray, title: str) -> AnswerKind:
    """Probabilities for several columns, or for fractions between 0 and 1; labels for anything but fractions."""
    if output.ndim == 2 and output.shape[1] > 1:
        return "probabilities"
    if output.dtype.kind != "f" or bool(np.all((output == np.floor(output)) | np.isnan(output))):
        return "labels"
    present = output[~np.isnan(output)]
    if present.min() >= 0 and present.max() <= 1:
        return "probabilities"
    raise ModelError(
        f"{title} returned numbers from {present.min():g} to {present.max():g} that are neither integers nor between 0 "
        "and 1; if they are scores with a threshold of 0, pass Model(model, returns='scores')"
    )


def _lead_and_gradient(
    call: Callable[[Any], Any], batch: np.ndarray, k: int, *, probabilities: bool
) -> tuple[Any, Any]:
    """Differentiates a function written in JAX."""
    if "jax" not in sys.modules:
        raise TypeError("it is not written in JAX")
    import jax
    import jax.numpy as jnp

    def lead(array: Any) -> tuple[Any, Any]:
        output = call(array)
        if not isinstance(output, jax.Array) or not jnp.issubdtype(output.dtype, jnp.floating):
            raise TypeError("it does not return probabilities or scores as a JAX array")
        columns = output.reshape(len(array), -1)
        if columns.shape[1] == 1:
            columns = jnp.concatenate([1 - columns if probabilities else jnp.zeros_like(columns), columns], axis=1)
        if probabilities:
            columns = jnp.log(jnp.maximum(columns, SMALLEST_PROBABILITY))
        leads = columns[:, k] - jnp.delete(columns, k, axis=1).max(axis=1)
        return leads.sum(), leads

    (_, leads), gradient = jax.value_and_grad(lead, has_aux=True)(jnp.asarray(batch))
    return leads, gradient
