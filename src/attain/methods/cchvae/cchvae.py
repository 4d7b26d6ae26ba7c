"""C-CHVAE (Pawelczyk, Broelemann, Kasneci 2020): records that look real and turn the decision, by latent search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np

from attain.core.errors import AttainError
from attain.core.frames import Frame
from attain.density import Codes
from attain.density.estimator import MixtureEstimator
from attain.methods.cchvae.shells import Shells
from attain.methods.guarded import GuardedSearch, guarding
from attain.methods.guarded.answers import guarded_answers
from attain.methods.guarded.certificate import certificate
from attain.methods.guarded.easiest import Easiest
from attain.methods.guarded.guarding import Calibration, Guarding
from attain.methods.guarded.objective import Objective
from attain.methods.guarded.robust import Refit, other_goals
from attain.methods.latent import AutoencoderChoice, LatentExplainer
from attain.methods.search.latent_space import Latent
from attain.methods.search.options import diverse
from attain.methods.search.problem import Answers, Problem
from attain.methods.search.sphere import Radius, check_norm
from attain.methods.search.streams import streams
from attain.models import Goal, GoalLike, JointGoal
from attain.population.guard import Setting
from attain.population.reference import Reference
from attain.results.counterfactuals import Counterfactuals
from attain.results.status import Typicality
from attain.schema import Constraints, Schema
from attain.tables import Region

_PEOPLE_AT_ONCE = 50_000
_ROWS_AT_ONCE = 50_000
_SPARE_OPTIONS = 4
_RANKED_PEOPLE, _RANK_SAMPLES = 1000, 20
"""Among how many real people an answer's density is ranked, and with how many draws each density is bounded."""
_RATES: Mapping[Setting, float] = {"connected": 0.18, "typical": 0.1}
_UNUSUAL = 10
"""An answer is unusual, not outside, while it is refused at the rate but not at so many times less."""
_GUARD_SAMPLES = 5
"""With how many draws a density is bounded for the guard."""
_DISTANCES_AT_ONCE = 16_000_000
_RELEASED_SAMPLES = 1000
_RELEASED_STREAM = 0x5E1EA5ED
"""Keeps the random decoding of `compat="released"` apart from the shells' random numbers."""


