"""`attain serve`: a page and a JSON API for exploring what would change a decision, on this machine."""

from __future__ import annotations

import argparse
import socket
from contextlib import suppress
from typing import Any

from attain.cli.arguments import add_command, add_model, add_reading, add_target
from attain.cli.exits import EXIT_CODES

_HELP = "open a page for exploring what would change a decision, with a JSON API on the same port"
_EPILOG = f"""The service listens on this machine only, unless
--host says otherwise, and asks for a token, which
the address to open has. It keeps no files: what is
uploaded is deleted when the service stops.

{EXIT_CODES}
examples:
  attain serve --demo
  attain serve credit.attain --model model.onnx \\
    --target good --people people.csv --index id \\
    --texts reasons.toml
"""
_SEED = 0


def register(commands: Any) -> None:
    """Adds the command to the parser."""
    command = add_command(commands, "serve", _HELP, _EPILOG)
    command.add_argument("explainer", metavar="E.attain", nargs="?", help="a file written by `attain fit` or `save`")
    add_model(command, "a model file or module:object; see `attain explain --help`", required=False)
    add_target(command, required=False)
    command.add_argument("--people", metavar="FILE", help="a CSV or Parquet file with the people who can be picked")
    command.add_argument("--texts", metavar="FILE", help="texts of letters: .toml or .csv; see `attain letter`")
    command.add_argument("--title", metavar="TEXT", help="the heading of the page")
    command.add_argument("--demo", action="store_true", help="show it on German credit; needs no files")
    command.add_argument("--port", type=int, default=8765, metavar="N", help="port (default 8765; 0: a free one)")
    command.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="address to listen on")
    command.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME", help="answer under this name, too; repeatable"
    )
    command.add_argument("--no-open", action="store_true", help="do not open a browser")
    add_reading(command)
    command.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    """Serves until it is interrupted."""
    from attain.cli.terminal import note, say
    from attain.core.errors import AttainError, MissingExtraError

    try:
        import uvicorn

        from attain.service import create_app
        from attain.service.security import LOOPBACK
    except ImportError:
        raise MissingExtraError("the service needs FastAPI and uvicorn: pip install 'attain[serve]'") from None
    if not 0 <= given.port <= 65535:
        raise AttainError(f"--port must be an integer from 0 to 65535, got {given.port}")
    listening = _socket(given.host, given.port)
    with listening:
        shown = f"[{given.host}]" if ":" in given.host else given.host
        hosts = (*LOOPBACK, shown, *given.allow_host)
        app = create_app(**(demo() if given.demo else _given(given)), hosts=hosts)
        address = f"http://{shown}:{listening.getsockname()[1]}/?token={app.state.token}"
        say("The page is open to whoever has this address; Ctrl-C stops the service:")
        print(f"\n  {address}\n", flush=True)
        if shown not in LOOPBACK:
            note("the service can be reached from other machines, without encryption: put a proxy with TLS before it")
        app.state.warm_up()
        if not given.no_open:
            _open(address)
        config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False)
        with suppress(KeyboardInterrupt):  # how the service is stopped
            uvicorn.Server(config).run(sockets=[listening])


def _socket(host: str, port: int) -> socket.socket:
    from attain.core.errors import AttainError

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=512)
    except OSError as error:
        raise AttainError(
            f"cannot listen on {host}, port {port}: {error.strerror or error}; choose another --port or --host"
        ) from None


def _open(address: str) -> None:
    """Opens a browser, if there is one, without waiting for it."""
    import threading
    import webbrowser

    threading.Timer(0.5, webbrowser.open, [address]).start()


def _given(given: argparse.Namespace) -> dict[str, Any]:
    """The arguments of `create_app`, from the files that the flags name."""
    from attain.cli.inputs import read_model, read_target
    from attain.cli.terminal import note
    from attain.core.errors import AttainError
    from attain.methods.persistence import load
    from attain.tables.files import read_people

    needed = {"E.attain": given.explainer, "--model": given.model, "--target": given.target}
    missing = [name for name, value in needed.items() if value is None]
    if missing:
        raise AttainError(f"serve needs {', '.join(missing)}; `attain serve --demo` needs no files")
    explainer = load(given.explainer)
    model = read_model(given)
    target = read_target(given, model, explainer)
    people = None
    if given.people is not None:
        read = read_people(given.people, explainer.schema_, index=given.index, separator=given.separator)
        people = read.frame
        if read.left_out:
            note(f"ignored columns that the explainer does not know: {', '.join(read.left_out)}")
    return {
        "explainer": explainer,
        "model": model,
        "target": target,
        "people": people,
        "texts": given.texts,
        **({} if given.title is None else {"title": given.title}),
    }


def demo() -> dict[str, Any]:
    """German credit, a gradient boosting model, and the guarded search."""
    from sklearn.model_selection import train_test_split

    from attain.cli.demo import classifier
    from attain.cli.terminal import note
    from attain.datasets import german_texts, load_german
    from attain.methods import Guarded

    note("fitting a model and an explainer on German credit; this takes a few seconds")
    data = load_german()
    train, test, labels, _ = train_test_split(data.X, data.y, test_size=0.3, random_state=_SEED, stratify=data.y)
    return {
        "explainer": Guarded(data.schema, random_state=_SEED).fit(train, labels),
        "model": classifier(data, _SEED).fit(train, labels),
        "target": data.desired,
        "people": test.sort_index(),
        "texts": german_texts(),
        "title": "German credit",
    }
