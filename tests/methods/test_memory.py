"""The most memory of every method for one person: 300 columns of real numbers, and a column of 10,000 levels."""

import subprocess
import sys

import pytest

from tests.methods.test_base_promises import METHODS

MEGABYTES = 1_000

_MEASURED = """
import resource, sys, warnings
import numpy as np, pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from attain import Feature, Schema, methods
from attain.core.errors import ModelError

warnings.simplefilter("ignore")
resource.setrlimit(resource.RLIMIT_AS, (2**34, 2**34))  # a method that takes far too much ends before the machine does
random = np.random.default_rng(0)
if sys.argv[1] == "columns":
    X = pd.DataFrame(random.normal(size=(600, 300)), columns=[f"x{j}" for j in range(300)])
    schema = Schema(tuple(Feature(name, "real") for name in X))
    prepare, y = StandardScaler(), X.iloc[:, :20].sum(axis=1) > 1
else:
    levels = tuple(f"level {k}" for k in range(10_000))
    X = pd.DataFrame({"x": random.normal(size=12_000), "y": random.normal(size=12_000)})
    X["place"] = random.permutation(np.resize(levels, len(X)))
    schema = Schema((Feature("x", "real"), Feature("y", "real"), Feature("place", "categorical", levels=levels)))
    prepare = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["place"]), remainder="passthrough")
    y = X["x"] + X["y"] + X["place"].str.endswith("7") > 0.5
for name in sys.argv[2:]:
    forest = RandomForestClassifier(10, max_depth=5, random_state=0)
    inner = forest if name == "FeatureTweaking" else LogisticRegression()
    model = make_pipeline(prepare, inner).fit(X, y)
    fitted = getattr(methods, name)(schema, laws=None, random_state=0).fit(X, y)
    try:
        status = fitted.explain(model, X[~model.predict(X)].iloc[:1], target=True).statuses[0].name
    except ModelError:  # trees over so many indicators are not read
        status = "refused"
    print(name, status, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1_000, flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems count memory in other units")
@pytest.mark.parametrize("world", ["columns", "levels"])
def test_no_method_takes_a_gigabyte(world: str) -> None:
    command = [sys.executable, "-c", _MEASURED, world, *METHODS]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert len(lines) == len(METHODS)
    too_much = [line for line in lines if int(line.split()[2]) > MEGABYTES]
    assert not too_much, "method, status, and the most megabytes until then"
