"""What all tests share: compiled programs, and how Hypothesis behaves; no test fails because of a clock."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# JAX compiles each program once for all workers, and for the next run.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parent / ".jax_cache"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

FOLDER = "ATTAIN_TRAINED"
"""As in `tests.density.trained`."""

# `make check` looks at more examples than every change can wait for.
THOROUGH = bool(os.environ.get("ATTAIN_THOROUGH"))
examples = 200 if THOROUGH else 12
untimed = settings(deadline=None, max_examples=examples, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("local", untimed)
settings.register_profile("ci", untimed, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_configure(config: pytest.Config) -> None:
    """Makes the folder of autoencoders that this run trains; workers inherit it."""
    if not hasattr(config, "workerinput"):
        os.environ[FOLDER] = tempfile.mkdtemp()


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ.pop(FOLDER, ""), ignore_errors=True)


@pytest.fixture(autouse=True)
def _own_modules() -> None:
    """A test imports the classifier of its own folder, not one of the same name that a test before it imported."""
    sys.modules.pop("mine", None)
