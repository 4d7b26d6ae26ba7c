"""The methods, one folder or file each, under the contract of `attain.methods.base.Explainer`.

Each is imported when it is first used: some need JAX, which is slow to import.
"""

from typing import TYPE_CHECKING

from attain.core import lazy

if TYPE_CHECKING:
    from attain.methods.base import Explainer
    from attain.methods.budgeted_inverse import BudgetedInverseClassification
    from attain.methods.cchvae import CCHVAE
    from attain.methods.face import FACE
    from attain.methods.feature_tweaking import FeatureTweaking
    from attain.methods.growing_spheres import GrowingSpheres
    from attain.methods.guarded.guarded import Guarded
    from attain.methods.hill_climbing import HillClimbingLocalSearch
    from attain.methods.nearest_unlike import NearestUnlike
    from attain.methods.recourse.actionable_recourse import ActionableRecourse
    from attain.methods.recourse.russell import Russell
    from attain.methods.revise import REVISE
    from attain.methods.wachter import Wachter

_HOMES = {
    "ActionableRecourse": "recourse.actionable_recourse",
    "BudgetedInverseClassification": "budgeted_inverse",
    "CCHVAE": "cchvae",
    "Explainer": "base",
    "FACE": "face",
    "FeatureTweaking": "feature_tweaking",
    "GrowingSpheres": "growing_spheres",
    "Guarded": "guarded.guarded",
    "HillClimbingLocalSearch": "hill_climbing",
    "NearestUnlike": "nearest_unlike",
    "REVISE": "revise",
    "Russell": "recourse.russell",
    "Wachter": "wachter",
}

__all__ = [
    "CCHVAE", "FACE", "REVISE", "ActionableRecourse", "BudgetedInverseClassification", "Explainer", "FeatureTweaking",
    "GrowingSpheres", "Guarded", "HillClimbingLocalSearch", "NearestUnlike", "Russell", "Wachter",
]  # fmt: skip

__getattr__, __dir__ = lazy(__name__, __all__, _HOMES)
