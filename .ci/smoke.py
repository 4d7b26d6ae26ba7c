"""Tries an installed attain in an environment that has nothing else; `make build` runs it in an empty folder.

First without JAX, where methods with an autoencoder name the extra that they need; then with it.
"""

import importlib.util
import subprocess
import sys
import sysconfig
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import files
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import attain

NEEDED = {
    "attain/py.typed",
    "attain/methods/citations.bib",
    "attain/datasets/german.csv",
    "attain/datasets/german.toml",
}


def check_files() -> None:
    """The wheel has the files that the package reads, and nothing but the package."""
    shipped = {str(path) for path in files("attain") or ()}
    assert shipped >= NEEDED, f"the wheel lacks {sorted(NEEDED - shipped)}"
    suffixes = tuple(EXTENSION_SUFFIXES)
    strange = {name for name in shipped if not name.startswith(("attain/", "attain-", "../"))}
    assert not strange, f"the wheel has files outside the package: {sorted(strange)}"
    assert any(name.startswith("attain/engine/") and name.endswith(suffixes) for name in shipped), "no compiled engine"
    assert Path(attain.__file__).is_relative_to(sysconfig.get_path("platlib")), attain.__file__
    assert importlib.util.find_spec("experiments") is None


def check_methods() -> None:
    """Fit, explain, save and load."""
    data = attain.datasets.load_german()
    train, test, y_train, _ = train_test_split(data.X, data.y, test_size=0.3, random_state=0)
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression(max_iter=1000))
    model.fit(train, y_train)
    refused = test[model.predict(test) != data.desired].head(5)
    for method in (attain.Guarded, attain.CCHVAE):
        explainer = method(data.schema, random_state=0)
        if method is attain.CCHVAE and importlib.util.find_spec("jax") is None:
            print(f"{method.__name__}: {missing(explainer, train)}")
            continue
        explainer.fit(train, y_train)
        result = explainer.explain(model, refused, target=data.desired)
        assert result.found.all(), result
        answers = result.frame[list(train.columns)]
        assert (model.predict(answers) == data.desired).all()
        explainer.save("explainer.attain")
        again = attain.load("explainer.attain").explain(model, refused, target=data.desired)
        assert answers.equals(again.frame[list(train.columns)])
        assert np.array_equal(result.found, again.found)
        print(f"{method.__name__}: {len(refused)} answers, the same after save and load")


def missing(explainer: Any, train: Any) -> str:
    """What an explainer says that needs JAX, where there is none."""
    try:
        explainer.fit(train)
    except ImportError as error:
        said = str(error)
    assert "attain[autoencoders]" in said, said
    return said


def check_commands() -> None:
    """The commands that need no files."""
    attain_command = str(Path(sys.executable).with_name("attain"))
    for arguments in (["--version"], ["demo"], ["compare", "--demo", "--methods", "guarded,growing-spheres"]):
        subprocess.run([attain_command, *arguments], check=True)


if __name__ == "__main__":
    check_files()
    check_methods()
    check_commands()
