"""Data sets with hand-made schemas: what each column is, and what may happen to it."""

from attain.datasets.dataset import Dataset, german_texts, load_german, make_blobs, make_moons

__all__ = ["Dataset", "german_texts", "load_german", "make_blobs", "make_moons"]
