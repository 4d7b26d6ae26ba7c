"""The paper's experiments on credit data: AR, GS, HCLS and C-CHVAE on rows that a classifier refuses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from attain.datasets import Dataset
from attain.methods import ActionableRecourse, BudgetedInverseClassification, GrowingSpheres, Guarded
from attain.population.measuring import Percentiles
from attain.population.population import Reference
from attain.schema import Schema
from attain.tables import Table
from experiments.paper import measures
from experiments.paper.answers import Answers, kept
from experiments.paper.classifiers import logistic_regression, support_vector_machine
from experiments.paper.measures import REAL, Line
from experiments.paper.settings import LINEAR, MACHINE, Judge, Method, Study
from experiments.store import Artifact, Store

OWN: Final = "own"
COMMON: Final = "common"
"""Which rows: those that each method's own classifier refuses, or those that both refuse."""

BEFORE: Final = "before any change"
"""The refused people as they are, measured beside the methods."""

_REAL_PEOPLE: Final = 2_000


def as_read(schema: Schema, study: Study) -> Schema:
    """The columns as a study reads them: the codes 96 and 98 of Give Me Some Credit as counts, or as states."""
    if study.name != "gmsc":
        return schema
    return Schema(tuple(replace(feature, special={}, transitions={}) for feature in schema))


class Credit:
    """One study with one seed: split, classifiers, who is asked about, answers and measures.

    Parameters
    ----------
    study, seed
        What is run.
    data
        The people, as loaded.
    store
        Where finished parts are kept.
    """

    def __init__(self, study: Study, seed: int, data: Dataset, store: Store) -> None:
        self.study, self.seed, self.store = study, seed, store
        self.data = replace(data, schema=as_read(data.schema, study))
        split = train_test_split(data.X, data.y, test_size=0.2, random_state=seed)
        self.train: pd.DataFrame = split[0]
        self.test: pd.DataFrame = split[1]
        self.train_labels: pd.Series = split[2]
        self.test_labels: pd.Series = split[3]
        self.desired_train = (self.train_labels == data.desired).to_numpy()
        self.desired_test = (self.test_labels == data.desired).to_numpy()

    @property
    def schema(self) -> Schema:
        return self.data.schema

    @cached_property
    def train_values(self) -> np.ndarray:
        return Table.read(self.train, self.schema).values

    @cached_property
    def test_values(self) -> np.ndarray:
        return Table.read(self.test, self.schema).values

    @cached_property
    def ecdf(self) -> Percentiles:
        """The distribution functions of the training people."""
        return Percentiles.fit(self.schema, self.train_values)

    @cached_property
    def linear(self) -> Any:
        """The l₂ logistic regression that AR, GS and C-CHVAE explain."""
        return logistic_regression(self.schema).fit(self.train, self.train_labels)

    @cached_property
    def machine(self) -> Any:
        """The support vector machine that HCLS explains."""
        rows = np.random.default_rng(self.seed).permutation(len(self.train))[: self.study.machine_rows]
        model = support_vector_machine(self.schema, self.study.kernel)
        return model.fit(self.train.iloc[rows], self.train_labels.iloc[rows])

    @cached_property
    def verdicts(self) -> Artifact:
        """Whom both classifiers accept, in training and held-out data, and how often they are right."""
        # the classifiers see numbers, however the study reads them
        return self.store.get(f"{self.study.data} {self.seed} classifiers", self._verdicts)

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

    def cohort(self, which: str, judge: Judge, most: int | None = None) -> np.ndarray:
        """Positions of the held-out people who are asked about: seeded, at most as many as the study says."""
        refused = ~self.verdicts.arrays[f"{judge}/test"]
        if which == COMMON:
            refused = ~self.verdicts.arrays[f"{LINEAR}/test"] & ~self.verdicts.arrays[f"{MACHINE}/test"]
        order = np.random.default_rng(self.seed + 1).permutation(len(self.test))
        return np.sort(order[refused[order]][: self.study.people if most is None else most])

    def asked(self, method: str, which: str) -> np.ndarray:
        """Positions of the rows that a method explains."""
        given = self.study.methods[method]
        return self.cohort(which, given.judge, self.study.few_people if given.few else None)

    def run(self) -> Results:
        """Everything, from the parts that are there and those that are computed now."""
        weights = self._part("autoencoder", self._trained)
        answers = {}
        for name, method in self.study.methods.items():
            asked = np.union1d(self.asked(name, OWN), self.asked(name, COMMON))
            part = self._part(name, lambda m=method, a=asked: self._answered(m, a, weights))
            answers[name] = Answers.of(part)
        judged = {
            judge: self._part(f"measures {judge}", lambda j=judge: self._measured(j, answers))
            for judge in (LINEAR, MACHINE)
        }
        return Results(self, weights, answers, judged)

    def autoencoder(self, weights: Artifact) -> Any:
        """The trained CHVAE."""
        from attain.density import CHVAE

        return CHVAE(self.schema, likelihoods="paper").restore(weights.facts, weights.arrays)

    def _real(self, judge: Judge) -> np.ndarray:
        """Positions of held-out rows that the judge accepts and that are labelled so."""
        real = np.flatnonzero(self.verdicts.arrays[f"{judge}/test"] & self.desired_test)
        return np.sort(np.random.default_rng(self.seed + 2).permutation(real)[:_REAL_PEOPLE])

    def _part(self, name: str, compute: Any) -> Artifact:
        return self.store.get(f"{self.study.name} {self.seed} {name}", compute)

    def _trained(self) -> Artifact:
        from attain.density import CHVAE

        sizes = {name: getattr(self.study, name) for name in ("latent_dim", "components", "epochs")}
        model = CHVAE(self.schema, likelihoods="paper", hidden=0, **sizes, random_state=self.seed, verbose=False)
        return Artifact(*model.fit(self.train_values).state())

    def _answered(self, method: Method, asked: np.ndarray, weights: Artifact) -> Artifact:
        explainer = self.explainer(method, weights)
        result = explainer.fit(self.train, self.train_labels).explain(
            self.linear if method.judge == LINEAR else self.machine,
            self.test.iloc[asked],
            target=self.data.desired,
            constraints={"direction": method.directions},
        )
        latent = {"moved": np.asarray(result.figures["latent_distance"])} if method.kind == "cchvae" else {}
        return kept(result, asked, **latent)

    def explainer(self, method: Method, weights: Artifact) -> Any:
        """A method as the study sets it, not fitted."""
        from attain.methods import CCHVAE
        from experiments.paper.released import ReleasedCCHVAE

        kinds: dict[str, Any] = {
            "recourse": ActionableRecourse,
            "spheres": GrowingSpheres,
            "budgeted": BudgetedInverseClassification,
            "cchvae": CCHVAE,
            "released": ReleasedCCHVAE,
            "guarded": Guarded,
        }
        given: dict[str, Any] = {"figures": False, "random_state": self.seed, **method.options}
        if method.kind != "guarded":
            given["laws"] = None  # the methods of the paper know of none
        if method.kind in ("cchvae", "released"):
            given["autoencoder"] = self.autoencoder(weights)
        return kinds[method.kind](self.schema, **given)

    def _measured(self, judge: Judge, answers: Mapping[str, Answers]) -> Artifact:
        own = {name: given for name, given in answers.items() if self.study.methods[name].judge == judge}
        asked, real = np.union1d(self.cohort(OWN, judge), self.cohort(COMMON, judge)), self._real(judge)
        for name, people in ((REAL, real), (BEFORE, asked)):
            own[name] = Answers(people, self.test_values[people], np.ones(len(people), dtype=np.bool_))
        reference = Reference.build(
            self.schema,
            self.train_values,
            desired_labels=self.desired_train,
            met=self.verdicts.arrays[f"{judge}/train"],
        ).with_held_out(self.test_values[real])
        return measures.measured(reference, self.ecdf, self.test_values, own)


