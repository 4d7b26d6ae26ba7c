"""Every kind of attack in the corpus is refused with a `FileError`, with at most a million calls and 100 MB."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.attack.corpus import ATTACKS
from tests.attack.fuzz import case, outcome
from tests.attack.world import FORMATS, write_all

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of every format, each of which is read once, so that nothing is imported later."""
    place = tmp_path_factory.mktemp("attacked")
    pytest.importorskip("equinox")
    (place / "base").mkdir()
    write_all(place / "base")
    for kind, format in FORMATS.items():
        for name in format.files:
            (place / name).write_bytes((place / "base" / name).read_bytes())
            assert outcome(kind, place / name) == "read"
    return place


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_is_refused(name: str, folder: Path) -> None:
    kind, file, change = ATTACKS[name]
    path = folder / file
    path.write_bytes(change((folder / "base" / file).read_bytes()))
    assert outcome(kind, path) == "refused"


def _zeros(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(3 * 2**30)  # a sparse file takes no room


ODD_FILES: dict[str, Callable[[Path], None]] = {
    "three gigabytes of zeros": _zeros,
    "a device without an end": lambda path: path.symlink_to("/dev/zero"),
    "a pipe that nobody writes into": os.mkfifo,
    "a folder": Path.mkdir,
}


@pytest.mark.parametrize("odd", ODD_FILES)
@pytest.mark.parametrize("kind", [kind for kind in FORMATS if kind not in ("folder", "audit head")])
def test_a_file_is_looked_at_before_it_is_read(kind: str, odd: str, tmp_path: Path, folder: Path) -> None:
    for name in FORMATS[kind].files:
        ODD_FILES[odd](tmp_path / name)
        assert outcome(kind, tmp_path / name) == "refused"


def test_the_corpus_has_at_least_sixty_kinds() -> None:
    assert len(ATTACKS) >= 60
    assert {kind for kind, _, _ in ATTACKS.values()} >= FORMATS.keys() - {"table of answers"}


@pytest.mark.parametrize("number", [0, 1, 2, *(pytest.param(more, marks=pytest.mark.slow) for more in range(3, 40))])
def test_mutated_files_are_read_and_usable_or_refused(number: int, folder: Path) -> None:
    kind, path = case(number, 7, folder)
    assert not outcome(kind, path).startswith("FAILED")


def test_the_same_number_is_the_same_file(folder: Path) -> None:
    assert case(3, 7, folder)[1].read_bytes() == case(3, 7, folder)[1].read_bytes()
