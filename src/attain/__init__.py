"""Faithful counterfactuals for tabular data: the smallest change to a record that flips a classifier's decision.

    import attain

    schema = attain.Schema.infer(train, immutable=["age"])
    explainer = attain.Guarded(schema).fit(train, labels)
    result = explainer.explain(model, refused, target="good")
    result.frame

Names are imported when they are first used, so that importing the package takes no time.
"""

from typing import TYPE_CHECKING

from attain.core import lazy

if TYPE_CHECKING:
    from attain import datasets, density, methods, metrics, models, review, testing
    from attain.core import errors, frames
    from attain.core.errors import AttainError
    from attain.desk import audit, letters, scale, service
    from attain.desk.report import write_report
    from attain.methods import CCHVAE, GrowingSpheres, Guarded
    from attain.methods.persistence import load
    from attain.models import Model
    from attain.results.counterfactuals import Counterfactuals
    from attain.results.status import Status
    from attain.review import Review
    from attain.schema import Constraints, Feature, Schema, laws

__version__ = "0.1.0"

__all__ = [
    "CCHVAE", "AttainError", "Constraints", "Counterfactuals", "Feature", "GrowingSpheres", "Guarded", "Model",
    "Review", "Schema", "Status", "audit", "datasets", "density", "errors", "frames", "laws", "letters", "load",
    "methods", "metrics", "models", "review", "scale", "service", "testing", "write_report",
]  # fmt: skip

_HOMES = {
    "CCHVAE": "methods",
    "AttainError": "core.errors",
    "Constraints": "schema",
    "Counterfactuals": "results.counterfactuals",
    "Feature": "schema",
    "GrowingSpheres": "methods",
    "Guarded": "methods",
    "Model": "models",
    "Review": "review",
    "Schema": "schema",
    "Status": "results.status",
    "audit": "desk",
    "errors": "core",
    "frames": "core",
    "laws": "schema",
    "letters": "desk",
    "load": "methods.persistence",
    "scale": "desk",
    "service": "desk",
    "write_report": "desk.report",
}

__getattr__, __dir__ = lazy(__name__, __all__, _HOMES)
del TYPE_CHECKING, lazy
