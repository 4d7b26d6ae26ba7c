"""What the flags of commands name: the model and its target."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from attain.models import Model
from attain.models.files import class_names, find_target, known_classes, load_model

if TYPE_CHECKING:
    from attain.methods.base import Explainer


def read_model(given: argparse.Namespace) -> Model:
    """The model that the flags of `add_model` name."""
    return load_model(
        given.model,
        classes=None if given.classes is None else [name.strip() for name in given.classes.split(",")],
        trusted=given.trust,
        trust_pickle=given.trust_pickle,
    )


def read_target(given: argparse.Namespace, model: Model, explainer: Explainer) -> Any:
    """The class that the flags of `add_target` name; the model is told what texts call its classes."""
    classes = known_classes(model, explainer.layout_, explainer.table_.values)
    if given.class_names is not None:
        model.class_names = class_names(given.class_names, classes)
    return find_target(given.target, classes)
