"""Gradient methods over relaxed rows, shared by `BudgetedInverseClassification`, `Wachter` and `REVISE`."""
