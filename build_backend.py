"""Setuptools' build backend; on a machine without a C compiler, one comes from PyPI for the time of the build."""

import os
import shlex
import shutil
import sys
import sysconfig
from pathlib import Path
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403

FROM_PYPI = f"{shlex.quote(sys.executable)} -m ziglang cc"

if os.name == "posix" and "CC" not in os.environ:
    like_python = shlex.split(sysconfig.get_config_var("CC") or "cc")[0]
    if not shutil.which(like_python):
        os.environ["CC"] = next(filter(shutil.which, ("cc", "gcc", "clang")), FROM_PYPI)
        if os.environ["CC"] == FROM_PYPI and sys.platform == "linux":
            # Zig refuses options that Debian's Python links with, and would first compile libraries of its own for 15
            # CPU seconds: what a module needs of libc and libm, Python has loaded.
            os.environ["LDSHARED"] = f"{FROM_PYPI} -shared -nostdlib"


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """What a build needs besides Cython: the compiler, where there is none, and Python's headers, which PyPI lacks."""
    if not Path(sysconfig.get_path("include"), "Python.h").is_file():
        sys.exit(
            "The headers of Python are missing, with which attain is compiled: install python3-dev (Debian, Ubuntu) or "
            "python3-devel (Fedora)."
        )
    compiler = ["ziglang>=0.13"] if os.environ.get("CC") == FROM_PYPI else []
    return build_meta.get_requires_for_build_wheel(config_settings) + compiler


get_requires_for_build_editable = get_requires_for_build_wheel
