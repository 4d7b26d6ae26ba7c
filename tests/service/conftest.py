"""The service without kernels: compiling them would take longer than all of its tests."""

from collections.abc import Iterator

import pytest

from attain.service import service


@pytest.fixture(autouse=True, scope="session")
def _no_kernels() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(service, "_load_kernels", lambda explainer: None)
        yield
