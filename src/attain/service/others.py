"""Other methods, to be compared with the one that was fitted: fitted on the same rows when somebody asks."""

from __future__ import annotations

import inspect
import threading
from importlib import import_module
from typing import Any

from attain import methods
from attain.core.errors import did_you_mean, listed
from attain.methods import Explainer
from attain.service.errors import Refused


class Others:
    """The methods of the library, by name; the fitted explainer is the one of its own name."""

    def __init__(self, explainer: Explainer) -> None:
        self._own = explainer
        self._fitted: dict[str, Explainer] = {type(explainer).__name__: explainer}
        self._locks = {name: threading.Lock() for name in self.names}

    @property
    def names(self) -> list[str]:
        """Those that can be asked for."""
        own = type(self._own).__name__
        if not self._own.has_rows_:
            return [own]
        return [own, *(name for name in methods.__all__ if name not in ("Explainer", own) and _available(name))]

    def check(self, name: str) -> None:
        """Refuses a name that is none of a method."""
        if name not in self._locks:
            meant = did_you_mean(name, self.names) or f"; the methods are {listed(self.names, 20)}"
            raise Refused(422, f"There is no method {name[:100]!r}{meant}.", "method")

    def fitted(self, name: str) -> Explainer:
        """A method, fitted on the explainer's own training rows, with its seed and its autoencoder."""
        self.check(name)
        with self._locks[name]:
            if name not in self._fitted:
                self._fitted[name] = self._fit(getattr(methods, name))
            return self._fitted[name]

    def _fit(self, method: type[Explainer]) -> Explainer:
        own = self._own
        given: dict[str, Any] = {"schema": own.schema_, "laws": list(own.laws_), "random_state": own.random_state}
        if "autoencoder" in inspect.signature(method).parameters and getattr(own, "autoencoder_", None) is not None:
            given["autoencoder"] = own.autoencoder_
        return method(**given).fit(own.layout_.frame(own.table_.values), own.labels_)


def _available(name: str) -> bool:
    """Whether what a method needs is installed: JAX for an autoencoder."""
    if "autoencoder" not in inspect.signature(getattr(methods, name)).parameters:
        return True
    try:
        # now, and not in a thread that answers: SciPy looks for JAX, and fails while another thread is importing it
        import_module("jax")
    except ImportError:
        return False
    return True
