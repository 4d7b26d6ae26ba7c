"""Whole files answered in the background: progress, cancelling, results."""

from __future__ import annotations

import contextvars
import os
import secrets
import shutil
import tempfile
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from attain.core.errors import AttainError, Interrupted
from attain.core.frames import Frame
from attain.core.progress import listening
from attain.results.counterfactuals import Counterfactuals
from attain.results.status import Status
from attain.service.errors import Refused
from attain.service.pools import one_thread_each
from attain.service.wording import translations

State = Literal["waiting", "running", "done", "cancelled", "failed"]
ENDED = ("done", "cancelled", "failed")
_TOGETHER = 8
"""How many people are answered between two looks at whether the job is cancelled."""


@dataclass(eq=False)
class Job:
    """One file: its state, and its result when it has ended."""

    name: str
    state: State = "waiting"
    done: int = 0
    total: int = 0
    found: int = 0
    message: str | None = None
    result: Counterfactuals | None = field(default=None, repr=False)
    started: float = field(default_factory=time.monotonic)
    ended: float | None = None
    cancelled: bool = False

    def about(self) -> dict[str, Any]:
        """What clients are told."""
        return {
            "id": self.name,
            "state": self.state,
            "done": self.done,
            "total": self.total,
            "found": self.found,
            "seconds": round((self.ended or time.monotonic()) - self.started, 3),
            "message": self.message,
            "messages": translations(self.message),
        }

    def told(self, done: int, total: int, found: int) -> None:
        """Notes progress; stops the work where the job is cancelled."""
        self.done, self.total, self.found = done, total, found
        if self.cancelled:
            raise KeyboardInterrupt

    def end(self, state: State, result: Counterfactuals | None = None, message: str | None = None) -> None:
        """The last state."""
        if result is not None:
            self.total = len(result)
            self.found = int(result.found.sum())
            self.done = len(result) if state == "done" else self.done
        self.result, self.message, self.ended = result, message, time.monotonic()
        self.state = state


class Jobs:
    """Jobs by name, one after the other in a thread of their own.

    Parameters
    ----------
    most
        How many jobs are kept; the oldest that has ended makes room for a new one.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._lock = threading.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="attain-jobs", initializer=one_thread_each)
        self._folder = tempfile.mkdtemp(prefix="attain-")
        self._remove = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)

    def new_path(self, ending: str) -> str:
        """A new file that only this user can read."""
        path = os.path.join(self._folder, f"{secrets.token_hex(16)}.{ending}")
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        return path

    def check_room(self) -> None:
        """Refuses a job where as many as are kept have not ended."""
        with self._lock:
            self._make_room()

    def start(self, path: str, read: Callable[[str], Frame], explain: Callable[[Frame], Counterfactuals]) -> Job:
        """Reads the people of a file, which is deleted, and answers them, when all jobs before have ended."""
        job = Job(secrets.token_hex(16))
        with self._lock:
            self._make_room()
            self._jobs[job.name] = job
        context = contextvars.copy_context()
        self._thread.submit(context.run, _work, job, path, read, explain)
        return job

    def _make_room(self) -> None:
        while len(self._jobs) >= self._most:
            ended = next((name for name, job in self._jobs.items() if job.state in ENDED), None)
            if ended is None:
                raise Refused(429, f"{self._most} files are waiting already; ask again later.", retry=60)
            del self._jobs[ended]

    def find(self, name: str) -> Job:
        """The job of this name."""
        with self._lock:
            job = self._jobs.get(name)
        if job is None:
            raise Refused(404, "There is no such job; it may have made room for newer ones.", "id")
        return job

    def cancel(self, name: str) -> Job:
        """Stops a job, after the people it is working on; one that has ended is forgotten."""
        job = self.find(name)
        job.cancelled = True
        with self._lock:
            if job.state in ENDED:
                self._jobs.pop(name, None)
            elif job.state == "waiting":
                job.end("cancelled")
        return job

    def close(self) -> None:
        """Cancels all jobs, and deletes all files."""
        with self._lock:
            for job in self._jobs.values():
                job.cancelled = True
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._remove()


def _work(job: Job, path: str, read: Callable[[str], Frame], explain: Callable[[Frame], Counterfactuals]) -> None:
    try:
        people = None if job.cancelled else read(path)
    except AttainError as error:
        job.end("failed", message=str(error))
        return
    except Exception as error:
        job.end("failed", message=f"The file could not be read: {type(error).__name__}.")
        return
    finally:
        Path(path).unlink(missing_ok=True)
    if job.cancelled:
        job.end("cancelled")
        return
    job.state, job.total = "running", len(people)  # type: ignore[arg-type]
    try:
        with listening(job.told, _TOGETHER):
            _finish(job, explain(people))
    except Interrupted as stop:
        assert isinstance(stop.result, Counterfactuals)
        job.end("cancelled", stop.result)
    except KeyboardInterrupt:
        job.end("cancelled")
    except AttainError as error:
        job.end("failed", message=str(error))
    except Exception as error:
        job.end("failed", message=f"The search failed: {type(error).__name__}.")


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
