"""The sessions that an explainer keeps, so that what is learned about a model is learned once."""

from __future__ import annotations

import os
import weakref
from collections import OrderedDict
from threading import RLock
from typing import Any, Final, NamedTuple

from attain.methods.session import Session
from attain.models import Model
from attain.tables import Errors

_KEPT: Final = 4
"""How many sessions are kept; the one used longest ago is forgotten first."""


class Request(NamedTuple):
    """A model, what is asked of it, and the parameters of the explainer that what is learned depends on.

    Attributes
    ----------
    model, wrapped
        What the user passed, and the same as a `Model`.
    """

    model: Any
    wrapped: Model
    target: Any
    probability: float | None
    errors: Errors
    parameters: str

    @property
    def key(self) -> tuple[Any, ...]:
        return id(self.model), repr(self.target), self.probability, self.errors, self.parameters


class Sessions:
    """The sessions of the models and requests seen last, found by the model object and what is asked of it."""

    def __init__(self) -> None:
        self._forget()
        _alive.add(self)

    def _forget(self) -> None:
        self._lock, self.making = RLock(), RLock()
        self._known: OrderedDict[tuple[Any, ...], tuple[Any, Session]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    def find(self, request: Request) -> Session | None:
        """The session of a model that lists the same classes as when it was made."""
        with self._lock:
            known, session = self._known.get(request.key, (None, None))
            classes = request.wrapped.adapter.classes
            if session is None or known is not request.model or session.goal.model.adapter.classes != classes:
                return None
            self._known.move_to_end(request.key)
            return session

    def keep(self, request: Request, session: Session) -> Session:
        """Keeps a session with its model, so that no other object has that identity."""
        with self._lock:
            self._known[request.key] = (request.model, session)
            self._known.move_to_end(request.key)
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return session

    def after_fork(self) -> None:
        """In a forked process, forgets what another thread was learning when it was forked: there it never ends."""
        locks = (self._lock, self.making, *(session.lock for _, session in self._known.values()))
        if any(map(_held, locks)):
            self._forget()


def _held(lock: Any) -> bool:
    """Whether another thread holds a lock."""
    if lock.acquire(blocking=False):
        lock.release()
        return False
    return True


_alive: weakref.WeakSet[Sessions] = weakref.WeakSet()


def _after_fork() -> None:
    for sessions in list(_alive):
        sessions.after_fork()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_after_fork)
