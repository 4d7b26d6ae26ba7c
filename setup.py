"""Compiles the engine; everything else about the package is in pyproject.toml."""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

# The same bytes on every machine: no fused multiplication and addition, and sums in the order they are written in.
FLAGS = ["-O3", "-g0", "-ffp-contract=off"] if os.name == "posix" else []
ENGINE = Path("src/attain/engine")
# What Cython needs for arrays is compiled once, and not again in every module: a third of the time, half the size.
SHARED = "attain.engine._cyutility"

sources = {f"attain.engine.{path.stem}": path for path in sorted(ENGINE.glob("*.pyx"))}

setup(
    ext_modules=cythonize(
        [
            Extension(name, [str(path)], extra_compile_args=FLAGS, depends=["setup.py"])
            for name, path in {**sources, SHARED: ENGINE / "_cyutility.c"}.items()
        ],
        build_dir="build",
        compiler_directives={"boundscheck": False, "wraparound": False, "cdivision": True, "initializedcheck": False},
        shared_utility_qualified_name=SHARED,
    ),
    options={"build_ext": {"parallel": True}},
)
