"""What an explainer keeps about a model and a request, so that it is learned once: the only such place."""

from __future__ import annotations

import os
import weakref
from collections import OrderedDict
from collections.abc import Callable
from threading import RLock
from typing import Any, Final

import numpy as np

from attain.models import Goal, GoalLike
from attain.models.adapter import Answers
from attain.models.goal import CompiledScore
from attain.models.structure.compiled import compile_score
from attain.population.reference import Reference

_KEPT: Final = 4
"""How many models and requests are remembered; the one used longest ago is forgotten first."""


Build = Callable[[Any, np.ndarray], Reference]
"""From the target and which training rows meet it, (n,), to the reference."""


class ModelContext:
    """A model and a request: which training rows meet it, the reference, and what the method learned about the model.

    Each is computed when it is first needed, at the cost of the goal that asks; the model is asked about each training
    row at most once. Safe to use from several threads.
    """

    def __init__(self, training: np.ndarray, build: Build) -> None:
        self._lock = RLock()
        self._training, self._build = training, build
        self._asked = np.zeros(len(training), dtype=bool)
        self._met, self._score = np.zeros(len(training), dtype=bool), np.full(len(training), np.nan)
        self._reference: Reference | None = None
        self._inspected: tuple[str, Any] | None = None
        self._compiled: tuple[CompiledScore | None] | None = None
        self._others: dict[str, Any] = {}

    def judged(self, goal: GoalLike, at: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Which training rows meet the goal, and their scores, (n,) each; or only of those at these positions."""
        with self._lock:
            at = np.arange(len(self._training)) if at is None else at
            new = at[~self._asked[at]]
            if len(new):
                judged = goal.judge(self._training[new])
                self._met[new], self._score[new], self._asked[new] = judged.met, judged.score, True
            return self._met[at], self._score[at]

    def met(self, goal: GoalLike) -> np.ndarray:
        """Which training rows meet the goal, (n,)."""
        return self.judged(goal)[0]

    def compiled(self, goal: Goal) -> CompiledScore | None:
        """The score of a goal without a compiled one yet as a function of the matrix, where it has one."""
        with self._lock:
            if self._compiled is None:
                self._compiled = (compile_score(goal, self._training, lambda: self.judged(goal)),)
            return self._compiled[0]

    def reference(self, goal: GoalLike) -> Reference:
        """The real rows of the desired class."""
        with self._lock:
            if self._reference is None:
                self._reference = self._build(goal.target, self.met(goal))
            return self._reference

    def inspected(self, goal: GoalLike, parameters: str, inspect: Callable[[GoalLike, ModelContext], Any]) -> Any:
        """What `inspect` learns about the model, learned again only when the explainer's parameters have changed."""
        with self._lock:
            if self._inspected is None or self._inspected[0] != parameters:
                self._inspected = (parameters, inspect(goal, self))
            return self._inspected[1]

    def ready(self, parameters: str) -> bool:
        """Whether the model is compiled, and nothing has to be learned about it for these parameters."""
        with self._lock:
            learned = self._inspected is not None and self._inspected[0] == parameters
            return learned and self.is_compiled

    @property
    def is_compiled(self) -> bool:
        """Whether the score is known as a function of the matrix."""
        return self._compiled is not None and self._compiled[0] is not None

    def kept(self, name: str, compute: Callable[[], Any]) -> Any:
        """What `compute` returns, computed when it is first asked for by this name."""
        with self._lock:
            if name not in self._others:
                self._others[name] = compute()
            return self._others[name]

    def busy(self) -> bool:
        """Whether another thread holds the lock."""
        return _held(self._lock)

    def same_answers(self, goal: GoalLike) -> bool:
        """Whether the model still decides alike about every training row."""
        return np.array_equal(goal.judge(self._training).met, self.met(goal))


class Contexts:
    """The contexts of the models and requests seen last.

    A context is found again for the same model object, request, and answers on the goal's probe. A model that gives
    labels only is asked about every training row each time: a few equal labels do not show that it is the same model.
    """

    def __init__(self) -> None:
        self._lock = RLock()
        self._known: OrderedDict[tuple[int, str], tuple[Any, ModelContext, Answers]] = OrderedDict()
        _alive.add(self)

    def after_fork(self) -> None:
        """In a forked process, forgets what another thread was learning when it was forked: there it never ends."""
        if _held(self._lock) or any(context.busy() for _, context, _ in self._known.values()):
            self._lock, self._known = RLock(), OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    def probed(self, model: Any) -> Answers:
        """What a model that was seen before answered about the probe; nothing for a new one."""
        with self._lock:
            seen = [answers for found, _, answers in self._known.values() if found() is model]
            return seen[-1] if seen else {}

    def compiled(self, model: Any) -> bool:
        """Whether a model was compiled, for any request."""
        with self._lock:
            return any(found() is model and context.is_compiled for found, context, _ in self._known.values())

    def ready(self, goal: GoalLike, parameters: str) -> bool:
        """Whether all is known about a goal, as it was when its model was asked last; see `ModelContext.ready`."""
        with self._lock:
            known = self._known.get(self._key(goal))
            return known is not None and known[0]() is goal.model.model and known[1].ready(parameters)

    def forget(self, goal: GoalLike) -> None:
        """Forgets what was learned about a goal."""
        with self._lock:
            self._known.pop(self._key(goal), None)

    @staticmethod
    def _key(goal: GoalLike) -> tuple[int, str]:
        return id(goal.model.model), goal.fingerprint()

    def of(self, goal: GoalLike, training: np.ndarray, build: Build) -> ModelContext:
        """The context of a goal, made if it is new."""
        model, key = goal.model.model, self._key(goal)
        with self._lock:
            known = self._known.pop(key, None)
            context = None if known is None or known[0]() is not model else known[1]
            if context is None or (goal.labels_only and not context.same_answers(goal)):
                context = ModelContext(training, build)
            self._known[key] = (_reference_to(model), context, goal.probed)
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
            return context


_alive: weakref.WeakSet[Contexts] = weakref.WeakSet()


def _after_fork() -> None:
    for contexts in list(_alive):
        contexts.after_fork()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_after_fork)


def _held(lock: Any) -> bool:
    """Whether another thread holds a lock."""
    if lock.acquire(blocking=False):
        lock.release()
        return False
    return True


def _reference_to(model: Any) -> Callable[[], Any]:
    """A weak reference, or a strong one to an object that cannot have any."""
    try:
        return weakref.ref(model)
    except TypeError:
        return lambda: model
