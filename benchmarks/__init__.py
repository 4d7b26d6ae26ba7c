"""Benchmarks: each module is one command, compares side by side in one run, and writes its table into `results/`."""
