"""REVISE: gradient search in latent space."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import check_grad
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from attain import Constraints, Feature, Schema
from attain.datasets import make_blobs
from attain.density import VAE
from attain.methods.revise import REVISE, LatentDescent, Loss
from attain.search.moves import units
from attain.search.problem import Ledger, Problem
from attain.tables import Region, Table
from tests.density.trained import of_blobs, trained

BOUNDARY = 6.0


def accept(frame):
    return np.where(frame["x2"] > BOUNDARY, 1, 0)


@pytest.fixture(scope="module")
def blobs():
    data = make_blobs(3000, seed=1)
    refused = data.X[accept(data.X) == 0].iloc[:60]
    return data, refused


@pytest.fixture(scope="module")
def autoencoder():
    return of_blobs()


@pytest.fixture(scope="module")
def line():
    """People along one line in the plane, a linear decoder with one latent unit, and a linear classifier."""
    random = np.random.default_rng(0)
    place = random.normal(0, 1, 600)
    noise = random.normal(0, 0.1, (600, 2))
    frame = pd.DataFrame({"a": place + noise[:, 0], "b": 2 * place + noise[:, 1]})
    schema = Schema((Feature("a", "real"), Feature("b", "real")))
    model = LogisticRegression().fit(frame, place + random.normal(0, 0.3, 600) > 0.5)
    linear = trained(VAE(schema, likelihoods="paper", hidden=0, latent_dim=1, epochs=60), frame)
    return schema, frame, model, linear


def problem_of(explainer, model, people):
    table = Table.read(people, explainer.population_.schema)
    goal = explainer._goal(model, True, None)
    return Problem(
        goal, Region.of(table, Constraints(), explainer.population_.observed), Ledger(len(table), 10_000), 1, 0
    )


def decoder(latent):
    """The linear decoder of everybody: its Jacobian (d, k) and what it gives at 0."""
    k = latent.codes.shape[1]
    rows = latent.decode(np.concatenate((np.zeros((1, k)), np.eye(k))), np.zeros(k + 1, dtype=int))
    return (rows[1:] - rows[0]).T, rows[0]


def test_the_slope_of_a_linear_decoder_is_its_transposed_matrix(line):
    schema, frame, model, linear = line
    explainer = REVISE(schema, autoencoder=linear).fit(frame)
    region = problem_of(explainer, model, frame.iloc[:4]).region
    matrix, _ = decoder(explainer._latent(region))
    gradient = np.random.default_rng(1).normal(0, 1, (4, 2))
    pulled = explainer._latent(region).decode_vjp(np.zeros((4, 1)), np.arange(4), gradient)
    np.testing.assert_allclose(pulled, gradient @ matrix, rtol=1e-4, atol=1e-6)


def loss_of(boundary, spread):
    """A loss as if learned from two people at equal distances from the boundary."""
    return Loss(np.array([boundary - spread, boundary + spread]), np.array([False, True]))


def test_the_loss_has_the_slope_it_says():
    loss = loss_of(0.3, 2.0)
    for score in (-50.0, -1.0, 0.3, 4.0):
        assert check_grad(lambda s: loss.of(s)[0], lambda s: loss.slope(s), np.array([score])) < 1e-6


def test_the_loss_of_a_probability_is_that_of_its_log_odds():
    odds = np.array([-3.0, 0.5, 2.0, 2.5])
    met = np.array([False, False, True, True])
    expected = Loss(odds, met).of(odds)
    np.testing.assert_allclose(Loss(expit(odds), met, (0.0, 1.0)).of(expit(odds)), expected)
    lead = 2 * expit(odds) - 1
    np.testing.assert_allclose(Loss(lead, met, (-1.0, 1.0)).of(lead), expected)


def test_the_exact_gradient_is_the_chain_rule_by_hand(line):
    schema, frame, model, linear = line
    explainer = REVISE(schema, autoencoder=linear).fit(frame)
    people = frame[~model.predict(frame)].iloc[:6]
    problem = problem_of(explainer, model, people)
    latent = explainer._latent(problem.region)
    unit = units(explainer.population_.schema, explainer.population_.observed)
    descent = LatentDescent(explainer, problem, latent, unit)
    smooth, loss, weight = explainer.session(model, target=True).inspected[0], loss_of(0.0, 1.5), 0.4
    everybody = np.arange(len(people))
    decoded = latent.decode(latent.codes, everybody)
    rows = problem.region.final_form(decoded, everybody)
    value, slope = descent._slope(smooth, loss, decoded, rows, everybody, weight)
    logit = model.decision_function(pd.DataFrame(decoded, columns=["a", "b"]))
    expected = -model.coef_ / 1.5 / (1 + np.exp(logit / 1.5))[:, None]
    span = frame.max().to_numpy() - frame.min().to_numpy()
    expected = expected + weight * np.sign(decoded - people.to_numpy()) / span
    np.testing.assert_allclose(slope, expected, rtol=1e-6)
    distance = (np.abs(decoded - people.to_numpy()) / span).sum(axis=1)
    np.testing.assert_allclose(value, np.log1p(np.exp(-logit / 1.5)) + weight * distance, rtol=1e-6)


@pytest.mark.parametrize("method", ["gradient", "scores"])
def test_on_a_line_the_answer_is_where_the_decoder_crosses_the_boundary(line, method):
    schema, frame, model, linear = line
    people = frame[~model.predict(frame)].iloc[:20]
    explainer = REVISE(schema, autoencoder=linear, method=method, learning_rate=0.02, iterations=300, width=0.05)
    result = explainer.fit(frame).explain(model, people, target=True)
    assert result.found.all()
    latent = explainer._latent(Region.of(Table.read(people, schema), Constraints(), explainer.population_.observed))
    matrix, origin = decoder(latent)
    weights = model.coef_[0]
    crossing = -(weights @ origin + model.intercept_[0]) / (weights @ matrix[:, 0])
    where = origin + matrix[:, 0] * crossing
    # nobody steps farther beyond it than one step of Adam and one difference reach
    reach = np.abs(matrix[:, 0]) * 0.1 + 1e-3
    assert (np.abs(result.answers - where) <= reach).all()


def test_the_estimate_of_a_linear_score_approaches_its_gradient(line):
    schema, frame, model, linear = line
    explainer = REVISE(schema, autoencoder=linear, pairs=50, width=0.02).fit(frame)
    problem = problem_of(explainer, model, frame[~model.predict(frame)].iloc[:5])
    latent = explainer._latent(problem.region)
    descent = LatentDescent(explainer, problem, latent, np.ones(2))
    seen = []
    descent._descend = lambda objective, questions: seen.append(
        (objective(latent.codes, np.arange(5), 0.0)[1], questions)
    )
    descent.follow_scores(loss_of(0.0, 1.0))
    (estimate, questions), (matrix, _) = seen[0], decoder(latent)
    assert questions == 101
    lead = (
        2 * model.predict_proba(pd.DataFrame(latent.decode(latent.codes, np.arange(5)), columns=["a", "b"]))[:, 1] - 1
    )
    # the lead 2p − 1 has the slope 2p(1 − p) w, and 2p(1 − p) = (1 − lead²) / 2
    slope = -1 / (1 + np.exp(lead)) * (1 - lead**2) / 2 * (model.coef_[0] @ matrix[:, 0])
    np.testing.assert_allclose(estimate[:, 0], slope, rtol=0.05)


@pytest.mark.parametrize("weight", [0.0, 0.5])
def test_answers_lie_where_people_are(blobs, autoencoder, weight):
    data, refused = blobs
    explainer = REVISE(data.schema, autoencoder=autoencoder, weight=weight).fit(data.X, data.y)
    result = explainer.explain(accept, refused, target=1)
    assert result.found.all()
    empty_corner = (result.frame["x1"] > 3) & (result.frame["x2"] > BOUNDARY)
    assert not empty_corner.any()
    assert result.figures["outlier"].mean() < 0.05


def test_a_model_without_a_slope_is_searched_by_its_scores(blobs, autoencoder):
    data, refused = blobs
    tree = DecisionTreeClassifier(max_depth=3).fit(data.X, accept(data.X))
    explainer = REVISE(data.schema, autoencoder=autoencoder).fit(data.X)
    assert explainer.explain(tree, refused.iloc[:10], target=1).found.all()
