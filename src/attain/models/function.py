"""A plain function of a frame, or an object with nothing but `predict`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from attain.core.errors import ModelError
from attain.models.adapter import Adapter, Answers, Kind, Options, model_title


def recognises(model: object) -> bool:
    return callable(model) or callable(getattr(model, "predict", None))


def adapt(model: Any, options: Options) -> Adapter:
    call: Callable[[Any], Any] = model if callable(model) else model.predict
    name = getattr(model, "__qualname__", None)
    title = f"the function {name!r}" if name else model_title(model)
    adapter = Adapter(
        title=title,
        ask=lambda kind, batch: {kind: call(batch)},
        kinds=(options.returns or "output",),
        classes=options.classes,
        accepts=options.accepts or "native",
    )
    if options.returns is not None:
        return adapter

    def settle(answers: Answers) -> Adapter:
        return replace(adapter, kinds=(kind_of(answers["output"], title),), settle=None)

    return replace(adapter, settle=settle)


def kind_of(output: np.ndarray, title: str) -> Kind:
    """Several columns, or fractions between 0 and 1: probabilities. Anything else that is no fraction: labels."""
    if output.ndim == 2 and output.shape[1] > 1:
        return "probabilities"
    if output.dtype.kind != "f" or bool(np.all((output == np.floor(output)) | np.isnan(output))):
        return "labels"
    present = output[~np.isnan(output)]
    if present.min() >= 0 and present.max() <= 1:
        return "probabilities"
    raise ModelError(
        f"{title} returned numbers from {present.min():g} to {present.max():g} that are neither whole nor between 0 "
        "and 1; if they are scores above a threshold of 0, say so: Model(model, returns='scores')"
    )
