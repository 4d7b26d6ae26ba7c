"""True labels: matched to people, not to positions, where both say who is who."""

import numpy as np
import pandas as pd
import pytest

from attain.core.errors import DataError
from attain.tables import desired_labels, read_labels


def test_labels_of_the_same_people_in_another_order_are_put_in_order() -> None:
    people = ["a", "b", "c"]
    y = pd.Series(["x", "y", "z"], index=["c", "a", "b"])
    assert read_labels(y, people).tolist() == ["y", "z", "x"]


def test_labels_without_names_or_with_other_names_go_by_position() -> None:
    people = ["a", "b", "c"]
    for y in (["x", "y", "z"], np.array(["x", "y", "z"]), pd.Series(["x", "y", "z"])):
        assert read_labels(y, people).tolist() == ["x", "y", "z"]
    twice = pd.Series(["x", "y", "z"], index=["b", "b", "a"])
    assert read_labels(twice, people).tolist() == ["x", "y", "z"]


def test_a_wrong_number_of_labels_is_refused() -> None:
    with pytest.raises(DataError, match="y has 2 labels, but X has 3 rows"):
        read_labels(["x", "y"], ["a", "b", "c"])


def test_a_target_nobody_has_is_refused() -> None:
    with pytest.raises(DataError, match="the target is 'good', but the labels are 0, 1"):
        desired_labels(read_labels([0, 1, 0], [0, 1, 2]), "good")
