"""What tests of experiments share: where the real data sets are, and compiled programs."""

import os
from pathlib import Path

import pytest

os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[2] / ".jax_cache"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of the real data sets; a test that asks for it is skipped where there is none."""
    named = os.environ.get("ATTAIN_DATA")
    folder = Path(named) if named else Path(__file__).parents[3] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the real data sets are not here; name their folder in the environment variable ATTAIN_DATA")
    return folder
