"""Questions answered by a bounded number of threads, and a cache of their answers."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from attain.desk.service.wording import HttpError

T = TypeVar("T")


class Workers:
    """Threads that work on questions, and a bounded queue for them.

    Parameters
    ----------
    name
        That of the threads.
    workers, queue
        How many questions are worked on at once, and how many more may wait.
    seconds
        How long a client waits.
    """

    def __init__(self, name: str, workers: int, queue: int, seconds: float) -> None:
        self._waiting: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        self._free = threading.BoundedSemaphore(workers + queue)
        self._seconds = seconds
        for _ in range(workers):
            # daemons, so that a model that never returns does not keep the process from ending
            threading.Thread(target=self._work, name=f"attain-{name}", daemon=True).start()

    def _work(self) -> None:
        # models with OpenMP, such as boosted trees, use one core: others work at the same time
        threadpool_limits(1, "openmp")
        while True:
            future, work = self._waiting.get()
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(work())
                except BaseException as error:
                    future.set_exception(error)

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Starts work, or refuses it if the queue is full."""
        if not self._free.acquire(blocking=False):
            raise HttpError(429, "Too many questions are waiting; ask again in a moment.", retry=2)
        future: Future[T] = Future()
        future.add_done_callback(lambda _: self._free.release())
        self._waiting.put((future, work))
        return future

    async def run(self, work: Callable[[], T]) -> T:
        """The result of work in a thread."""
        return await self.wait(self.submit(work))

    async def wait(self, future: Future[T]) -> T:
        """The result of work that was started; the work goes on if it takes too long."""
        waiting = asyncio.wrap_future(future)
        # an error that nobody waits for any more is not logged, as its message may quote what was asked
        waiting.add_done_callback(lambda done: None if done.cancelled() else done.exception())
        try:
            return await asyncio.wait_for(asyncio.shield(waiting), self._seconds)
        except TimeoutError:
            raise HttpError(
                429,
                f"This takes longer than {self._seconds:g} seconds. Ask the same again later, or ask for less: fewer "
                "options, without details.",
                retry=30,
            ) from None

    def close(self) -> None:
        """Cancels waiting work; running work goes on to its end."""
        while not self._waiting.empty():
            self._waiting.get()[0].cancel()


class Cache:
    """A cache of answers by question; a question that is asked twice at once is worked on once.

    Parameters
    ----------
    pool
        Where questions are worked on.
    most
        The most bytes that are kept; the least recently asked goes first.
    """

    def __init__(self, pool: Workers, most: int) -> None:
        self._pool, self._most, self._size = pool, most, 0
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._running: dict[str, Future[bytes]] = {}
        self._lock = threading.Lock()

    async def answer(self, key: str, work: Callable[[], bytes]) -> bytes:
        """The answer to a question."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            known = key in self._running
            future = self._running[key] if known else self._pool.submit(work)
            self._running[key] = future
        if not known:
            future.add_done_callback(lambda done: self._keep(key, done))
        return await self._pool.wait(future)

    def _keep(self, key: str, done: Future[bytes]) -> None:
        with self._lock:
            self._running.pop(key, None)
            if done.cancelled() or done.exception() is not None:
                return
            self._kept[key] = answer = done.result()
            self._size += len(key) + len(answer)
            while self._size > self._most and self._kept:
                old, gone = self._kept.popitem(last=False)
                self._size -= len(old) + len(gone)
