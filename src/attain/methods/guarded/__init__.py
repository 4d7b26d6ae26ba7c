"""The guarded search: answers that are easy to reach among those that real rows of the desired class have."""
