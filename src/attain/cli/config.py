"""A run's arguments as a file beside its result, and a run from such a file."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import tomlkit

from attain.cli.terminal import note
from attain.core.errors import FileError
from attain.core.files import read_toml

POSITIONALS: Final[dict[str, tuple[str, ...]]] = {"fit": ("data",), "explain": ("explainer", "people")}
"""The commands that can run from a file, and their positional arguments."""
_OTHER: Final = {"command", "run", "config"}
_KEYS: Final = {"command", "arguments", "flags", "versions"}


def config_path(out: str) -> str:
    """The file with the arguments of the run that wrote `out`; for a folder it is in the folder."""
    return str(Path(out) / "_config.toml") if Path(out).is_dir() else f"{out}.config.toml"


def write_config(out: str, given: argparse.Namespace) -> str:
    """Writes every argument of the run, defaults included, and the versions; returns the file's name."""
    from attain.core.files import write_atomically
    from attain.methods.persistence import versions

    arguments = {name: value for name, value in vars(given).items() if name not in _OTHER}
    places = {name: arguments.pop(name) for name in POSITIONALS[given.command]}
    unset = [name for name, value in arguments.items() if value is None]
    document = tomlkit.document()
    document.add(
        tomlkit.comment(f"What wrote {Path(out).name}: `attain {given.command} --config FILE` repeats the run.")
    )
    document["command"] = given.command
    document["arguments"] = places
    flags = tomlkit.table()
    flags.update({name: value for name, value in arguments.items() if value is not None})
    flags.add(tomlkit.comment(f"not given: {', '.join(unset) or 'none'}"))
    document["flags"] = flags
    document["versions"] = versions()
    write_atomically(config_path(out), tomlkit.dumps(document).encode("utf-8", "surrogateescape"))
    return config_path(out)


def expanded(arguments: Sequence[str]) -> list[str]:
    """The arguments, with those of the file that `--config` names before them."""
    given = list(arguments)
    if not given or given[0] not in POSITIONALS:
        return given
    path, rest = _taken(given[1:])
    if path is None:
        return given
    content = _read(path, given[0])
    flags = [part for name, value in content["flags"].items() for part in _flag(name, value)]
    return [given[0], *flags, *rest, "--", *(str(content["arguments"][name]) for name in POSITIONALS[given[0]])]


def _taken(given: list[str]) -> tuple[str | None, list[str]]:
    """What follows `--config`, and the other arguments."""
    for i, text in enumerate(given):
        if text == "--config" and i + 1 < len(given):
            return given[i + 1], given[:i] + given[i + 2 :]
        if text.startswith("--config="):
            return text.removeprefix("--config="), given[:i] + given[i + 1 :]
    return None, given


def _read(path: str, command: str) -> Mapping[str, Any]:
    from attain.methods.persistence import versions

    content = read_toml(path, "--config:")
    if set(content) != _KEYS or not all(isinstance(content[key], dict) for key in _KEYS - {"command"}):
        raise FileError(
            f"--config: {path!r} was not written by attain; its keys are {', '.join(sorted(content)) or 'none'}"
        )
    if content["command"] != command:
        raise FileError(f"--config: {path!r} holds the arguments of `attain {content['command']}`, not of {command!r}")
    if set(content["arguments"]) != set(POSITIONALS[command]):
        raise FileError(f"--config: {path!r} needs under [arguments]: {', '.join(POSITIONALS[command])}")
    here = versions()
    other = [f"{name} {theirs}" for name, theirs in content["versions"].items() if here.get(name) != theirs]
    if other:
        note(f"{path} was written with {', '.join(other)}; other versions are installed, so the bytes may differ")
    return content


def _flag(name: str, value: Any) -> list[str]:
    flag = "--" + name.replace("_", "-")
    if isinstance(value, bool):
        return [flag] if value else []
    if isinstance(value, list):
        return [f"{flag}={item}" for item in value]
    return [f"{flag}={value}"]
