"""Ranges round answers: the values of each change for which an answer still holds, and a box in which all points do."""
