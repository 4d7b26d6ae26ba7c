"""What the paper's experiments are run with: in full, and quickly.

The paper's own settings are the full ones. What it leaves open is decided here, in one place, and is written into the
folder of results.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal

from attain.schema import Direction
from experiments.paper.directions import GMSC_DIRECTIONS, HELOC_DIRECTIONS

Name = Literal["gmsc", "gmsc-states", "heloc", "german"]

TITLES: Final[Mapping[str, str]] = {
    "gmsc": "Give Me Some Credit, codes as counts",
    "gmsc-states": "Give Me Some Credit, codes as states",
    "heloc": "HELOC",
    "german": "German credit",
}
"""What the studies are called in running text."""

Judge = Literal["LR", "SVM"]
LINEAR: Final = "LR"
MACHINE: Final = "SVM"
"""Who refuses, and against whose H⁺∩D⁺ answers are judged: the logistic regression, or the SVM that HCLS explains."""

AR: Final = "AR"
GS: Final = "GS"
HCLS: Final = "HCLS"
CCHVAE: Final = "C-CHVAE"
RIVALS: Final = (AR, GS, HCLS)
"""The methods that the paper compares with, as it set them."""

AR_TOTAL: Final = "AR (total cost)"
AR_LOCAL: Final = "AR (local cost)"
GS_DENSE: Final = "GS (no sparsity step)"
HCLS_LEAST: Final = "HCLS (least budget)"
HCLS_PRINTED: Final = "HCLS (printed directions)"
HCLS_LEAST_PRINTED: Final = "HCLS (least budget, printed directions)"
HCLS_LEAST_FREE: Final = "HCLS (least budget, no directions)"
CCHVAE_FIRST: Final = "C-CHVAE (stops at first)"
CCHVAE_HALF: Final = "C-CHVAE (stops at half)"
CCHVAE_FROZEN: Final = "C-CHVAE (frozen component)"
RELEASED: Final = "C-CHVAE (as released)"
GUARDED: Final = "Guarded"

NEIGHBOURS: Final = (5, 10, 15, 20, 25, 30, 35, 40)
"""The k of the curves of local outlier factors; the paper does not say which it took."""

_HELOC_NOT_HERE: Final = "MSinceMostRecentInqexcl7days"
"""The table of the paper lists it, the data of the paper do not have it."""

HELOC_CORRECTED: Final[dict[str, Direction]] = {
    name: direction for name, direction in HELOC_DIRECTIONS.items() if name != _HELOC_NOT_HERE
}
HELOC_PRINTED: Final[dict[str, Direction]] = HELOC_CORRECTED | {
    "PercentTradesNeverDelq": "decrease",
    "MaxDelq2PublicRecLast12M": "decrease",
    "MaxDelqEver": "decrease",
    "NumBank2NatlTradesWHighUtilization": "increase",
}
"""The arrows as the appendix prints them; of the two contrary ones of the last feature, the first."""


@dataclass(frozen=True)
class Example:
    """One of the synthetic examples.

    Attributes
    ----------
    rows
        How many people are made; four in five are for training.
    people
        So many held-out people of class 0 are explained.
    latent_dim, components, hidden, epochs
        The sizes of the autoencoder, which the paper does not give.
    """

    rows: int
    people: int
    latent_dim: int
    components: int
    hidden: tuple[int, ...]
    epochs: int


@dataclass(frozen=True)
class Method:
    """One line of the figures: a method with its settings.

    Attributes
    ----------
    kind
        Which method.
    options
        Its parameters, beside the common ones.
    directions
        The directions in which it may move features.
    judge
        The classifier whose refusals it explains.
    few
        Whether it is so slow that fewer people are explained.
    """

    kind: Literal["recourse", "spheres", "budgeted", "cchvae", "released", "guarded"]
    options: Mapping[str, Any] = field(default_factory=dict)
    directions: Mapping[str, Direction] = field(default_factory=dict)
    judge: Judge = LINEAR
    few: bool = False


@dataclass(frozen=True)
class Study:
    """One credit data set, read in one way.

    Attributes
    ----------
    name
        Which.
    latent_dim, components, epochs
        The sizes of the CHVAE, as the appendix gives them.
    kernel
        The kernel of the support vector machine that HCLS explains.
    machine_rows
        So many training rows, drawn by the seed, fit that machine; None is all.
    methods
        By the name of the line, the methods.
    epsilons
        The absolute grid of ε, in standard deviations.
    people
        The most held-out rows that are explained, drawn by the seed.
    few_people
        The same for methods that are slow.
    """

    name: Name
    latent_dim: int
    components: int
    epochs: int
    kernel: Literal["rbf", "linear"]
    machine_rows: int | None
    methods: Mapping[str, Method]
    epsilons: tuple[float, ...]
    people: int = 500
    few_people: int = 100

    @property
    def data(self) -> str:
        """The data set, however it is read."""
        return self.name.partition("-")[0]

    @property
    def title(self) -> str:
        """What the study is called in running text."""
        return TITLES[self.name]


@dataclass(frozen=True)
class Settings:
    """All that the results depend on.

    Attributes
    ----------
    quick
        Whether this is the run that needs no data.
    blobs, blobs_hidden, moons
        The synthetic examples; the blobs with a linear autoencoder and with one that has a hidden layer.
    studies
        The credit data sets.
    seeds
        Everything is run with the seeds 0, 1, … below this number.
    layout
        Rises when parts hold something else, so that older ones are not taken for them.
    """

    quick: bool
    blobs: Example
    blobs_hidden: Example
    moons: Example
    studies: tuple[Study, ...]
    seeds: int = 5
    layout: int = 2

    def as_json(self) -> dict[str, Any]:
        """What the parts depend on, as JSON holds it: a folder can be filled with further seeds."""
        kept = {name: value for name, value in asdict(self).items() if name != "seeds"}
        return {**kept, "neighbours": list(NEIGHBOURS)}


def _methods(
    recourse: Mapping[str, Direction],
    directions: Mapping[str, Direction],
    printed: Mapping[str, Direction] | None = None,
    *,
    mixture: bool = False,
) -> dict[str, Method]:
    """Every line: the paper's four, their other settings, the released search, and this package's own."""

    def hcls(budget: float | None, given: Mapping[str, Direction]) -> Method:
        return Method("budgeted", {"cost_budget": budget}, given, MACHINE)

    def cchvae(**options: str) -> Method:
        return Method("cchvae", options)

    def ar(cost: str) -> Method:
        return Method("recourse", {"cost": cost, "grid": 100}, recourse)

    lines = {
        AR: ar("max"),
        AR_TOTAL: ar("total"),
        AR_LOCAL: ar("local"),
        GS: Method("spheres", {"step": 0.1, "growth": 0.0}),
        GS_DENSE: Method("spheres", {"step": 0.1, "growth": 0.0, "sparsity": False}),
        HCLS: hcls(10.0, directions),
        HCLS_LEAST: hcls(None, directions),
        CCHVAE: cchvae(),
        CCHVAE_HALF: cchvae(stop="half"),
        CCHVAE_FIRST: cchvae(stop="first"),
        RELEASED: Method("released", few=True),
        GUARDED: Method("guarded", few=True),
    }
    if mixture:
        lines[CCHVAE_FROZEN] = cchvae(component="frozen")
    if printed is not None:
        lines[HCLS_PRINTED] = hcls(10.0, printed)
        lines[HCLS_LEAST_PRINTED] = hcls(None, printed)
        lines[HCLS_LEAST_FREE] = hcls(None, {})
    return lines


def _gmsc(name: Literal["gmsc", "gmsc-states"]) -> Study:
    return Study(
        name,
        latent_dim=6,
        components=5,
        epochs=50,
        kernel="rbf",
        machine_rows=5_000,
        methods=_methods({"DebtRatio": "decrease"}, GMSC_DIRECTIONS, mixture=True),
        epsilons=(0.2, 0.3, 0.5, 0.75, 1.0, 2.0),
    )


FULL: Final = Settings(
    quick=False,
    blobs=Example(rows=10_000, people=200, latent_dim=2, components=3, hidden=(), epochs=100),
    blobs_hidden=Example(rows=10_000, people=200, latent_dim=2, components=3, hidden=(64,), epochs=100),
    moons=Example(rows=10_000, people=25, latent_dim=2, components=2, hidden=(64,), epochs=100),
    studies=(
        _gmsc("gmsc"),
        _gmsc("gmsc-states"),
        Study(
            "heloc",
            latent_dim=10,
            components=1,
            epochs=60,
            kernel="linear",
            machine_rows=None,
            methods=_methods({}, HELOC_CORRECTED, HELOC_PRINTED),
            epsilons=(1.5, 2.0, 2.5, 3.0, 4.0, 5.0),
        ),
    ),
)

QUICK: Final = Settings(
    quick=True,
    blobs=Example(rows=3_000, people=200, latent_dim=2, components=3, hidden=(), epochs=100),
    blobs_hidden=Example(rows=3_000, people=200, latent_dim=2, components=3, hidden=(64,), epochs=100),
    moons=Example(rows=3_000, people=25, latent_dim=2, components=2, hidden=(64,), epochs=100),
    studies=(
        Study(
            "german",
            latent_dim=6,
            components=1,
            epochs=60,
            kernel="rbf",
            machine_rows=None,
            methods=_methods({}, {}),
            epsilons=(1.5, 2.0, 2.5, 3.0, 4.0, 5.0),
            people=60,
            few_people=20,
        ),
    ),
    seeds=1,
)
