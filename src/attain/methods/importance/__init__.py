"""Shapley values: which changes of an answer matter, and which inputs a decision rests on."""
