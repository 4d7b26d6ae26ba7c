"""What real rows look like: percentiles, distances, the reference rows of a class, and the guard built on them."""
