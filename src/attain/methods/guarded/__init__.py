"""The guarded search: answers that are easy to attain among those that real people of the desired class have."""

from attain.methods.guarded.run import Guarded, GuardedSearch

__all__ = ["Guarded", "GuardedSearch"]
