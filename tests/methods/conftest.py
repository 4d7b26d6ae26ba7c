"""Which conformance tests are left to `make test-slow`."""

import pytest

FAST = "TestGrowingSpheres"
"""The one method whose answers are compared between processes in every run; the others start one only in slow runs."""
OF_FAMILY = {
    "test_a_saved_explainer_gives_the_same_bytes",
    "test_no_found_row_breaks_a_rule",
    "test_the_constructor_only_stores_its_arguments",
}
"""What every run looks at with an autoencoder of the family as an option; most of the suite hardly depends on it."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        name = getattr(item, "originalname", item.name)
        processes = name == "test_another_process_gives_the_same_bytes" and f"{FAST}::" not in item.nodeid
        if processes or ("::TestFamily" in item.nodeid and name not in OF_FAMILY):
            item.add_marker(pytest.mark.slow)
