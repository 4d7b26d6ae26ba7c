"""The pictures of docs/use/plots.md, from German credit: `python docs/pictures/make.py`, which takes about a minute."""

from pathlib import Path
from typing import Any

from sklearn.model_selection import train_test_split

import attain
from attain.cli.demo import classifier
from attain.core.drawing import detached, written
from attain.core.files import write_atomically
from attain.density import CHVAE
from attain.density.plots import DensityPlots
from attain.results.pictures import Plots

FOLDER = Path(__file__).parent


def pictures() -> dict[str, Any]:
    """The axes of each picture, by name."""
    data = attain.datasets.load_german()
    train, test, y_train, y_test = train_test_split(data.X, data.y, test_size=0.3, random_state=0, stratify=data.y)
    model = classifier(data, 0).fit(train, y_train)
    decided = model.predict(test)
    explainer = attain.Guarded(data.schema, random_state=0).fit(train, y_train)
    refused = test[decided != data.desired]
    result = explainer.explain(model, refused, target=data.desired, n=3, ranges=True, importance=True)
    autoencoder = CHVAE(data.schema, random_state=0, verbose=False).fit(train)
    plot, density = Plots(result, detached), DensityPlots(autoencoder, detached)
    real = {"held_out": test[(decided == data.desired) & (y_test == data.desired)]}
    person = 640
    return {
        "changes": plot.changes(person),
        "options": plot.options(person),
        "map": plot.map(explainer, model, person),
        "shifts": plot.shifts(),
        "outliers": plot.outliers(explainer, model, **real),
        "connectedness": plot.connectedness(explainer, model, **real),
        "overview": plot.overview(),
        "levers": plot.levers("age"),
        "history": density.history(),
        "distances": density.distances(test),
        "distribution": density.distribution(test, "credit_amount"),
    }


if __name__ == "__main__":
    for name, ax in pictures().items():
        write_atomically(FOLDER / f"plot-{name}.png", written(ax.figure))
