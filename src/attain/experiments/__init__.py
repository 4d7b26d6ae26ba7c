"""Experiments: every method on the same people, against the same classifiers, measured the same way."""

from attain.experiments.bench import run
from attain.experiments.classifiers import CLASSIFIERS
from attain.experiments.methods import all_methods
from attain.experiments.report import bench_tables

__all__ = ["CLASSIFIERS", "all_methods", "bench_tables", "run"]
