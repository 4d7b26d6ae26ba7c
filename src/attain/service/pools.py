"""Work in a bounded number of threads, and answers that are kept."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from attain.service.errors import Refused

T = TypeVar("T")


def one_thread_each() -> None:
    """Lets models with OpenMP, such as boosted trees, use one core in this thread: others work at the same time."""
    threadpool_limits(1, user_api="openmp")


class Pool:
    """A number of threads, and a number of questions that may wait for one.

    Parameters
    ----------
    name
        That of the threads.
    workers, queue
        How many questions are worked on, and how many more may wait.
    seconds
        How long a client waits.
    """

    def __init__(self, name: str, workers: int, queue: int, seconds: float) -> None:
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix=name, initializer=one_thread_each)
        self._free = threading.BoundedSemaphore(workers + queue)
        self._seconds = seconds

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Starts work, or refuses it where too much is waiting."""
        if not self._free.acquire(blocking=False):
            raise Refused(429, "Too many questions are waiting; ask again in a moment.", retry=2)
        try:
            future = self._threads.submit(work)
        except BaseException:
            self._free.release()
            raise
        future.add_done_callback(lambda _: self._free.release())
        return future

    async def run(self, work: Callable[[], T]) -> T:
        """The result of work in a thread."""
        return await self.wait(self.submit(work))

    async def wait(self, future: Future[T]) -> T:
        """The result of work that was started; it goes on where it takes too long."""
        waiting = asyncio.wrap_future(future)
        waiting.add_done_callback(_seen)
        try:
            return await asyncio.wait_for(asyncio.shield(waiting), self._seconds)
        except TimeoutError:
            raise Refused(
                429,
                f"This takes longer than {self._seconds:g} seconds. Ask the same again later, or ask for less: fewer "
                "options, without details.",
                retry=30,
            ) from None

    def close(self) -> None:
        """Stops taking work; what is running ends by itself."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _seen(future: asyncio.Future[T]) -> None:
    """An error that nobody waits for any more is not logged, as its message may quote what was asked."""
    if not future.cancelled():
        future.exception()


class Cache:
    """Answers by question: the same question has the same answer, and is worked on once.

    Parameters
    ----------
    pool
        Where questions are worked on.
    most
        The most bytes that are kept; what was asked longest ago goes first.
    """

    def __init__(self, pool: Pool, most: int) -> None:
        self._pool, self._most, self._size = pool, most, 0
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._running: dict[str, Future[bytes]] = {}
        self._lock = threading.Lock()

    async def answer(self, key: str, work: Callable[[], bytes]) -> tuple[bytes, bool]:
        """The answer to a question, and whether it was known."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None:
                self._kept.move_to_end(key)
                return kept, True
            future = self._running.get(key)
            new = future is None
            if future is None:
                future = self._running[key] = self._pool.submit(work)
        if new:
            future.add_done_callback(lambda done: self._keep(key, done))
        return await self._pool.wait(future), not new

    def _keep(self, key: str, done: Future[bytes]) -> None:
        with self._lock:
            self._running.pop(key, None)
            if done.cancelled() or done.exception() is not None:
                return
            answer = done.result()
            self._kept[key] = answer
            self._size += len(key) + len(answer)
            while self._size > self._most and self._kept:
                old, gone = self._kept.popitem(last=False)
                self._size -= len(old) + len(gone)
