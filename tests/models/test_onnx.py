"""ONNX models made by skl2onnx, against the scikit-learn models they were made from."""

import hashlib
import sys

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from attain.core.errors import MissingExtraError, ModelError
from attain.models import Model
from attain.schema import Feature, Schema
from tests.models.conftest import Data, check_lead

onnxruntime = pytest.importorskip("onnxruntime")
skl2onnx = pytest.importorskip("skl2onnx")
from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:skl2onnx", "ignore::DeprecationWarning:onnx")
WIDE = 1e-5
"""ONNX computes in float32."""


def by_column(mixed, zipmap):
    encode = ColumnTransformer([("n", StandardScaler(), ["income", "visits"]), ("c", OneHotEncoder(), ["job"])])
    model = make_pipeline(encode, LogisticRegression()).fit(mixed.frame, mixed.y)
    kinds = {"job": StringTensorType, "income": FloatTensorType, "visits": Int64TensorType}
    types = [(name, kind([None, 1])) for name, kind in kinds.items()]
    return model, skl2onnx.convert_sklearn(model, initial_types=types, options={id(model): {"zipmap": zipmap}})


@pytest.mark.parametrize("zipmap", [True, False, "columns"])
def test_one_input_for_each_column_with_every_form_of_probabilities(mixed, zipmap):
    model, converted = by_column(mixed, zipmap)
    wrapped = Model(converted.SerializeToString())
    goal = mixed.goal(wrapped)
    before = wrapped.calls
    met, score, *_ = goal.confirm_rows(mixed.rows)
    assert wrapped.calls == before + 1, "labels and probabilities come with one call"
    check_lead(goal, mixed.rows, model.predict_proba(mixed.frame), atol=WIDE)
    clear = np.abs(score) > WIDE
    np.testing.assert_array_equal(met[clear], (model.predict(mixed.frame) == "good")[clear])


@pytest.mark.parametrize("zipmap", [True, False])
def test_one_input_for_all_columns(numbers, zipmap):
    model = LogisticRegression().fit(numbers.array, numbers.three)
    converted = skl2onnx.to_onnx(model, numbers.array[:1].astype(np.float32), options={"zipmap": zipmap})
    goal = numbers.goal(converted, 2)
    assert goal.classes == (0, 1, 2)
    check_lead(goal, numbers.rows, model.predict_proba(numbers.array), k=2, atol=WIDE)


def test_a_path_bytes_and_a_session_are_the_same_model(numbers, tmp_path):
    model = LogisticRegression().fit(numbers.array, numbers.y)
    data = skl2onnx.to_onnx(model, numbers.array[:1].astype(np.float32)).SerializeToString()
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    assert Model(path).file_digest == Model(data).file_digest == hashlib.sha256(data).hexdigest()
    assert Model(session).file_digest is None
    goals = [numbers.goal(m) for m in (str(path), path, data, session)]
    assert len({goal.answers_digest for goal in goals}) == 1
    check_lead(goals[0], numbers.rows, model.predict_proba(numbers.array), atol=WIDE)


@pytest.mark.parametrize("kind", ["y", "three"])
def test_scores_called_probabilities_are_read_as_scores(numbers, kind):
    y = getattr(numbers, kind)
    model = LinearSVC().fit(numbers.array, y)
    converted = skl2onnx.to_onnx(model, numbers.array[:1].astype(np.float32))
    for target in np.unique(y):
        goal = numbers.goal(converted, target)
        met, score, *_ = goal.confirm_rows(numbers.rows)
        clear = np.abs(score) > 1e-4
        np.testing.assert_array_equal(met[clear], (model.predict(numbers.array) == target)[clear])
    with pytest.raises(ModelError, match="the ONNX model gives only scores and labels"):
        numbers.goal(converted, target, probability=0.5)


def test_classes_that_the_probe_does_not_show_are_asked_for(numbers):
    model = LogisticRegression().fit(numbers.array, numbers.y)
    converted = skl2onnx.to_onnx(model, numbers.array[:1].astype(np.float32), options={"zipmap": False})
    bad = numbers.rows[model.predict(numbers.array) == "bad"][:5]
    with pytest.raises(ModelError, match=r"does not say which of its 2 columns belongs to which class"):
        numbers.goal(converted, probe=bad)
    goal = numbers.goal(Model(converted, classes=["bad", "good"]), probe=bad)
    check_lead(goal, numbers.rows, model.predict_proba(numbers.array), atol=WIDE)


def test_inputs_the_table_cannot_feed_are_named(mixed, numbers):
    _, converted = by_column(mixed, True)
    with pytest.raises(ModelError, match=r"needs the columns 'job', which the table does not have"):
        numbers.goal(converted)
    plain = skl2onnx.to_onnx(LogisticRegression().fit(np.ones((4, 3)), [0, 1, 0, 1]), np.ones((1, 3), np.float32))
    with pytest.raises(ModelError, match=r"takes numbers \(tensor\(float\)\) as 'X', but the table has strings"):
        mixed.goal(plain, 1)
    with pytest.raises(ModelError, match="fitted on 3 columns without names"):
        numbers.goal(plain, 1)
    goal = mixed.goal(converted)
    for column, kinds in ((1, r"integers \(tensor\(int64\)\) as 'visits'"), (2, "strings as 'job'")):
        missing = mixed.rows.copy()
        missing[3, column] = np.nan
        with pytest.raises(ModelError, match=f"takes {kinds}, but a cell there is missing"):
            goal.score_rows(missing)


def test_a_string_tensor_for_all_columns(mixed):
    frame = mixed.frame.assign(visits=np.where(mixed.frame["visits"] > 4, "often", "rarely"))[["job", "visits"]]
    visits = Feature("visits", "categorical", levels=("rarely", "often"))
    data = Data(frame, Schema((mixed.schema["job"], visits)))
    model = make_pipeline(OneHotEncoder(), LogisticRegression()).fit(frame.to_numpy(object), data.y)
    converted = skl2onnx.convert_sklearn(model, initial_types=[("X", StringTensorType([None, 2]))])
    check_lead(data.goal(converted, probe=data.rows), data.rows, model.predict_proba(frame.to_numpy(object)), atol=WIDE)


def test_a_missing_runtime_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'attain\[onnx\]'"):
        Model(b"model")


def test_a_file_that_is_not_onnx_is_refused(tmp_path):
    with pytest.raises(ModelError, match=r"there is no file 'nowhere\.onnx'"):
        Model("nowhere.onnx")
    with pytest.raises(
        ModelError, match=r"'model\.joblib': a string is the path of an ONNX file; load other models fi"
    ):
        Model("model.joblib")
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"no model")
    with pytest.raises(ModelError, match="cannot be opened"):
        Model(broken)
