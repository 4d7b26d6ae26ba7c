"""`attain serve`: the service on a local port, and its page in a browser."""

from __future__ import annotations

import socket
import threading
import webbrowser
from contextlib import suppress
from typing import Any

from attain.cli.demo import german_case
from attain.cli.inputs import read_people, read_request
from attain.cli.layer import Arguments
from attain.cli.terminal import note, say
from attain.core.errors import AttainError
from attain.datasets import german_texts
from attain.methods import Guarded

_SEED = 0


def serve(arguments: Arguments) -> None:
    """Serves until it is interrupted."""
    from attain.desk.service import create_app, server
    from attain.desk.service.security import LOOPBACK

    with _socket(arguments.host, arguments.port) as listening:
        shown = f"[{arguments.host}]" if ":" in arguments.host else arguments.host
        app = create_app(
            **(demo() if arguments.demo else _given(arguments)), hosts=(*LOOPBACK, shown, *arguments.allow_host)
        )
        address = f"http://{shown}:{listening.getsockname()[1]}/?token={app.state.token}"
        say("The page is open to whoever has this address; Ctrl-C stops the service:")
        print(f"\n  {address}\n", flush=True)
        if shown not in LOOPBACK:
            note("the service can be reached from other machines, without encryption: put a proxy with TLS before it")
        app.state.warm_up()
        if not arguments.no_open:
            threading.Timer(0.5, webbrowser.open, [address]).start()
        with suppress(KeyboardInterrupt):  # how the service is stopped
            server(app).run(sockets=[listening])


def _socket(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=512)
    except OSError as error:
        raise AttainError(
            f"cannot listen on {host}, port {port}: {error.strerror or error}; choose another --port or --host"
        ) from None


def _given(arguments: Arguments) -> dict[str, Any]:
    """The arguments of `create_app`, from the files that the options name."""
    needed = {"E.attain": arguments.explainer, "--model": arguments.model, "--target": arguments.target}
    if missing := [name for name, value in needed.items() if value is None]:
        raise AttainError(f"serve needs {', '.join(missing)}; `attain serve --demo` needs no files")
    explainer, model, target = read_request(arguments)
    people = (
        None
        if arguments.people is None
        else read_people(arguments, arguments.people, explainer.population_.schema).frame
    )
    title = {} if arguments.title is None else {"title": arguments.title}
    return {
        "explainer": explainer,
        "model": model,
        "target": target,
        "people": people,
        "texts": arguments.texts,
        **title,
    }


def demo() -> dict[str, Any]:
    """The same for German credit, a gradient boosting model, and the guarded search."""
    note("fitting a model and an explainer on German credit; this takes a few seconds")
    case = german_case(_SEED)
    return {
        "explainer": Guarded(case.data.schema, random_state=_SEED).fit(case.train, case.y_train),
        "model": case.model,
        "target": case.data.desired,
        "people": case.test.sort_index(),
        "texts": german_texts(),
        "title": "German credit",
    }
