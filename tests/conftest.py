"""What all tests share: compiled programs, how Hypothesis behaves, and a limit of time."""

import os
import shutil
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path
from time import process_time

import pytest
from hypothesis import settings

# JAX compiles each program once for all workers, and for the next run.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".jax_cache"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

FOLDER = "ATTAIN_TRAINED"
"""As in `tests.density.trained`."""

# `make check` looks at more examples than every change can wait for.
THOROUGH = bool(os.environ.get("ATTAIN_THOROUGH"))
examples = 200 if THOROUGH else 12
settings.register_profile("local", deadline=None, max_examples=examples)
settings.register_profile("ci", deadline=None, max_examples=examples, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")

SECONDS = float(os.environ.get("ATTAIN_TEST_SECONDS", "inf" if THOROUGH else "3"))
"""The most processor time of a test that is not marked as slow; `inf` where programs run slower than they are."""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Fails a test that takes too long to be run with every change; fixtures and other processes do not count."""
    started = process_time()
    yield
    seconds = process_time() - started
    if seconds > SECONDS and not item.get_closest_marker("slow"):
        pytest.fail(f"took {seconds:.1f} s of processor time; make it smaller, or mark it as slow", pytrace=False)


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
