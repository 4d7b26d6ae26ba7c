"""SECURITY.md: each promise names its tests, and these exist; and nothing connects to anywhere."""

import ast
import re
import socket
from pathlib import Path

import pytest

import attain
from attain.testing import people

ROOT = Path(__file__).parents[1]
PROMISES = (ROOT / "SECURITY.md").read_text(encoding="utf-8").split("## What is promised")[1].split("\n## ")[0]
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PROMISES)


def test_each_promise_names_a_test():
    bullets = re.split(r"\n- ", PROMISES)[1:]
    assert len(bullets) >= 12
    assert not [bullet for bullet in bullets if not re.search(r"`tests/[\w/]+\.py::\w+`", bullet)]


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_the_named_tests_exist_and_are_among_the_fast_ones(file, name):
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == name]
    assert len(found) == 1
    marks = [ast.unparse(mark) for mark in found[0].decorator_list]
    assert "pytest.mark.slow" not in marks


def test_fitting_explaining_and_saving_open_no_connection(monkeypatch, tmp_path):
    def refuse(*_):
        raise AssertionError("a connection was opened")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    X = people.frame(120)
    y = people.labels(X)
    model = people.linear_model(X, y)
    refused = X[model.predict(X) == people.REFUSED].iloc[:2]
    explainer = attain.Guarded(people.schema(), budget=300).fit(X, y)
    explainer.save(tmp_path / "explainer.attain")
    result = attain.load(tmp_path / "explainer.attain").explain(model, refused, target=people.DESIRED)
    assert result.found.any()
    assert result.to_json()
