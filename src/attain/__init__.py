"""Faithful counterfactuals for tabular data: the smallest change to a record that flips a classifier's decision.

    import attain

    schema = attain.Schema.infer(train, immutable=["age"])
    explainer = attain.Guarded(schema).fit(train, labels)
    result = explainer.explain(model, refused, target="good")
    result.frame

Names are imported when they are first used, so that importing the package takes no time.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attain import audit, datasets, density, letters, methods, metrics, models, scale, service, testing
    from attain.core import errors, frames
    from attain.core.errors import AttainError
    from attain.methods import CCHVAE, GrowingSpheres, Guarded
    from attain.methods.persistence import load
    from attain.metrics.review import Review
    from attain.models import Model
    from attain.results.counterfactuals import Counterfactuals
    from attain.results.status import Status
    from attain.schema import Constraints, Feature, Schema, laws

__version__ = "0.1.0"

__all__ = [
    "CCHVAE",
    "AttainError",
    "Constraints",
    "Counterfactuals",
    "Feature",
    "GrowingSpheres",
    "Guarded",
    "Model",
    "Review",
    "Schema",
    "Status",
    "audit",
    "datasets",
    "density",
    "errors",
    "frames",
    "laws",
    "letters",
    "load",
    "methods",
    "metrics",
    "models",
    "scale",
    "service",
    "testing",
]

_HOMES = {
    "CCHVAE": "methods",
    "AttainError": "core.errors",
    "Constraints": "schema",
    "Counterfactuals": "results.counterfactuals",
    "Feature": "schema",
    "GrowingSpheres": "methods",
    "Guarded": "methods",
    "Model": "models",
    "Review": "metrics.review",
    "Schema": "schema",
    "Status": "results.status",
    "load": "methods.persistence",
}
"""The room of each name that is not a module."""
_MODULES = {"errors": "core.errors", "frames": "core.frames", "laws": "schema.laws"}
"""The place of each module that is not a room itself."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'attain' has no attribute {name!r}")
    if name in _HOMES:
        value = getattr(import_module(f"attain.{_HOMES[name]}"), name)
    else:
        value = import_module(f"attain.{_MODULES.get(name, name)}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
