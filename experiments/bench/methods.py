"""The methods of the benchmarks: those of the package by name, and ways to bring one from outside."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Protocol

from attain.core.errors import AttainError, MissingExtraError
from attain.schema import Schema


class Recipe(Protocol):
    """How a method is made, once for each data set and seed."""

    @property
    def latent(self) -> bool:
        """Whether it takes the autoencoder that all methods of a data set and seed share."""

    def make(self, schema: Schema, seed: int, budget: int | None, autoencoder: Any) -> Any:
        """The method, not fitted: anything with `explain(model, X, target=...)`, and `fit(X, y)` if it learns."""

    def __str__(self) -> str:
        """All that its answers depend on, so that parts of another method are not taken for its own."""


@dataclass(frozen=True)
class Method:
    """A method of the package, with its defaults where nothing else is said."""

    kind: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    latent: bool = False

    def make(self, schema: Schema, seed: int, budget: int | None, autoencoder: Any) -> Any:
        """The method without figures of its own: answers are measured afterwards, all in the same way."""
        from attain import methods as explainers

        given = dict(self.parameters)
        if budget is not None:
            given["budget"] = budget
        if self.latent:
            given["autoencoder"] = autoencoder
        return getattr(explainers, self.kind)(schema, figures=False, random_state=seed, **given)

    def __str__(self) -> str:
        return f"{self.kind} {json.dumps(dict(self.parameters), sort_keys=True)}"


@dataclass(frozen=True)
class Factory:
    """A method from outside: `module:function`, called with a schema and a seed.

    `needs` are the module and the name of a package without which the function gives nothing.
    """

    path: str
    needs: tuple[str, str] | None = None
    latent: bool = False

    def make(self, schema: Schema, seed: int, budget: int | None, autoencoder: Any) -> Any:
        """What the function gives; it keeps to no budget but its own."""
        return self.load()(schema, seed)

    def load(self) -> Any:
        """The function, or a complaint in words."""
        if self.needs is not None:
            installed(*self.needs)
        module, colon, name = self.path.partition(":")
        if not colon or not module or not name:
            raise AttainError(f"the method {self.path!r} is not found; it takes module:function, such as mine:make")
        try:
            found = importlib.import_module(module)
        except ImportError as error:
            raise AttainError(f"the method {self.path!r} is not found: {error}") from None
        if not callable(getattr(found, name, None)):
            raise AttainError(f"the method {self.path!r} is not found: {module} has no function {name!r}")
        return getattr(found, name)

    def __str__(self) -> str:
        return self.path


def installed(module: str, package: str) -> Any:
    """A module of another package, or how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtraError(
            f"the method is that of {package}, which is not installed; pip install {package}"
        ) from None


@dataclass(frozen=True)
class Given:
    """A method as an object, which is fitted again for each data set and seed."""

    method: Any
    latent: bool = False

    def make(self, schema: Schema, seed: int, budget: int | None, autoencoder: Any) -> Any:
        """The object itself."""
        return self.method

    def __str__(self) -> str:
        return type(self.method).__qualname__


METHODS: Final[Mapping[str, Method]] = MappingProxyType(
    {
        # its own autoencoder, which must not see the rows that the guard is calibrated on
        "CCHVAE, guarded": Method("CCHVAE", {"refine": "guarded"}),
        "CCHVAE, Algorithm 1": Method("CCHVAE", {"refine": None}, latent=True),
        "Revise": Method("Revise", latent=True),
        "Face": Method("Face"),
        "NearestUnlike": Method("NearestUnlike"),
        "GrowingSpheres": Method("GrowingSpheres"),
        "HillClimbingLocalSearch": Method("HillClimbingLocalSearch"),
        "BudgetedInverseClassification": Method("BudgetedInverseClassification"),
        "ActionableRecourse": Method("ActionableRecourse", {"grid": 100}),
        "Russell": Method("Russell"),
        "Wachter": Method("Wachter"),
        "FeatureTweaking": Method("FeatureTweaking"),
    }
)
"""Every method of the package, by the name it has in tables; one line adds one.

Actionable Recourse has its publication's grid of 100 steps: with every observed value as a step, which is the default,
one person takes many seconds where a column has tens of thousands of them.
"""

_DICE, _TREECF = ("dice_ml", "dice-ml"), ("treecf", "treecf")
OUTSIDE: Final[Mapping[str, Factory]] = MappingProxyType(
    {
        "dice-genetic": Factory("experiments.outside:dice_genetic", _DICE),
        "dice-random": Factory("experiments.outside:dice_random", _DICE),
        "dice-kdtree": Factory("experiments.outside:dice_kdtree", _DICE),
        "treecf": Factory("experiments.outside:treecf_genetic", _TREECF),
        "treecf-exact": Factory("experiments.outside:treecf_exact", _TREECF),
    }
)
"""Methods of other packages, for those who have installed them."""
