"""What attain brings with it: licences that an MIT package may depend on, and a bill of materials."""

import hashlib
import json
import runpy
import tomllib
import zipfile
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from types import SimpleNamespace

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / ".ci" / "supply_chain.py"


@pytest.fixture(scope="module")
def chain():
    return SimpleNamespace(**runpy.run_path(str(SCRIPT)))


def test_every_licence_is_allowed_or_an_exception_with_a_reason(chain):
    parts, _ = chain.closure()
    refused = {name: part.licence for name, part in parts.items() if not chain.allowed(part.licence)}
    assert refused.keys() <= chain.EXCEPTIONS.keys(), refused
    assert {"numpy", "scipy", "scikit-learn", "pandas", "narwhals"} <= parts.keys()


def test_exceptions_are_never_required_by_the_core(chain):
    parts, _ = chain.closure()
    assert not [name for name in chain.EXCEPTIONS if name in parts and parts[name].required]


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("Apache-2.0 OR GPL-3.0-only", True),
        ("Apache-2.0 AND GPL-3.0-only", False),
        ("BSD-2-Clause AND Apache-2.0 WITH LLVM-exception", True),
        ("(MIT OR Apache-2.0) AND BSD-3-Clause", True),
        ("MIT AND (GPL-2.0-only OR BSD-3-Clause)", False),  # it stays on the safe side inside parentheses
        ("not declared", False),
        ("", False),
    ],
)
def test_spdx_expressions_are_read_by_their_operators(chain, expression, allowed):
    assert chain.allowed(expression) is allowed


def test_the_bill_of_materials_lists_each_part_once_with_a_licence_and_has_no_time(chain, tmp_path):
    wheel = tmp_path / "attain-0.1.0-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("attain/engine/search.cpython-311-x86_64-linux-gnu.so", b"machine code")
        archive.writestr("attain/engine/_cyutility.cpython-311-x86_64-linux-gnu.so", b"Cython's")
        archive.writestr("attain/__init__.py", b"")
    bill = chain.sbom(wheel)
    assert json.dumps(bill) == json.dumps(chain.sbom(wheel))
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    own = bill["metadata"]["component"]
    assert own["name"] == "attain"
    assert own["hashes"] == [{"alg": "SHA-256", "content": hashlib.sha256(wheel.read_bytes()).hexdigest()}]
    cythons, compiled = own["components"]
    assert cythons["licenses"] == [{"expression": "Apache-2.0"}]
    assert compiled["name"] == "attain/engine/search.cpython-311-x86_64-linux-gnu.so"
    assert compiled["hashes"] == [{"alg": "SHA-256", "content": hashlib.sha256(b"machine code").hexdigest()}]
    assert (ROOT / compiled["properties"][0]["value"]).exists()
    references = [part["bom-ref"] for part in bill["components"]]
    assert len(set(references)) == len(references) > 10
    assert all(part["licenses"] and part["version"] for part in bill["components"])
    known = {own["bom-ref"], *references}
    assert {line["ref"] for line in bill["dependencies"]} == known
    assert all(set(line["dependsOn"]) <= known for line in bill["dependencies"])
    required = {part["name"] for part in bill["components"] if part["scope"] == "required"}
    assert {"numpy", "pandas", "joblib"} <= required
    assert not {"jax", "fastapi", "polars"} & required


@pytest.fixture(scope="module")
def pins():
    """The pinned version of each distribution, by canonical name."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(one.name): str(one.specifier).removeprefix("==") for one in pinned}


def lowest_python() -> str:
    """The first release of the lowest Python that the project allows: 3.11 is 3.11.0."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project["requires-python"].removeprefix(">=") + ".0"


def test_every_pin_that_is_installed_allows_the_lowest_python(pins):
    needs = {}
    for name, version in pins.items():
        try:
            found = distribution(name)
        except PackageNotFoundError:
            continue
        if found.version.partition("+")[0] == version:
            needs[name] = found.metadata.get("Requires-Python") or ""
    assert len(needs) > 30, "the environment of `make test` has the pinned versions"
    refused = {name: python for name, python in needs.items() if lowest_python() not in SpecifierSet(python)}
    assert not refused, f"pins that Python {lowest_python()} cannot install"


def test_every_distribution_that_the_core_needs_is_pinned(chain, pins):
    parts, _ = chain.closure()
    core = {name for name, part in parts.items() if part.required} - {chain.PACKAGE}
    assert {"numpy", "scipy", "pandas"} <= core
    assert not core - pins.keys()


def test_what_the_core_needs_takes_at_most_260_megabytes(chain, pins):
    parts, _ = chain.closure()
    if any(part.found.version != pins[name] for name, part in parts.items() if part.required and name != chain.PACKAGE):
        pytest.skip("other versions than the pinned ones are installed")
    assert 100 < chain.core_megabytes() <= 260
