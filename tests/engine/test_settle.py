"""The final form of rows, beside plain Python that makes it one row at a time."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attain.tables import Region
from tests.engine.made_up import candidates, case
from tests.engine.reference import Reference


@given(st.integers(0, 10**6), st.booleans())
def test_a_row_is_settled_as_in_plain_python(seed: int, guided: bool) -> None:
    region, random = case(seed)
    rows, owners, guides = candidates(region, random, 12)
    formed, admitted = region.form_and_admit(rows, owners, guides if guided else None)
    for i, owner in enumerate(owners.tolist()):
        expected, fine = Reference(region, owner).settled(rows[i].tolist(), guides[i].tolist() if guided else None)
        np.testing.assert_array_equal(formed[i], expected)
        assert admitted[i] == fine


@given(st.integers(0, 10**6))
def test_rules_laws_and_computed_columns_are_as_in_plain_python(seed: int) -> None:
    region, random = case(seed)
    rows, owners, _ = candidates(region, random, 12)
    formed, admitted = region.form_and_admit(rows, owners)
    assert (region.admits(formed, owners) == admitted).all()
    kept, derived = region.tolerates(formed, owners), region.derived(rows, region.factuals[owners])
    unlawful = region.breaks_law(formed, owners)
    for i, owner in enumerate(owners.tolist()):
        plain, row = Reference(region, owner), formed[i].tolist()
        broken = [plain.breaks(rule.formula, row) for rule in region.book.rules]
        assert np.flatnonzero(~kept[i]).tolist() == plain.unkept(row)
        assert region.book.kept(formed[[i]])[0].tolist() == [not one for one in broken]
        assert unlawful[i] == any(one and excused for one, excused in zip(broken, plain.excused, strict=True))
        np.testing.assert_array_equal(derived[i], plain.computed(rows[i].tolist()))


@given(st.integers(0, 10**6), st.booleans())
def test_the_final_form_of_a_final_form_is_itself(seed: int, guided: bool) -> None:
    region, random = case(seed)
    rows, owners, guides = candidates(region, random, 40)
    formed, admitted = region.form_and_admit(rows, owners, guides if guided else None)
    again, still = region.form_and_admit(formed, owners)
    assert again[admitted].tobytes() == formed[admitted].tobytes()
    assert still[admitted].all()


@given(st.integers(0, 10**6))
def test_a_row_is_settled_alike_alone_and_among_others(seed: int) -> None:
    region, random = case(seed)
    rows, owners, guides = candidates(region, random, 20)

    def found(at: slice) -> tuple[np.ndarray, ...]:
        derived = region.book.derive(rows[at], region.factuals[owners[at]])
        return *region.form_and_admit(rows[at], owners[at], guides[at]), derived

    for i in range(0, 20, 5):
        for one, among in zip(found(slice(i, i + 1)), found(slice(None)), strict=True):
            assert one.tobytes() == among[i].tobytes()


def test_no_rows_give_none() -> None:
    region, _ = case(1)
    none = np.empty(0, dtype=np.intp)
    for found in region.form_and_admit(region.factuals[none], none, region.factuals[none]):
        assert len(found) == 0
    assert region.tolerates(region.factuals[none], none).shape == (0, len(region.book.rules))


def test_what_the_engine_is_given_must_fit() -> None:
    region, _ = case(0)
    rows, owners = region.factuals, np.arange(len(region))
    for wrong in (owners + 1, owners - 1, owners[:-1]):
        with pytest.raises(IndexError, match="rows need as many owners"):
            region.form_and_admit(rows, wrong)
    for call, message in (
        (lambda: region.form_and_admit(rows[:, 1:], owners), "instead of rows"),
        (lambda: region.form_and_admit(rows, owners, rows[1:]), "instead of 6 rows"),
        (lambda: region.derived(rows, rows[1:]), "instead of 6 rows"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_a_region_that_was_used_can_be_sent_to_another_process() -> None:
    region, random = case(3)
    rows, owners, guides = candidates(region, random, 40)
    before = region.form_and_admit(rows, owners, guides)
    sent: Region = pickle.loads(pickle.dumps(region))
    for one, other in zip(before, sent.form_and_admit(rows, owners, guides), strict=True):
        assert one.tobytes() == other.tobytes()
