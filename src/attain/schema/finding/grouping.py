"""Findings that are said in one law."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from attain.schema.finding.implications import Exclusion
from attain.schema.finding.ranges import Side
from attain.schema.finding.states import Column


def grouped(columns: Sequence[Column], a: int, b: int, mask: np.ndarray) -> Iterator[Exclusion]:
    """Pairs of states as laws, with as many in one as there are, in the direction that says it in fewer words."""
    left, right = columns[a], columns[b]
    blocks: dict[tuple[bool, bool, str], list[tuple[int, int]]] = defaultdict(list)
    for x, y in zip(*map(np.ndarray.tolist, np.nonzero(mask)), strict=True):
        blocks[left.presence(x), right.presence(y), _direction(left, right, mask, x, y)].append((x, y))
    for (_, _, direction), pairs in blocks.items():
        forth = _laws(left, a, b, pairs)
        back = _laws(right, b, a, [(y, x) for x, y in pairs])
        if direction == "either":
            direction = "back" if _length(columns, back) < _length(columns, forth) else "forth"
        yield from back if direction == "back" else forth


def _direction(left: Column, right: Column, mask: np.ndarray, x: int, y: int) -> str:
    """Which state is the condition: “has a value” is none where there is another, and codes are said together."""
    whole, other = left.atom(x) is None, right.atom(y) is None
    if whole != other:
        return "back" if whole else "forth"
    if not whole and left.presence(x) and right.presence(y):
        return "forth" if mask[x, -1] else "back" if mask[-1, y] else "either"
    return "either"


def _laws(left: Column, a: int, b: int, pairs: Sequence[tuple[int, int]]) -> list[Exclusion]:
    """One law for each state, or for levels that exclude the same."""
    excluded: dict[int, list[int]] = defaultdict(list)
    for x, y in sorted(pairs):
        excluded[x].append(y)
    alike: dict[tuple[tuple[int, ...], int], list[int]] = defaultdict(list)
    for x, ys in excluded.items():
        alike[tuple(ys), _together(left, x)].append(x)
    return [Exclusion(a, tuple(xs), b, ys) for (ys, _), xs in alike.items()]


def _together(column: Column, state: int) -> int:
    """The same for states that one condition can name: levels."""
    atom = column.atom(state)
    return -1 if atom is not None and atom.kind == "level" else state


def _length(columns: Sequence[Column], laws: Sequence[Exclusion]) -> tuple[int, int, int, int, str]:
    """How much there is to say: laws, levels, negations; then rows in the conditions, and a name for the rest."""
    left = [columns[law.b].remaining(law.excluded) for law in laws]
    levels = sum(len(law.states) + len(rest or law.excluded) for law, rest in zip(laws, left, strict=True))
    rows = sum(int(columns[law.a].counts[list(law.states)].sum()) for law in laws)
    return len(laws), levels, sum(not rest for rest in left), rows, columns[laws[0].a].feature.name


def grouped_presence(
    columns: Sequence[Column], laws: Iterable[Exclusion]
) -> tuple[list[Exclusion], list[list[Exclusion]]]:
    """Laws of their own, and patterns of missing cells and codes: laws with one condition, or one consequence."""
    single: list[Exclusion] = []
    conditions: dict[tuple[int, tuple[int, ...]], list[Exclusion]] = defaultdict(list)
    for e in laws:
        if columns[e.a].presence(e.states[0]) and any(columns[e.b].atom(y) is None for y in e.excluded):
            conditions[e.a, e.states].append(e)
        else:
            single.append(e)
    consequences: dict[tuple[int, tuple[int, ...]], list[Exclusion]] = defaultdict(list)
    for members in conditions.values():
        if len(members) == 1:
            consequences[members[0].b, members[0].excluded] += members
    patterns = [members for members in conditions.values() if len(members) > 1]
    for members in consequences.values():
        if len(members) == 1:
            single += members
        else:
            patterns.append(members)
    return single, patterns


def grouped_ranges(columns: Sequence[Column], sides: Iterable[Side]) -> Iterator[list[Side]]:
    """Both sides of a range together, and levels with the same range."""
    ranges: dict[tuple[int, int, int], list[Side]] = defaultdict(list)
    for side in sides:
        ranges[side.a, side.b, side.state].append(side)
    alike: dict[tuple[int, int, frozenset[tuple[int, float]], int], list[Side]] = defaultdict(list)
    for (a, b, state), both in sorted(ranges.items()):
        limits = frozenset((side.sign, side.limit) for side in both)
        alike[a, b, limits, _together(columns[a], state)] += both
    yield from alike.values()
