"""The arguments of a run as a file beside its result, and a run from such a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import msgspec
import tomlkit

from attain.cli.terminal import note
from attain.core.errors import FileError, did_you_mean
from attain.core.files import as_kind, read_toml, write_atomically
from attain.methods.persistence import versions


class Config(msgspec.Struct, forbid_unknown_fields=True):
    """The content of such a file."""

    command: str
    arguments: dict[str, Any]
    flags: dict[str, Any]
    versions: dict[str, str]


def write_config(out: str) -> str:
    """Writes every argument of the running command, and the versions, beside the file `out` or into that folder.

    Returns the name of the file.
    """
    path = str(Path(out) / "_config.toml") if Path(out).is_dir() else f"{out}.config.toml"
    context = click.get_current_context()
    config = Config(str(context.command.name), {}, {}, versions())
    unset = []
    for parameter in context.command.params:
        name, part = str(parameter.name), config.arguments if isinstance(parameter, click.Argument) else config.flags
        if context.params.get(name) is not None:
            part[name] = context.params[name]
        elif parameter.expose_value:
            unset.append(name)
    lines = [
        f"# What wrote {Path(out).name}: `attain {config.command} --config FILE` repeats the run.",
        f"# not given: {', '.join(unset) or 'none'}",
        tomlkit.dumps(msgspec.to_builtins(config)),
    ]
    write_atomically(path, "\n".join(lines).encode("utf-8", "surrogateescape"))
    return path


def read_config(path: str, command: click.Command) -> dict[str, Any]:
    """The arguments in such a file by name, as texts, which are read like those of a command line."""
    content = read_toml(path, "--config:")
    try:
        config = as_kind(content, Config)
    except ValueError as error:
        raise FileError(f"--config: {path!r} was not written by attain: {error}") from None
    if config.command != command.name:
        raise FileError(f"--config: {path!r} holds the arguments of `attain {config.command}`, not of {command.name!r}")
    here = versions()
    other = [f"{name} {theirs}" for name, theirs in config.versions.items() if here.get(name) != theirs]
    if other:
        note(f"{path} was written with {', '.join(other)}; other versions are installed, so the bytes may differ")
    known = {str(parameter.name): parameter for parameter in command.params if parameter.expose_value}
    found = {}
    for name, value in {**config.arguments, **config.flags}.items():
        if name not in known:
            raise FileError(f"--config: {path!r} has the unknown key {name!r}{did_you_mean(name, known)}")
        found[name] = [*map(str, value)] if known[name].multiple and isinstance(value, list) else str(value)
    return found
