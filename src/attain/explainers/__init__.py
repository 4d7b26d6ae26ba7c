"""One file a method; all of them keep the contract of `attain.explainers.base.Explainer`."""

from attain.explainers.base import Explainer
from attain.explainers.growing_spheres import GrowingSpheres

__all__ = ["Explainer", "GrowingSpheres"]
