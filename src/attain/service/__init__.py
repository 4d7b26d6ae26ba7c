"""The service: a page for exploring what would change a decision, and a JSON API, on the machine they run on."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from attain.core.errors import MissingExtraError

if TYPE_CHECKING:
    from attain.service.app import create_app
    from attain.service.security import Limits, server

__all__ = ["Limits", "create_app", "server"]
_HOMES = {"Limits": "security", "create_app": "app", "server": "security"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'attain.service' has no attribute {name!r}")
    try:
        return getattr(import_module(f"attain.service.{_HOMES[name]}"), name)
    except ModuleNotFoundError:
        raise MissingExtraError("the service needs FastAPI and uvicorn: pip install 'attain[serve]'") from None
