"""Experiments with the package: a benchmark of every method over data sets, and the experiments of the paper."""

from experiments.bench.classifiers import CLASSIFIERS
from experiments.bench.methods import METHODS, Factory, Method
from experiments.bench.report import bench_tables
from experiments.bench.run import run
from experiments.bench.summary import summarised

__all__ = ["CLASSIFIERS", "METHODS", "Factory", "Method", "bench_tables", "run", "summarised"]
