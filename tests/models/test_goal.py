"""What holds for every model: counts, batches, repeatable answers, fingerprints, and a message for every fault."""

import math
import pickle
import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from attain.core.errors import AttainError, ModelError
from attain.models import Goal, JointGoal, Judgement, Model
from attain.models.adapter import decision, lead
from attain.models.reader import by_halves


def good(frame):
    return np.where(frame["income"] > 3, "good", "bad")


def test_calls_and_rows_are_counted_and_batches_keep_the_limit(numbers):
    sizes = []

    def model(frame):
        sizes.append(len(frame))
        return good(frame)

    wrapped = Model(model, batch_rows=100)
    goal = numbers.goal(wrapped)
    assert (wrapped.calls, wrapped.rows) == (len(sizes), sum(sizes))
    sizes.clear()
    calls, rows = wrapped.calls, wrapped.rows
    met = goal.score_rows(numbers.rows).met
    assert sizes == [100, 100, 40]
    assert (wrapped.calls - calls, wrapped.rows - rows) == (3, 240)
    np.testing.assert_array_equal(met, numbers.frame["income"] > 3)


def test_no_rows_never_reach_the_model(numbers):
    goal = numbers.goal(LogisticRegression().fit(numbers.frame, numbers.y))
    calls = goal.model.calls
    for judgement in (goal.score_rows(numbers.rows[:0]), goal.confirm_rows(numbers.rows[:0])):
        assert isinstance(judgement, Judgement)
        assert judgement.met.shape == judgement.score.shape == (0,)
        assert judgement.met.dtype == bool
    assert goal.model.calls == calls


def test_a_probability_that_is_just_reached_is_enough(numbers):
    def half(frame):
        return np.where(frame["income"] > 3, 0.5, 0.25)

    for probability, margin in ((0.5, 0.0), (0.25, 0.25)):
        goal = numbers.goal(Model(half, classes=["bad", "good"]), target="good", probability=probability, margin=margin)
        np.testing.assert_array_equal(goal.score_rows(numbers.rows).met, numbers.frame["income"] > 3)


def test_a_digest_follows_the_answers_and_not_the_request(numbers):
    def digest(C=1.0, **request):
        return numbers.goal(LogisticRegression(C=C).fit(numbers.frame, numbers.y), **request).answers_digest

    assert re.fullmatch(r"[0-9a-f]{32}", first := digest())
    assert digest() == digest(target="bad") == digest(probability=0.6) == first
    assert digest(C=0.1) != first


def test_rows_are_decided_in_one_call_with_the_control_unless_the_model_has_changed(numbers):
    model = LogisticRegression().fit(numbers.frame, numbers.y)
    learned = numbers.goal(model)
    wrapped = Model(model)
    goal = learned.fresh_copy(model=wrapped)
    again, expected = goal.confirm_again(numbers.rows), learned.confirm_rows(numbers.rows)
    np.testing.assert_array_equal(again.met, expected.met)
    np.testing.assert_allclose(again.score, expected.score)
    assert (wrapped.calls, goal.reader.uncharged) == (2, 2 * len(numbers.probe))
    assert goal.rows_asked == wrapped.rows == 2 * (len(numbers.probe) + len(numbers.rows))
    model.coef_ *= 1.001
    assert learned.fresh_copy(model=Model(model)).confirm_again(numbers.rows) is None


RANDOM = np.random.default_rng(0)


RANDOM_MODELS = [
    lambda frame: RANDOM.choice(["bad", "good"], len(frame)),
    lambda frame: RANDOM.uniform(size=len(frame)),
    lambda frame: np.clip(frame["income"].to_numpy() / 9 + RANDOM.normal(0, 1e-3, len(frame)), 0.01, 0.99),
]


@pytest.mark.parametrize("model", RANDOM_MODELS)
def test_a_model_that_changes_its_answers_is_refused(model, numbers):
    with pytest.raises(ModelError, match=r"when asked again about the same 60 rows.*random model"):
        numbers.goal(Model(model, classes=["bad", "good"]))


def test_last_bits_do_not_count_as_a_change(numbers):
    def model(frame):
        return np.clip(frame["income"].to_numpy() / 6, 0.01, 0.99) + RANDOM.normal(0, 1e-12, len(frame))

    goal = numbers.goal(model, 1)
    np.testing.assert_array_equal(goal.score_rows(numbers.rows).met, numbers.frame["income"] > 3)


