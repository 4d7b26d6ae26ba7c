"""Kernels: functions compiled by Numba, beside functions of NumPy that give the same bytes.

A kernel module (`*_kernels.py`) is not imported directly: `kernels(name)` gives it once kernels are in use, and None
before, so that the caller takes its NumPy path. Numba costs half a second to import and, without its cache on disk,
seconds to compile; a call about few rows is answered sooner without it. `load` puts kernels to use for the rest of the
process; so do `load_all`, which also compiles or reads all of them, for `Explainer.warm_up`, and `load_for` where a
number of rows is worth it, for `explain`.

Compiled code is cached by Numba, in `NUMBA_CACHE_DIR` or else beside the package's files or in the user's cache folder;
it is safe to delete. Numba compares the time stamp of a kernel's own file only, so names in the cache have a digest
of all files that the kernel is made of. `ATTAIN_COMPILED=0` switches kernels off.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

_SWITCH = "ATTAIN_COMPILED"
_PACKAGE = Path(__file__).parents[1]
_ROWS = 100
"""Rows to explain from which on reading kernels from the cache pays: a second against some 10 ms a row."""
_ROWS_TO_COMPILE = 3_000
"""Those from which on compiling them pays."""
_PARTS = 20
"""Columns and rules of a table from which on its rows count as several."""
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


def load_all() -> bool:
    """Puts kernels to use, all of them compiled or read from the cache now; says whether they are in use."""
    if load():
        for module, _ in _modules():
            kernels(module)
    return _in_use


def compile_beside() -> None:
    """Compiles all kernels into the cache, where they are not there, by another process: this one is not held up."""
    if available() and not _in_use:
        program = f"from {__name__} import load_all; load_all()"
        subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, check=False)


def load_for(rows: int, parts: int = 0) -> None:
    """Puts kernels to use where so many rows to explain, of a table with so many columns and rules, are worth it."""
    rows *= max(parts // _PARTS, 1) ** 2
    if not _in_use and rows >= _ROWS and (rows >= _ROWS_TO_COMPILE or _cached()):
        load()


def _cached() -> bool:
    """Whether the cache on disk has kernels of all modules, as they are now."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    folders = [Path(named)] if named else [_PACKAGE, Path(os.path.expanduser("~/.cache/numba"))]
    found = {tuple(file.name.split("-")[:2]) for folder in folders for file in folder.rglob("*_kernels.*.nbi")}
    known = {(name.partition(".")[0], digest) for name, digest in (one for one in found if len(one) == 2)}
    return all(
        (file.stem, _digest(module)) in known for module, file in _modules() if "@kernel(" in file.read_text("utf-8")
    )


def _modules() -> list[tuple[str, Path]]:
    """All kernel modules, by name, and their files."""
    return [
        (".".join((_PACKAGE.name, *file.relative_to(_PACKAGE).with_suffix("").parts)), file)
        for file in sorted(_PACKAGE.rglob("*_kernels.py"))
    ]


def kernels(module: str) -> Any:
    """A kernel module, compiled or read from the cache on its first use; None while kernels are not in use."""
    if not _in_use:
        return None
    found = _loaded.get(module)
    if found is None:
        with _loading:
            found = _loaded.setdefault(module, importlib.import_module(module))
    return found


def kernel(signature: Any) -> Callable[[Function], Function]:
    """Compiles a function for one signature, when its module is imported.

    The signature is text such as `"f8[::1](f8[:, ::1], i8[::1])"`, or a tuple with an example of each argument: arrays
    of one entry, numbers, and named tuples of them.

    Floating-point results are those of the operations as written: nothing is reordered or contracted. The interpreter
    is released while a kernel runs, so that threads run side by side.
    """
    return lambda function: _compiled(function, signature)


def inlined(function: Function) -> Function:
    """Compiles a function that kernels call, for whatever types they call it with; Python cannot call it.

    It is compiled again for every literal argument; see `attain.core.order_kernels.ZERO`.
    """
    return _helper(function)


def lean(function: Function) -> Function:
    """`inlined` for a function that makes no arrays: references are not counted, which would take longer than most."""
    return _helper(function, _nrt=False)


def _helper(function: Function, **options: bool) -> Function:
    import numba

    compiler: Any = numba.njit
    # wrappers for Python would take a third of the time to compile it
    done: Function = compiler(
        nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True, **options
    )(function)
    return done


@cache
def _sources(file: Path) -> frozenset[Path]:
    """A kernel module's file, and those of the package's modules that it takes constants and functions from."""
    found = {file}
    for package, names in re.findall(r"^from attain\.([\w.]+) import (.+)$", file.read_text("utf-8"), re.MULTILINE):
        folder = _PACKAGE.joinpath(*package.split("."))
        candidates = [folder.with_suffix(".py"), *(folder / f"{name}.py" for name in re.findall(r"\w+", names))]
        found.update(
            *(_sources(path) if path.stem.endswith("_kernels") else {path} for path in candidates if path.is_file())
        )
    return frozenset(found)


def _digest(module: str) -> str:
    """A digest of all files that the kernels of a module are made of."""
    contents = [
        path.read_bytes() for path in sorted(_sources(_PACKAGE.parent.joinpath(*module.split(".")).with_suffix(".py")))
    ]
    return hashlib.sha256(b"\0".join(contents)).hexdigest()[:12]


def _compiled(function: Function, signature: Any) -> Function:
    import numba

    function.__qualname__ += f"-{_digest(function.__module__)}"

    def compiled(cache: bool) -> Function:
        compiler: Any = numba.njit
        examples: Any = signature if isinstance(signature, str) else tuple(map(numba.typeof, signature))
        done: Function = compiler(examples, cache=cache, nogil=True, error_model="numpy", no_cfunc_wrapper=True)(
            function
        )
        return done

    try:
        return compiled(cache=True)
    except (RuntimeError, OSError):  # no folder that a cache can be written to, or a full disk
        return compiled(cache=False)
