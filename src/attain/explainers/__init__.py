"""One file a method; all of them keep the contract of `attain.explainers.base.Explainer`.

Each is imported when it is first used: some need JAX, which takes its time.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attain.explainers.actionable_recourse import ActionableRecourse
    from attain.explainers.base import Explainer
    from attain.explainers.budgeted_inverse import BudgetedInverseClassification
    from attain.explainers.cchvae import CCHVAE
    from attain.explainers.face import Face
    from attain.explainers.feature_tweaking import FeatureTweaking
    from attain.explainers.growing_spheres import GrowingSpheres
    from attain.explainers.hill_climbing import HillClimbingLocalSearch
    from attain.explainers.nearest_unlike import NearestUnlike
    from attain.explainers.revise import Revise
    from attain.explainers.russell import Russell
    from attain.explainers.wachter import Wachter

_HOMES = {
    "ActionableRecourse": "actionable_recourse",
    "BudgetedInverseClassification": "budgeted_inverse",
    "CCHVAE": "cchvae",
    "Explainer": "base",
    "Face": "face",
    "FeatureTweaking": "feature_tweaking",
    "GrowingSpheres": "growing_spheres",
    "HillClimbingLocalSearch": "hill_climbing",
    "NearestUnlike": "nearest_unlike",
    "Revise": "revise",
    "Russell": "russell",
    "Wachter": "wachter",
}

__all__ = [
    "CCHVAE",
    "ActionableRecourse",
    "BudgetedInverseClassification",
    "Explainer",
    "Face",
    "FeatureTweaking",
    "GrowingSpheres",
    "HillClimbingLocalSearch",
    "NearestUnlike",
    "Revise",
    "Russell",
    "Wachter",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'attain.explainers' has no attribute {name!r}")
    value = getattr(import_module(f"attain.explainers.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
