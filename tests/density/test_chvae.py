"""The public autoencoders: what they recover, keep, copy and repeat."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from attain.core.errors import AttainError, DataError
from attain.datasets import make_blobs
from attain.density import CHVAE, VAE, Codes
from attain.schema import Feature, Schema

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


MIXED = Schema(
    (
        Feature("age", "count", immutable=True),
        Feature("sex", "categorical", levels=("f", "m"), immutable=True),
        Feature("months", "count", special={-9: "no record"}),
        Feature("score", "interval", bounds=(0, 100), step=1),
        Feature("share", "interval", bounds=(0, 1), likelihood="truncated_normal"),
        Feature("trades", "count", likelihood="poisson"),
        Feature("grade", "ordinal", levels=("low", "mid", "high")),
        Feature("home", "categorical", levels=("rents", "owns", "other")),
        Feature("income", "positive"),
        Feature("balance", "real"),
        Feature("ratio", "real", derived="balance / income"),
    )
)


def mixed(n: int = 600, seed: int = 0) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    age = generator.integers(20, 70, n)
    wealth = generator.normal((age - 45) / 20, 1)
    months = generator.poisson(np.exp(1 + 0.3 * wealth)).astype(float)
    months[generator.random(n) < 0.2] = -9
    frame = pd.DataFrame(
        {
            "age": age,
            "sex": generator.choice(["f", "m"], n),
            "months": months,
            "score": np.clip(np.round(60 + 25 * wealth), 0, 100),
            "share": 1 / (1 + np.exp(wealth + generator.normal(0, 0.5, n))),
            "trades": generator.negative_binomial(2, 0.3, n),
            "grade": np.array(["low", "mid", "high"])[np.clip(np.round(wealth + 1), 0, 2).astype(int)],
            "home": np.where(wealth > 0, "owns", generator.choice(["rents", "other"], n)),
            "income": np.exp(8 + 0.5 * wealth),
            "balance": 1000 * wealth + generator.normal(0, 100, n),
        }
    )
    frame["ratio"] = frame["balance"] / frame["income"]
    frame.loc[generator.random(n) < 0.1, "score"] = np.nan
    frame.loc[generator.random(n) < 0.1, "age"] = np.nan
    frame.loc[generator.random(n) < 0.1, "home"] = None
    return frame


SMALL = {"latent_dim": 3, "hidden": 0, "epochs": 12, "batch_size": 64, "verbose": False}


@pytest.fixture(scope="module")
def fitted() -> CHVAE:
    return CHVAE(MIXED, components=2, **SMALL).fit(mixed())


def test_every_kind_missing_cells_and_special_codes_together(fitted: CHVAE) -> None:
    frame = mixed(50, seed=3)
    codes = fitted.encode(frame)
    assert np.isfinite(codes.z).all()
    bound = fitted.log_density(frame, 10)
    assert np.isfinite(bound).all()
    rows = fitted.decode_rows(codes, frame)
    assert np.isfinite(rows[:, 2:]).all()
    assert set(rows[:, 6]) <= {0.0, 1.0, 2.0}
    assert rows[:, 3].min() >= 0
    assert rows[:, 3].max() <= 100
    assert np.allclose(rows[:, 10], rows[:, 9] / rows[:, 8], rtol=1e-6)


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
    assert not np.allclose(fitted.decode(codes)[:, 6], fitted.decode(Codes(codes.z, older))[:, 6])


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
    model = CHVAE(data.schema, hidden=hidden, latent_dim=2, components=2, epochs=1, batch_size=64, verbose=False).fit(
        data.X
    )
    layers = {0: (0,), None: (0, 1), (16, 8): (2,)}  # None chooses between none and one by the held-out bound
    assert len(model.network_.sizes.hidden) in layers[hidden]


@pytest.mark.slow
def test_the_relaxed_estimator_trains() -> None:
    data = make_blobs(1500)
    model = CHVAE(data.schema, components=3, estimator="relaxed", epochs=100, batch_size=64, verbose=False).fit(data.X)
    assert model.log_density(data.X, 20).mean() > BLOBS_LOG_DENSITY - 0.3


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"latent_dim": 0}, "latent_dim must be an integer ≥ 1, got 0"),
        ({"likelihoods": "mine"}, "likelihoods must be one of 'binned', 'paper', got 'mine'"),
        ({"components": -1}, "components must be an integer ≥ 1, got -1"),
        ({"estimator": "guess"}, "estimator must be one of 'exact', 'relaxed', got 'guess'"),
        ({"validation": 1.5}, "validation must be a number > 0 and < 1, got 1.5"),
    ],
)
def test_wrong_parameters_are_refused_at_fit(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(AttainError, match=message):
        CHVAE(MIXED, **wrong).fit(mixed(50))


def test_an_unfitted_model_says_so() -> None:
    for question in ("encode", "log_density", "sample"):
        with pytest.raises(NotFittedError, match="not fitted"):
            getattr(CHVAE(MIXED), question)(mixed(5))
    for name in ("history", "active_units"):
        with pytest.raises(NotFittedError, match="not fitted"):
            getattr(CHVAE(MIXED), name)


@pytest.mark.slow
def test_an_upper_bound_of_zero_is_kept() -> None:
    schema = Schema((Feature("x", "real", bounds=(-10, 0)),))
    values = -np.abs(np.random.default_rng(0).normal(size=(300, 1)))
    draws = VAE(schema, likelihoods="paper", latent_dim=1, epochs=2, verbose=False).fit(values).sample(values[:1], 300)
    assert draws.max() == 0


def test_nothing_free_is_refused() -> None:
    schema = Schema((Feature("x", "real", immutable=True),))
    with pytest.raises(DataError, match="no feature is free"):
        CHVAE(schema).fit(pd.DataFrame({"x": [1.0, 2.0, 3.0]}))


@pytest.fixture(scope="module")
def of_two_columns() -> tuple[VAE, pd.DataFrame]:
    """A model of two nearly equal columns, and its training rows."""
    generator = np.random.default_rng(0)
    x = generator.normal(size=2000)
    frame = pd.DataFrame({"x": x, "y": x + generator.normal(0, 0.3, 2000)})
    schema = Schema((Feature("x", "real"), Feature("y", "real")))
    return VAE(schema, latent_dim=1, epochs=60, batch_size=64, verbose=False).fit(frame), frame


def test_the_bound_beats_independent_columns_on_dependent_ones(of_two_columns: tuple[VAE, pd.DataFrame]) -> None:
    """log p = log N(x) + log N(y | x), far above the product of marginals."""
    model, frame = of_two_columns
    truth = -np.log(2 * np.pi * np.e) - np.log(0.3)
    assert model.log_density(frame, 100).mean() == pytest.approx(truth, abs=0.1)
