"""Columns that repeat others, and relations and dependencies that follow from others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from attain.schema.finding.statements import Relation
from attain.schema.finding.states import Feature


def leaders(features: Sequence[Feature], pairs: Iterable[tuple[int, int]]) -> list[int]:
    """For each column the one that stands for all columns it is paired with: levels before numbers, then by name."""
    leader = list(range(len(features)))
    for a, b in pairs:
        first, second = sorted((leader[a], leader[b]), key=lambda j: (features[j].numeric, features[j].name))
        leader = [first if other == second else other for other in leader]
    return leader


def independent_relations(found: Collection[Relation], features: Sequence[Feature]) -> list[Relation]:
    """The relations without those that follow from others."""
    equal = {(r.a, r.b) for r in found if r.sign == "=" and r.c is None}
    leader = leaders(features, equal)
    led = {j for pair in equal for j, other in (pair, pair[::-1]) if other == leader[j]}
    told = [(b, a) if leader[a] == a else (a, b) for a, b in sorted(equal) if not {a, b} <= led]
    kept = [Relation("=", a, b) for a, b in told]
    equations = [r for r in found if r.c is not None and all(leader[j] == j for j in r.columns)]
    orders = {(r.a, r.b) for r in found if r.sign == "<=" and leader[r.a] == r.a and leader[r.b] == r.b}
    orders -= in_equations(equations)
    transitive = {(a, c) for a, b in orders for b_, c in orders if b == b_ and (a, c) in orders}
    return [*kept, *equations, *(Relation("<=", a, b) for a, b in sorted(orders - transitive))]


def in_equations(relations: Iterable[Relation]) -> set[tuple[int, int]]:
    """Pairs of a result and a term: what they have to do with each other follows from the equation."""
    pairs = {(r.a, j) for r in relations if r.sign == "=" for j in r.columns - {r.a}}
    return pairs | {(b, a) for a, b in pairs}


def independent_dependencies(
    found: Collection[tuple[int, int]], features: Sequence[Feature], equal: Iterable[tuple[int, int]]
) -> tuple[list[tuple[int, int]], list[int]]:
    """The dependencies without those that follow from others, and the leader of each column.

    Columns that fix each other have a common leader, and so have equal columns.
    """
    pairs, equal = set(found), set(equal)
    mutual = {(a, b) for a, b in pairs if (b, a) in pairs}
    leader = leaders(features, [*equal, *sorted(mutual)])
    same = leaders(features, equal)
    kept = []
    for a, b in sorted(pairs):
        if same[a] == same[b] or same[a] != a or same[b] != b:
            continue
        if leader[a] == leader[b]:
            independent = leader[a] in (a, b) or (b, a) not in pairs
        else:
            between = (c for c in range(len(features)) if (a, c) in pairs and (c, b) in pairs)
            independent = leader[a] == a and leader[b] == b and all(leader[c] in (a, b) for c in between)
        if independent:
            kept.append((a, b))
    return kept, leader
