"""The answers of every method are those recorded, and so is the work that they took."""

import platform
import re
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

import attain
from attain.methods.base import Explainer
from experiments.bench.methods import METHODS
from tests.recorded.recording import ANSWERS, TABLES, Case, Line, differences, lines, read

PINS = Path(__file__).parents[2] / "constraints.txt"
LIBRARIES = ("numpy", "scipy", "pandas", "scikit-learn", "jax", "jaxlib", "equinox")
KINDS = [
    (table, method) for table in TABLES for method in METHODS if table != "German credit" or not METHODS[method].latent
]


def other_versions() -> list[str]:
    """What the table was not recorded with: libraries whose versions are not those of constraints.txt, and systems."""
    pinned = dict(re.findall(r"^([\w-]+)==(\S+)$", PINS.read_text(encoding="utf-8"), re.MULTILINE))
    found = []
    for name in LIBRARIES:
        try:
            installed = version(name)
        except PackageNotFoundError:
            installed = "none"
        if installed != pinned[name]:
            found.append(f"{name} {installed} instead of {pinned[name]}")
    system = f"{sys.platform} on {platform.machine()}"
    return found if system == "linux on x86_64" else [*found, system]


table = cache(lambda name: TABLES[name]())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "method"), KINDS)
def test_answers_and_work_are_those_recorded(name: str, method: str) -> None:
    if others := other_versions():
        pytest.skip(f"recorded with the versions of constraints.txt on Linux, x86-64; here: {', '.join(others)}")
    recorded = read(ANSWERS)

    def case() -> Case:
        return table(name)

    changed = [text for line in lines({name: case}, [method]) for text in differences(line, recorded.get(line[:4]))]
    assert not changed, "\n".join(["", *changed, "If that is meant: `make record`, and say why in the commit."])


def test_every_method_is_recorded() -> None:
    assert {key[:2] for key in read(ANSWERS)} == set(KINDS)
    found = {
        name
        for name in attain.methods.__all__
        if isinstance(one := getattr(attain.methods, name), type)
        and issubclass(one, Explainer)
        and one is not Explainer
    }
    assert {method.kind for method in METHODS.values()} == found


def test_a_difference_names_table_method_and_figure() -> None:
    line = Line("people", "Guarded", "tree", "3", "abc", "2 of 2", "10", "20")
    assert differences(line, line) == []
    assert differences(line, None) == ["people, Guarded, tree: not recorded"]
    assert differences(line, line._replace(asked="19")) == ["people, Guarded, tree: rows asked 20, was 19"]