class Faulty(LogisticRegression):
    """Returns what `fault` makes of its answer, for more rows than the probe has."""

    def predict_proba(self, X):
        proper = super().predict_proba(X)
        return self.fault(proper) if len(X) > 60 else proper


def judged(numbers, fault, **options):
    model = Faulty().fit(numbers.frame, numbers.y)
    model.fault = fault
    goal = numbers.goal(Model(model, **options))
    return goal.score_rows(numbers.rows)


def with_cell(array, value):
    array = array.astype(object if isinstance(value, str) else float)
    array[7, 0] = value
    return array


FAULTS = [
    (lambda p: p[:-1], r"the Faulty model returned 239 answers for 240 rows"),
    (lambda p: p[:, :1].repeat(3, 1), r"of shape \(240, 3\) for 240 rows, but has 2 classes: 'bad', "),
    (lambda p: p[:, None, :], r"an array of shape \(240, 1, 2\) for 240 rows"),
    (lambda p: None, r"returned a single NoneType for 240 rows"),
    (lambda p: 0.5, r"returned a single float for 240 rows"),
    (lambda p: [[1.0], [1.0, 2.0]], r"returned a list that is not an array: ValueError"),
    (lambda p: with_cell(p, np.nan), r"NaN or infinite probabilities for 1 of 240 rows, the first at position 7"),
    (lambda p: with_cell(p, np.inf), r"NaN or infinite probabilities for 1 of 240 rows"),
    (lambda p: with_cell(p, "much"), r"returned probabilities that are not numbers for 240 rows"),
    (lambda p: p * 3, r"returned probabilities from .* to .* for 240 rows; they must be between 0 and 1"),
]


@pytest.mark.parametrize(("fault", "sentence"), FAULTS)
def test_an_answer_that_is_not_a_prediction_is_refused(numbers, fault, sentence):
    with pytest.raises(ModelError, match=sentence):
        judged(numbers, fault)


def test_an_exception_becomes_a_model_error_and_is_chained(numbers):
    def fault(_):
        raise ZeroDivisionError("by income")

    sentence = r"the Faulty model raised ZeroDivisionError when asked for probabilities of 240 rows: by income"
    with pytest.raises(ModelError, match=sentence) as caught:
        judged(numbers, fault)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_answers_of_different_widths_are_refused(numbers):
    widths = Counter()

    def fault(proper):
        widths["calls"] += 1
        return proper if widths["calls"] == 1 else proper[:, :1]

    with pytest.raises(ModelError, match="different widths in different calls"):
        judged(numbers, fault, batch_rows=80)


LABELS = [
    (lambda n: np.array(["good"] * (n - 1) + ["ugly"]), r"not among its classes for 1 of 60 rows: 'ugly'"),
    (lambda n: np.array(["good"] * (n - 1) + [None], dtype=object), r"a missing label \(NaN or None\) for 1 of 60"),
    (lambda n: np.full(n, np.nan), r"a missing label \(NaN or None\) for 60 of 60 rows"),
    (lambda n: np.full((n, 2), "good"), r"labels of shape \(60, 2\) for 60 rows; it must return one per row"),
]


@pytest.mark.parametrize(("answer", "sentence"), LABELS)
def test_a_label_that_is_not_a_class_is_refused(numbers, answer, sentence):
    model = Model(lambda frame: answer(len(frame)), classes=["bad", "good"], returns="labels")
    with pytest.raises(ModelError, match=sentence):
        numbers.goal(model)


TARGETS = [
    (["0", "1"], 1, r"target is 1, but .* are '0', '1'; did you mean '1' \(str, not int\)\?"),
    ([0, 1], "1", r"target is '1', but .* are 0, 1; did you mean 1 \(int, not str\)\?"),
    ([False, True], "true", r"did you mean True \(bool, not str\)\?"),
    (["bad", "good"], "Good", r"did you mean 'good'\?"),
    (["bad", "good"], "fine", r"target is 'fine', but the classes of .* are 'bad', 'good'; pass one of them"),
    ([0, 1], None, r"target is None, but the classes of .* are 0, 1"),
]