class CCHVAE(LatentExplainer):
    """Counterfactuals that look like real records: the paper's method.

    An autoencoder learns the density of the free features given the immutable ones. Each person is encoded; samples in
    growing shells round their code are decoded, with their own immutable features, and put to the classifier until one
    turns the decision (Algorithm 1). What the paper leaves open is decided in `attain.methods.cchvae.shells`.

    Takes any classifier. Keeps by construction: immutable cells, bounds, steps, directions, ranges, transitions,
    missing cells, derived columns, `max_changes`. Rules between features: by mending where that is easy, else by
    rejection.

    Parameters
    ----------
    schema
        What the columns are; inferred from the training data where it is None.
    autoencoder
        Any autoencoder that passes `attain.testing.check_autoencoder`, fitted or not; `"chvae"` is a `CHVAE` with
        default parameters. It is cloned and fitted with the schema, unless it is fitted already.
    samples
        Samples in each shell.
    step
        The width Δr of a shell, in latent units: standard deviations of the prior.
    norm
        The p of the latent norm: 1, 2 or infinity.
    radius
        `uniform`: radii uniform in length, as the paper writes. `volume`: samples uniform in the shell, as it says.
    max_shells
        The largest number of shells.
    refine
        None is the paper's Algorithm 1. `"guarded"` looks for the easiest answer among those that pass a guard fitted
        on real people of the desired class; see `population.guard` and `methods.guarded`. The next six parameters
        belong to it; `samples` to `max_shells` belong to Algorithm 1.
    guard
        `"connected"`: answers are no outliers among real people, and close to one of them. `"typical"`: no outliers.
    rate
        The share of *real* people of the desired class that the guard may refuse. None takes 0.18 for `connected` and
        0.1 for `typical`.
    max_shift_weight, change_weight
        An answer's cost is its total shift, plus `max_shift_weight` times its largest shift, plus `change_weight` for
        each changed feature; shifts are in percentiles (1 is the whole range), weighted by the costs of the schema.
    effort
        How many times as many records go the last mile: answers become a little easier, and take longer to find. With
        `n` options it is `n` times as much.
    easiest
        For linear models, whether the exact easiest answer is found too, faithful or not, on the grid of observed
        values (of columns with more than 1,024, those at even ranks): it is one of the starts, and
        its total shift stands beside each answer as `easiest_shift`, so that the price of faithfulness can be read.
    compat
        `"released"` searches as the code released with the paper does, for comparison only: each candidate is one
        random draw from the decoded likelihoods, shells of width 0.5 with 1,000 samples each grow up to 500 times
        without a box, and among what turns the decision the least l₁ distance of standardised free features wins.
        `samples`, `step`, `norm`, `radius` and `max_shells` are not used then.
    budget
        The most rows the model is asked about per person.
    margin
        How far an answer's score must lie beyond the boundary.
    figures
        Whether answers are compared with real people of the desired class.
    random_state
        The seed of training and search. Each person has random numbers of their own.

    References
    ----------
    M. Pawelczyk, K. Broelemann, G. Kasneci: Learning Model-Agnostic Counterfactual Explanations for Tabular Data, The
    Web Conference 2020.
    """

    citation = """@inproceedings{pawelczyk2020learning,
  title = {Learning Model-Agnostic Counterfactual Explanations for Tabular Data},
  author = {Pawelczyk, Martin and Broelemann, Klaus and Kasneci, Gjergji},
  booktitle = {Proceedings of The Web Conference 2020},
  year = {2020},
  doi = {10.1145/3366423.3380087}
}"""

    def __init__(
        self,
        schema: Schema | None = None,
        *,
        autoencoder: AutoencoderChoice = "chvae",
        samples: int = 100,
        step: float = 0.1,
        norm: float = 2,
        radius: Radius = "uniform",
        max_shells: int = 1000,
        refine: Literal["guarded"] | None = None,
        guard: Setting = "connected",
        rate: float | None = None,
        max_shift_weight: float = 0.5,
        change_weight: float = 0.02,
        effort: int = 1,
        easiest: bool = True,
        compat: Literal["released"] | None = None,
        budget: int = 50_000,
        margin: float = 1e-6,
        figures: bool = True,
        random_state: int = 0,
    ) -> None:
        self.schema = schema
        self.autoencoder = autoencoder
        self.samples = samples
        self.step = step
        self.norm = norm
        self.radius = radius
        self.max_shells = max_shells
        self.refine = refine
        self.guard = guard
        self.rate = rate
        self.max_shift_weight = max_shift_weight
        self.change_weight = change_weight
        self.effort = effort
        self.easiest = easiest
        self.compat = compat
        self.budget = budget
        self.margin = margin
        self.figures = figures
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_whole("samples", self.samples, 1)
        self._check_whole("max_shells", self.max_shells, 1)
        self._check_positive("step", self.step)
        check_norm(self.norm, self.radius)
        if self.refine not in (None, "guarded"):
            raise AttainError(f"refine is {self.refine!r}; it takes 'guarded', or None for the paper's Algorithm 1")
        if self.guard not in ("typical", "connected"):
            raise AttainError(f"guard is {self.guard!r}; it takes 'connected' or 'typical'")
        if self.rate is not None and not (isinstance(self.rate, float | int) and 0 < self.rate < 1):
            raise AttainError(f"rate is {self.rate!r}; it takes a number between 0 and 1, or None")
        self._check_positive("max_shift_weight", self.max_shift_weight, zero=True)
        self._check_positive("change_weight", self.change_weight, zero=True)
        self._check_whole("effort", self.effort, 1)
        if self.compat not in (None, "released"):
            raise AttainError(f"compat is {self.compat!r}; it takes None or 'released'")
        if self.compat is not None and self.refine is not None:
            raise AttainError(f"compat is {self.compat!r}, which takes refine=None; refine is {self.refine!r}")

    def fit(self, X: Frame, y: Any = None, *, calibration: Any = None) -> Self:
        """Learns from people like those to be explained; their true labels `y` let answers be compared with real ones.

        Parameters
        ----------
        X, y
            The training people and their labels.
        calibration
            For the guarded search: people whom the classifier never saw, as a frame, or as a frame and their labels,
            `(X, y)`. Without it a fifth of `X` is held out from autoencoder and guard for calibration.
        """
        self._given_calibration = calibration
        try:
            return super().fit(X, y)
        finally:
            del self._given_calibration

    def _remember(self, table: Any, labels: np.ndarray | None, *, real: bool = True) -> None:
        super()._remember(table, labels, real=real)
        self._guardings: dict[str, Guarding] = {}
        self._recourse: Easiest | None = None
        # what was held out at fit stays so, whatever parameters are set later
        self._fitted_refine, self._fitted_seed = self.refine, self.random_state

    def _prepare(self) -> None:
        given = getattr(self, "_given_calibration", None)
        if given is not None and self.refine is None:
            raise AttainError("calibration takes the guarded search; pass refine='guarded'")
        self.calibration_ = None if given is None else Calibration.read(given, self.schema_, self.labels_)
        super()._prepare()

    def _rows_to_learn_from(self) -> np.ndarray:
        values = self.table_.values
        if self.refine is None or self.calibration_ is not None:
            return values
        kept = values[~guarding.held_out(values, self._fitted_seed)]
        return kept if len(kept) > 1 else values

    @property
    def needs_rows(self) -> bool:  # type: ignore[override]
        """Whether it cannot be saved without its training rows: a guard is made of them."""
        return self.refine is not None

    def _learned(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        facts, arrays = super()._learned()
        more, rows = guarding.learned(self.calibration_)
        return facts | more, arrays | rows

    def _restore(self, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        super()._restore(facts, arrays)
        self.calibration_ = guarding.restored(facts, arrays, self.schema_, self.labels_)

    def explain(
        self, model: Any, X: Frame, *, robust: Sequence[Any] | Refit | None = None, **request: Any
    ) -> Counterfactuals:
        """For each person in `X`, the change that makes `model` decide `target`; see `Explainer.explain`.

        `robust`, for the guarded search, asks for answers that other models accept, too: a list of fitted models, or a
        function of (X, y, seed) that fits one, which is called for rows drawn again from the training people. The
        figure `holds_under` is the share of these models under which an answer is valid; who has no answer valid under
        all has one that is valid under `model`.
        """
        self._others: list[Goal] = []
        if robust is not None:
            self._check_fitted()
            if self.refine is None:
                raise AttainError("robust takes the guarded search; pass refine='guarded'")
            layout, values = self.layout_, self.table_.values
            self._others = other_goals(
                robust,
                lambda other: self._goal(other, request.get("target"), request.get("probability")),
                lambda drawn: layout.frame(values[drawn]),
                self.labels_,
                self.random_state,
            )
        try:
            return super().explain(model, X, **request)
        finally:
            del self._others

    def certificate(
        self,
        model: Any,
        result: Counterfactuals,
        *,
        constraints: Constraints | Mapping[str, Any] | None = None,
        balls: int = 200,
    ) -> Frame:
        """For each answer, how far it is from the guarded optimum, proven: for linear models and `guard="connected"`.

        A row that the guard lets through lies within its distance limit of a real person: in a ball round them. The
        bound is the least cost of a row that turns the decision, keeps the rules of its columns and lies in any ball.
        Rules between features, outlier factors and density take no part, so no guarded answer costs less. Numbers take
        every multiple of their step or, where that is too many or there is no step, values of training people.

        Parameters
        ----------
        model
            The model that the answers were made for.
        result
            What `explain` gave; the best option of each person is looked at. Answers of other methods are taken, too.
        constraints
            Those that the answers were made with.
        balls
            How many balls are looked into for each person, at most; few have to be.

        Returns
        -------
        A frame with a row for each person: `cost`, the answer's total shift plus `max_shift_weight` times its largest
        plus `change_weight` for each change, by the interpolated percentiles that the search goes by; `bound`, which no
        guarded answer undercuts; `gap` between them; `certified`, whether the bound is exactly the least over all
        balls; `least`, the cost of the easiest row found in a ball; `balls`, how many were looked into; and `reason`,
        why an answer is not certified. An answer that is unusual is compared with all that are as unusual.
        """
        self._check_fitted()
        self._check_whole("balls", balls, 1)
        if self.refine is None:
            raise AttainError("certificate takes the guarded search; pass refine='guarded'")
        if result.table.schema != self.schema_:
            raise AttainError("result has another schema than this explainer was fitted with")
        goal = self._goal(model, result.target, result.probability)
        region = Region.of(result.table, Constraints.of(constraints), self.observed_)
        objective = Objective(self.percentiles_, region, self.max_shift_weight, self.change_weight)
        values = self.table_.values
        return certificate(result, goal, self._guarding(goal), self._guard_rates, objective, values, balls)

    def _batch_size(self, options: int) -> int:
        if self.refine is None:
            return _PEOPLE_AT_ONCE
        return int(np.clip(_DISTANCES_AT_ONCE // max(len(self.table_), 1), 16, 512))

    def _search(self, problem: Problem) -> Answers:
        if self.refine is None:
            return self._algorithm_1(problem)
        found = self._guarding(problem.goal)
        return self._unguarded(problem) if found.guard is None else self._guarded(problem, found)

    def _algorithm_1(self, problem: Problem) -> Answers:
        n = problem.options
        latent = self._latent(problem.region)
        shells = Shells(self.samples, self.step, self.norm, self.radius, self.max_shells, _ROWS_AT_ONCE)
        if self.compat == "released":
            latent = self._released(latent, problem)
            shells = Shells(_RELEASED_SAMPLES, 0.5, 2, "uniform", 500, _ROWS_AT_ONCE, reconstruction=False)
        wanted, keep = (1, 1) if n == 1 else (2 * n, _SPARE_OPTIONS * n)
        pool, status, grown = shells.search(problem, latent, wanted, keep)
        rows, owners, distance = diverse(pool.rows, pool.owners, pool.distances, problem.region, n)
        figures = {
            "latent_distance" if self.compat is None else "input_distance": np.round(distance, 6),
            "reconstruction_flip": (distance == 0).astype(np.float64),
            "code_outside_box": latent.outside[owners].astype(np.float64),
            "shells": grown[owners].astype(np.float64),
        }
        return Answers(rows, owners, distance, status, figures)

    def _guarding(self, goal: GoalLike) -> Guarding:
        """The guard for a setting, model and target, built once."""
        if self._fitted_refine is None:
            raise AttainError(
                "refine was None when fit was called, so no rows were held out for a guard; call fit again"
            )
        key = f"{self.guard} {goal.fingerprint()}"
        if key not in self._guardings:
            self._guardings[key] = Guarding.of(
                goal, self.guard, self.table_.values, self.labels_, self.calibration_, self._fitted_seed, self.space_,
                self._density,
            )  # fmt: skip
        return self._guardings[key]

    def _density(self, rows: np.ndarray) -> np.ndarray:
        """The log-density of rows given their immutable features."""
        return self._log_density(rows, _GUARD_SAMPLES)

    @property
    def _guard_rates(self) -> tuple[float, float]:
        """The shares of real people that the guard refuses: of typical answers, and of unusual ones."""
        rate = _RATES[self.guard] if self.rate is None else float(self.rate)
        return rate, rate / _UNUSUAL

    def _guarded(self, problem: Problem, found: Guarding) -> Answers:
        assert found.guard is not None
        search = GuardedSearch(
            found.guard, self._guard_rates, found.surrogate, self.percentiles_, self.scale_,
            self.max_shift_weight, self.change_weight, self.effort,
        )  # fmt: skip
        return guarded_answers(
            problem, search, lambda part: self._latent(part.region), self._easiest(problem), self._others
        )

    def _easiest(self, problem: Problem) -> Answers | None:
        """The easiest answers of all, where the model is linear."""
        if not self.easiest:
            return None
        if self._recourse is None:
            self._recourse = Easiest(self.table_, self.labels_)
        return self._recourse.search(problem) if self._recourse.fits(problem.goal) else None

    def _unguarded(self, problem: Problem) -> Answers:
        """Algorithm 1 where too few real people are known for a guard."""
        plain = self._algorithm_1(problem)
        figures = {
            "typicality": np.full(len(plain.rows), float(Typicality.OUTSIDE)),
            "typicality_p": np.full(len(plain.rows), np.nan),
            "easiest_shift": np.full(len(plain.rows), np.nan),
        }
        if self._others:
            figures["holds_under"] = JointGoal(problem.goal, self._others).share(plain.rows)
        return replace(plain, figures=figures)

    def _result(self, table: Any, goal: Goal, *parts: Any) -> Counterfactuals:
        result = super()._result(table, goal, *parts)
        if self.refine is None:
            return result
        return replace(result, notes=(*result.notes, *self._guarding(goal).notes))

    def _further_figures(self, rows: np.ndarray, reference: Reference) -> dict[str, np.ndarray]:
        """The rank of each answer's density, given its immutable features, among real people of the desired class."""
        if not len(rows) or not len(reference):
            return {"density_rank": np.full(len(rows), np.nan)}
        some = reference.values[np.linspace(0, len(reference) - 1, min(len(reference), _RANKED_PEOPLE)).astype(np.intp)]
        real = np.sort(self._log_density(some, _RANK_SAMPLES))
        own = self._log_density(rows, _RANK_SAMPLES)
        return {"density_rank": np.round(np.searchsorted(real, own) / len(real), 3)}

    def _released(self, latent: Latent, problem: Problem) -> Latent:
        """The latent space as the released code searches it: without a box, with random decoding."""
        autoencoder, region = self.autoencoder_, problem.region
        assert isinstance(autoencoder, MixtureEstimator)
        context = autoencoder.encode(region.factuals).context
        generators = streams(region.factuals, problem.seed ^ _RELEASED_STREAM)

        def decode(z: np.ndarray, owners: np.ndarray) -> np.ndarray:
            free = np.empty((len(z), len(self.schema_.free_columns)))
            for person in np.unique(owners):
                mine = np.flatnonzero(owners == person)
                padded = np.resize(z[mine], (_RELEASED_SAMPLES, z.shape[1]))
                given = np.repeat(context[[person]], _RELEASED_SAMPLES, axis=0)
                seed = int(generators[person].integers(2**31 - 1))
                free[mine] = autoencoder.draw(Codes(padded, given), seed)[: len(mine)]
            return self._rows(region, owners, free)

        def measure(rows: np.ndarray, owners: np.ndarray) -> np.ndarray:
            moved = np.abs(rows - region.factuals[owners]) / self.scale_.spread
            return np.nansum(moved[:, self.schema_.free_columns], axis=1)

        unbounded = np.full(latent.codes.shape[1], np.inf)
        return replace(latent, low=-unbounded, high=unbounded, decode=decode, measure=measure)
