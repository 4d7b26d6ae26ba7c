"""Experiments with the package: a benchmark of every method over data sets, the paper's experiments, and research."""
