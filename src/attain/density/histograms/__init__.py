"""Columns as histograms: states with a base measure, and groups of states."""
