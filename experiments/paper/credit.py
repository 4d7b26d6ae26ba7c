"""The paper's experiments on credit data: AR, GS, HCLS and C-CHVAE on rows that a classifier refuses."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from attain import metrics
from attain.datasets import Dataset
from attain.methods import ActionableRecourse, BudgetedInverseClassification, GrowingSpheres
from attain.metrics import Background
from attain.population.percentiles import Percentiles
from attain.population.reference import Reference
from attain.tables import Table
from experiments.paper import measures
from experiments.paper.answers import Answers, kept
from experiments.paper.classifiers import logistic_regression, support_vector_machine
from experiments.paper.measures import Line
from experiments.paper.settings import CCHVAE, RELEASED, Settings, Study
from experiments.store import Artifact, Store

LINEAR: Final = "linear"
MACHINE: Final = "machine"
"""Who refuses, and against whose H⁺∩D⁺ answers are judged: the logistic regression, or the SVM that HCLS explains."""

OWN: Final = "own"
COMMON: Final = "common"
"""Which rows: those that each method's own classifier refuses, or those that both refuse."""

REAL: Final = "real people"
BEFORE: Final = "before any change"
"""Beside the methods: held-out real people of the desired class, and the refused people as they are."""

_REAL_PEOPLE: Final = 2_000


class Credit:
    """One credit data set: split, classifiers, who is asked about, answers and measures.

    Parameters
    ----------
    study, settings
        What is run.
    data
        The people.
    store
        Where finished parts are kept.
    """

    def __init__(self, study: Study, settings: Settings, data: Dataset, store: Store) -> None:
        self.study, self.settings, self.data, self.store = study, settings, data, store
        split = train_test_split(data.X, data.y, test_size=0.2, random_state=settings.seed)
        self.train: pd.DataFrame = split[0]
        self.test: pd.DataFrame = split[1]
        self.desired_train = (split[2] == data.desired).to_numpy()
        self.desired_test = (split[3] == data.desired).to_numpy()
        self.train_labels: pd.Series = split[2]
        self.test_labels: pd.Series = split[3]
        self.train_values = Table.read(self.train, data.schema).values
        self.test_values = Table.read(self.test, data.schema).values
        self._accepted: dict[str, Reference] = {}

    @cached_property
    def ecdf(self) -> Percentiles:
        """The distribution functions of the training people."""
        return Percentiles.fit(self.data.schema, self.train_values)

    @cached_property
    def linear(self) -> Any:
        """The l₂ logistic regression that AR, GS and C-CHVAE explain."""
        return logistic_regression(self.data.schema).fit(self.train, self.train_labels)

    @cached_property
    def machine(self) -> Any:
        """The support vector machine that HCLS explains."""
        rows = np.random.default_rng(self.settings.seed).permutation(len(self.train))[: self.study.machine_rows]
        model = support_vector_machine(self.data.schema, self.study.kernel)
        return model.fit(self.train.iloc[rows], self.train_labels.iloc[rows])

    @cached_property
    def verdicts(self) -> Artifact:
        """Whom both classifiers accept, in training and held-out data, and how often they are right."""
        return self._part("classifiers", self._verdicts)

    def _verdicts(self) -> Artifact:
        arrays, facts = {}, {}
        for judge, model in ((LINEAR, self.linear), (MACHINE, self.machine)):
            arrays[f"{judge}/train"] = np.asarray(model.predict(self.train) == self.data.desired)
            arrays[f"{judge}/test"] = np.asarray(model.predict(self.test) == self.data.desired)
            facts[judge] = {
                "accuracy": float((arrays[f"{judge}/test"] == self.desired_test).mean()),
                "refused": int((~arrays[f"{judge}/test"]).sum()),
            }
        both = ~arrays[f"{LINEAR}/test"] & ~arrays[f"{MACHINE}/test"]
        return Artifact({**facts, "both": int(both.sum())}, arrays)

    def cohort(self, which: str, judge: str, most: int | None = None) -> np.ndarray:
        """Positions of the held-out people who are asked about: seeded, at most as many as the study says."""
        refused = ~self.verdicts.arrays[f"{judge}/test"]
        if which == COMMON:
            refused = ~self.verdicts.arrays[f"{LINEAR}/test"] & ~self.verdicts.arrays[f"{MACHINE}/test"]
        order = np.random.default_rng(self.settings.seed + 1).permutation(len(self.test))
        return np.sort(order[refused[order]][: self.study.people if most is None else most])

    def asked(self, method: str, which: str) -> np.ndarray:
        """Positions of the rows that a method explains."""
        return self.cohort(which, self.judges[method], self.study.released_people if method == RELEASED else None)

    @property
    def judges(self) -> dict[str, str]:
        """By method, whose refusals it answers and who judges it."""
        return {
            **dict.fromkeys(("AR", "GS", CCHVAE, RELEASED), LINEAR),
            **dict.fromkeys(self.study.hcls, MACHINE),
        }

    def parts(self) -> int:
        """How many parts the study has."""
        return 2 + len(self.judges) + 2

    def run(self, done: Callable[[], object]) -> Results:
        """Everything, from the parts that are there and those that are computed now."""
        _ = self.verdicts
        done()
        weights = self._part("autoencoder", self._trained)
        done()
        answers = {}
        for method in self.judges:
            asked = np.union1d(self.asked(method, OWN), self.asked(method, COMMON))
            answers[method] = Answers.of(self._part(method, lambda m=method, a=asked: self._answered(m, a, weights)))  # type: ignore[misc]
            done()
        judged = {}
        for judge in (LINEAR, MACHINE):
            judged[judge] = self._part(f"measures {judge}", lambda j=judge: self._measured(j, answers))  # type: ignore[misc]
            done()
        return Results(self, weights, answers, judged)

    def autoencoder(self, weights: Artifact) -> Any:
        """The trained CHVAE."""
        from attain.density import CHVAE

        return CHVAE(self.data.schema).restore(weights.facts, weights.arrays)

    def accepted(self, judge: str) -> Reference:
        """The training rows that the judge accepts and that are labelled so."""
        if judge not in self._accepted:
            self._accepted[judge] = Reference.build(
                self.data.schema,
                self.train_values,
                desired_labels=self.desired_train,
                met=self.verdicts.arrays[f"{judge}/train"],
            )
        return self._accepted[judge]

    def _real(self, judge: str) -> np.ndarray:
        """Positions of held-out rows that the judge accepts and that are labelled so."""
        real = np.flatnonzero(self.verdicts.arrays[f"{judge}/test"] & self.desired_test)
        return np.sort(np.random.default_rng(self.settings.seed + 2).permutation(real)[:_REAL_PEOPLE])

    def _part(self, name: str, compute: Callable[[], Artifact]) -> Artifact:
        return self.store.get(f"{self.study.name} {name}", compute)

    def _trained(self) -> Artifact:
        from attain.density import CHVAE

        sizes = {name: getattr(self.study, name) for name in ("latent_dim", "components", "epochs")}
        model = CHVAE(self.data.schema, **sizes, random_state=self.settings.seed, verbose=False)
        return Artifact(*model.fit(self.train_values).state())

    def _answered(self, method: str, asked: np.ndarray, weights: Artifact) -> Artifact:
        schema, seed = self.data.schema, self.settings.seed
        common: dict[str, Any] = {"figures": False, "random_state": seed}
        directions: Mapping[str, Any] = {}
        explainer: Any
        if method == "AR":
            explainer, directions = ActionableRecourse(schema, grid=100, **common), self.study.recourse
        elif method == "GS":
            explainer = GrowingSpheres(schema, step=0.1, growth=0.0, **common)
        elif method in (CCHVAE, RELEASED):
            explainer = self.cchvae(weights, released=method == RELEASED)
        else:
            explainer = BudgetedInverseClassification(
                schema, cost_budget=self.settings.budget, indirect=self.study.indirect, **common
            )
            directions = self.study.hcls[method]
        model = self.linear if self.judges[method] == LINEAR else self.machine
        result = explainer.fit(self.train, self.train_labels).explain(
            model, self.test.iloc[asked], target=self.data.desired, constraints={"direction": directions}
        )
        latent = {"moved": np.asarray(result.figures["latent_distance"])} if method == CCHVAE else {}
        return kept(result, asked, **latent)

    def cchvae(self, weights: Artifact, *, released: bool = False) -> Any:
        """C-CHVAE with the trained autoencoder, not fitted."""
        from attain.methods import CCHVAE as Explainer
        from experiments.paper.released import ReleasedCCHVAE

        return (ReleasedCCHVAE if released else Explainer)(
            self.data.schema,
            autoencoder=self.autoencoder(weights),
            figures=False,
            random_state=self.settings.seed,
        )

    def _measured(self, judge: str, answers: Mapping[str, Answers]) -> Artifact:
        own = {method: given for method, given in answers.items() if self.judges[method] == judge}
        asked = np.union1d(self.cohort(OWN, judge), self.cohort(COMMON, judge))
        for name, people in ((REAL, self._real(judge)), (BEFORE, asked)):
            own[name] = Answers(people, self.test_values[people], np.ones(len(people), dtype=np.bool_))
        real = self._real(judge)
        background = Background(
            self.data.schema,
            self.linear if judge == LINEAR else self.machine,
            self.train,
            self.train_labels,
            target=self.data.desired,
            X_test=self.test.iloc[real],
            y_test=self.test_labels.iloc[real],
        )
        return measures.measured(background, self.test, own)


