"""PyTorch modules on tables of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, softmax

from attain.core.errors import ModelError
from attain.models.adapter import SMALLEST_PROBABILITY, Adapter, AnswerKind, Options, library_name, model_title


def recognises(model: object) -> bool:
    return "torch" in library_name(model) and hasattr(model, "parameters") and callable(model)


def adapt(model: Any, options: Options) -> Adapter:
    """A module's outputs are logits unless `returns` says otherwise: sigmoid of one column, softmax of several."""
    title = model_title(model)
    kind: AnswerKind = options.returns or "probabilities"

    def ask(kind: AnswerKind, batch: Any) -> dict[AnswerKind, Any]:
        output = _forward(model, batch, title)
        return {kind: _probabilities(output) if options.returns is None else output}

    def gradient(batch: np.ndarray, k: int) -> tuple[Any, Any]:
        return _lead_and_gradient(model, batch, k, title, probabilities=options.returns == "probabilities")

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


def _probabilities(logits: np.ndarray) -> np.ndarray:
    logits = logits.astype(np.float64)
    if logits.ndim == 2 and logits.shape[1] > 1:
        return np.asarray(softmax(logits, axis=1))
    return np.asarray(expit(logits))


def _lead_and_gradient(model: Any, batch: np.ndarray, k: int, title: str, *, probabilities: bool) -> tuple[Any, Any]:
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
