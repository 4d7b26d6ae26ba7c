"""ONNX models: a file, its bytes, or an onnxruntime session."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from attain.core.errors import MissingExtraError, ModelError, listed
from attain.models.adapter import (
    Adapter,
    AnswerKind,
    Answers,
    Label,
    Options,
    decision,
    library_name,
    named_classes,
    plain_classes,
)

_DTYPES: Final = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
    "tensor(string)": np.object_,
}


_NO_PATH: Final = "a string is the path of an ONNX file; load other models first (joblib.load) and pass the object"


def recognises(model: object) -> bool:
    if isinstance(model, str | bytes | os.PathLike):
        return True
    opened = hasattr(model, "get_inputs") or hasattr(model, "SerializeToString")
    return opened and not library_name(model).isdisjoint(("onnxruntime", "onnx"))


def adapt(model: Any, options: Options) -> Adapter:
    """Several inputs are columns by name; one input takes all columns as a matrix."""
    title = f"the ONNX model {str(model)!r}" if isinstance(model, str | os.PathLike) else "the ONNX model"
    session = _Session(_session(model, title), title)
    names = tuple(entry.name for entry in session.inputs) if len(session.inputs) > 1 else None

    def ask(kind: AnswerKind, batch: Any) -> dict[AnswerKind, Any]:
        answers = session.run(batch)
        if kind != "output" and "output" in answers:
            answers["scores" if kind == "scores" else "probabilities"] = answers.pop("output")
        return answers

    adapter = Adapter(
        title=title,
        ask=ask,
        kinds=("output",),
        accepts="numpy" if names is None else "pandas",
        names=names,
        width=session.width,
    )
    return replace(adapter, settle=lambda answers: _settled(adapter, session, answers, options))


def _session(model: Any, title: str) -> Any:
    if hasattr(model, "get_inputs"):
        return model
    if hasattr(model, "SerializeToString"):
        model = model.SerializeToString()
    if isinstance(model, str | os.PathLike):
        model = Path(model)
        if model.suffix.lower() not in (".onnx", ".ort"):
            raise ModelError(f"{str(model)!r}: {_NO_PATH}")
        if not model.is_file():
            raise ModelError(f"there is no file {str(model)!r}")
    try:
        import onnxruntime
    except ImportError:
        raise MissingExtraError("ONNX models need onnxruntime: pip install 'attain[onnx]'") from None
    try:
        return onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's exceptions have no common base
        raise ModelError(f"{title} cannot be opened: {type(error).__name__}: {error}") from error


class _Session:
    """An onnxruntime session with its inputs as they are fed and its outputs sorted by what they are."""

    def __init__(self, session: Any, title: str) -> None:
        self.session = session
        self.title = title
        self.inputs = session.get_inputs()
        self.classes: tuple[Label, ...] | None = None
        for entry in self.inputs:
            if entry.type not in _DTYPES:
                raise ModelError(f"{title} has the input {entry.name!r} of type {entry.type}; it must take a tensor")
            if len(self.inputs) > 1 and len(entry.shape) == 2 and entry.shape[1] not in (1, None):
                raise ModelError(
                    f"{title} has several inputs, and {entry.name!r} takes {entry.shape[1]} columns; export it with "
                    "one input for each column, or one for all"
                )

    @property
    def width(self) -> int | None:
        shape = self.inputs[0].shape
        return shape[1] if len(self.inputs) == 1 and len(shape) == 2 and isinstance(shape[1], int) else None

    def run(self, batch: Any) -> dict[AnswerKind, Any]:
        feeds = {}
        for entry in self.inputs:
            cells = batch if len(self.inputs) == 1 else batch[[entry.name]].to_numpy()
            cells = self._cast(cells, entry)
            feeds[entry.name] = cells[:, 0] if len(entry.shape) == 1 else cells
        answers: dict[AnswerKind, Any] = {}
        columns = []
        for output in self.session.run(None, feeds):
            if isinstance(output, list):
                if self.classes is None:
                    self.classes = plain_classes(list(output[0]))
                columns.append(np.array([[row[label] for label in self.classes] for row in output]))
            elif output.dtype.kind == "f":
                columns.append(output.reshape(len(output), -1))
            else:
                answers["labels"] = output
        if columns:
            answers["output"] = np.hstack(columns)
        return answers

    def _cast(self, cells: np.ndarray, entry: Any) -> np.ndarray:
        dtype = _DTYPES[entry.type]
        if dtype is np.object_:
            if bool(pd.isna(cells).any()):
                raise ModelError(f"{self.title} takes strings as {entry.name!r}, but a cell there is missing")
            return np.array([[str(cell) for cell in row] for row in cells], dtype=object)
        try:
            numbers = cells.astype(np.float64)
        except (TypeError, ValueError):
            raise ModelError(
                f"{self.title} takes numbers ({entry.type}) as {entry.name!r}, but the table has strings there"
            ) from None
        if np.dtype(dtype).kind in "ib" and np.isnan(numbers).any():
            raise ModelError(
                f"{self.title} takes integers ({entry.type}) as {entry.name!r}, but a cell there is missing"
            )
        return numbers.astype(dtype)


def _settled(adapter: Adapter, session: _Session, answers: Answers, options: Options) -> Adapter:
    """The adapter with its kinds, inferred from the range of the numbers, and its classes, from the labels."""
    labels, values = answers.get("labels"), answers.get("output")
    if values is None and labels is None:
        raise ModelError(f"{adapter.title} has no output of labels or numbers")
    if values is None or options.returns == "labels":
        return replace(adapter, kinds=("labels",), classes=options.classes, settle=None)
    if values.shape[1] == 1:
        values = values[:, 0]
    kind: AnswerKind = options.returns or ("probabilities" if _are_probabilities(values) else "scores")
    if labels is None:
        return replace(adapter, kinds=(kind,), classes=options.classes, settle=None)
    model_labels = session.classes or _model_labels(labels, values, kind, options, adapter.title)
    classes = named_classes(adapter.title, model_labels, options.classes)
    return replace(adapter, kinds=(kind, "labels"), classes=classes, model_labels=model_labels, settle=None)


def _are_probabilities(values: np.ndarray) -> bool:
    between = bool(np.all((values >= 0) & (values <= 1)))
    return between and (values.ndim == 1 or bool(np.allclose(values.sum(axis=1), 1, atol=1e-3)))


def _model_labels(
    labels: np.ndarray, values: np.ndarray, kind: AnswerKind, options: Options, title: str
) -> tuple[Label, ...]:
    """Which label belongs to which column, inferred from the answers, as the file does not hold it."""
    count = 2 if values.ndim == 1 else values.shape[1]
    chosen = decision(values - 0.5 if kind == "probabilities" and values.ndim == 1 else values)
    seen = {j: set(labels[chosen == j].ravel().tolist()) for j in range(count)}
    found = set(labels.ravel().tolist())
    if all(len(those) == 1 for those in seen.values()) and len(found) == count:
        return tuple(those.pop() for those in seen.values())
    if options.classes is not None and len(options.classes) == count and found <= set(options.classes):
        return options.classes
    if labels.dtype.kind in "iub" and found <= set(range(count)):
        return tuple(range(count))
    raise ModelError(
        f"{title} does not say which of its {count} columns belongs to which class (the labels seen are "
        f"{listed(sorted(found, key=str))}); pass Model(model, classes=[...]) with the classes in the columns' order"
    )
