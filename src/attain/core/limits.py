"""Limits that several rooms share."""

from typing import Final

TIMEOUT: Final = 60.0
"""The seconds that each person has by default: many times what a search takes, so that answers do not depend on it."""
