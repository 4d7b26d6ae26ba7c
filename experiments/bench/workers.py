"""Tasks in processes of their own, each on one thread: some wait for others, and none can bring down the rest."""

from __future__ import annotations

import os
import pickle
import signal
import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any, Final

from attain.core.errors import AttainError

_ONE_THREAD: Final = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
_BEGUN, _DONE = "begun", "done"
_PATIENCE: Final = 5.0
"""So many seconds an idle process is given to end by itself."""


@dataclass(frozen=True)
class Task:
    """A piece of work, by a name that processes can be sent, what must be done before, and its most seconds."""

    name: Hashable
    needs: frozenset[Hashable] = field(default_factory=frozenset)
    limit: float | None = None


Perform = Callable[[Hashable], None]
"""Does the work of a name, and leaves the result where others find it."""


def perform_all(
    tasks: Sequence[Task],
    start: Callable[..., Perform],
    given: tuple[Any, ...],
    *,
    jobs: int,
    done: Callable[[Hashable], None],
    lost: Callable[[Hashable, str, bool], None],
) -> None:
    """Performs every task, the first ones first, in up to `jobs` processes.

    Parameters
    ----------
    start, given
        In each process `start(*given)` gives what performs tasks; both are pickled.
    done
        Told of each task that was performed.
    lost
        Told of each task that was not: why its process ended, and whether because it took longer than its limit. Tasks
        that wait for it are performed then.
    """
    try:
        pickle.dumps((start, given))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise AttainError(
            f"jobs is {jobs}, but what is to be run cannot be sent to other processes ({error}); define classes and "
            "functions in a module that can be imported, or leave jobs out"
        ) from None
    waiting, finished = list(tasks), set[Hashable]()
    known = {task.name for task in tasks}
    workers: list[_Worker] = []

    def ended(worker: _Worker, reason: str, late: bool) -> None:
        worker.end()
        workers.remove(worker)
        finished.add(worker.task.name)
        lost(worker.task.name, reason, late)

    try:
        while waiting or any(worker.busy for worker in workers):
            for task in [task for task in waiting if (task.needs & known) <= finished]:
                idle = next((worker for worker in workers if not worker.busy), None)
                if idle is None and len(workers) >= jobs:
                    break
                if idle is None:
                    idle = _Worker(start, given)
                    workers.append(idle)
                idle.give(task)
                waiting.remove(task)
            busy = [worker for worker in workers if worker.busy]
            ends = [worker.deadline for worker in busy if worker.deadline is not None]
            pause = max(min(ends) - time.monotonic(), 0.0) + 0.01 if ends else None
            for channel in wait([worker.channel for worker in busy], pause):
                worker = next(worker for worker in busy if worker.channel is channel)
                if not worker.listen():
                    ended(worker, f"its process ended with exit code {worker.exit_code()}", late=False)
                elif not worker.busy:
                    finished.add(worker.task.name)
                    done(worker.task.name)
            for worker in [worker for worker in workers if worker.late]:
                ended(worker, f"it took longer than {worker.task.limit:g} seconds", late=True)
    finally:
        for worker in workers:
            worker.end()


class _Worker:
    """One process and the way to it."""

    def __init__(self, start: Callable[..., Perform], given: tuple[Any, ...]) -> None:
        # a fresh interpreter: JAX and BLAS have threads of their own, which a fork would not take along
        context = get_context("spawn")
        self.channel, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs, start, given), daemon=True)
        self._process.start()
        theirs.close()
        self.busy, self.deadline = False, None

    busy: bool
    task: Task
    deadline: float | None
    """When the task must be done; known once the process has begun with it, for starting up is not the task's time."""

    def give(self, task: Task) -> None:
        self.busy, self.task, self.deadline = True, task, None
        with suppress(OSError):  # the process is gone; its end of the channel tells so
            self.channel.send(task.name)

    def listen(self) -> bool:
        """Takes the next word of the process; False where it has ended instead."""
        try:
            word = self.channel.recv()
        except (EOFError, OSError):
            return False
        if word == _DONE:
            self.busy, self.deadline = False, None
        elif self.task.limit is not None:
            self.deadline = time.monotonic() + self.task.limit
        return True

    @property
    def late(self) -> bool:
        return self.deadline is not None and time.monotonic() > self.deadline

    def exit_code(self) -> int | None:
        self._process.join(_PATIENCE)
        return self._process.exitcode

    def end(self) -> None:
        self.channel.close()  # an idle process ends by itself when nobody can give it work any more
        if self.busy:
            self._process.kill()
        self._process.join(_PATIENCE)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process.close()


def _work(channel: Connection, start: Callable[..., Perform], given: tuple[Any, ...]) -> None:
    """The life of a process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process; the first one tells the others
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_ONE_THREAD}".strip()
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    with threadpool_limits(1):
        perform = start(*given)
        while True:
            try:
                task = channel.recv()
            except (EOFError, OSError):
                return
            channel.send(_BEGUN)
            perform(task)
            channel.send(_DONE)