@pytest.mark.parametrize(("classes", "target", "sentence"), TARGETS)
def test_a_target_the_model_does_not_know_is_refused_with_the_known_classes(numbers, classes, target, sentence):
    model = Model(lambda frame: np.array(classes)[(frame["income"] > 3).astype(int)], classes=classes)
    with pytest.raises(ModelError, match=sentence):
        numbers.goal(model, target)


@pytest.mark.parametrize(
    ("classes", "target"),
    [
        ([False, True], 1),
        ([0, 1], True),
        ([np.int64(0), np.int64(1)], np.float32(1)),
        ([0.0, 1.0], 1),
        (["a", "b"], np.str_("b")),
    ],
)
def test_equal_scalars_of_other_types_are_the_same_class(numbers, classes, target):
    model = Model(lambda frame: np.array(classes)[(frame["income"] > 3).to_numpy().astype(int)], classes=classes)
    goal = numbers.goal(model, target)
    np.testing.assert_array_equal(goal.score_rows(numbers.rows).met, numbers.frame["income"] > 3)
    assert not isinstance(goal.target, np.generic)


MISUSE = [
    *((lambda d, p=p: d.goal(good, probability=p), r"probability must be a number > 0 and ≤ 1, got .*")
      for p in (0, 1.2, -0.1, np.nan, "0.7", True)),
    *((lambda d, m=m: d.goal(good, margin=m), r"margin must be a number ≥ 0, got .*")
      for m in (-1e-9, np.nan, np.inf, None)),
    *((lambda d, n=n: Model(good, batch_rows=n), r"batch_rows must be an integer ≥ 1, got .*") for n in (0, 2.5, True)),
    *((lambda d, c=c: Model(good, classes=c), r"classes must be at least two different labels.*, got")
      for c in ("ab", ["one"], ["a", "a"])),
    *((lambda d, n=n: Model(good, class_names=n), "class_names must be a text for each class")
      for n in (["granted"], {1: 2}, {1: " "})),
    (lambda d: d.goal(Model(LogisticRegression().fit(d.frame, d.y), class_names={"x": "granted"})),
     "class_names has 'x', but the classes of"),
    (lambda d: d.goal(good, probe=d.probe[:0]), "probe has no rows"),
    (lambda d: Model(good, accepts="arrow"), r"accepts must be one of 'numpy', 'pandas', .*, got 'arrow'"),
    (lambda d: Model(good, returns="odds"), r"returns must be one of 'labels', 'probabilities', 'scores', got 'odds'"),
    (lambda d: Model(3), "an object of type int cannot be asked for predictions"),
    (lambda d: d.goal(SINGLE, "bad"), "has only the class 'bad'; there is no decision to flip"),
]  # fmt: skip
SINGLE = LogisticRegression()
SINGLE.classes_, SINGLE.feature_names_in_ = np.array(["bad"]), np.array(["income", "visits"], dtype=object)


@pytest.mark.parametrize(("call", "sentence"), MISUSE)
def test_misuse_is_refused_with_a_sentence(call, sentence, numbers):
    with pytest.raises(AttainError, match=sentence):
        call(numbers)


@given(st.integers(2, 5), st.integers(0, 4), st.integers(0, 2**32 - 1))
def test_the_lead_is_positive_exactly_where_the_class_wins_alone(count, position, seed):
    position %= count
    values = np.random.default_rng(seed).integers(0, 4, (20, count)).astype(float)
    ahead = lead(values, position)
    brute = [row[position] - max(v for j, v in enumerate(row) if j != position) for row in values]
    np.testing.assert_array_equal(ahead, brute)
    assert (decision(values)[ahead > 0] == position).all()
    assert (decision(values)[ahead < 0] != position).all()


