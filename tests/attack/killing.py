"""Commands killed at random moments, and on a full disk: `python -m tests.attack.killing --kills 100`.

Every run is a fork of this process, which has imported and prepared everything. It writes into a folder in which there
is nothing, or the output of an earlier run. After SIGKILL, SIGTERM, SIGINT, or a limit on the size of files that stands
for a full disk, every file must be the old or the new one, whole, no other file may be there, and the run must have
ended as it should: by its signal or with 130 or 143, with a sentence and no traceback. The longest time from a signal
to the end is printed; the command line promises two seconds.
"""

import argparse
import io
import math
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attain.cli import main
from attain.cli.inputs import read_whole
from attain.methods.persistence import load
from attain.testing import people
from tests.counting import PATIENCE

_UNFINISHED = re.compile(r"(^|/)\.[^/]+\.[0-9a-f]{16}\.part$")
_STOPS = {signal.SIGTERM, signal.SIGINT}
SIGNALS = {"SIGKILL": signal.SIGKILL, "SIGTERM": signal.SIGTERM, "SIGINT": signal.SIGINT}
EXPLAIN = ["explain", "e.attain", "refused.csv", "--index", "who", "--model", "mine:classifier", "--target", "granted"]
MEASURE = ["--model", "mine:classifier", "--train", "train.csv", "--index", "who", "--label", "decision"]
FIT = ["fit", "train.csv", "--schema", "schema.toml", "--index", "who", "--label", "decision"]
COMPARE = ["compare", "train.csv", "refused.csv", *MEASURE[:2], *MEASURE[4:], "--target", "granted"]


@dataclass(frozen=True)
class Command:
    """What is run, in a folder with the inputs, and the checks of a file that is neither the old nor the new one."""

    run: Callable[[], int]
    other: Callable[[Path], object] | None = None
    locks: tuple[str, ...] = ()
    """Files that stay until the next run into the same folder, which removes them or goes on with them."""


def _saved() -> int:
    load("large.attain").save("out/saved.attain")
    return 0


def _paper() -> int:
    import experiments.paper
    from experiments.__main__ import main
    from experiments.tests.test_paper import TINY

    experiments.paper.QUICK = TINY
    return main(["paper", "--quick", "--out", "out"])


def _interrupted(path: Path) -> None:
    """A result of an interrupted search is whole, too."""
    if path.suffix == ".json":
        assert "INTERRUPTED" in {status.name for status in read_whole(str(path)).statuses}
    else:
        assert path.read_text().endswith("\n")


COMMANDS = {
    "fit": Command(lambda: main([*FIT, "--out", "out/f.attain"])),
    "explain": Command(lambda: main([*EXPLAIN, "--out", "out/a.json", "--changes", "out/c.csv"]), _interrupted),
    "explain, folder": Command(
        lambda: main([*EXPLAIN, "--out", "out/", "--workers", "1", "--people-per-file", "2"]), locks=("_run.json.lock",)
    ),
    "evaluate": Command(lambda: main(["evaluate", "e.json", *MEASURE, "--out", "out/m.json"])),
    "compare": Command(
        lambda: main([*COMPARE, "--schema", "schema.toml", "--methods", "nearest-unlike", "--out", "out"]),
        lambda path: path.stat().st_size > 100,  # it holds seconds
    ),
    "paper": Command(_paper),
    "save": Command(_saved),
}