@dataclass(frozen=True, eq=False)
class Results:
    """What one study gave."""

    credit: Credit
    weights: Artifact
    answers: Mapping[str, Answers]
    judged: Mapping[str, Artifact]

    @property
    def study(self) -> Study:
        return self.credit.study

    @cached_property
    def _lines(self) -> dict[str, dict[str, Line]]:
        return {judge: measures.lines(part) for judge, part in self.judged.items()}

    def line(self, method: str, cohort: str = OWN) -> Line:
        """The measures of a method's answers for one of the two choices of people."""
        return self._lines[self.credit.judges[method]][method].among(self.credit.asked(method, cohort))

    def beside(self, name: str, judge: str = LINEAR, cohort: str = OWN) -> Line:
        """The measures of real people, or of the refused people as they are."""
        line = self._lines[judge][name]
        return line if name == REAL else line.among(self.credit.cohort(cohort, judge))

    def epsilon(self, quantile: float, judge: str = LINEAR) -> float:
        """ε at this quantile of held-out real people's nearest distance."""
        return float(self.judged[judge].facts["epsilon"][str(quantile)])

    def likeness(self, method: str, cohort: str = OWN) -> tuple[float, float]:
        """Spread and correlation of a method's answers."""
        given = self.answers[method].among(self.credit.asked(method, cohort))
        real = self.credit.accepted(self.credit.judges[method])
        own, schema = self.credit.test_values[given.people], self.credit.data.schema
        spread = metrics.spread(given.rows, real, given.found)
        correlation = metrics.correlation(given.rows, own, schema, given.found)
        with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # NaN if no feature has a figure
            return float(np.nanmedian(spread)), float(np.nanmean(correlation))

    def moved(self, method: str) -> np.ndarray:
        """How far in latent space the answer of each of `line`'s people is; NaN without an answer."""
        given = self.answers[method].among(self.credit.asked(method, OWN))
        return np.full(len(given.people), np.nan) if given.moved is None else given.moved
