"""Every explainer passes the shipped suite: one line each."""

from attain import GrowingSpheres
from attain.testing import ExplainerSuite


class TestGrowingSpheres(ExplainerSuite):
    explainer = GrowingSpheres
