"""What all tests share: where the real data sets are, compiled programs, and how Hypothesis behaves."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from attain.core import compiled

# JAX compiles each program once for all workers, and for the next run.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".jax_cache"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

# `make test-slow` and `make test-all` look at more examples than every change can wait for.
examples = 200 if os.environ.get("ATTAIN_THOROUGH") else 40
settings.register_profile("local", deadline=None, max_examples=examples)
settings.register_profile("ci", deadline=None, max_examples=examples, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(autouse=True)
def _kernels_not_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test has kernels in use only if it loads them itself, whatever ran before it."""
    monkeypatch.setattr(compiled, "_in_use", False)


@pytest.fixture(autouse=True)
def _own_modules() -> None:
    """A test imports the classifier of its own folder, not one of the same name that a test before it imported."""
    sys.modules.pop("mine", None)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of the real data sets; a test that asks for it is skipped where there is none."""
    named = os.environ.get("ATTAIN_DATA")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the real data sets are not here; name their folder in the environment variable ATTAIN_DATA")
    return folder
