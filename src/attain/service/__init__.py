"""The service: a page for exploring what would change a decision, and a JSON API, on the machine they run on."""

from attain.service.app import create_app
from attain.service.security import Limits

__all__ = ["Limits", "create_app"]
