"""People of a file answered in slices, by this process or by several, one thread each."""

from __future__ import annotations

import math
import os
import pickle
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from functools import lru_cache
from multiprocessing import resource_tracker
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pandas as pd
from joblib import Parallel, cpu_count, delayed, effective_n_jobs, parallel_config  # type: ignore[import-untyped]

from attain.core import progress
from attain.core.errors import AttainError, FileError, Interrupted, check_integer
from attain.core.files import write_private
from attain.core.progress import ProgressBar, interrupts_kept
from attain.desk.scale.answers import Shards, Summary
from attain.desk.scale.batch import PEOPLE_AT_ONCE, ExplainBatch, pickled
from attain.tables.streams import PeopleStream

_PEOPLE_FOR_A_PROCESS: Final = 2_000
"""People for whom one more process pays: it needs some three seconds to start, an answer some milliseconds."""
_ATTEMPTS: Final = 3
"""How often processes may end unexpectedly until no slice is finished in between."""
_LOOK: Final = 0.25
"""Seconds between two looks at whether the process that started a worker still runs."""
_TAKEN: Final = 0.1
"""Seconds in which a thread of joblib takes the first slices; ended in the middle, it would print a traceback."""
_IDLE: Final = 10
"""Seconds after which a worker without work ends."""

Slices = Iterable[tuple[int, pd.DataFrame]]


def explain(
    people: str | os.PathLike[str],
    out: str | os.PathLike[str],
    batch: ExplainBatch,
    *,
    index: str | None = None,
    separator: str | None = None,
    people_per_file: int = PEOPLE_AT_ONCE,
    workers: int | None = None,
    note: Callable[[str], None] = warnings.warn,
) -> Summary:
    """Answers the people of a file, in memory that does not grow with their number, on all cores.

    The answers are Parquet files in the folder `out`, which is a table to whatever reads Parquet: one row for each
    option, as in `Counterfactuals.to_csv`. A call that was stopped, by whatever means, is continued by the same call,
    and the bytes in the end are those of one that was not; a folder of another call is refused.

    Parameters
    ----------
    people
        A CSV or Parquet file, or a folder of Parquet files.
    out
        The folder, which is made.
    batch
        Explainer, model and request.
    index
        The column of the file with people's names; by default as in `attain explain`.
    separator
        That of a CSV file.
    people_per_file
        How many people are in each file of answers: what is lost when a process is killed is less than that for each.
    workers
        How many processes to use, one thread each; by default one for each core, but not more than one for 2,000
        people. With 1, this process does the work.
    note
        Is called with sentences on what is going on.

    Raises
    ------
    Interrupted
        After Ctrl-C; its `result` is the summary of what is answered.
    """
    check_integer("people_per_file", people_per_file, 1)
    if workers is not None:
        check_integer("workers", workers, 1)
    stream = PeopleStream(os.fspath(people), batch.explainer.population_.schema, index=index, separator=separator)
    batch, shards = batch.named_by(stream.index_name, integers=stream.integers), Shards(os.fspath(out))
    column, noted = batch.person, False
    run = {
        "people_digest": stream.digest(),
        "people_per_file": people_per_file,
        "columns": [[field.name, str(field.type)] for field in batch.columns],
        "settings": batch.empty.settings,
    }

    def waiting() -> Slices:
        """The slices without answers; a note says once that people of one have the same name."""
        nonlocal noted
        done = shards.done()
        for number, frame in stream.slices(people_per_file, lambda number: number not in done):
            if not noted and frame.index.has_duplicates:
                noted, name = True, frame.index[frame.index.duplicated()][0]
                note(f"several people have the same name in {column!r}, such as {name!r}; each has their own answer")
            yield number, frame

    with shards.opened(run, lambda: stream.slices(people_per_file)):
        before = shards.total()
        left = max(stream.rows - before.people, 0)
        if before.people:
            note(f"{before.people:,} people are answered already; {f'{left:,} are' if left else 'none is'} left")
        if workers is None:
            workers = min(cpu_count(), left // _PEOPLE_FOR_A_PROCESS)
        workers = effective_n_jobs(max(min(workers, -(-left // people_per_file)), 1))
        try:
            with closing(ProgressBar(left, "answering")) as bar:
                for summary in _answered(waiting, batch, shards, workers):
                    bar.update(summary.people, summary.found, summary.asked)
        except KeyboardInterrupt:
            raise Interrupted(shards.total()) from None
        except FileError as error:
            raise FileError(f"{error}; what is answered so far is kept, and the same call goes on from there") from None
        return shards.finish()


def _answered(waiting: Callable[[], Slices], batch: ExplainBatch, shards: Shards, workers: int) -> Iterator[Summary]:
    """Answers the waiting slices and writes the answers; gives the summary of each."""
    if workers == 1:
        for number, people in waiting():
            yield _answer(batch, shards, number, people)
        return
    state, attempts, done = pickled(batch), 0, len(shards.done())
    while True:
        try:
            yield from _by_processes(waiting(), state, shards.folder, workers)
            return
        except BrokenProcessPool:
            attempts = attempts + 1 if len(shards.done()) == done else 1
            done = len(shards.done())
        if attempts == _ATTEMPTS:
            number, people = next(iter(waiting()))
            raise AttainError(
                f"a process ended {_ATTEMPTS} times while it answered the {len(people):,} people of slice {number}, or "
                "of one of the next: the model may crash, or the memory may not suffice; use fewer workers, or look at "
                "these people. What is answered so far is kept, and the same call goes on from there"
            )


def _answer(batch: ExplainBatch, shards: Shards, number: int, people: pd.DataFrame) -> Summary:
    result = batch.explain(people)
    return shards.write(number, people, result, batch.table(result))


def _by_processes(slices: Slices, state: bytes, folder: Path, workers: int) -> Iterator[Summary]:
    """Answers slices by processes that read explainer and model from a file once, because they may be large.

    The file is a pickle, and in a folder that nobody else can write into: reading it runs code.
    """
    pool = Parallel(
        workers,
        return_as="generator_unordered",
        batch_size=1,
        max_nbytes=None,
        idle_worker_timeout=_IDLE,
        initializer=_follow,
        initargs=(os.getpid(),),
    )
    with TemporaryDirectory(prefix="attain-", ignore_cleanup_errors=True) as private:
        path = Path(private) / "state"
        write_private(path, state)
        with parallel_config("loky", inner_max_num_threads=1), pool:
            resource_tracker.ensure_running()  # starting it later would unblock the signal
            with interrupts_kept():
                summaries = pool(delayed(_work)(str(path), str(folder), *numbered) for numbered in slices)
                time.sleep(_TAKEN)
            yield from summaries


def _follow(parent: int) -> None:
    """Ends a worker with the process that started it and with nothing else, and draws no progress bars."""
    progress.DELAY = math.inf
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _work(path: str, folder: str, number: int, people: pd.DataFrame) -> Summary:
    return _answer(_state(path), Shards(folder), number, people)


@lru_cache(maxsize=1)
def _state(path: str) -> ExplainBatch:
    """What a worker needs for all slices."""
    batch: ExplainBatch = pickle.loads(Path(path).read_bytes())
    return batch


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os._exit(1)
