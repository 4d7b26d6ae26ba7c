"""What the paper's experiments are run with: in full, and quickly.

The paper's own settings are the full ones. What it leaves open is decided here, in one place, and is written into the
folder of results.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from attain.schema import Direction
from experiments.paper.directions import GMSC_DIRECTIONS, HELOC_DIRECTIONS

Name = Literal["gmsc", "heloc", "german"]

TITLES: Final[Mapping[str, str]] = {"gmsc": "Give Me Some Credit", "heloc": "HELOC", "german": "German credit"}
"""What the data sets are called in running text."""

CORRECTED: Final = "HCLS"
PRINTED: Final = "HCLS, directions as printed"
CCHVAE: Final = "C-CHVAE"
RELEASED: Final = "C-CHVAE, as released"

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
class Study:
    """One credit data set.

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
    indirect
        The features that HCLS changes indirectly.
    hcls
        By the name of the line, the directions in which HCLS may move features.
    recourse
        The directions in which AR may move features.
    epsilons
        The absolute grid of ε, in standard deviations.
    people
        The most held-out rows that are explained, drawn by the seed.
    released_people
        The same for the search of the released code, which is slow.
    """

    name: Name
    latent_dim: int
    components: int
    epochs: int
    kernel: Literal["rbf", "linear"]
    machine_rows: int | None
    indirect: tuple[str, ...]
    hcls: Mapping[str, Mapping[str, Direction]]
    recourse: Mapping[str, Direction]
    epsilons: tuple[float, ...]
    people: int = 500
    released_people: int = 100


@dataclass(frozen=True)
class Settings:
    """All that the results depend on.

    Attributes
    ----------
    quick
        Whether this is the short run.
    blobs, moons
        The synthetic examples.
    studies
        The credit data sets.
    budget
        What HCLS may spend; each feature costs 1 for its whole range.
    draws
        Bootstrap samples of people behind each interval.
    seed
        Of everything.
    layout
        Rises when parts hold something else, so that older ones are not taken for them.
    """

    quick: bool
    blobs: Example
    moons: Example
    studies: tuple[Study, ...]
    budget: float = 10.0
    draws: int = 1000
    seed: int = 0
    layout: int = 1

    def as_json(self) -> dict[str, Any]:
        """Everything, as JSON holds it."""
        return {**asdict(self), "neighbours": list(NEIGHBOURS)}


FULL: Final = Settings(
    quick=False,
    blobs=Example(rows=10_000, people=200, latent_dim=1, components=1, hidden=(64,), epochs=100),
    moons=Example(rows=10_000, people=25, latent_dim=2, components=2, hidden=(64,), epochs=100),
    studies=(
        Study(
            "gmsc",
            latent_dim=6,
            components=5,
            epochs=50,
            kernel="rbf",
            machine_rows=10_000,
            indirect=("NumberOfTimes90DaysLate",),
            hcls={CORRECTED: GMSC_DIRECTIONS},
            recourse={"DebtRatio": "decrease"},
            epsilons=(0.2, 0.3, 0.5, 0.75, 1.0, 2.0),
        ),
        Study(
            "heloc",
            latent_dim=10,
            components=1,
            epochs=60,
            kernel="linear",
            machine_rows=None,
            indirect=("NumTrades90Ever2DerogPubRec",),
            hcls={CORRECTED: HELOC_CORRECTED, PRINTED: HELOC_PRINTED},
            recourse={},
            epsilons=(1.5, 2.0, 2.5, 3.0, 4.0, 5.0),
        ),
    ),
)

QUICK: Final = Settings(
    quick=True,
    blobs=Example(rows=3_000, people=200, latent_dim=1, components=1, hidden=(64,), epochs=100),
    moons=Example(rows=3_000, people=25, latent_dim=2, components=2, hidden=(64,), epochs=100),
    studies=(
        Study(
            "german",
            latent_dim=6,
            components=1,
            epochs=60,
            kernel="rbf",
            machine_rows=None,
            indirect=(),
            hcls={CORRECTED: {}},
            recourse={},
            epsilons=(1.5, 2.0, 2.5, 3.0, 4.0, 5.0),
            people=60,
            released_people=20,
        ),
    ),
)
