"""The slope of relaxed moves through derived columns, against derivatives by hand."""

import numpy as np
import pandas as pd

from attain import Feature, Schema
from attain.schema import Constraints
from attain.search.relaxed import Relaxation
from attain.tables import Region, Table

SCHEMA = Schema((
    Feature("a", "real"),
    Feature("b", "real"),
    Feature("c", "real"),
    Feature("e", "real"),
    Feature("product", "real", derived="a * b"),
    Feature("chained", "real", derived="product + 3 * c"),
    Feature("square", "real", derived="e * e"),
    Feature("undefined", "real", derived="sqrt(c - 100)"),
))  # fmt: skip


class Linear:
    """w · x, without the column that is not defined."""

    weights = np.array([1.0, 2.0, -1.0, 0.5, 3.0, -2.0, 4.0, 0.0])

    def score(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(np.nan_to_num(rows) @ self.weights)

    def slope(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.score(rows), np.tile(self.weights, (len(rows), 1))


def test_slopes_go_through_chains_and_past_what_is_not_defined() -> None:
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(5, 4)), columns=list("abce"))
    frame["product"] = frame["a"] * frame["b"]
    frame["chained"], frame["square"], frame["undefined"] = frame["product"] + 3 * frame["c"], frame["e"] ** 2, np.nan
    region = Region.of(Table.read(frame, SCHEMA), Constraints.of(None))
    sources, moves, batch = region.book.sources
    assert sources.tolist() == [0, 1, 2, 3]
    assert moves.astype(int).tolist() == [[1, 0, 0, 1], [1, 0, 0, 1], [0, 0, 1, 1], [0, 1, 0, 0]]
    assert batch.tolist() == [0, 1, 2, 0]
    unit = np.array([1.0, 2.0, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0])
    owners = np.array([3, 1, 1, 4])
    steps = np.zeros((4, 8))
    steps[:, :4] = random.normal(size=(4, 4))
    score, slope = Relaxation(Linear(), region, region.factuals, unit).slope(steps, owners)
    a, b, c, e = (region.factuals[owners, j] + steps[:, j] * unit[j] for j in range(4))
    w = Linear.weights
    np.testing.assert_allclose(
        score, w[0] * a + w[1] * b + w[2] * c + w[3] * e + w[4] * a * b + w[5] * (a * b + 3 * c) + w[6] * e * e
    )
    by_hand = np.stack(
        [w[0] + (w[4] + w[5]) * b, w[1] + (w[4] + w[5]) * a, w[2] + 3 * w[5] + 0 * c, w[3] + 2 * w[6] * e]
    )
    np.testing.assert_allclose(slope[:, :4], by_hand.T * unit[:4], rtol=1e-6)
