"""Kernels: off until they are loaded, and switched off by the environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from attain.core import compiled
from attain.tables import program

_ASK = "from attain.core import compiled; print(compiled.kernels('math'), compiled.load(), compiled.kernels('math'))"


def _answer(**environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", _ASK], env={**os.environ, **environment}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_kernels_are_none_until_they_are_loaded() -> None:
    pytest.importorskip("numba")
    before, loaded, after = _answer(ATTAIN_COMPILED="1").split(" ", 2)
    assert (before, loaded) == ("None", "True")
    assert "math" in after


def test_kernels_are_switched_off_by_the_environment() -> None:
    assert _answer(ATTAIN_COMPILED="0") == "None False None"


def test_the_cache_knows_all_files_that_a_kernel_is_made_of() -> None:
    constants = Path(program.__file__)
    package = constants.parents[1]
    of = compiled._sources(package / "methods" / "guarded" / "objective_kernels.py")
    assert constants in of  # by way of the kernels of final form, too
    assert package / "tables" / "clock_kernels.py" in of
    assert package / "methods" / "guarded" / "search.py" not in of


def test_kernels_are_cached_only_if_all_are_there_as_they_are_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert not compiled._cached()
    made = [(module, file) for module, file in compiled._modules() if "@kernel(" in file.read_text("utf-8")]
    assert len(made) > 10
    for module, file in made:
        assert not compiled._cached()
        (tmp_path / f"{file.stem}.function-{compiled._digest(module)}-12.py311.nbi").touch()
    assert compiled._cached()
    next(tmp_path.glob("region_kernels*")).rename(tmp_path / "region_kernels.settle-0123456789ab-12.py311.nbi")
    assert not compiled._cached()
