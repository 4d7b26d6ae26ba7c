"""A slice of people: read, answered and written, by whichever process is given its number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import pandas as pd

from attain.core.progress import listening
from attain.scale.batch import ExplainBatch
from attain.scale.shards import Shards, Summary
from attain.tables.streams import PeopleStream

PEOPLE_PER_FILE: Final = 2_000


class Counts(NamedTuple):
    """People who are done with, those of them who needed an answer, and those who have one."""

    people: int = 0
    asked: int = 0
    found: int = 0


def answer_slice(
    batch: ExplainBatch, shards: Shards, number: int, people: pd.DataFrame, tell: Callable[[Counts], None]
) -> Summary:
    """Answers a slice and writes the answers; `tell` is called with what is done of it."""

    def told(done: int, asked: int, found: int) -> None:
        tell(Counts(len(people) - asked + done, done, found))

    with listening(told, max(len(people), 1)):
        result = batch.explain(people)
    summary = Summary.of(result)
    shards.write(number, batch.table(result), summary, people)
    return summary


@dataclass(frozen=True)
class SliceWork:
    """Answers slices by their numbers; files and folder must be at the same place for all workers of an engine."""

    stream: PeopleStream
    batch: ExplainBatch
    shards: Shards
    people_per_file: int

    def __call__(self, number: int) -> Summary:
        """Reads a slice, answers it and writes the answers."""
        ((_, people),) = self.stream.slices(self.people_per_file, lambda other: other == number)
        return answer_slice(self.batch, self.shards, number, people, lambda counts: None)
