"""Models in files, each against the predictions of the model that was written."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from attain import GrowingSpheres, Schema
from attain.cli import main
from attain.core.errors import AttainError, FileError, ModelError
from attain.models.files import find_target, load_model

RANDOM = np.random.default_rng(0)
X = pd.DataFrame({"a": RANDOM.normal(size=300), "b": RANDOM.normal(size=300)})
Y = (X["a"] + X["b"] > 0).astype(int)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    X.to_csv("people.csv", index=False)
    GrowingSpheres(Schema.infer(X), figures=False, budget=2000).fit(X).save("e.attain")
    return tmp_path


def flipped(model: str, predict: Any, *flags: str) -> None:
    """Runs the command and asks the model itself whether every answer is what was asked for."""
    assert main(["explain", "e.attain", "people.csv", "--model", model, "--target", "1", "--out", "o.csv", *flags]) == 0
    written = pd.read_csv("o.csv")
    found = written[written["status"] == "FOUND"]
    assert len(found) > 100
    assert set(written["status"]) <= {"FOUND", "ALREADY_DESIRED", "BUDGET_SPENT"}
    assert (np.asarray(predict(found[["a", "b"]])) == 1).all()


def _onnx(path: str) -> Any:
    skl2onnx = pytest.importorskip("skl2onnx")
    model = LogisticRegression().fit(X.to_numpy(), Y)
    kind = skl2onnx.common.data_types.FloatTensorType([None, 2])
    content = skl2onnx.to_onnx(model, initial_types=[("x", kind)], options={"zipmap": False}).SerializeToString()
    Path(path).write_bytes(content)
    return lambda frame: model.predict(frame.to_numpy())


def _xgboost(path: str) -> Any:
    model = pytest.importorskip("xgboost").XGBClassifier(n_estimators=10, max_depth=3, n_jobs=1).fit(X, Y)
    model.save_model(path)
    return model.predict


def _lightgbm(path: str) -> Any:
    model = pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=10, n_jobs=1, verbose=-1).fit(X, Y)
    model.booster_.save_model(path)
    return model.predict


WRITTEN = {"m.onnx": _onnx, "m.json": _xgboost, "m.ubj": _xgboost, "m.txt": _lightgbm, "m.lgb": _lightgbm}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("path", WRITTEN)
def test_a_file_in_a_format_of_a_library(path: str) -> None:
    pytest.importorskip("onnxruntime")
    flipped(path, WRITTEN[path](path))


def command(model: str, *flags: str) -> list[str]:
    return ["explain", "e.attain", "people.csv", "--model", model, "--out", "p.csv", "--target", "1", *flags]


def test_a_skops_file_with_unknown_types_lists_them(folder: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    io = pytest.importorskip("skops.io")
    model = LogisticRegression().fit(X, Y)
    io.dump(model, "m.skops")
    flipped("m.skops", model.predict)
    monkeypatch.setattr(io, "get_untrusted_types", lambda file: ["evil.Type", "other.Type"])
    assert main(command("m.skops", "--trust", "other.Type")) == 1
    err = capsys.readouterr().err
    assert "'evil.Type'" in err
    assert "--trust evil.Type" in err
    assert not (folder / "p.csv").exists()


def test_a_pickle_is_read_only_where_it_is_trusted(folder: Path, capsys: Any) -> None:
    joblib = pytest.importorskip("joblib")
    model = LogisticRegression().fit(X, Y)
    joblib.dump(model, "m.joblib")
    assert main(command("m.joblib")) == 1
    assert "runs whatever code the file contains" in capsys.readouterr().err
    flipped("m.joblib", model.predict, "--trust-pickle")


def test_an_object_of_a_module_in_this_folder(folder: Path) -> None:
    (folder / "rules_of_mine.py").write_text(
        "class Holder:\n    @staticmethod\n    def decide(frame):\n"
        "        return (frame['a'] + frame['b'] > 0).astype(int)\n\n\nholder = Holder()\n"
    )
    flipped("rules_of_mine:holder.decide", lambda frame: (frame["a"] + frame["b"] > 0).astype(int))


def test_classes_can_be_named(folder: Path) -> None:
    io = pytest.importorskip("skops.io")
    io.dump(LogisticRegression().fit(X, Y), "m.skops")
    assert main(command("m.skops", "--classes", "bad,good", "--target", "good")) == 0


WRONG = {
    "m.h5": "--model must be a file ending with",
    "no.onnx": "--model: there is no file 'no.onnx'",
    "rubbish.json": "cannot be read by XGBoost",
    "rubbish.txt": "cannot be read by LightGBM",
    "rubbish.skops": "cannot be read by skops",
    "no_such_module:model": "module 'no_such_module' is neither in this folder nor installed",
    "os:no_such_object": "os has no 'no_such_object'",
    "broken_of_mine:model": "importing it raised ZeroDivisionError",
    "needy_of_mine:model": "importing it raised ModuleNotFoundError",
}


@pytest.mark.parametrize("name", WRONG)
def test_a_model_that_cannot_be_loaded_is_refused_with_the_reason(name: str, folder: Path) -> None:
    for ending in ("json", "txt", "skops"):
        (folder / f"rubbish.{ending}").write_bytes(b"rubbish")
    (folder / "broken_of_mine.py").write_text("1 / 0\n")
    (folder / "needy_of_mine.py").write_text("import no_such_library\n")
    with pytest.raises(AttainError, match=WRONG[name]):
        load_model(name)


def test_a_missing_library_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "m.json").write_text("{}")
    monkeypatch.setitem(__import__("sys").modules, "xgboost", None)
    with pytest.raises(FileError.__mro__[1], match=r"attain\[xgboost\]"):
        load_model("m.json")


TARGETS = [("1", (0, 1), 1), ("1.0", (0, 1), 1), ("1", (0.0, 1.0), 1.0), ("true", (False, True), True)]
TARGETS += [("1", ("0", "1"), "1"), ("GOOD", ("good", "bad"), "good"), ("good", ("good", "GOOD"), "good")]


@pytest.mark.parametrize(("text", "classes", "label"), TARGETS)
def test_a_target_is_found_among_the_classes(text: str, classes: tuple[Any, ...], label: Any) -> None:
    found = find_target(text, classes)
    assert found == label
    assert type(found) is type(label)


@pytest.mark.parametrize(("text", "classes"), [("2", (0, 1)), ("1", (1, "1")), ("", ("a", "b"))])
def test_a_target_that_is_not_a_class_is_refused(text: str, classes: tuple[Any, ...]) -> None:
    with pytest.raises(ModelError, match="--target"):
        find_target(text, classes)
