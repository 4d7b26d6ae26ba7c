"""People read in slices are those of the whole file, whatever the sizes of slices and of the file's own parts."""

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attain.core.errors import AttainError
from attain.tables.files import read_people
from attain.tables.streams import PeopleStream
from attain.testing import people


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("people")
    X = people.frame(53, seed=7).rename_axis("who")
    X.to_csv(folder / "people.csv")
    X.to_parquet(folder / "people.parquet", row_group_size=11)
    (folder / "parts").mkdir()
    for k, (start, stop) in enumerate(((0, 20), (20, 21), (21, 53))):
        X.iloc[start:stop].to_parquet(folder / "parts" / f"{k}.parquet")
    return folder


@given(size=st.integers(1, 60), skipped=st.sets(st.integers(0, 60)), name=st.sampled_from(["csv", "parquet", "parts"]))
def test_slices_are_rows_of_the_whole_file(files: Path, size: int, skipped: set[int], name: str) -> None:
    path = str(files / (name if name == "parts" else f"people.{name}"))
    stream = PeopleStream(path, people.schema(), index="who")
    whole = read_people(str(files / "people.parquet"), people.schema(), index="who").frame
    assert stream.rows == len(whole)
    found = dict(stream.slices(size, lambda number: number not in skipped))
    assert list(found) == [k for k in range(-(-len(whole) // size)) if k not in skipped]
    for number, frame in found.items():
        expected = whole.iloc[number * size : (number + 1) * size]
        pd.testing.assert_frame_equal(frame[expected.columns], expected, check_dtype=False, check_index_type=False)


def test_people_without_names_are_numbered_through_all_slices(files: Path) -> None:
    path = files / "plain.csv"
    pd.read_csv(files / "people.csv").drop(columns="who").to_csv(path, index=False)
    stream = PeopleStream(str(path), people.schema())
    assert stream.index is None
    assert stream.integers
    assert [list(frame.index) for _, frame in stream.slices(30)] == [list(range(30)), list(range(30, 53))]


def test_the_index_that_pandas_wrote_names_people(files: Path) -> None:
    stream = PeopleStream(str(files / "people.parquet"), people.schema())
    assert (stream.index, stream.index_name, stream.integers) == ("who", "who", False)
    people.frame(5).set_axis([7, 8, 9, 10, 11]).to_parquet(files / "unnamed.parquet")
    stream = PeopleStream(str(files / "unnamed.parquet"), people.schema())
    assert (stream.index_name, stream.integers) == (None, True)
    assert [list(frame.index) for _, frame in stream.slices(3)] == [[7, 8, 9], [10, 11]]


def test_the_digest_is_that_of_the_bytes(files: Path) -> None:
    first = PeopleStream(str(files / "people.csv"), people.schema()).digest()
    copy = files / "copy.csv"
    copy.write_bytes((files / "people.csv").read_bytes())
    assert PeopleStream(str(copy), people.schema()).digest() == first
    copy.write_bytes((files / "people.csv").read_bytes()[:-1])
    assert PeopleStream(str(copy), people.schema()).digest() != first
    parts = PeopleStream(str(files / "parts"), people.schema()).digest()
    assert parts not in (first, PeopleStream(str(files / "people.parquet"), people.schema()).digest())


def test_what_cannot_be_read_is_said_in_a_sentence(files: Path) -> None:
    lines = (files / "people.csv").read_text().splitlines()
    (files / "uneven.csv").write_text("\n".join([*lines[:40], "p40,1", *lines[41:]]))
    with pytest.raises(AttainError, match=r"uneven.csv', line 41: it has 2 cells, but the header has 14"):
        list(PeopleStream(str(files / "uneven.csv"), people.schema(), index="who").slices(10))
    (files / "broken.parquet").write_bytes((files / "people.parquet").read_bytes()[:-100])
    with pytest.raises(AttainError, match="cannot be read as Parquet"):
        PeopleStream(str(files / "broken.parquet"), people.schema())
    (files / "none").mkdir()
    with pytest.raises(AttainError, match="has no Parquet files"):
        PeopleStream(str(files / "none"), people.schema())
    people.frame(5).drop(columns="age").to_parquet(files / "parts" / "9.parquet")
    with pytest.raises(AttainError, match=r"lacks columns that .*0.parquet' has: 'age'"):
        list(PeopleStream(str(files / "parts"), people.schema()).slices(100))
    (files / "parts" / "9.parquet").unlink()
