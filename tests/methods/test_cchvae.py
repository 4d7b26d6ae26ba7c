"""C-CHVAE: the paper's search in latent space."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from attain import CCHVAE, Constraints, Feature, GrowingSpheres, Model, Schema, Status
from attain.datasets import make_blobs
from attain.density import CHVAE, Codes
from attain.methods.latent import _chosen
from attain.tables import Region, Table
from tests.density.outside import ProbabilisticPCA
from tests.density.trained import of_blobs, trained

BOUNDARY = 6.0


def accept(frame):
    return np.where(frame["x2"] > BOUNDARY, 1, 0)


@pytest.fixture(scope="module")
def blobs():
    data = make_blobs(3000, seed=1)
    refused = data.X[accept(data.X) == 0].iloc[:200]
    return data, refused


@pytest.fixture(scope="module")
def fitted(blobs):
    data, _ = blobs
    return CCHVAE(data.schema, autoencoder=of_blobs(), random_state=0).fit(data.X, data.y)


def in_the_empty_corner(frame):
    """Upper right, where the data-generating process puts nobody."""
    return (frame["x1"] > 3) & (frame["x2"] > BOUNDARY)


def test_growing_spheres_goes_to_the_empty_corner_and_cchvae_does_not(blobs, fitted):
    data, refused = blobs
    spheres = GrowingSpheres(data.schema, figures=False).fit(data.X, data.y).explain(accept, refused, target=1)
    latent = fitted.explain(accept, refused, target=1)
    lower_right = refused["x1"] > 3
    assert in_the_empty_corner(spheres.frame[lower_right]).mean() > 0.9
    assert latent.found.mean() > 0.99
    assert not in_the_empty_corner(latent.frame).any()
    assert latent.figures["outlier"].mean() < 0.05


def test_a_finer_search_never_ends_farther_away_by_more_than_a_shell(blobs, fitted):
    data, refused = blobs
    coarse = CCHVAE(data.schema, autoencoder=fitted.autoencoder_, step=1.0, figures=False).fit(data.X)
    fine = CCHVAE(data.schema, autoencoder=fitted.autoencoder_, step=0.1, samples=400, figures=False).fit(data.X)
    far = coarse.explain(accept, refused.iloc[:60], target=1).figures["latent_distance"]
    near = fine.explain(accept, refused.iloc[:60], target=1).figures["latent_distance"]
    assert (near <= far + 0.1).all()
    assert near.mean() <= far.mean()


def test_the_three_ways_a_search_ends_without_an_answer(blobs, fitted):
    data, refused = blobs
    model = Model(lambda frame: np.zeros(len(frame), dtype=int), classes=[0, 1])
    people = refused.iloc[:5]
    common = {"autoencoder": fitted.autoencoder_, "figures": False}
    for settings, status in (
        ({}, Status.OUT_OF_REACH),
        ({"max_shells": 3}, Status.SHELLS_SPENT),
        ({"budget": 150}, Status.BUDGET_SPENT),
    ):
        result = CCHVAE(data.schema, **common, **settings).fit(data.X).explain(model, people, target=1)
        assert set(result.statuses) == {status}


def test_a_reconstruction_that_flips_the_decision_is_flagged(blobs):
    data, _ = blobs
    people = data.X[(data.X["x2"] > 5.0) & (data.X["x2"] <= 6.0)]
    narrow = ProbabilisticPCA(data.schema, units=1)
    result = CCHVAE(data.schema, autoencoder=narrow).fit(data.X, data.y).explain(accept, people, target=1)
    flipped = result.figures["reconstruction_flip"] == 1
    assert flipped.any()
    assert (result.figures.loc[flipped, "latent_distance"] == 0).all()
    assert (result.figures.loc[~flipped & result.found, "latent_distance"] > 0).all()


def test_a_code_outside_the_box_is_searched_and_flagged(blobs, fitted):
    data, _ = blobs
    strange = pd.DataFrame({"x1": [60.0], "x2": [-60.0]})
    result = fitted.explain(accept, strange, target=1)
    assert result.statuses[0] in (Status.FOUND, Status.OUT_OF_REACH)
    inside = fitted.explain(accept, data.X[accept(data.X) == 0].iloc[:20], target=1)
    assert (inside.figures["code_outside_box"] == 0).all()


def test_conditions_are_kept_and_matter(blobs):
    random = np.random.default_rng(0)
    group = random.integers(0, 2, 1500)
    merit = random.normal(0, 1, 1500)
    frame = pd.DataFrame({"group": group, "x": 4 * group + merit, "y": merit + random.normal(0, 0.3, 1500)})
    schema = Schema(
        (Feature("group", "categorical", levels=(0, 1), immutable=True), Feature("x", "real"), Feature("y", "real"))
    )

    def decide(X):
        return np.where(X["x"] + X["y"] > 2.5, 1, 0)

    explainer = CCHVAE(schema, autoencoder=CHVAE(schema, likelihoods="paper", hidden=0, latent_dim=2, epochs=30)).fit(
        frame
    )
    people = frame[decide(frame) == 0].iloc[:100]
    result = explainer.explain(decide, people, target=1)
    assert result.found.mean() > 0.95
    assert (result.frame["group"] == people["group"])[result.found].all()
    assert (result.figures["outlier"] == 0).mean() > 0.9


def test_options_are_different_and_ordered_by_latent_distance(blobs, fitted):
    _, refused = blobs
    result = fitted.explain(accept, refused.iloc[:15], target=1, n=4)
    distance = result.option_figures["latent_distance"]
    for person in range(15):
        mine = distance[result.owners == person]
        assert len(mine) == 4
        assert (np.diff(mine) >= 0).all()
    assert len(np.unique(result.rows, axis=0)) == len(result.rows)
    assert (result.figures["diversity"] > 0).all()


@pytest.fixture(scope="module")
def credit():
    """Two correlated numbers, a linear classifier, and an autoencoder that decodes z to them without loss."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(800, 2)) @ [[1.0, 0.3], [0.0, 1.0]], columns=["a", "b"])
    model = LogisticRegression().fit(frame, frame["a"] + frame["b"] > 1.5)
    schema = Schema((Feature("a", "real"), Feature("b", "real")))
    autoencoder = trained(CHVAE(schema, likelihoods="paper", hidden=0, latent_dim=2, components=1, epochs=40), frame)
    return schema, frame, model, autoencoder


