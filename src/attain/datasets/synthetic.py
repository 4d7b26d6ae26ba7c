"""The paper's two synthetic examples, with what it leaves open decided and named."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import numpy as np
import pandas as pd

from attain.core.checks import check_choice, check_integer
from attain.datasets.dataset import Dataset
from attain.schema import Feature, Schema

Geometry: TypeAlias = Literal["diagonal", "triangle"]
Reading: TypeAlias = Literal["interleaved", "printed"]

BLOB_CENTRES: Final[dict[str, tuple[tuple[float, float], ...]]] = {
    "diagonal": ((-5.0, 9.0), (0.0, 4.5), (6.0, 1.0)),
    "triangle": ((0.0, 9.0), (-6.0, 1.0), (6.0, 1.0)),
}
"""The centres of the clusters of `make_blobs`. The first has the desired label; an upper corner is always empty."""

_REVIEWED: Final = "attain, by construction"
_PAPER: Final = "Pawelczyk, Broelemann, Kasneci (2020). https://doi.org/10.1145/3366423.3380087"


def make_blobs(n: int = 10_000, seed: int = 0, *, geometry: Geometry = "diagonal") -> Dataset:
    """Three Gaussian clusters in the plane with the label 1 where x2 > 6: the paper's Example 1.

    A straight step up from the lower right cluster flips the label but ends where there are no rows. The paper gives
    standard deviation 1 and "a fixed seed", but no centres. `diagonal` puts them on a falling line, as its figure
    shows: (−5, 9), (0, 4.5), (6, 1). `triangle` puts one above two, (0, 9), (−6, 1), (6, 1), so that both upper corners
    are empty. The clusters have the same number of rows, up to one; `extras["cluster"]` says which each row came from.
    """
    check_integer("n", n, 6)
    check_choice("geometry", geometry, BLOB_CENTRES)
    generator = np.random.default_rng(seed)
    centres = np.array(BLOB_CENTRES[geometry])
    cluster = generator.permutation(np.arange(n) % len(centres))
    points = centres[cluster] + generator.standard_normal((n, 2))
    X = pd.DataFrame(points, columns=["x1", "x2"])
    return Dataset(
        name="blobs",
        X=X,
        y=(X["x2"] > 6).astype("int64").rename("y"),
        schema=Schema(tuple(Feature(name, "real", reviewed=_REVIEWED) for name in ("x1", "x2"))),
        desired=1,
        description="Three Gaussian clusters in the plane; the label is 1 where x2 > 6.",
        source=f"Generated; Example 1 of {_PAPER}",
        licence="MIT",
        extras={"cluster": pd.Series(cluster, name="cluster").astype("int64")},
    )


def make_moons(n: int = 10_000, seed: int = 0, *, reading: Reading = "interleaved") -> Dataset:
    """Two half circles, with one coordinate a category, with the label 1 where x1 > 0: the paper's Example 2.

    The paper's text of this example cannot be followed to its "19 categories": rounding the sine to one decimal gives
    11 values, rounding it to integers gives 2. Two readings are offered, with the angle t uniform on (0, π) and
    half of the rows on each half circle:

    - `interleaved`: the upper half circle (cos t, sin t), the lower one (1 − cos t, 0.2 − sin t), and x2 rounded to one
      decimal. The two overlap by 0.2, so that x2 has exactly the 19 levels −0.8, −0.7, …, 1.0. The 1st, the 9th and the
      19th, which the paper's figure names, are the bottom of the lower, the ends of the upper and the top of the upper
      half circle.
    - `printed`: the upper half circle with sin t rounded to one decimal, the lower one (1 − cos t, 1 − sin t) with
      sin t rounded to an integer, as the text says. x2 has the 11 levels 0.0, 0.1, …, 1.0.

    `extras["moon"]` says which half circle each row came from.
    """
    check_integer("n", n, 6)
    check_choice("reading", reading, ("interleaved", "printed"))
    generator = np.random.default_rng(seed)
    lower = generator.permutation(np.arange(n) % 2).astype(bool)
    angle = generator.uniform(0.0, np.pi, n)
    upper_tenths = np.rint(10 * np.sin(angle))
    if reading == "interleaved":
        lower_tenths = np.rint(10 * (0.2 - np.sin(angle)))
        levels = tuple(tenth / 10 for tenth in range(-8, 11))
    else:
        lower_tenths = 10 * (1 - np.rint(np.sin(angle)))
        levels = tuple(tenth / 10 for tenth in range(11))
    x1 = np.where(lower, 1 - np.cos(angle), np.cos(angle))
    # Adding 0.0 turns −0.0 into 0.0.
    x2 = np.where(lower, lower_tenths, upper_tenths) / 10 + 0.0
    return Dataset(
        name="moons",
        X=pd.DataFrame({"x1": x1, "x2": x2}),
        y=pd.Series(x1 > 0, name="y").astype("int64"),
        schema=Schema(
            (
                Feature("x1", "real", reviewed=_REVIEWED),
                Feature("x2", "categorical", levels=levels, reviewed=_REVIEWED),
            )
        ),
        desired=1,
        description="Two half circles in the plane, the second coordinate a category; the label is 1 where x1 > 0.",
        source=f"Generated; Example 2 of {_PAPER}",
        licence="MIT",
        extras={"moon": pd.Series(np.where(lower, "lower", "upper"), name="moon")},
    )
