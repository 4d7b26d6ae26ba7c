"""Answers on random schemas, rechecked by code that shares nothing with the package's."""

import pytest

from benchmarks import promises
from benchmarks.random_schemas import make_world

SEEDS = {"GrowingSpheres": [0], "FeatureTweaking": [1], "NearestUnlike": [2, 11], "Guarded": [3, 8], "Wachter": [6]}
SEEDS |= {"HillClimbingLocalSearch": [4], "FACE": [7]}
SEEDS |= {"ActionableRecourse": [0], "BudgetedInverseClassification": [0], "Russell": [0]}


@pytest.mark.parametrize(("method", "seed"), [(method, seed) for method, seeds in SEEDS.items() for seed in seeds])
@pytest.mark.filterwarnings("ignore")
def test_answers_on_random_schemas_pass_an_independent_check(method, seed, monkeypatch):
    monkeypatch.setitem(promises.FEW, method, 40)
    monkeypatch.setattr(promises, "SECONDS", 10**6)  # nothing is interrupted
    (line,) = promises.tried(seed, [method])
    assert "refused" not in line
    assert line["answers"]
    assert not line["complaints"]


@pytest.mark.filterwarnings("ignore")
def test_the_check_sees_what_is_wrong():
    world = next(one for one in map(make_world, range(40)) if one.rules and one.derived and _frozen(one))
    everybody = world.people.to_dict("records")
    person, breaker = everybody[0], everybody[-1]  # the last ones break rules or laws
    assert not list(promises.wrong(world, person, person))
    assert any(text.startswith(("rule", "law")) for text in promises.wrong(world, person, breaker))
    (frozen, *_), (derived, *_) = _frozen(world), world.derived
    for name, kind in ((frozen, "immutable"), (derived, "derived")):
        said = list(promises.wrong(world, person, {**person, name: person[name] + 1}))
        assert any(text.startswith(kind) for text in said)


def _frozen(world):
    """Immutable numbers that the person to look at has."""
    numbers = [one.name for one in world.schema if one.immutable and one.clock is None and one.numeric]
    return [name for name in numbers if world.people[name].notna().iloc[0]]
