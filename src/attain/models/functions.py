"""Functions of a frame or an array, objects with only `predict`, and PyTorch modules on tables of numbers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from attain.core.errors import ModelError
from attain.models.adapter import SMALLEST_PROBABILITY, Adapter, AnswerKind, Answers, Options, library_name, model_title


def recognises(model: object) -> bool:
    return callable(model) or callable(getattr(model, "predict", None))


def adapt(model: Any, options: Options) -> Adapter:
    if "torch" in library_name(model) and hasattr(model, "parameters"):
        return _module(model, options)
    call: Callable[[Any], Any] = model if callable(model) else model.predict
    name = getattr(model, "__qualname__", None)
    title = f"the function {name!r}" if name else model_title(model)

    def gradient(batch: np.ndarray, k: int) -> tuple[Any, Any]:
        return _gradient_by_jax(call, batch, k, probabilities=options.returns != "scores")

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


def _gradient_by_jax(call: Callable[[Any], Any], batch: np.ndarray, k: int, *, probabilities: bool) -> tuple[Any, Any]:
    """The leads of class k, and their gradient."""
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


def _module(model: Any, options: Options) -> Adapter:
    """A module's outputs are logits unless `returns` says otherwise: sigmoid of one column, softmax of several."""
    title = model_title(model)
    kind: AnswerKind = options.returns or "probabilities"

    def ask(kind: AnswerKind, batch: Any) -> dict[AnswerKind, Any]:
        output = _forward(model, batch, title)
        if options.returns is None:
            output = output.astype(np.float64)
            output = softmax(output, axis=1) if output.ndim == 2 and output.shape[1] > 1 else expit(output)
        return {kind: output}

    def gradient(batch: np.ndarray, k: int) -> tuple[Any, Any]:
        return _gradient_by_torch(model, batch, k, title, probabilities=options.returns == "probabilities")

    return Adapter(
        title=title,
        ask=ask,
        kinds=(kind,),
        classes=options.classes,
        accepts="numpy",
        gradient=None if options.returns == "labels" else gradient,
    )


def _tensor(model: Any, batch: np.ndarray, title: str) -> Any:
    """The batch on the module's device and in its precision."""
    import torch

    if model.training:
        raise ModelError(f"{title} is in training mode, where dropout and batch statistics are on; call .eval() on it")
    if batch.dtype == object:
        raise ModelError(
            f"{title} takes numbers, but some columns have levels that are strings; pass a function of a frame that "
            "encodes them and calls the module"
        )
    weights = [*model.parameters(), *model.buffers()]
    device = weights[0].device if weights else torch.device("cpu")
    dtype = next((tensor.dtype for tensor in weights if tensor.is_floating_point()), torch.float32)
    return torch.as_tensor(batch, dtype=dtype, device=device)


def _forward(model: Any, batch: np.ndarray, title: str) -> np.ndarray:
    import torch

    with torch.no_grad():
        output = model(_tensor(model, batch, title))
    if not isinstance(output, torch.Tensor):
        raise ModelError(f"{title} returned a {type(output).__name__}; it must return one tensor")
    if output.dtype == torch.bfloat16:  # NumPy has no such type
        output = output.float()
    return np.asarray(output.cpu().numpy())


def _gradient_by_torch(model: Any, batch: np.ndarray, k: int, title: str, *, probabilities: bool) -> tuple[Any, Any]:
    import torch

    given = _tensor(model, batch, title).requires_grad_()
    columns = model(given).reshape(len(batch), -1)
    if columns.shape[1] == 1:
        columns = torch.cat([1 - columns if probabilities else torch.zeros_like(columns), columns], dim=1)
    if probabilities:
        columns = torch.log(columns.clamp_min(SMALLEST_PROBABILITY))
    others = [other for other in range(columns.shape[1]) if other != k]
    leads = columns[:, k] - columns[:, others].max(dim=1).values
    (gradient,) = torch.autograd.grad(leads.sum(), given)
    return leads.detach().float().cpu().numpy(), gradient.float().cpu().numpy()
