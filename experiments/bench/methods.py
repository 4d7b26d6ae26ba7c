"""The methods of the benchmark: those of the package by name, and ways to add one from outside."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Protocol

from attain.core.errors import AttainError, MissingExtraError
from attain.schema import Schema


class MethodFactory(Protocol):
    """Makes a method, once for each data set and seed."""

    @property
    def latent(self) -> bool:
        """Whether it takes the autoencoder shared by all methods of a data set and seed."""

    def make(self, schema: Schema, seed: int, budget: int | None, autoencoder: Any) -> Any:
        """The method, not fitted: anything with `explain(model, X, target=...)`, and `fit(X, y)` if it learns."""

    def __str__(self) -> str:
        """All that its answers depend on, so that stored runs of another method are not mistaken for its own."""


@dataclass(frozen=True)
class Method:
    """A method of the package, with its defaults unless `parameters` says otherwise."""

    kind: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    latent: bool = False

    def make(self, schema: Schema, seed: int, budget: int | None, autoencoder: Any) -> Any:
        """The method, without figures: all answers are measured afterwards, in the same way."""
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
    """A method from outside: `module:function`, called with a schema, a seed and the parameters.

    `needs` are the module and the name of a package that the function needs.
    """

    path: str
    needs: tuple[str, str] | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    latent: bool = False

    def make(self, schema: Schema, seed: int, budget: int | None, autoencoder: Any) -> Any:
        """What the function returns; `budget` does not apply to it."""
        return self.load()(schema, seed, **self.parameters)

    def load(self) -> Any:
        """The function; raises if it is not found."""
        if self.needs is not None:
            installed(*self.needs)
        module, colon, name = self.path.partition(":")
        if not colon or not module or not name:
            raise AttainError(f"a method from outside must be module:function, such as mine:make, got {self.path!r}")
        try:
            found = importlib.import_module(module)
        except ImportError as error:
            raise AttainError(f"the method {self.path!r} cannot be imported: {error}") from None
        if not callable(getattr(found, name, None)):
            raise AttainError(f"the method {self.path!r} cannot be imported: {module} has no function {name!r}")
        return getattr(found, name)

    def __str__(self) -> str:
        return f"{self.path} {json.dumps(dict(self.parameters), sort_keys=True)}" if self.parameters else self.path


def installed(module: str, package: str) -> Any:
    """A module of another package; raises if it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtraError(f"the method needs {package}, which is not installed: pip install {package}") from None


@dataclass(frozen=True)
class InstanceFactory:
    """A method given as an object, which is fitted again for each data set and seed."""

    method: Any
    latent: bool = False

    def make(self, schema: Schema, seed: int, budget: int | None, autoencoder: Any) -> Any:
        """The object itself."""
        return self.method

    def __str__(self) -> str:
        return type(self.method).__qualname__


METHODS: Final[Mapping[str, Method]] = MappingProxyType(
    {
        "Guarded": Method("Guarded"),
        "CCHVAE": Method("CCHVAE", latent=True),
        "REVISE": Method("REVISE", latent=True),
        "FACE": Method("FACE"),
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
"""Every method of the package, by its name in tables.

Actionable Recourse has its publication's grid of 100 steps: with every observed value as a step, which is the default,
one row takes many seconds if a column has tens of thousands of values.
"""

_DICE = ("experiments.outside.dice:DiceML", ("dice_ml", "dice-ml"))
_TREECF = ("experiments.outside.treecf:TreeCF", ("treecf", "treecf"))
_NICE = ("experiments.outside.nice:FrozenNICE", ("nice", "NICEx"))
_ALIBI = ("experiments.outside.alibi:AlibiRL", ("alibi", "alibi[tensorflow]"))
OUTSIDE: Final[Mapping[str, Factory]] = MappingProxyType(
    {
        **{f"dice-{name}": Factory(*_DICE, {"method": name}) for name in ("genetic", "random", "kdtree")},
        "treecf": Factory(*_TREECF, {"backend": "genetic"}),
        "treecf-exact": Factory(*_TREECF, {"backend": "exact"}),
        **{
            f"nice-{name}": Factory(*_NICE, {"optimization": name})
            for name in ("sparsity", "proximity", "plausibility")
        },
        "alibi-rl": Factory(*_ALIBI),
    }
)
"""Methods of other packages, which must be installed."""