def searched(credit, people, **settings):
    schema, frame, model, autoencoder = credit
    explainer = CCHVAE(schema, autoencoder=autoencoder, figures=False, **settings).fit(frame)
    return explainer, explainer.explain(model, people, target=True)


def refused(credit, number=60):
    _, frame, model, _ = credit
    return frame[~model.predict(frame)].iloc[:number]


def test_the_nearest_place_of_a_linear_boundary_is_found_to_the_width_of_a_shell(credit):
    """Decoder and model are linear: the boundary is a line in latent space, whose distance is known."""
    _, _, model, autoencoder = credit
    people = refused(credit, 200)
    explainer, result = searched(credit, people)
    codes = autoencoder.encode(people)
    ends = [autoencoder.decode(Codes(codes.z + step, codes.context)) for step in ([0.0, 0.0], [1.0, 0.0], [0.0, 1.0])]
    own, *others = (frame @ model.coef_[0] + model.intercept_ for frame in ends)
    nearest = np.maximum(-own, 0) / np.hypot(*(other - own for other in others))
    low, high = explainer.box_
    inside = ((codes.z > low + nearest[:, None]) & (codes.z < high - nearest[:, None])).all(axis=1)
    found = result.figures["latent_distance"].to_numpy()
    assert inside.sum() > 20
    assert (found >= nearest - 1e-3).all()
    assert (found[inside] <= nearest[inside] + 0.1).all()


def test_answers_depend_on_the_row_and_the_seed_alone(credit):
    people = refused(credit, 30)
    _, whole = searched(credit, people, component="sampled")
    _, part = searched(credit, people.iloc[[17, 3]], component="sampled")
    assert part.answers.tobytes() == whole.answers[[17, 3]].tobytes()
    _, other = searched(credit, people, random_state=1)
    assert other.answers.tobytes() != whole.answers.tobytes()


def test_stopping_earlier_answers_fewer_and_no_farther(credit):
    people = refused(credit, 200)
    results = [searched(credit, people, stop=stop)[1] for stop in ("first", "half", "all")]
    shares = [result.found.mean() for result in results]
    assert shares[0] < shares[1] < shares[2] == 1
    farthest = [result.figures["latent_distance"].max() for result in results]
    assert farthest[0] < farthest[2]


def test_every_norm_is_searched(credit):
    people = refused(credit, 20)
    mean = [searched(credit, people, norm=norm)[1].figures["latent_distance"].mean() for norm in (math.inf, 2, 1)]
    assert mean[0] < mean[1] < mean[2]


@pytest.mark.parametrize("component", ["frozen", "argmax", "sampled", "all"])
def test_the_component_follows_the_rule(blobs, fitted, component):
    data, refused = blobs
    explainer = CCHVAE(data.schema, autoencoder=fitted.autoencoder_, component=component, figures=False).fit(data.X)
    latent = explainer._latent(Region.of(Table.read(refused, data.schema), Constraints()), component)
    z, owners = latent.codes + 0.5, np.arange(len(refused))
    own = fitted.autoencoder_.encode(refused)
    near = fitted.autoencoder_.log_components(z).argmax(axis=1)
    assert latent.components == (3 if component == "all" else 1)
    if component in ("frozen", "argmax"):
        context = own.context.copy()
        if component == "argmax":
            context[:, 0] = near
        assert np.array_equal(latent.decode(z, owners), fitted.autoencoder_.decode(Codes(z, context)))
    assert explainer.explain(accept, refused.iloc[:20], target=1).found.mean() > 0.9


def test_a_sampled_component_is_as_frequent_as_it_is_probable():
    log = np.log(np.array([0.2, 0.5, 0.3]))
    z = np.random.default_rng(0).normal(size=(20_000, 2))
    drawn = _chosen(np.repeat(log[None], len(z), axis=0), z, "sampled", 0)
    assert np.allclose(np.bincount(drawn) / len(z), [0.2, 0.5, 0.3], atol=0.015)
