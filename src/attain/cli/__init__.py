"""The command line: `attain COMMAND --help` says more.

Ctrl-C and SIGTERM end a command within two seconds, with a sentence and an exit code of its own.
"""

from __future__ import annotations

import atexit
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Final, NoReturn

from attain.core.progress import interrupt_answered, interrupt_arrived, wait_until_answered

SENTENCE: Final = "attain: interrupted before it was done; every file is complete, as it was before or as it should be"
CODES: Final = (128 + signal.SIGINT, 128 + signal.SIGTERM)
"""The exit codes of a command that a signal has stopped."""
_PATIENCE: Final = 1.5
"""Seconds that the code of a library may go on after a signal."""
_MOMENT: Final = 0.05
_DEFAULT: Final = (signal.SIG_DFL, signal.default_int_handler)


def program() -> NoReturn:
    """Runs one command as a process of its own."""
    # HiGHS may print a line of its own, whatever its options say: what a library writes goes to standard error
    sys.stdout = os.fdopen(os.dup(1), "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors)
    os.dup2(2, 1)
    code = main()
    if code in CODES:
        # Taking the interpreter apart would take a second more, and an interrupted import would change the exit code.
        atexit._run_exitfuncs()
        sys.stdout.flush()
        os._exit(code)
    sys.exit(code)


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
    """Raises KeyboardInterrupt at a signal, and remembers which it was.

    Python looks at signals between two of its instructions. A call into compiled code may take minutes, and a library
    may catch KeyboardInterrupt and go on, so a thread ends the process if nobody has answered soon (`core.progress`).
    No file can be half written then (`core.files`).
    """

    def __init__(self) -> None:
        self.number: int | None = None
        self._seen = threading.Event()

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.number = number
        interrupt_arrived()
        self._seen.set()
        raise KeyboardInterrupt

    def again(self, lost: sys.UnraisableHookArgs) -> None:
        """Raises KeyboardInterrupt a moment later where Python had to ignore it, as in a weak reference's callback."""
        if lost.exc_type is KeyboardInterrupt and self.number is not None:
            # sent to the main thread, so that it ends waiting, too
            threading.Timer(_MOMENT, signal.pthread_kill, (threading.main_thread().ident, self.number)).start()
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

    def watch(self, arrived: socket.socket) -> None:
        """Reads the numbers of signals as they arrive, until the other end is closed."""
        with arrived:
            while numbers := arrived.recv(1):
                ours = signal.getsignal(numbers[0]) is self  # a server takes over with handlers of its own
                latest = time.monotonic() + _PATIENCE
                if ours and not (self._seen.wait(_PATIENCE) and wait_until_answered(latest - time.monotonic())):
                    os.write(2, f"{SENTENCE}\n".encode())
                    os._exit(128 + numbers[0])


@contextmanager
def stoppable() -> Iterator[Stop]:
    """Answers SIGINT and SIGTERM, unless they are ignored or handled already, or this is not the main thread."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    numbers = [one for one in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(one) in _DEFAULT]
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    threading.Thread(target=stop.watch, args=(theirs,), daemon=True).start()
    with ours:
        awake = signal.set_wakeup_fd(ours.fileno(), warn_on_full_buffer=False)
        handlers = {number: signal.signal(number, stop) for number in numbers}
        hook, sys.unraisablehook = sys.unraisablehook, stop.again
        try:
            yield stop
        finally:
            interrupt_answered()
            sys.unraisablehook = hook
            for number, handler in handlers.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(awake)