def prepare(folder: Path, paper: bool) -> None:
    """The inputs of all commands."""
    X = people.frame(400)
    y = people.labels(X)
    model = people.linear_model(X, y)
    others = people.frame(200, seed=7)
    refused = others[model.predict(others) == people.REFUSED].iloc[:40]
    X.assign(decision=y).to_csv(folder / "train.csv", index_label="who")
    refused.to_csv(folder / "refused.csv", index_label="who")
    people.schema().to_toml(folder / "schema.toml")
    (folder / "mine.py").write_text(
        "from attain.testing import people\nX = people.frame(400)\n"
        "classifier = people.linear_model(X, people.labels(X))\n"
    )
    from attain.methods import GrowingSpheres, NearestUnlike

    GrowingSpheres(people.schema(), budget=3000).fit(X, y).save(folder / "e.attain")
    large = people.frame(20_000)
    NearestUnlike(people.schema()).fit(large, people.labels(large)).save(folder / "large.attain")
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    with redirect_stdout(io.StringIO()):
        main([*EXPLAIN, "--out", "e.json"])
    if paper:  # JAX must not be loaded before a fork
        child = os.fork()
        if child == 0:
            os.makedirs("parts")
            os._exit(_prepared_paper())
        assert os.waitpid(child, 0)[1] == 0


def _prepared_paper() -> int:
    from experiments.paper import run
    from experiments.tests.test_paper import TINY

    run(Path("paper"), settings=TINY)
    shutil.rmtree("parts")
    shutil.move("paper/parts", "parts")
    return 0


def forked(command: Command, limit: int | None) -> tuple[int, int]:
    """The id of a process that runs the command, and where its errors can be read."""
    reader, writer = os.pipe()
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)  # until the command runs
    child = os.fork()
    if child:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPS)
        os.close(writer)
        return child, reader
    code = 99
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(writer, 2)
        sys.stdout, sys.stderr = (os.fdopen(number, "w") for number in (1, 2))
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        code = _ended(command)
        sys.stderr.flush()
    except KeyboardInterrupt:
        code = 130
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _ended(command: Command) -> int:
    """The exit code; functions of the library raise what the command line answers."""
    from attain.core.errors import FileError

    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPS)
        code = command.run()
        signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)
        return code
    except FileError as error:
        print(f"attain: {error}", file=sys.stderr)
        return 1


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class Trial:
    """One command, with what its folder holds before and after an unbroken run."""

    def __init__(self, name: str, chance: random.Random) -> None:
        self.name, self.command, self.chance = name, COMMANDS[name], chance
        self.out = Path("out").resolve()
        self._begin(None)
        started = time.monotonic()
        code, text, _ = self._run(None, math.inf, None)
        self.usual, self.slowest = time.monotonic() - started, 0.0
        assert code == 0, text
        self.new = contents(self.out)
        for name in self.command.locks:
            self.new.pop(name, None)
        assert self.new

    def _begin(self, before: dict[str, bytes] | None) -> None:
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()
        if self.name == "paper":
            shutil.copytree("parts", self.out / "parts")
        for name, content in (before or {}).items():
            (self.out / name).parent.mkdir(exist_ok=True)
            (self.out / name).write_bytes(content)

    def _run(self, number: signal.Signals | None, after: float, limit: int | None) -> tuple[int, str, float]:
        """The exit code, negative for a signal, what was written to standard error, and seconds since the signal."""
        child, reader = forked(self.command, limit)
        end, sent, status = time.monotonic() + after, 0.0, (0, 0)
        while status[0] == 0:
            if sent == 0.0 and time.monotonic() >= end:
                os.kill(child, signal.SIGKILL if number is None else number)
                sent = time.monotonic()
            if sent and time.monotonic() - sent > PATIENCE:
                os.kill(child, signal.SIGKILL)
            time.sleep(0.002)
            status = os.waitpid(child, os.WNOHANG)
        took = time.monotonic() - sent if sent else 0.0
        with os.fdopen(reader, errors="replace") as errors:
            return os.waitstatus_to_exitcode(status[1]), errors.read(), took

    def kill(self, name: str) -> str | None:
        """What went wrong after a signal at a random moment, or None."""
        before = self._before()
        code, text, took = self._run(SIGNALS[name], self.chance.uniform(0, self.usual), None)
        wrong = self._files(before, interrupted=name != "SIGKILL", killed=name == "SIGKILL")
        expected = {"SIGKILL": (-9,), "SIGTERM": (143, -15), "SIGINT": (130, -2)}[name]
        if code not in (0, *expected):
            return f"it ended with {code}: {text[-300:]}"
        if "Traceback" in text or len(text.splitlines()) > 4:
            return f"it wrote {text[-300:]!r}"
        self.slowest = max(self.slowest, took)
        return wrong

    def fill(self) -> str | None:
        """What went wrong on a disk that is full after a random number of bytes, or None."""
        before = self._before()
        largest = max(map(len, self.new.values()))
        code, text, _ = self._run(None, math.inf, int(largest * self.chance.random()))
        if code != 1 or "could not be written" not in text or "Traceback" in text:
            return f"it ended with {code}: {text[-300:]}"
        return self._files(before, interrupted=False)

    def _before(self) -> dict[str, bytes]:
        """Begins with nothing, or with other files of the same names."""
        old = {name: b"old " + content[:100] for name, content in self.new.items() if not name.startswith("parts/")}
        before = old if self.chance.random() < 0.5 and self.name != "explain, folder" else {}
        self._begin(before)
        return before

    def _files(self, before: dict[str, bytes], *, interrupted: bool, killed: bool = False) -> str | None:
        now = contents(self.out)
        for name in self.command.locks:
            now.pop(name, None)
        # a process that was killed while it wrote leaves the unfinished file
        if strays := {name for name in now.keys() - self.new.keys() if not (killed and _UNFINISHED.search(name))}:
            return f"files that do not belong there: {sorted(strays)}"
        if lost := before.keys() - now.keys():
            return f"files that are lost: {sorted(lost)}"
        for name, content in now.items():
            if content in (before.get(name), self.new[name]) or name.endswith(".config.toml"):
                continue
            if self.command.other is None or not (interrupted or self.name == "compare"):
                return f"{name} is neither the old file nor the new one"
            try:
                self.command.other(self.out / name)
            except Exception as error:
                return f"{name} is not whole: {error}"
        return None


