"""Which conformance tests are left to `make test-slow`."""

import pytest

FAST = "TestGrowingSpheres"
"""The one method whose answers are compared between processes in every run; the others start one only in slow runs."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.name == "test_another_process_gives_the_same_bytes" and f"{FAST}::" not in item.nodeid:
            item.add_marker(pytest.mark.slow)
