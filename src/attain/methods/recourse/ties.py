"""Features that rules and computed columns tie together."""

from __future__ import annotations

from dataclasses import dataclass

from attain.methods.search.linear_rules import LinearRule, linear_rules
from attain.tables import Region


@dataclass(frozen=True)
class Tie:
    """Features that rules and computed columns tie together, in the schema's order.

    Clocks are computed from each other and from all changes that take time. `followers` are those of the computed
    columns that follow by a law, and clocks: their changes cost what they cost. `only_timed` says that clocks are all
    that ties the features together.
    """

    columns: tuple[int, ...]
    derived: tuple[int, ...]
    followers: tuple[int, ...]
    rules: tuple[str, ...]
    linear: tuple[LinearRule, ...]
    only_timed: bool


def ties_of(region: Region) -> list[Tie]:
    """The groups of features that the schema's rules and computed columns tie together.

    Laws tie nothing together: they are many, and one choice in a few breaks one. Choices are checked for them.
    """
    schema = region.schema
    inputs: dict[int, set[int]] = {}
    for one in region.book.derivations:
        inputs[one.column] = set().union(*(inputs.get(k, {k}) for k in one.inputs))
    links: list[tuple[set[int], str | int]] = [(columns, j) for j, columns in inputs.items()]
    timed: set[int] = set().union(*(inputs.get(j, {j}) for j in (*schema.clocks, *schema.paced)))
    links += [(timed, j) for j in schema.clocks]
    for rule in schema.parsed_rules:
        used = [schema.position(name) for name in rule.names]
        links.append((set().union(*(inputs.get(k, {k}) for k in used)), rule.text))
    groups: list[tuple[set[int], list[str | int]]] = []
    for columns, link in links:
        touching = [group for group in groups if group[0] & columns]
        groups = [group for group in groups if not group[0] & columns]
        groups.append(
            (columns.union(*(group[0] for group in touching)), [*(x for group in touching for x in group[1]), link])
        )
    parsed = {rule.text: rule for rule in schema.parsed_rules}
    found = []
    for columns, reasons in groups:
        texts = tuple(reason for reason in reasons if isinstance(reason, str))
        derived = tuple(reason for reason in reasons if isinstance(reason, int))
        linear = tuple(condition for text in texts for condition in linear_rules(parsed[text], schema))
        followers = tuple(j for j in derived if j in region.following)
        only_timed = not texts and bool(derived) and set(derived) <= set(schema.clocks)
        found.append(Tie(tuple(sorted(columns)), derived, followers, texts, linear, only_timed))
    return found
