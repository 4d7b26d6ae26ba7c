"""Torch modules, against their own forward pass."""

import numpy as np
import pytest

from attain.core.errors import ModelError
from attain.models import Model
from tests.models.conftest import check_lead

torch = pytest.importorskip("torch")


def module(outputs, seed=0, **options):
    torch.manual_seed(seed)
    first, last = torch.nn.Linear(2, 8, **options), torch.nn.Linear(8, outputs, **options)
    return torch.nn.Sequential(first, torch.nn.Tanh(), last).eval()


def logits(net, array, dtype=torch.float32):
    with torch.no_grad():
        return net(torch.as_tensor(array, dtype=dtype)).double().numpy()


class Flat(torch.nn.Sequential):
    """One logit a row, as a vector."""

    def forward(self, x):
        return super().forward(x)[:, 0]


@pytest.mark.parametrize("net", [module(1), Flat(module(1)).eval()])
def test_one_logit_is_the_second_class_by_a_sigmoid(numbers, net):
    expected = 1 / (1 + np.exp(-logits(net, numbers.array).ravel()))
    goal = numbers.goal(Model(net, classes=["bad", "good"]), probability=0.5)
    np.testing.assert_allclose(goal.score_rows(numbers.rows).score, expected, atol=1e-7)


@pytest.mark.parametrize(("outputs", "dtype", "atol"), [(3, torch.float32, 1e-6), (2, torch.float64, 1e-13)])
def test_several_logits_are_classes_by_a_softmax_in_the_precision_of_the_module(numbers, outputs, dtype, atol):
    net = module(outputs, dtype=dtype)
    raw = np.exp(logits(net, numbers.array, dtype))
    goal = numbers.goal(net, 1)
    assert goal.classes == tuple(range(outputs))
    met = goal.confirm_rows(numbers.rows).score >= 1e-6
    check_lead(goal, numbers.rows, raw / raw.sum(axis=1, keepdims=True), met, atol=atol)


def test_what_the_module_returns_can_be_given(numbers):
    net, raw = torch.nn.Sequential(module(3), torch.nn.Softmax(dim=1)).eval(), module(1)
    given = numbers.goal(Model(net, returns="probabilities"), 2, probability=0.4)
    scores = numbers.goal(Model(raw, returns="scores"), 1)
    np.testing.assert_allclose(given.score_rows(numbers.rows).score, logits(net, numbers.array)[:, 2], atol=1e-7)
    np.testing.assert_allclose(scores.score_rows(numbers.rows).score, logits(raw, numbers.array)[:, 0], atol=1e-6)


class Pair(torch.nn.Module):
    def forward(self, x):
        return x, x


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (
            Model(module(3, seed=1), returns="probabilities"),
            r"probabilities from .* to .*; they must be between 0 and 1",
        ),
        (torch.nn.Linear(2, 2).train(), r"Linear model is in training mode.*call \.eval\(\)"),
        (Pair().eval(), "returned a tuple; it must return one tensor"),
        (torch.nn.Linear(5, 2).eval(), "raised RuntimeError when asked for probabilities of 60 rows"),
    ],
)
def test_misuse_is_refused_with_a_sentence(model, sentence, numbers):
    with pytest.raises(ModelError, match=sentence):
        numbers.goal(model, 1)


def test_texts_are_refused(mixed):
    with pytest.raises(ModelError, match="takes numbers, but some columns have levels that are strings"):
        mixed.goal(module(2), 1)
