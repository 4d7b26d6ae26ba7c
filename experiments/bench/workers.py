"""Tasks in processes of their own, each on one thread: some wait for others, and none can bring down the rest."""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any, Final

from pebble import ProcessExpired, ProcessPool

from attain.core.errors import AttainError
from attain.core.progress import interrupts_kept

_ONE_THREAD: Final = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
_LOOK: Final = 0.25
"""Seconds after which Ctrl-C is answered, at most."""


@dataclass(frozen=True)
class Task:
    """A piece of work: a name that can be pickled, the tasks it waits for, and its time limit in seconds."""

    name: Hashable
    needs: frozenset[Hashable] = field(default_factory=frozenset)
    limit: float | None = None


Perform = Callable[[Any], None]
"""Does the work of a name, and stores the result."""


def perform_all(
    tasks: Sequence[Task],
    start: Callable[..., Perform],
    given: tuple[Any, ...],
    *,
    jobs: int,
    done: Callable[[Hashable], None],
    lost: Callable[[Hashable, str, bool], None],
) -> None:
    """Performs every task, in order, in up to `jobs` processes.

    Parameters
    ----------
    start, given
        In each process `start(*given)` returns the function that performs tasks; both are pickled.
    done
        Called with the name of each task that was performed.
    lost
        Called with the name of each task that was not, the reason, and whether it exceeded its limit. Tasks that wait
        for it are performed nevertheless.
    """
    try:
        pickle.dumps((start, given))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise AttainError(
            f"jobs is {jobs}, but what is to be run cannot be sent to other processes ({error}); define classes and "
            "functions in a module that can be imported, or leave jobs out"
        ) from None
    waiting, finished, running = list(tasks), set[Hashable](), dict[Any, Task]()
    known = {task.name for task in tasks}
    # A fresh interpreter: JAX and BLAS have threads, which a fork does not copy.
    pool = ProcessPool(jobs, context=get_context("spawn"), initializer=_begin, initargs=(start, given))
    try:
        while waiting or running:
            for task in [task for task in waiting if (task.needs & known) <= finished]:
                running[pool.schedule(_perform, args=[task.name], timeout=task.limit)] = task
                waiting.remove(task)
            with interrupts_kept():  # `wait` locks futures: interrupted, it would leave the pool waiting for them
                ended = wait(running, _LOOK, FIRST_COMPLETED).done
            for future in ended:
                task = running.pop(future)
                finished.add(task.name)
                try:
                    future.result()
                except TimeoutError:
                    lost(task.name, f"it took longer than {task.limit:g} seconds", True)
                except ProcessExpired as error:
                    lost(task.name, f"its process ended with exit code {error.exitcode}", False)
                except Exception as error:
                    lost(task.name, f"{type(error).__name__}: {error}", False)
                else:
                    done(task.name)
    finally:
        pool.stop()  # type: ignore[no-untyped-call]
        pool.join()


_performer: Perform


def _begin(start: Callable[..., Perform], given: tuple[Any, ...]) -> None:
    """Prepares a process."""
    global _performer
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process; the first one stops the others
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {_ONE_THREAD}".strip()
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    threadpool_limits(1)
    _performer = start(*given)


def _perform(name: Hashable) -> None:
    _performer(name)