@dataclass(frozen=True, eq=False)
class Results:
    """What one study gave with one seed."""

    credit: Credit
    weights: Artifact
    answers: Mapping[str, Answers]
    judged: Mapping[str, Artifact]

    @property
    def study(self) -> Study:
        return self.credit.study

    @cached_property
    def _lines(self) -> dict[tuple[str, bool], dict[str, Line]]:
        return {(judge, raw): measures.lines(part, raw) for judge, part in self.judged.items() for raw in (False, True)}

    def line(self, method: str, cohort: str = OWN, *, raw: bool = False) -> Line:
        """The measures of a method's answers for one of the two choices of people, by z-scored or raw distances."""
        judge = self.study.methods[method].judge
        return self._lines[judge, raw][method].among(self.credit.asked(method, cohort))

    def beside(self, name: str, judge: Judge = LINEAR, cohort: str = OWN) -> Line:
        """The measures of real people, or of the refused people as they are."""
        line = self._lines[judge, False][name]
        return line if name == REAL else line.among(self.credit.cohort(cohort, judge))

    def moved(self, method: str) -> np.ndarray:
        """How far in latent space the answer of each of `line`'s people is; NaN without an answer."""
        given = self.answers[method].among(self.credit.asked(method, OWN))
        return np.full(len(given.people), np.nan) if given.moved is None else given.moved
