"""The service: a page for exploring what would change a decision, and a JSON API, on the machine they run on."""

from typing import TYPE_CHECKING, Any

from attain.core import lazy
from attain.core.errors import MissingExtraError

if TYPE_CHECKING:
    from attain.desk.service.app import create_app
    from attain.desk.service.security import ServiceLimits, server

__all__ = ["ServiceLimits", "create_app", "server"]

_load, __dir__ = lazy(__name__, __all__, {"ServiceLimits": "security", "create_app": "app", "server": "security"})


def __getattr__(name: str) -> Any:
    try:
        return _load(name)
    except ModuleNotFoundError:
        raise MissingExtraError("the service needs FastAPI and uvicorn: pip install 'attain[serve]'") from None
