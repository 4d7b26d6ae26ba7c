"""The command line: `attain COMMAND --help` says more.

Ctrl-C and SIGTERM raise KeyboardInterrupt, which ends a command with a sentence and exit code 130 or 143.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Final, NoReturn

SENTENCE: Final = "attain: interrupted before it was done; every file is complete, as it was before or as it should be"
_DEFAULT: Final = (signal.SIG_DFL, signal.default_int_handler)


def program() -> NoReturn:
    """Runs one command as a process of its own."""
    # HiGHS prints a line whatever its options say: what a library writes goes to standard error
    sys.stdout = os.fdopen(os.dup(1), "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors)
    os.dup2(2, 1)
    sys.exit(main())


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    with stoppable() as stop:

        def run_command() -> int:
            from attain.cli.commands import commands  # Ctrl-C while modules are loaded is answered, too
            from attain.cli.layer import run

            try:
                return run(commands, sys.argv[1:] if arguments is None else arguments, stop)
            except BrokenPipeError:  # the reader of the output has closed it, as `head` does
                sys.stderr.close()
                return 0

        return stop.code_of(run_command)


class Stop:
    """Raises KeyboardInterrupt at a signal, and remembers which it was."""

    number: int | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.number = number
        raise KeyboardInterrupt

    def again(self, lost: sys.UnraisableHookArgs) -> None:
        """Sends the signal again where Python has to ignore its exception, as in a weak reference's callback."""
        if lost.exc_type is KeyboardInterrupt and self.number is not None:
            threading.Timer(0.05, signal.pthread_kill, (threading.main_thread().ident, self.number)).start()
        else:
            sys.__unraisablehook__(lost)

    @property
    def code(self) -> int:
        """The exit code: 130 for Ctrl-C, 143 for SIGTERM."""
        return 128 + (self.number or signal.SIGINT)

    def code_of(self, command: Callable[[], int]) -> int:
        """The exit code of a command; that of the signal, with a sentence, where one has ended it."""
        try:
            return command()
        except BaseException as error:
            # a library may make another exception of KeyboardInterrupt, as a module that is being loaded does
            if isinstance(error, SystemExit) or not (self.number or isinstance(error, KeyboardInterrupt)):
                raise
            print(SENTENCE, file=sys.stderr)
            return self.code


@contextmanager
def stoppable() -> Iterator[Stop]:
    """Answers SIGINT and SIGTERM, unless they are ignored or handled already, or this is not the main thread."""
    stop, handlers = Stop(), {}
    if threading.current_thread() is threading.main_thread():
        numbers = [one for one in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(one) in _DEFAULT]
        handlers = {number: signal.signal(number, stop) for number in numbers}
    hook, sys.unraisablehook = sys.unraisablehook, stop.again
    try:
        yield stop
    finally:
        sys.unraisablehook = hook
        for number, handler in handlers.items():
            signal.signal(number, handler)
