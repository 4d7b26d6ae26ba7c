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
    from attain import datasets, density, methods, metrics, testing
    from attain.core.errors import AttainError
    from attain.methods import CCHVAE, GrowingSpheres, Guarded
    from attain.methods.persistence import load
    from attain.models import Model
    from attain.results.counterfactuals import Counterfactuals
    from attain.results.status import Status
    from attain.schema import Constraints, Feature, Schema

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
    "Schema",
    "Status",
    "datasets",
    "density",
    "load",
    "methods",
    "metrics",
    "testing",
]

_HOMES = {
    "CCHVAE": "attain.methods",
    "AttainError": "attain.core.errors",
    "Constraints": "attain.schema",
    "Counterfactuals": "attain.results.counterfactuals",
    "Feature": "attain.schema",
    "GrowingSpheres": "attain.methods",
    "Guarded": "attain.methods",
    "Model": "attain.models",
    "Schema": "attain.schema",
    "Status": "attain.results.status",
    "load": "attain.methods.persistence",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name in __all__:
        value = import_module(f"attain.{name}")
    else:
        raise AttributeError(f"module 'attain' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
