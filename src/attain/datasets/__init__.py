"""Data sets with hand-made schemas: what each column is, and what may happen to it.

`load_german`, `make_blobs` and `make_moons` need nothing but the package. The others read files that you have: from
`path=`, from the folder named in the environment variable `ATTAIN_DATA`, or from `~/.cache/attain` (`ATTAIN_CACHE`).
If there is no file, all but `load_heloc` ask OpenML, and accept its table only if the content is the published one.
"""

from attain.datasets.adult import load_adult
from attain.datasets.compas import load_compas
from attain.datasets.dataset import Dataset
from attain.datasets.german import german_texts, load_german
from attain.datasets.gmsc import load_gmsc
from attain.datasets.heloc import load_heloc
from attain.datasets.synthetic import make_blobs, make_moons

__all__ = [
    "Dataset",
    "german_texts",
    "load_adult",
    "load_compas",
    "load_german",
    "load_gmsc",
    "load_heloc",
    "make_blobs",
    "make_moons",
]
