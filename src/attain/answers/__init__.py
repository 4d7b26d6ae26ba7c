"""What a call of `explain` does round the search of a method, and what its result says of the answers."""
