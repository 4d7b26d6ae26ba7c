"""The compiled functions in a forked process: computed by a process of its own.

JAX has threads, which a fork does not copy: in the child, its next computation waits for them forever. A process that
was forked after JAX was imported therefore starts another one, which imports JAX itself, and sends it each call.
"""

from __future__ import annotations

import os
import subprocess
import sys
from multiprocessing.connection import Connection
from threading import Lock
from typing import Any, Final

from attain.core.errors import AttainError

_IMPORTED_IN: Final = os.getpid()
_COMMAND: Final = "import sys; from attain.density.forked import serve; serve(int(sys.argv[1]))"
_KEPT: Final = 4
"""How many models the other process keeps."""
_helpers: dict[int, _Helper] = {}


def forked() -> bool:
    """Whether this process was forked after JAX was imported."""
    return os.getpid() != _IMPORTED_IN


def check_not_forked(what: str) -> None:
    """Refuses what takes JAX itself in a forked process."""
    if forked():
        raise AttainError(
            f"{what} in a forked process would wait forever for JAX's threads, which a fork does not copy; do it "
            "before forking, or start processes by 'spawn'"
        )


def elsewhere(function: str, model: Any, arguments: tuple[Any, ...]) -> Any:
    """What a function of `attain.density.compiled` returns, as NumPy arrays, computed by another process."""
    helper = _helpers.get(os.getpid())
    if helper is None:
        helper = _helpers.setdefault(os.getpid(), _Helper())
    return helper.call(function, model, arguments)


class _Helper:
    """The other process, started by the first call; it ends with this one."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._pipe: Connection[Any, Any] | None = None
        self._models: list[Any] = []

    def call(self, function: str, model: Any, arguments: tuple[Any, ...]) -> Any:
        with self._lock:
            if self._pipe is None:
                self._pipe = _started()
            pipe = self._pipe
            known = next((i for i, one in enumerate(self._models) if one is model), None)
            if known is None:
                known = len(self._models) if len(self._models) < _KEPT else 0
                self._models[known : known + 1] = [model]
                pipe.send((known, model))
            pipe.send((function, known, arguments))
            found, error = pipe.recv()
        if error is not None:
            raise error
        return found


def _started() -> Connection[Any, Any]:
    from socket import socketpair

    ours, theirs = socketpair()
    with theirs:
        subprocess.Popen(
            [sys.executable, "-c", _COMMAND, str(theirs.fileno())],
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
    return Connection(ours.detach())


def serve(descriptor: int) -> None:
    """Computes what comes through a socket, until its other end is closed."""
    import jax
    import numpy as np

    from attain.density import compiled

    models: dict[int, Any] = {}
    pipe = Connection(descriptor)
    while True:
        try:
            name, *rest = pipe.recv()
        except EOFError:
            return
        if isinstance(name, int):
            (models[name],) = rest
            continue
        number, arguments = rest
        try:
            pipe.send((jax.tree.map(np.asarray, getattr(compiled, name)(models[number], *arguments)), None))
        except Exception as error:
            pipe.send((None, error))
