"""What the page on adding parts shows is what runs: its examples as modules, and the numbers of lines it states."""

import ast
import importlib
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import attain
from attain import metrics
from attain.core import frames
from attain.metrics import measures
from attain.models import model as wrapping
from attain.schema import Feature, Schema
from attain.testing import check_explainer, check_likelihood, people

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "contribute" / "adding.md").read_text(encoding="utf-8")
MODULES = dict(re.findall(r"^```py\n# (\w+)\.py\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the examples, from which this process and others can import them."""
    made = tmp_path_factory.mktemp("outside")
    for name, text in MODULES.items():
        (made / f"{name}.py").write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(made)
        patch.setenv("PYTHONPATH", f"{made}:{ROOT / 'src'}")
        patch.setattr(frames, "_LIBRARIES", dict(frames._LIBRARIES))
        patch.setattr(wrapping, "_SOURCES", list(wrapping._SOURCES))
        patch.setattr(measures, "MEASURES", dict(measures.MEASURES))
        yield made
    for name in MODULES:
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def example(folder: Path) -> Any:
    return importlib.import_module


def test_a_method_passes_the_suite_and_can_be_loaded(example: Any, tmp_path: Path) -> None:
    method = example("real_rows").RealRows
    check_explainer(method)
    X = people.frame(60)
    method(people.schema()).fit(X).save(tmp_path / "explainer.attain")
    assert type(attain.load(tmp_path / "explainer.attain", trusted=[method])) is method


def test_a_likelihood_passes_the_suite(example: Any) -> None:
    check_likelihood(example("laplace").Laplace)


def test_a_measure_is_found_by_its_name(example: Any) -> None:
    example("income")
    X = people.frame(80)
    y = people.labels(X)
    model = people.tree_model(X, y)
    result = attain.GrowingSpheres(people.schema()).fit(X, y).explain(model, X[:10], target=people.DESIRED)
    column = metrics.evaluate(result, model, X, y, measures=["income"]).frame["income"]
    np.testing.assert_array_equal(column[result.found], result.frame["income"][result.found])


def test_a_model_is_asked_through_its_adapter(example: Any) -> None:
    example("abacus")

    class Abacus:
        __module__ = "abacus.classifiers"

        def odds_of(self, cells: np.ndarray) -> np.ndarray:
            return cells.sum(axis=1)

    X = np.random.default_rng(0).normal(size=(60, 2))
    explainer = attain.GrowingSpheres(Schema((Feature("0", "real"), Feature("1", "real")))).fit(X)
    result = explainer.explain(Abacus(), X[X.sum(axis=1) < -1e-3], target="yes")
    assert result.found.all()
    assert (result.answers.sum(axis=1) > 0).all()


def test_a_frame_of_a_registered_library_comes_back(example: Any) -> None:
    records = example("records").Records
    X = records(pl.from_pandas(people.frame(60).reset_index(drop=True)).to_dicts())
    result = (
        attain.GrowingSpheres(Schema.infer(X))
        .fit(X)
        .explain(lambda frame: np.array([int(row["income"] > 2500) for row in frame]), X, target=1)
    )
    assert result.share_found == 1
    assert isinstance(result.frame, records)


def test_a_section_of_a_report_is_written(example: Any, tmp_path: Path) -> None:
    X = people.frame(60)
    y = people.labels(X)
    result = (
        attain.GrowingSpheres(people.schema()).fit(X, y).explain(people.tree_model(X, y), X[:10], target=people.DESIRED)
    )
    example("levers_page").levers_page(result, tmp_path / "levers.html")
    page = (tmp_path / "levers.html").read_text(encoding="utf-8")
    label, count = next(iter(result.changes["label"].value_counts().items()))
    assert re.search(rf"{label}</td>\s*<td[^>]*>{count} of 10</td>", page)


def part(text: str, name: str) -> str:
    """The source of one class or function."""
    definitions = (ast.ClassDef, ast.FunctionDef)
    found = [node for node in ast.parse(text).body if isinstance(node, definitions) and node.name == name]
    return ast.get_source_segment(text, found[0]) or ""


def file(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (r"A method takes (\d+) lines", MODULES["real_rows"]),
        (r"on the real line takes (\d+) lines", MODULES["laplace"]),
        (r"NumPy alone and takes (\d+) lines", part(file("tests/density/outside.py"), "ProbabilisticPCA")),
        (r"without an answer: (\d+) lines", part(MODULES["income"], "income")),
        (r"which classes it has\. It takes (\d+) lines", MODULES["abacus"]),
        (r"Otherwise (\d+) lines", part(MODULES["records"], "RecordLibrary") + "\n\nregister(RecordLibrary())"),
        (r"This page takes (\d+) lines", MODULES["levers_page"]),
    ],
    ids=["explainer", "likelihood", "autoencoder", "measure", "model_library", "frame_library", "page"],
)
def test_the_numbers_of_lines_are_right(words: str, text: str) -> None:
    stated = re.search(words, " ".join(PAGE.split()))
    assert stated is not None
    assert int(stated[1]) == lines_of_code(text)


def lines_of_code(text: str) -> int:
    """The number of lines without imports, comments, blank lines and docstrings."""
    ignored: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if docstring or isinstance(node, ast.Import | ast.ImportFrom):
            ignored |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    blank = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    tokens = [token for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type not in blank]
    return len({line for token in tokens for line in range(token.start[0], token.end[0] + 1)} - ignored)