def test_no_library_is_imported_before_one_of_its_models_is_there():
    code = (
        "import sys, attain.models as m; m.Model(lambda frame: frame); "
        "print(*({'torch', 'xgboost', 'lightgbm', 'onnx', 'onnxruntime'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def threshold(column, value):
    return Model(lambda frame: (frame[column] > value).to_numpy(), classes=[False, True])


def test_a_joint_goal_is_met_where_all_goals_are_and_asks_the_others_only_where_needed(numbers):
    first, second, third = (
        numbers.goal(threshold(column, value), True) for column, value in (("income", 2), ("income", 4), ("visits", 4))
    )
    joint = JointGoal(first, [second, third])
    income, visits = numbers.frame["income"].to_numpy(), numbers.frame["visits"].to_numpy()
    before = [goal.rows_asked for goal in (first, second, third)]
    for judge in (joint.score_rows, joint.confirm_rows):
        met, score, asked, *_ = judge(numbers.rows)
        np.testing.assert_array_equal(met, (income > 4) & (visits > 4))
        np.testing.assert_array_equal(score, income > 2)
        np.testing.assert_array_equal(asked, 1 + (income > 2) + (income > 4))
    spent = [goal.rows_asked - earlier for goal, earlier in zip((first, second, third), before, strict=True)]
    assert spent == [2 * 240, 2 * (income > 2).sum(), 2 * (income > 4).sum()]
    assert joint.rows_asked == first.rows_asked + second.rows_asked + third.rows_asked
    assert (first.most_questions, joint.most_questions, JointGoal(joint, [first]).most_questions) == (1, 3, 4)
    np.testing.assert_array_equal(joint.share(numbers.rows), ((income > 4) + 1.0 * (visits > 4)) / 2)
    assert (joint.model, joint.layout, joint.classes) == (first.model, first.layout, first.classes)


def test_counts_are_right_when_threads_share_a_model(numbers):
    goal = numbers.goal(threshold("income", 3), True)
    calls, rows = goal.model.calls, goal.rows_asked
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: goal.score_rows(numbers.rows[:2]), range(400)))
    finally:
        sys.setswitchinterval(interval)
    assert goal.model.calls - calls == 400
    assert goal.model.rows == goal.rows_asked == rows + 800


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.just(n), st.sets(st.integers(0, n - 1)))))
def test_halves_find_exactly_the_rows_that_fail(case):
    n, bad = case
    calls = []

    def ask(rows):
        calls.append(len(rows))
        if bad & set(rows[:, 0]):
            raise ModelError(f"{len(rows)} rows")
        return rows[:, 0]

    parts, failures = by_halves(ask, np.arange(n, dtype=float)[:, None])
    assert set(failures) == bad
    assert {str(error) for error in failures.values()} <= {"1 rows"}
    taken = np.concatenate([np.empty(0, dtype=int), *(at for at, _ in parts)])
    assert taken.tolist() == sorted(set(range(n)) - bad)
    assert all((at == answer).all() for at, answer in parts)
    assert len(calls) <= 2 * n - 1
    assert len(calls) <= 1 + 2 * len(bad) * math.ceil(math.log2(max(n, 2)))


def test_a_tolerant_goal_judges_rows_on_which_the_model_fails_as_far_away(numbers):
    model = LogisticRegression().fit(numbers.frame, numbers.y)
    missing = numbers.rows.copy()
    missing[[3, 7], 0] = np.nan
    strict = numbers.goal(model)
    tolerant = Goal(model, numbers.layout, target="good", probe=missing[:60], tolerant=True)
    with pytest.raises(ModelError, match="contains NaN"):
        strict.score_rows(missing)
    judged, expected = tolerant.score_rows(missing), strict.score_rows(numbers.rows)
    others = np.delete(np.arange(len(missing)), [3, 7])
    assert list(judged.failures) == [3, 7]
    assert "of 1 row:" in judged.failures[3]
    np.testing.assert_array_equal(judged.met[others], expected.met[others])
    np.testing.assert_allclose(judged.score[others], expected.score[others])
    assert not judged.met[[3, 7]].any()
    assert (judged.score[[3, 7]] == judged.score[others[:58]].min()).all()
    assert (judged.asked == 1).all()
    assert tolerant.reader.failed == 2


def test_classes_have_names_for_texts(numbers):
    model = LogisticRegression().fit(numbers.frame, numbers.y)
    wrapped = Model(model, class_names={"good": "granted"})
    goal = numbers.goal(wrapped)
    assert goal.model.class_names == {goal.target: "granted"}
    assert "bad" not in wrapped.class_names
    assert pickle.loads(pickle.dumps(wrapped)).class_names == wrapped.class_names
