"""How commands are declared and run: options as data, help from docstrings, the work loaded when it is called.

The arguments of a run are written beside its result, and `--config` repeats the run.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec
import tomlkit

from attain.cli.terminal import note, printable, say_error
from attain.core.errors import AttainError, FileError, did_you_mean
from attain.core.files import as_kind, read_toml, versions, write_atomically

if TYPE_CHECKING:
    from attain.cli import Stop

MISUSE: Final = 1
NO_ANSWERS: Final = 3
DIFFERS: Final = 4
INTERRUPTED: Final = 130


class Arguments(SimpleNamespace):
    """The arguments of a command, by name."""


class Formatter(click.HelpFormatter):
    """Leaves room for texts next to long options in a narrow terminal."""

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 24, col_spacing: int = 2) -> None:
        """Writes names and their texts in two columns."""
        super().write_dl(rows, col_max, col_spacing)


class Context(click.Context):
    """A call of a command."""

    formatter_class = Formatter


class Command(click.Command):
    """A command whose work is a function `module:name`, which takes `Arguments` and may return an exit code.

    The first sentence of its help stands in the list of commands, and all but the first paragraph below the options.
    Paragraphs with an indented line keep their lines.
    """

    context_class = Context

    def __init__(self, name: str, work: str, help: str, parameters: Sequence[click.Parameter]) -> None:
        super().__init__(name, params=list(parameters), **_texts(help))
        self.work = work

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Reads the command line; what may be given repeatedly is added to what `--config` has."""
        rest = super().parse_args(ctx, args)
        for parameter in self.params:
            name = str(parameter.name)
            if parameter.multiple and ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
                ctx.params[name] = (*(ctx.lookup_default(name) or ()), *ctx.params[name])
        return rest

    def invoke(self, ctx: click.Context) -> int | None:
        """Loads the function and calls it."""
        module, _, name = self.work.partition(":")
        code: int | None = getattr(import_module(module), name)(Arguments(**ctx.params))
        return code


class Group(click.Group):
    """Commands in the order in which they are declared."""

    context_class = Context

    def __init__(self, name: str, help: str) -> None:
        settings = {"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True}
        super().__init__(name, context_settings=settings, **_texts(help))

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands."""
        return list(self.commands)

    def declare(self, work: str, *parameters: click.Parameter) -> Callable[[Callable[[], None]], None]:
        """Adds a command with the name and the docstring of a function."""

        def add(function: Callable[[], None]) -> None:
            self.add_command(Command(function.__name__, work, function.__doc__ or "", parameters))

        return add


def _texts(help: str) -> dict[str, Any]:
    """The parts of a help: its first sentence, its first paragraph, and what is below."""
    first, _, rest = inspect.cleandoc(help).partition("\n\n")
    epilog = "\n\n".join(f"\b\n{part}" if "\n  " in part else part for part in rest.split("\n\n"))
    short = first.replace("\n", " ").partition(". ")[0].removesuffix(".")
    return {"short_help": short, "help": first, "epilog": epilog}


class Config(msgspec.Struct, forbid_unknown_fields=True):
    """The content of a configuration file."""

    command: str
    arguments: dict[str, Any]
    flags: dict[str, Any]
    versions: dict[str, str]


def write_config(out: str) -> str:
    """Writes all arguments of the running command, and the versions, next to the file `out` or into that folder.

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
    """The arguments in a configuration file by name, as texts to be parsed like those of a command line."""
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


def run(commands: click.Group, arguments: Sequence[str], stop: Stop) -> int:
    """Runs the command that the arguments name; returns its exit code.

    What is wrong is printed, unless a signal has caused it.
    """
    with printable():
        try:
            with commands.make_context(commands.name, list(arguments)) as context:
                code = commands.invoke(context) or 0
        except click.exceptions.Exit as end:  # after --help and --version
            return end.exit_code
        except click.UsageError as error:
            error.show()
            return MISUSE if type(error) is click.BadParameter else error.exit_code
        except AttainError as error:
            if stop.number is not None:
                raise
            say_error(f"{commands.name}: {error}")
            return MISUSE
        except PermissionError as error:
            say_error(f"{commands.name}: you may not read or write {error.filename!r}")
            return MISUSE
    return stop.code if code == INTERRUPTED else code
