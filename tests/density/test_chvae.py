"""The public autoencoders: what they recover, keep, copy and repeat."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from attain.core.errors import AttainError
from attain.datasets import make_blobs
from attain.density import CHVAE, VAE, BetaVAE, Codes
from attain.schema import Feature, Schema
from attain.testing import people

BLOBS = np.array([[-5.0, 9.0], [0.0, 4.5], [6.0, 1.0]])
BLOBS_LOG_DENSITY = -(np.log(2 * np.pi * np.e) + np.log(3))


@pytest.fixture(scope="module")
def blobs() -> Any:
    data = make_blobs(3000)
    model = CHVAE(data.schema, likelihoods="paper", hidden=0, components=3, epochs=150, batch_size=64, verbose=False)
    return data, model.fit(data.X)


def test_blobs_are_recovered(blobs: Any) -> None:
    data, model = blobs
    draws = model.sample(data.X.iloc[:1], 3000)
    near = ((draws[:, None, :] - BLOBS) ** 2).sum(axis=-1) < 3.5**2
    assert near.any(axis=1).mean() > 0.97, "samples lie where the data is"
    assert (np.abs(near.mean(axis=0) - 1 / 3) < 0.05).all(), "all three modes are found, in their share"
    codes = model.encode(data.X)
    rebuilt = model.decode_rows(codes, data.X)
    explained = 1 - ((rebuilt - data.X.to_numpy()) ** 2).mean(axis=0) / data.X.to_numpy().var(axis=0)
    assert (explained > 0.85).all()
    fresh = make_blobs(1000, seed=7).X
    assert model.log_density(fresh, 50).mean() == pytest.approx(BLOBS_LOG_DENSITY, abs=0.08)


def test_the_bound_rises_with_the_samples(blobs: Any) -> None:
    data, model = blobs
    bounds = [float(model.log_density(data.X, samples).mean()) for samples in (1, 10, 100)]
    assert bounds[0] < bounds[2] + 0.01
    assert bounds[1] < bounds[2] + 0.01
    assert max(model.history["validation"]) < bounds[2] + 0.1


def test_history_has_one_entry_per_epoch_and_units_are_active(blobs: Any) -> None:
    _, model = blobs
    lengths = {len(series) for series in model.history.values()}
    assert set(model.history) == {"reconstruction", "kl_latent", "kl_component", "validation"}
    assert len(lengths) == 1
    assert model.active_units.all()
    assert max(model.history["kl_component"]) <= np.log(3) + 1e-4


MIXED = people.schema().change("share_used", likelihood="truncated_normal").change("cards", likelihood="poisson")


def mixed(n: int = 600, seed: int = 0) -> pd.DataFrame:
    """People of whom some cells are missing, immutable ones among them."""
    generator, frame = np.random.default_rng(seed), people.frame(n, seed)
    for name in ("share_used", "age", "housing"):
        frame[name] = frame[name].mask(generator.random(n) < 0.1)
    return frame.assign(score=frame["score"] + frame["age"].fillna(45) / 20)


SMALL = {"latent_dim": 3, "hidden": 0, "epochs": 12, "batch_size": 64, "verbose": False}


@pytest.fixture(scope="module")
def fitted() -> CHVAE:
    return CHVAE(MIXED, components=2, **SMALL).fit(mixed())


def test_every_kind_missing_cells_and_special_codes_together(fitted: CHVAE) -> None:
    frame = mixed(50, seed=3)
    codes = fitted.encode(frame)
    rows = fitted.decode_rows(codes, frame)
    assert all(np.isfinite(part).all() for part in (codes.z, fitted.log_density(frame, 10), rows[:, 2:]))
    decoded = dict(zip(MIXED.names, rows.T, strict=True))
    assert set(decoded["education"]) <= {0.0, 1.0, 2.0}
    assert 0 <= decoded["share_used"].min() <= decoded["share_used"].max() <= 1
    assert np.allclose(decoded["debt_ratio"], decoded["debt"] / decoded["income"], rtol=1e-6)


def test_immutable_cells_are_copied_bit_for_bit(fitted: CHVAE) -> None:
    frame = mixed(30, seed=4)
    given = fitted._values(frame)
    codes = fitted.encode(frame)
    assert fitted.decode_rows(codes, frame)[:, :2].tobytes() == given[:, :2].tobytes()
    assert fitted.sample(frame, 2)[::2, :2].tobytes() == given[:, :2].tobytes()


def test_the_density_depends_on_the_immutable_features(fitted: CHVAE) -> None:
    """The decoder sees them; in the released code it does not."""
    frame = mixed(100, seed=5).dropna(subset=["age"])
    codes = fitted.encode(frame)
    older = fitted.encode(frame.assign(age=frame["age"] + 20)).context
    older[:, 0] = codes.context[:, 0]  # the same component
    assert not np.allclose(fitted.decode(codes)[:, 5], fitted.decode(Codes(codes.z, older))[:, 5])


def test_the_plain_autoencoder_does_not_look_at_immutable_features() -> None:
    generator = np.random.default_rng(0)
    frame = pd.DataFrame({"age": generator.integers(20, 70, 200), "x": generator.normal(size=200)})
    model = VAE(Schema((Feature("age", "count", immutable=True), Feature("x", "real"))), **SMALL).fit(frame)
    changed = frame.assign(age=33)
    assert np.array_equal(model.log_density(frame, 5), model.log_density(changed, 5))


@pytest.mark.slow
@pytest.mark.parametrize("hidden", [0, pytest.param(None, marks=pytest.mark.slow), (16, 8)])
def test_hidden_widths(hidden: Any) -> None:
    data = make_blobs(200)
    model = CHVAE(data.schema, hidden=hidden, latent_dim=2, components=2, epochs=1, batch_size=64, verbose=False)
    model.fit(data.X)
    layers = {0: (0,), None: (0, 1), (16, 8): (2,)}  # None chooses between none and one by the held-out bound
    assert len(model.network_.sizes.hidden) in layers[hidden]


@pytest.mark.slow
def test_the_relaxed_estimator_trains() -> None:
    data = make_blobs(1500)
    model = CHVAE(data.schema, components=3, estimator="relaxed", epochs=100, batch_size=64, verbose=False).fit(data.X)
    assert model.log_density(data.X, 20).mean() > BLOBS_LOG_DENSITY - 0.3


STILL = Schema(MIXED.features[:1])
MISUSE = {
    "latent_dim must be an integer ≥ 1, got 0": lambda: CHVAE(MIXED, latent_dim=0).fit(mixed(50)),
    "one of 'binned', 'paper', got 'mine'": lambda: CHVAE(MIXED, likelihoods="mine").fit(mixed(50)),  # type: ignore[arg-type]
    "components must be an integer ≥ 1, got -1": lambda: CHVAE(MIXED, components=-1).fit(mixed(50)),
    "one of 'exact', 'relaxed', got 'guess'": lambda: CHVAE(MIXED, estimator="guess").fit(mixed(50)),  # type: ignore[arg-type]
    "validation must be a number > 0 and < 1, got 1.5": lambda: CHVAE(MIXED, validation=1.5).fit(mixed(50)),
    "no feature is free": lambda: CHVAE(STILL).fit(mixed(50)[["age"]].dropna()),
    "beta must be a number ≥ 0, got -1": lambda: BetaVAE(MIXED, beta=-1).fit(mixed(50)),
}


@pytest.mark.parametrize("sentence", MISUSE)
def test_misuse_is_refused_with_a_sentence(sentence: str) -> None:
    with pytest.raises(AttainError, match=sentence):
        MISUSE[sentence]()


@pytest.mark.parametrize("name", ["encode", "log_density", "sample", "history", "active_units"])
def test_an_unfitted_model_says_so(name: str) -> None:
    with pytest.raises(NotFittedError, match="not fitted"):
        getattr(CHVAE(MIXED), name)(mixed(5))


@pytest.mark.slow
def test_an_upper_bound_of_zero_is_kept() -> None:
    schema = Schema((Feature("x", "real", bounds=(-10, 0)),))
    values = -np.abs(np.random.default_rng(0).normal(size=(300, 1)))
    draws = VAE(schema, likelihoods="paper", latent_dim=1, epochs=2, verbose=False).fit(values).sample(values[:1], 300)
    assert draws.max() == 0


def test_the_bound_beats_independent_columns_on_dependent_ones() -> None:
    """log p = log N(x) + log N(y | x), far above the product of marginals."""
    generator = np.random.default_rng(0)
    x = generator.normal(size=2000)
    frame = pd.DataFrame({"x": x, "y": x + generator.normal(0, 0.3, 2000)})
    schema = Schema((Feature("x", "real"), Feature("y", "real")))
    model = VAE(schema, latent_dim=1, epochs=60, batch_size=64, verbose=False).fit(frame)
    truth = -np.log(2 * np.pi * np.e) - np.log(0.3)
    assert model.log_density(frame, 100).mean() == pytest.approx(truth, abs=0.1)
