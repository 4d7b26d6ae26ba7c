"""One file a method; all of them keep the contract of `attain.explainers.base.Explainer`.

Each is imported when it is first used: some need JAX, which takes its time.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attain.explainers.base import Explainer
    from attain.explainers.cchvae import CCHVAE
    from attain.explainers.face import Face
    from attain.explainers.feature_tweaking import FeatureTweaking
    from attain.explainers.growing_spheres import GrowingSpheres
    from attain.explainers.nearest_unlike import NearestUnlike

_HOMES = {
    "CCHVAE": "cchvae",
    "Explainer": "base",
    "Face": "face",
    "FeatureTweaking": "feature_tweaking",
    "GrowingSpheres": "growing_spheres",
    "NearestUnlike": "nearest_unlike",
}

__all__ = ["CCHVAE", "Explainer", "Face", "FeatureTweaking", "GrowingSpheres", "NearestUnlike"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'attain.explainers' has no attribute {name!r}")
    value = getattr(import_module(f"attain.explainers.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
