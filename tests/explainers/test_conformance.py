"""Every explainer passes the shipped suite: one line each."""

from attain import GrowingSpheres
from attain.explainers import Face, FeatureTweaking, NearestUnlike
from attain.testing import ExplainerSuite


class TestGrowingSpheres(ExplainerSuite):
    explainer = GrowingSpheres


class TestNearestUnlike(ExplainerSuite):
    explainer = NearestUnlike


class TestFeatureTweaking(ExplainerSuite):
    explainer = FeatureTweaking
    models = ("tree",)


class TestFace(ExplainerSuite):
    explainer = Face
    options = {"tolerance": 1.0}  # noqa: RUF012
    least_found = 0.3
