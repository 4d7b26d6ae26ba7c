"""Time per epoch on JAX's device, beside the floor from counted bytes and operations: `python -m benchmarks.device`.

The same code as on the CPU. Rows of Give Me Some Credit's shape (8 free columns, 2 immutable), made up, on the device;
5 components, 6 latent dimensions, hidden width 64, exact sum over components. The floor counts, for one epoch, the
floating-point operations of the matrix products (forward once, backward twice) and the fewest bytes that move through
device memory: each row read once, the widest activations written and read once. The ceilings are measured in the same
run: a large copy and a large float32 matrix product.
"""

from __future__ import annotations

import argparse
import time

import jax
import jax.numpy as jnp
import numpy as np

from attain import Feature, Schema
from attain.density.columns import Columns
from attain.density.mixture import Mixture
from attain.density.training import OPTIMISER, Plan, _epoch, _schedule

COMPONENTS, LATENT, HIDDEN = 5, 6, 64


def people(rows: int) -> tuple[Schema, np.ndarray]:
    """A schema and a table of that shape."""
    names = [("positive", 3), ("count", 5)]
    features = [Feature(f"{kind}{j}", kind) for kind, number in names for j in range(number)]  # type: ignore[arg-type]
    features += [Feature("age", "count", immutable=True), Feature("dependents", "count", immutable=True)]
    random = np.random.default_rng(0)
    common = random.normal(size=rows)
    values = np.empty((rows, len(features)))
    for j, feature in enumerate(features):
        made = np.exp(0.5 * common + 0.5 * random.normal(size=rows))
        values[:, j] = made if feature.kind == "positive" else np.floor(made)
    return Schema(tuple(features)), values


def ceilings() -> tuple[float, float]:
    """Bytes and operations per second: of a large copy, and of a large float32 matrix product at full precision."""
    large = jnp.ones(2**28 if jax.default_backend() != "cpu" else 2**24, jnp.float32)
    copy = jax.jit(lambda x: x + 1)
    square = jnp.asarray(
        np.random.default_rng(0).normal(size=(8192, 8192) if large.size > 2**25 else (1024, 1024)), jnp.float32
    )
    product = jax.jit(lambda a: jnp.matmul(a, a, precision="highest"))
    moved = 2 * large.nbytes / _seconds(lambda: copy(large))
    return moved, 2 * square.shape[0] ** 3 / _seconds(lambda: product(square))


def _seconds(function, repeats: int = 10) -> float:  # type: ignore[no-untyped-def]
    jax.block_until_ready(function())
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        jax.block_until_ready(function())
        times.append(time.perf_counter() - started)
    return float(np.median(times))


def counted(model: Mixture, width: int) -> tuple[float, float]:
    """Operations and bytes for one row of one epoch."""
    heads = [head for head in (model.weights.shared, model.weights.separate) if head is not None]
    encoder = sum(2 * layer.matrix.size for layer in (*model.weights.encoder, *heads))
    decoder = 2 * (model.weights.from_latent.size + sum(layer.matrix.size for layer in model.weights.decoder))
    widest = HIDDEN + COMPONENTS * (HIDDEN + model.columns.outputs)
    return 3 * (encoder + COMPONENTS * decoder), 4 * (width + 2 * widest)


def main() -> None:
    """Measures every batch size and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--batches", type=int, nargs="+", default=[512, 8192, 65536, 262144])
    given = parser.parse_args()
    schema, values = people(given.rows)
    columns = Columns.fit(schema, values[:100_000], likelihoods="paper")
    rows = jax.device_put(columns.prepare(values))
    bandwidth, rate = ceilings()
    ceiling = f"copy {bandwidth / 1e12:.2f} TB/s; float32 product {rate / 1e12:.1f} TFLOP/s"
    print(f"device: {jax.devices()[0].device_kind}; {ceiling}")
    print("| batch | rows | epoch, s | rows per second | floor: operations, s | floor: bytes, s | times the floor |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for batch in given.batches:
        model = Mixture.initial(
            columns, jax.random.key(0), latent_dim=LATENT, components=COMPONENTS, hidden=(HIDDEN,), complete=True
        )
        moments, schedule = OPTIMISER.init(model.weights), _schedule(Plan(batch_size=batch), 20)
        used = given.rows if batch >= 8192 else min(given.rows, 500_000)
        steps = used // batch
        places = jax.device_put(
            np.random.default_rng(0).permutation(used)[: steps * batch].reshape(steps, batch).astype(np.int32)
        )
        given_epoch = (model.loss, model.weights, moments, rows, places, jax.random.key(1), schedule)
        seconds = _seconds(lambda: _epoch(*given_epoch)[2], repeats=5)  # noqa: B023
        operations, moved = counted(model, rows.shape[1])
        number = steps * batch
        floors = number * operations / rate, number * moved / bandwidth
        print(
            f"| {batch:,} | {number:,} | {seconds:.3f} | {number / seconds:,.0f} | {floors[0]:.4f} | {floors[1]:.4f} | "
            f"{seconds / max(floors):.1f} |"
        )


if __name__ == "__main__":
    main()
