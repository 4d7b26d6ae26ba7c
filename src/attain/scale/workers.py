"""Slices of people answered by this process, or by several that hold the explainer and the model, one thread each."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing import resource_tracker as standard_tracker
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from joblib.externals.loky import ProcessPoolExecutor  # type: ignore[import-untyped]
from joblib.externals.loky.backend import resource_tracker  # type: ignore[import-untyped]
from joblib.externals.loky.backend.reduction import dumps  # type: ignore[import-untyped]

from attain.core.errors import AttainError
from attain.core.files import write_private
from attain.core.progress import interrupts_kept, listening
from attain.scale.batch import ExplainBatch
from attain.scale.shards import Shards, Summary

_ATTEMPTS: Final = 3
"""How often a slice is begun if the process that answers it ends unexpectedly."""
_LOOK: Final = 0.25
"""Seconds between two looks at what processes have done."""
_PATIENCE: Final = 0.5
"""Seconds that processes have to end by themselves."""
_ONE_THREAD: Final = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

Slices = Iterator[tuple[int, pd.DataFrame]]


class Counts(NamedTuple):
    """People who are done with, those of them who needed an answer, and those who have one."""

    people: int = 0
    asked: int = 0
    found: int = 0


Tell = Callable[[Counts], None]


def answered(slices: Slices, batch: ExplainBatch, shards: Shards, workers: int, tell: Tell) -> Iterator[Summary]:
    """Answers slices and writes the answers; gives a summary of each when it is written.

    `tell` is called with what is known about slices that have been begun. With one worker, this process does the work.
    """
    if workers > 1:
        yield from _by_processes(slices, batch, shards, workers, tell)
        return
    for number, people in slices:
        yield _answer(batch, shards, number, people, tell)


def _answer(batch: ExplainBatch, shards: Shards, number: int, people: pd.DataFrame, tell: Tell) -> Summary:
    """Answers a slice and writes the answers."""

    def told(done: int, asked: int, found: int) -> None:
        tell(Counts(len(people) - asked + done, done, found))

    with listening(told, max(len(people), 1)):
        result = batch.explain(people)
    summary = Summary.of(result)
    shards.write(number, batch.table(result), summary, people)
    return summary


@dataclass(frozen=True)
class _Task:
    """A slice of people, its place on the board, and how often it was begun."""

    number: int
    people: pd.DataFrame
    slot: int
    attempts: int = 1


def _by_processes(slices: Slices, batch: ExplainBatch, shards: Shards, workers: int, tell: Tell) -> Iterator[Summary]:
    with _files(shards.folder, batch, 2 * workers) as (state, path, board):
        start = (os.getpid(), state, str(shards.folder), path, len(board))
        pool, waiting = _pool(workers, start), dict[Future[Summary], _Task]()
        slots, stop = list(range(len(board))), None

        def submit(task: _Task) -> None:
            board[task.slot] = 0
            for tracker in (resource_tracker._resource_tracker, standard_tracker._resource_tracker):
                tracker.ensure_running()  # starting it unblocks the signal
            with interrupts_kept():
                waiting[pool.submit(_work, task.slot, task.number, task.people)] = task

        try:
            reading: Slices | None = slices
            while waiting or reading is not None:
                while reading is not None and slots:
                    try:
                        number, people = next(reading)
                    except StopIteration:
                        reading = None
                    except AttainError as error:  # what was begun before is finished first
                        reading, stop = None, error
                    else:
                        submit(_Task(number, people, slots.pop()))
                lost = []
                with interrupts_kept():  # `wait` locks futures: interrupted, it would leave the pool waiting for them
                    done = wait(waiting, _LOOK, FIRST_COMPLETED).done
                for future in done:
                    task = waiting.pop(future)
                    try:
                        summary = future.result()
                    except BrokenProcessPool:
                        lost.append(task)
                        continue
                    slots.append(task.slot)
                    board[task.slot] = 0
                    yield summary
                if lost:
                    lost += waiting.values()
                    waiting.clear()
                    _end(pool)
                    pool = _pool(workers, start)
                    for task in lost:
                        submit(_again(task))
                tell(Counts(*board.sum(axis=0).tolist()))
            if stop is not None:
                raise stop
        finally:
            _end(pool)


def _again(task: _Task) -> _Task:
    if task.attempts == _ATTEMPTS:
        raise AttainError(
            f"a process ended {_ATTEMPTS} times while it answered the {len(task.people):,} people of slice "
            f"{task.number}: the model may crash, or the memory may not suffice; use fewer workers, or look at these "
            "people. What is answered so far is kept, and the same call goes on from there"
        )
    return replace(task, attempts=task.attempts + 1)


def pickled(state: Any) -> bytes:
    """What workers are sent, functions and classes of a script included."""
    try:
        return bytes(dumps(state))
    except Exception as error:
        raise AttainError(
            f"the explainer or the model cannot be sent to other processes ({type(error).__name__}: {error}); use one "
            "worker"
        ) from None


def _pool(workers: int, start: tuple[Any, ...]) -> Any:
    return ProcessPoolExecutor(workers, initializer=_start, initargs=start, env=_ONE_THREAD)


def _end(pool: Any) -> None:
    """Ends a pool and its processes; one that is only starting may not hear of it, and is killed."""
    ending = threading.Thread(target=pool.shutdown, kwargs={"kill_workers": True}, daemon=True)
    ending.start()
    ending.join(_PATIENCE)
    if ending.is_alive():
        for number in list(pool._processes or ()):
            with suppress(OSError):
                os.kill(number, signal.SIGKILL)
        ending.join(_PATIENCE)


@contextmanager
def _files(folder: Path, batch: ExplainBatch, slots: int) -> Iterator[tuple[str, str, np.ndarray]]:
    """A file with what workers hold, and an array in a file, (slots, 3), in which each counts what it has done.

    What they hold may be large, and starting a worker would wait until this was read.
    """
    state, progress = folder / ".state.part", folder / ".progress.part"
    try:
        write_private(state, pickled(batch))
        yield str(state), str(progress), np.memmap(progress, np.int64, "w+", shape=(slots, 3))
    finally:
        state.unlink(missing_ok=True)
        progress.unlink(missing_ok=True)


_state: tuple[ExplainBatch, Shards, np.ndarray]
"""What a worker holds."""


def _start(parent: int, state: str, folder: str, board: str, slots: int) -> None:
    """Readies a worker."""
    global _state
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if os.getppid() != parent:
        os._exit(1)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    batch: ExplainBatch = pickle.loads(Path(state).read_bytes())
    _state = batch, Shards(folder), np.memmap(board, np.int64, "r+", shape=(slots, 3))


def _end_with(parent: int) -> None:
    """Ends this process when the one that started it has ended: nobody would take its answers."""
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os._exit(1)


def _work(slot: int, number: int, people: pd.DataFrame) -> Summary:
    batch, shards, board = _state

    def tell(counts: Counts) -> None:
        board[slot] = counts

    return _answer(batch, shards, number, people, tell)
