"""Torch modules, against their own forward pass."""

import numpy as np
import pytest

from attain.core.errors import ModelError
from attain.models import Goal, Model

torch = pytest.importorskip("torch")


def module(outputs, seed=0, **options):
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Linear(2, 8, **options), torch.nn.Tanh(), torch.nn.Linear(8, outputs, **options)
    )


def logits(net, array, dtype=torch.float32):
    with torch.no_grad():
        return net(torch.as_tensor(array, dtype=dtype)).double().numpy()


class Flat(torch.nn.Module):
    """One logit a row, as a vector."""

    def __init__(self):
        super().__init__()
        self.inner = module(1)

    def forward(self, x):
        return self.inner(x)[:, 0]


@pytest.mark.parametrize("make", [lambda: module(1), Flat])
def test_one_logit_is_the_second_class_by_a_sigmoid(numbers, make):
    net = make().eval()
    expected = 1 / (1 + np.exp(-logits(net, numbers.array).ravel()))
    goal = Goal(
        Model(net, classes=["bad", "good"]), numbers.layout, target="good", probability=0.5, probe=numbers.probe
    )
    np.testing.assert_allclose(goal.score_rows(numbers.rows).score, expected, atol=1e-7)


def test_several_logits_are_classes_by_a_softmax(numbers):
    net = module(3).eval()
    raw = np.exp(logits(net, numbers.array))
    expected = raw / raw.sum(axis=1, keepdims=True)
    goal = Goal(net, numbers.layout, target=1, probe=numbers.probe)
    assert goal.classes == (0, 1, 2)
    met, score, *_ = goal.confirm_rows(numbers.rows)
    np.testing.assert_allclose(score, expected[:, 1] - expected[:, [0, 2]].max(axis=1), atol=1e-6)
    np.testing.assert_array_equal(met, score >= 1e-6)


def test_what_the_module_returns_can_be_given(numbers):
    net = torch.nn.Sequential(module(3), torch.nn.Softmax(dim=1)).eval()
    expected = logits(net, numbers.array)
    given = Goal(Model(net, returns="probabilities"), numbers.layout, target=2, probability=0.4, probe=numbers.probe)
    np.testing.assert_allclose(given.score_rows(numbers.rows).score, expected[:, 2], atol=1e-7)
    raw = module(1).eval()
    scores = Goal(Model(raw, returns="scores"), numbers.layout, target=1, probe=numbers.probe)
    np.testing.assert_allclose(scores.score_rows(numbers.rows).score, logits(raw, numbers.array)[:, 0], atol=1e-6)
    with pytest.raises(ModelError, match=r"returned probabilities from .* to .*; they must be between 0 and 1"):
        Goal(Model(module(3, seed=1).eval(), returns="probabilities"), numbers.layout, target=2, probe=numbers.probe)


def test_a_module_in_double_precision_gets_doubles(numbers):
    net = module(2, dtype=torch.float64).eval()
    raw = np.exp(logits(net, numbers.array, torch.float64))
    expected = raw / raw.sum(axis=1, keepdims=True)
    score = Goal(net, numbers.layout, target=1, probe=numbers.probe).score_rows(numbers.rows).score
    np.testing.assert_allclose(score, expected[:, 1] - expected[:, 0], atol=1e-13)


def test_a_module_in_training_mode_is_refused(numbers):
    net = torch.nn.Sequential(module(2), torch.nn.Dropout(0.5))
    with pytest.raises(ModelError, match=r"Sequential model is in training mode.*call \.eval\(\)"):
        Goal(net, numbers.layout, target=1, probe=numbers.probe)


def test_texts_and_odd_outputs_are_refused(mixed, numbers):
    with pytest.raises(ModelError, match="takes numbers, but some columns have levels that are strings"):
        Goal(module(2).eval(), mixed.layout, target=1, probe=mixed.probe)

    class Pair(torch.nn.Module):
        def forward(self, x):
            return x, x

    with pytest.raises(ModelError, match="returned a tuple; it must return one tensor"):
        Goal(Pair().eval(), numbers.layout, target=1, probe=numbers.probe)
    with pytest.raises(ModelError, match="raised RuntimeError when asked for probabilities of 60 rows"):
        Goal(torch.nn.Linear(5, 2).eval(), numbers.layout, target=1, probe=numbers.probe)