def table(found: Counter[tuple[str, str, bool]], names: list[str]) -> str:
    """Cases and failures of each command."""
    kinds = [*SIGNALS, "full disk"]
    lines = [f"{'command':18s}" + "".join(f"{kind:>16s}" for kind in kinds)]
    for name in [*names, "all"]:
        chosen = names if name == "all" else [name]
        cells = [[sum(found[one, kind, ok] for one in chosen) for ok in (True, False)] for kind in kinds]
        lines.append(f"{name:18s}" + "".join(f"{f'{sum(pair)}, {pair[1]} failed':>16s}" for pair in cells))
    return "\n".join(lines)


def kill_all(kills: int, names: list[str], folder: Path, seed: int = 0) -> Counter[tuple[str, str, bool]]:
    """Kills each command so many times, a quarter of them on a full disk."""
    prepare(folder, "paper" in names)
    found: Counter[tuple[str, str, bool]] = Counter()
    for name in names:
        chance = random.Random(f"{seed}:{name}")
        trial = Trial(name, chance)
        for k in range(kills):
            kind = [*SIGNALS, "full disk"][k % 4]
            wrong = trial.fill() if kind == "full disk" else trial.kill(kind)
            found[name, kind, wrong is None] += 1
            if wrong is not None:
                print(f"{name}, {kind}, {k}: {wrong}", flush=True)
        failed = sum(found[name, kind, False] for kind in (*SIGNALS, "full disk"))
        print(f"{name}: {kills} times, {failed} failed, at most {trial.slowest:.1f} s after a signal", flush=True)
    return found


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=150, help="of each command (default 150)")
    parser.add_argument("--commands", default=";".join(COMMANDS), help="separated by semicolons (default: all)")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    names: list[Any] = given.commands.split(";")
    with tempfile.TemporaryDirectory() as folder:
        found = kill_all(given.kills, names, Path(folder), given.seed)
    print(table(found, names))
    return any(not ok for _, _, ok in found)


if __name__ == "__main__":
    sys.exit(_main())
