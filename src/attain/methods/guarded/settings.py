"""The settings of the guarded search.

What set each constant: (T) tuned inside 70 % of HELOC, frozen at commit 16a3268 before other data were looked at; (S)
chosen on HELOC, GMSC, Adult and other data with the search itself, so that tables of these data are no independent
check of it; (M) a bound on memory or time; (–) not tuned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from attain.population.guard import GuardSettings, Setting


@dataclass(frozen=True)
class GuardedSettings:
    """See the module's text for what the letters mean."""

    guard: GuardSettings = field(default_factory=GuardSettings)
    rates: Mapping[Setting, float] = field(
        default_factory=lambda: MappingProxyType({"connected": 0.18, "typical": 0.1})
    )
    """The share of real rows that the guard may refuse, where `rate` is None. (T)"""
    unusual: float = 10
    """An answer is unusual, rather than outside, if it passes at the rate divided by this. (–)"""
    relaxations: int = 4
    """Steps from the guard's rate to that of unusual answers, geometrically; after the last there are no limits. (T)"""
    held_out: float = 0.2
    """The share of the training rows kept for calibration, where none are given. (–)"""

    # starts
    transplants: int = 64
    """Real rows whose cells are starts; eight times as many where nothing passes. (S)"""
    pulled: bool = True
    """Whether transplants that flip the decision are starts also after being pulled towards the person. (S)"""
    inside: float = 0.97
    """The share of the guard's distance limit that they are pulled to, because final form moves a point. (T)"""
    radius_quantile: float = 0.95
    """Where the guard has no distance limit, they are pulled to this quantile of real rows' nearest distances. (T)"""
    ascents: int = 6
    """Steps along the model's score. (S)"""
    grid_values: int = 32
    """The most values of each feature that are compared at each step, where the model is compiled. (–)"""
    asked_values: int = 12
    """The same where it must be asked. (–)"""

    # the local search
    shortlist: int = 400
    """Real rows near a person, and near a start that passes, among which versions are measured. (S)"""
    measured: int = 6
    """How many of the cheapest starts are measured to find the one that the second shortlist is taken around. (S)"""
    candidates: int = 6
    """Starts that are made better; half of them change different features. (S)"""
    first_penalty: float = 5.0
    """The cost of a unit of excess over the guard's limits in the first walk; 0 leaves it out. (S)"""
    penalty: float = 50.0
    """The same after it: more than any change costs, so that a candidate first becomes typical, then easy. (–)"""
    related: float = 2.0
    """The weight of being off a relation in the excess; that of a distance is 2. (–)"""
    inside_relations: float = 0.9
    """Answers are first looked for within this share of the limit of relations, which new rows may move. (S)"""
    families: bool = True
    """Whether columns that go together are also taken back together. (S)"""
    bisections: int = 6
    """How often a change that cannot go back whole is halved. (S)"""
    attractors: int = 3
    """Near real rows that a candidate moves towards. (T)"""
    paired: int = 2
    """The best candidates whose changes are exchanged in pairs. (S)"""
    exchanged: int = 4
    """The dearest changes of each that go back. (S)"""
    pair_rows: int = 2
    """Near real rows whose cells may make up for a change. (S)"""
    rounds: int = 10
    """The most attractions, and the most pairs, of a candidate. (M)"""
    pool: int = 8
    """The cheapest versions that pass, put to the guard itself, for each option. (T)"""
    at_once: int = 4
    """Versions of a candidate that a model is asked about at a time, where it must be asked. (S)"""

    def engine(self, *, radius: float, effort: int, options: int, compiled: bool, only_back: bool) -> dict[str, float]:
        """The settings of the engine's search; with `only_back`, of one that only takes changes of given rows back."""
        chosen = {name: getattr(self, name) for name in _SAME_NAMES} | {
            "transplants": self.transplants * effort,
            **dict.fromkeys(("further", "ranked"), 8 * self.transplants * effort),
            "candidates": self.candidates * effort,
            "different": self.candidates * effort // 2,
            "paired": self.paired * effort,
            "pool": self.pool * max(options, 3),  # so that one option is the same as the first of three
            "at_once": 1 if compiled else self.at_once,
            "first_penalty": self.penalty if only_back else self.first_penalty or self.penalty,
            "radius": radius,
        }
        if only_back:
            chosen |= dict.fromkeys(("transplants", "further", "paired", "attractors", "pulled"), 0)
            chosen["ascents"] = -1  # 0 would still compare values before the first step
        return chosen


_SAME_NAMES = (
    *("shortlist", "measured", "ascents", "bisections", "attractors", "exchanged", "pair_rows", "rounds"),
    *("pulled", "penalty", "related"),
)
"""Settings that the engine has by the same names."""
