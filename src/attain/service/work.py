"""Work in a bounded number of threads: questions, answers that are kept, and whole files in the background."""

from __future__ import annotations

import asyncio
import math
import os
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from typing import Any, Literal, TypeVar

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from attain.core.errors import AttainError, Interrupted
from attain.core.frames import Frame
from attain.core.progress import listening
from attain.results.counterfactuals import Counterfactuals
from attain.results.status import Status
from attain.service.wording import Refused, translations

T = TypeVar("T")
State = Literal["waiting", "running", "done", "cancelled", "failed"]
ENDED = ("done", "cancelled", "failed")
_TOGETHER = 8
"""How many people are answered between two looks at whether the job is cancelled."""
_STOPPED = 10.0
"""Seconds after which a cancelled job that has not stopped is given up: its model may never return."""


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
        self._waiting: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        self._free = threading.BoundedSemaphore(workers + queue)
        self._seconds, self._name = seconds, name
        for _ in range(workers):
            self.start_worker()

    def start_worker(self) -> None:
        """One thread more; a model that never returns does not keep the process from ending."""
        threading.Thread(target=self._work, name=f"attain-{self._name}", daemon=True).start()

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
        """Starts work, or refuses it where too much is waiting."""
        if not self._free.acquire(blocking=False):
            raise Refused(429, "Too many questions are waiting; ask again in a moment.", retry=2)
        future: Future[T] = Future()
        future.add_done_callback(lambda _: self._free.release())
        self._waiting.put((future, work))
        return future

    async def run(self, work: Callable[[], T]) -> T:
        """The result of work in a thread."""
        return await self.wait(self.submit(work))

    async def wait(self, future: Future[T]) -> T:
        """The result of work that was started; it goes on where it takes too long."""
        waiting = asyncio.wrap_future(future)
        # an error that nobody waits for any more is not logged, as its message may quote what was asked
        waiting.add_done_callback(lambda done: None if done.cancelled() else done.exception())
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
        """Gives up what waits; what is running ends by itself."""
        while not self._waiting.empty():
            self._waiting.get()[0].cancel()


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


@dataclass(eq=False)
class Job:
    """One file: its state, and its result when it has ended."""

    id: str
    state: State = "waiting"
    done: int = 0
    total: int = 0
    found: int = 0
    message: str | None = None
    result: Counterfactuals | None = field(default=None, repr=False)
    started: float = field(default_factory=time.monotonic)
    ended: float | None = None
    cancelled: bool = False

    @property
    def seconds(self) -> float:
        return round((self.ended or time.monotonic()) - self.started, 3)

    @property
    def messages(self) -> dict[str, str]:
        return translations(self.message)

    def report(self, done: int, total: int, found: int) -> None:
        """Notes progress; stops the work where the job is cancelled."""
        self.done, self.total, self.found = done, total, found
        if self.cancelled:
            raise KeyboardInterrupt

    def end(self, state: State, result: Counterfactuals | None = None, message: str | None = None) -> None:
        """The last state; what was given up stays so."""
        if self.state in ENDED:
            return
        if result is not None:
            self.total = len(result)
            self.found = int(result.found.sum())
            self.done = len(result) if state == "done" else self.done
        self.result, self.message, self.ended = result, message, time.monotonic()
        self.state = state


class Jobs:
    """Jobs by name, one after the other in a thread of their own; its methods belong to the event loop.

    Parameters
    ----------
    most
        How many jobs are kept; the oldest that has ended makes room for a new one.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._jobs: dict[str, Job] = {}
        self._pool = Pool("jobs", 1, most, math.inf)
        self._folder = TemporaryDirectory(prefix="attain-", ignore_cleanup_errors=True)  # which only this user can read

    def add(self) -> Job:
        """A job whose file is still to come, or a refusal, before it comes, where there is no room for it."""
        while len(self._jobs) >= self._most:
            ended = next((name for name, job in self._jobs.items() if job.state in ENDED), None)
            if ended is None:
                raise Refused(429, f"{self._most} files are waiting already; ask again later.", retry=60)
            del self._jobs[ended]
        job = Job(secrets.token_hex(16))
        self._jobs[job.id] = job
        return job

    def path(self, job: Job, ending: str) -> str:
        """Where the file of a job is to be written."""
        return os.path.join(self._folder.name, f"{job.id}.{ending}")

    def start(
        self, job: Job, path: str, read: Callable[[], Frame], explain: Callable[[Frame], Counterfactuals]
    ) -> None:
        """Reads the people of a file, which is deleted, and answers them, when all jobs before have ended."""
        self._pool.submit(partial(_work, job, path, read, explain))

    def forget(self, job: Job) -> None:
        """Makes room."""
        self._jobs.pop(job.id, None)

    def find(self, name: str) -> Job:
        """The job of this name."""
        if name not in self._jobs:
            raise Refused(404, "There is no such job; it may have made room for newer ones.", "id")
        return self._jobs[name]

    def cancel(self, name: str) -> Job:
        """Stops a job, after the people it is working on; one that has ended is forgotten."""
        job = self.find(name)
        job.cancelled = True
        if job.state in ENDED:
            del self._jobs[name]
        elif job.state == "waiting":
            job.end("cancelled")
        else:
            asyncio.get_running_loop().call_later(_STOPPED, self._give_up, job)
        return job

    def _give_up(self, job: Job) -> None:
        """Lets another thread answer the next files where a job has not stopped."""
        if job.state not in ENDED:
            job.end("cancelled")
            self._pool.start_worker()

    def close(self) -> None:
        """Cancels all jobs, and deletes all files."""
        for job in self._jobs.values():
            job.cancelled = True
        self._pool.close()
        self._folder.cleanup()


def _work(job: Job, path: str, read: Callable[[], Frame], explain: Callable[[Frame], Counterfactuals]) -> None:
    failure = "The file could not be read: {}."
    try:
        try:
            people = None if job.cancelled else read()
        finally:
            Path(path).unlink(missing_ok=True)
        if people is None or job.cancelled:
            job.end("cancelled")
            return
        failure = "The search failed: {}."
        job.state, job.total = "running", len(people)
        with listening(job.report, _TOGETHER):
            _finish(job, explain(people))
    except Interrupted as stop:
        assert isinstance(stop.result, Counterfactuals)
        job.end("cancelled", stop.result)
    except KeyboardInterrupt:
        job.end("cancelled")
    except AttainError as error:
        job.end("failed", message=str(error))
    except Exception as error:
        job.end("failed", message=failure.format(type(error).__name__))


def _finish(job: Job, result: Counterfactuals) -> None:
    """Done, with a note where some people could not be read; failed where nobody could."""
    unread = [i for i, status in enumerate(result.statuses) if status is Status.UNREADABLE]
    if not unread:
        job.end("done", result)
        return
    why = result.reason(unread[0])
    if len(unread) == len(result):
        job.end("failed", message=f"None of the {len(result):,} rows could be read. The first one: {why}")
    else:
        message = f"{len(unread):,} of {len(result):,} rows could not be read. The first one: {why}"
        job.end("done", result, message)
