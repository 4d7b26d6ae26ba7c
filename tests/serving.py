"""Servers that run in a thread of the tests."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.counting import PATIENCE


@contextmanager
def served(server: Any) -> Iterator[int]:
    """The port of a uvicorn server while it runs."""
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.02)
        assert thread.is_alive(), "the service did not start"
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
