"""Kernels: functions compiled by Numba, beside functions of NumPy that give the same bytes.

A kernel module (`*_kernels.py`) is not imported directly: `kernels(name)` gives it once kernels are in use, and None
before, so that the caller takes its NumPy path. Numba costs half a second to import and, without its cache on disk,
seconds to compile; a call about few people is answered sooner without it. `load` puts kernels to use for the rest of
the process: `Explainer.warm_up` calls it, and `explain` where the number of people is worth it.

Compiled code is cached by Numba, in `NUMBA_CACHE_DIR` or else beside the package's files or in the user's cache folder;
it is safe to delete. `ATTAIN_COMPILED=0` switches kernels off.
"""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Callable
from importlib.util import find_spec
from types import ModuleType
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

_SWITCH = "ATTAIN_COMPILED"
_loaded: dict[str, ModuleType] = {}
_in_use = False
_loading = threading.Lock()


def available() -> bool:
    """Whether Numba is installed, and kernels are not switched off."""
    return os.environ.get(_SWITCH, "1") != "0" and find_spec("numba") is not None


def load() -> bool:
    """Puts kernels to use for the rest of the process, where they are available; says whether they are in use."""
    global _in_use
    _in_use = _in_use or available()
    return _in_use


def kernels(module: str) -> Any:
    """A kernel module, compiled or read from the cache on its first use; None while kernels are not in use."""
    if not _in_use:
        return None
    found = _loaded.get(module)
    if found is None:
        with _loading:
            found = _loaded.setdefault(module, importlib.import_module(module))
    return found


def kernel(signature: str) -> Callable[[Function], Function]:
    """Compiles a function for one signature, such as `"f8[::1](f8[:, ::1], i8[::1])"`, when its module is imported.

    Floating-point results are those of the operations as written: nothing is reordered or contracted. The interpreter
    is released while a kernel runs, so that threads run side by side.
    """
    return lambda function: _compiled(function, signature)


def inlined(function: Function) -> Function:
    """Compiles a function that kernels call, for whatever types they call it with."""
    return _compiled(function, None)


def _compiled(function: Function, signature: str | None) -> Function:
    import numba

    def compiled(cache: bool) -> Function:
        compiler: Any = numba.njit
        arguments = () if signature is None else (signature,)
        done: Function = compiler(*arguments, cache=cache, nogil=True, error_model="numpy")(function)
        return done

    try:
        return compiled(cache=True)
    except RuntimeError:  # no folder that a cache can be written to
        return compiled(cache=False)
