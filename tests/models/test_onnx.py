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
from attain.models import Goal, Model
from attain.tables import Table

onnxruntime = pytest.importorskip("onnxruntime")
skl2onnx = pytest.importorskip("skl2onnx")
from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:skl2onnx", "ignore::DeprecationWarning:onnx")
WIDE = 1e-5
"""ONNX computes in float32."""


def by_column(mixed, zipmap):
    encode = ColumnTransformer([("n", StandardScaler(), ["income", "visits"]), ("c", OneHotEncoder(), ["job"])])
    model = make_pipeline(encode, LogisticRegression()).fit(mixed.frame, mixed.y)
    types = [
        ("job", StringTensorType([None, 1])),
        ("income", FloatTensorType([None, 1])),
        ("visits", Int64TensorType([None, 1])),
    ]
    return model, skl2onnx.convert_sklearn(model, initial_types=types, options={id(model): {"zipmap": zipmap}})


@pytest.mark.parametrize("zipmap", [True, False, "columns"])
def test_one_input_for_each_column_with_every_form_of_probabilities(mixed, zipmap):
    model, converted = by_column(mixed, zipmap)
    wrapped = Model(converted.SerializeToString())
    goal = Goal(wrapped, mixed.layout, target="good", probe=mixed.probe)
    before = wrapped.calls
    met, score, *_ = goal.confirm_rows(mixed.rows)
    assert wrapped.calls == before + 1, "labels and probabilities come with one call"
    probability = model.predict_proba(mixed.frame)
    np.testing.assert_allclose(score, probability[:, 1] - probability[:, 0], atol=WIDE)
    clear = np.abs(score) > WIDE
    np.testing.assert_array_equal(met[clear], (model.predict(mixed.frame) == "good")[clear])


@pytest.mark.parametrize("zipmap", [True, False])
def test_one_input_for_all_columns(numbers, zipmap):
    model = LogisticRegression().fit(numbers.array, numbers.three)
    converted = skl2onnx.to_onnx(model, numbers.array[:1].astype(np.float32), options={"zipmap": zipmap})
    goal = Goal(converted, numbers.layout, target=2, probe=numbers.probe)
    probability = model.predict_proba(numbers.array)
    assert goal.classes == (0, 1, 2)
    np.testing.assert_allclose(
        goal.score_rows(numbers.rows).score, probability[:, 2] - probability[:, :2].max(axis=1), atol=WIDE
    )


def test_a_path_bytes_and_a_session_are_the_same_model(numbers, tmp_path):
    model = LogisticRegression().fit(numbers.array, numbers.y)
    data = skl2onnx.to_onnx(model, numbers.array[:1].astype(np.float32)).SerializeToString()
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    assert Model(path).file_digest == Model(data).file_digest == hashlib.sha256(data).hexdigest()
    assert Model(session).file_digest is None
    goals = [Goal(m, numbers.layout, target="good", probe=numbers.probe) for m in (str(path), path, data, session)]
    assert len({goal.answers_digest for goal in goals}) == 1
    probability = model.predict_proba(numbers.array)[:, 1]
    np.testing.assert_allclose(goals[0].score_rows(numbers.rows).score, 2 * probability - 1, atol=WIDE)


@pytest.mark.parametrize("kind", ["y", "three"])
def test_scores_called_probabilities_are_read_as_scores(numbers, kind):
    y = getattr(numbers, kind)
    model = LinearSVC().fit(numbers.array, y)
    converted = skl2onnx.to_onnx(model, numbers.array[:1].astype(np.float32))
    for target in np.unique(y):
        goal = Goal(converted, numbers.layout, target=target, probe=numbers.probe)
        met, score, *_ = goal.confirm_rows(numbers.rows)
        clear = np.abs(score) > 1e-4
        np.testing.assert_array_equal(met[clear], (model.predict(numbers.array) == target)[clear])
    with pytest.raises(ModelError, match="the ONNX model gives only scores and labels"):
        Goal(converted, numbers.layout, target=target, probability=0.5, probe=numbers.probe)


def test_classes_that_the_probe_does_not_show_are_asked_for(numbers):
    model = LogisticRegression().fit(numbers.array, numbers.y)
    converted = skl2onnx.to_onnx(model, numbers.array[:1].astype(np.float32), options={"zipmap": False})
    bad = numbers.rows[model.predict(numbers.array) == "bad"][:5]
    with pytest.raises(ModelError, match=r"does not say which of its 2 columns belongs to which class"):
        Goal(converted, numbers.layout, target="good", probe=bad)
    goal = Goal(Model(converted, classes=["bad", "good"]), numbers.layout, target="good", probe=bad)
    np.testing.assert_allclose(
        goal.score_rows(numbers.rows).score, 2 * model.predict_proba(numbers.array)[:, 1] - 1, atol=WIDE
    )


def test_inputs_the_table_cannot_feed_are_named(mixed, numbers):
    _, converted = by_column(mixed, True)
    with pytest.raises(ModelError, match=r"needs the columns 'job', which the table does not have"):
        Goal(converted, numbers.layout, target="good", probe=numbers.probe)
    plain = skl2onnx.to_onnx(LogisticRegression().fit(np.ones((4, 3)), [0, 1, 0, 1]), np.ones((1, 3), np.float32))
    with pytest.raises(ModelError, match=r"takes numbers \(tensor\(float\)\) as 'X', but the table has strings"):
        Goal(plain, mixed.layout, target=1, probe=mixed.probe)
    with pytest.raises(ModelError, match="fitted on 3 columns without names"):
        Goal(plain, numbers.layout, target=1, probe=numbers.probe)
    missing = mixed.rows.copy()
    missing[3, 1] = np.nan
    goal = Goal(converted, mixed.layout, target="good", probe=mixed.probe)
    with pytest.raises(ModelError, match=r"takes integers \(tensor\(int64\)\) as 'visits', but a cell .* missing"):
        goal.score_rows(missing)
    missing = mixed.rows.copy()
    missing[3, 2] = np.nan
    with pytest.raises(ModelError, match="takes strings as 'job', but a cell there is missing"):
        goal.score_rows(missing)


def test_a_string_tensor_for_all_columns(mixed):
    frame = mixed.frame.assign(visits=np.where(mixed.frame["visits"] > 4, "often", "rarely"))[["job", "visits"]]
    schema = mixed.table.schema
    levels = [schema["job"], type(schema["job"])("visits", "categorical", levels=("rarely", "often"))]
    table = Table.read(frame, type(schema)(tuple(levels)))
    model = make_pipeline(OneHotEncoder(), LogisticRegression()).fit(frame.to_numpy(object), mixed.y)
    converted = skl2onnx.convert_sklearn(model, initial_types=[("X", StringTensorType([None, 2]))])
    score = Goal(converted, table.layout, target="good", probe=table.values).score_rows(table.values).score
    np.testing.assert_allclose(score, 2 * model.predict_proba(frame.to_numpy(object))[:, 1] - 1, atol=WIDE)


def test_a_missing_runtime_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'attain\[onnx\]'"):
        Model(b"model")


def test_a_file_that_is_not_onnx_is_refused(tmp_path):
    with pytest.raises(ModelError, match=r"there is no file 'nowhere\.onnx'"):
        Model("nowhere.onnx")
    with pytest.raises(
        ModelError, match=r"'model\.joblib': a string is the path of an ONNX file; load other models first"
    ):
        Model("model.joblib")
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"no model")
    with pytest.raises(ModelError, match="cannot be opened"):
        Model(broken)
