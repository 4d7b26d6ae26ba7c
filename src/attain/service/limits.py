"""How much the service takes on."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields

from attain.core.checks import check_number


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much the service takes on; what exceeds a limit is refused with a sentence.

    Parameters
    ----------
    rows
        The most records of one question to `/predict`.
    body
        The most bytes of a question.
    upload
        The most bytes of an uploaded file.
    people
        The most people of an uploaded file.
    seconds
        The longest that a client waits for an answer. The work goes on, and its answer is kept for who asks again.
    rate
        The most questions per second, on average.
    burst
        The most questions at once, after a pause.
    workers
        How many questions are worked on at the same time.
    queue
        How many more may wait.
    jobs
        How many uploaded files are kept, with their results; an old one makes room for a new one when it has ended.
    cache
        The most bytes of answers that are kept.
    """

    rows: int = 1_000
    body: int = 1_000_000
    upload: int = 50_000_000
    people: int = 20_000
    seconds: float = 60.0
    rate: float = 50.0
    burst: int = 200
    workers: int = max(2, min(8, os.cpu_count() or 2))
    queue: int = 64
    jobs: int = 10
    cache: int = 64_000_000

    def __post_init__(self) -> None:
        for item in fields(self):
            check_number(f"limits.{item.name}", getattr(self, item.name), above=0)
