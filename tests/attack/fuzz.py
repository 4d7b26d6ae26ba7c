"""Reads mutated files of every format in a process with limits: `python -m tests.attack.fuzz --files 5000 --seed 1`.

A file must be read, and be usable, or be refused with a `FileError`, with at most a million calls of functions and with
less than 100 MB. Whatever else happens is a failure, reported with the number of the file, by which `--only` repeats
it. The same seed makes the same files.
"""

import argparse
import json
import os
import resource
import select
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

from tests.counting import Calls, counted

CALLS = 1_000_000
"""Of functions, for reading one file."""
MEGABYTES = 100
"""Of address space, for reading one file."""
PATIENCE = 60.0
"""Seconds until a worker that says nothing is killed."""


def case(number: int, seed: int, folder: Path) -> tuple[str, Path]:
    """The mutated file of that number: its format and its path."""
    from tests.attack.mutations import mutated
    from tests.attack.world import FORMATS

    random = Random(f"{seed}:{number}")
    weights = {"explainer": 6, "answers": 6, "schema": 3, "people": 3}
    kind = random.choices([*FORMATS], [weights.get(name, 1) for name in FORMATS])[0]
    name = random.choice([name for name in FORMATS[kind].files if (folder / "base" / name).exists()])
    path = folder / name
    path.write_bytes(mutated(name, (folder / "base" / name).read_bytes(), random))
    return kind, path


def outcome(kind: str, path: Path) -> str:
    """How reading and using a file ended: `refused`, `read`, `read, not usable`, or what went wrong."""
    from attain.core.errors import AttainError, FileError
    from tests.attack.world import FORMATS

    format, step, calls = FORMATS[kind], "reading", Calls()
    try:
        with limited(MEGABYTES), counted() as calls:
            loaded = format.read(path)
        step = "using"
        if calls.number <= CALLS:
            format.use(loaded)
            return "read"
    except FileError as error:
        if step == "using":
            return "read, not usable"
        if calls.number <= CALLS:
            return "refused" if len(str(error)) < 2000 else f"FAILED: a message of {len(str(error))} characters"
    except AttainError as error:
        return "read, not usable" if step == "using" else f"FAILED reading: {type(error).__name__}: {error}"
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"FAILED {step}: {type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"[:400]
    return f"FAILED reading: {calls.number:,} calls"


class limited:
    """Allows this many megabytes of address space beyond what the process has."""

    def __init__(self, megabytes: int) -> None:
        self.bytes = megabytes * 2**20

    def __enter__(self) -> None:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + self.bytes, hard))

    def __exit__(self, *_: object) -> None:
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def work(numbers: range, seed: int, folder: Path) -> None:
    """Reads the files, and prints one line of JSON for each."""
    from tests.attack.world import FORMATS

    warnings.simplefilter("ignore")
    import_module("attain.density")
    with suppress(ImportError):
        import_module("equinox")  # a file may name an autoencoder
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    for format in FORMATS.values():  # whatever is imported or compiled on first use
        for name in format.files:
            path = folder / name
            if (folder / "base" / name).exists():
                path.write_bytes((folder / "base" / name).read_bytes())
                format.use(format.read(path))
    for number in numbers:
        kind, path = case(number, seed, folder)
        print(json.dumps([number, kind, None]), flush=True)
        print(json.dumps([number, kind, outcome(kind, path)]), flush=True)


def fuzz(files: range, seed: int, folder: Path) -> Counter[tuple[str, str]]:
    """Counts outcomes by format; a worker that dies or hangs is a failure, and another goes on with the next file."""
    from tests.attack.world import write_all

    (folder / "base").mkdir()
    write_all(folder / "base")
    found: Counter[tuple[str, str]] = Counter()
    while files:
        command = [sys.executable, "-m", "tests.attack.fuzz", "--work", str(folder), "--seed", str(seed)]
        command += ["--files", str(files.stop), "--first", str(files.start)]
        started, last, result = time.monotonic(), files.start, None
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | {"MALLOC_ARENA_MAX": "1"}) as worker:
            assert worker.stdout is not None
            for line in _lines(worker):
                last, kind, result = json.loads(line)
                if result is not None:
                    found[kind, result] += 1
                    if result.startswith("FAILED"):
                        print(f"{last:6d} {kind}: {result}", flush=True)
            worker.kill()
        if result is None:
            print(f"{last:6d} {kind}: FAILED: the worker died or hung", flush=True)
            found[kind, "FAILED: died"] += 1
        if time.monotonic() - started < 1:
            raise RuntimeError("the worker does not start")
        files = range(last + 1, files.stop)
    return found


def _lines(worker: Any) -> Any:
    """The lines of a worker until it ends or is silent for too long."""
    while select.select([worker.stdout], [], [], 5 * PATIENCE if worker.poll() is None else 0)[0]:
        line = worker.stdout.readline()
        if not line:
            return
        yield line


def table(found: Counter[tuple[str, str]]) -> str:
    """The outcomes of each format in columns."""
    columns = ("refused", "read", "read, not usable", "failed")
    rows: dict[str, Counter[str]] = {}
    for (kind, result), count in found.items():
        rows.setdefault(kind, Counter())["failed" if result.startswith("FAILED") else result] += count
    rows["all"] = sum(rows.values(), Counter())
    lines = [f"{'format':18s}{'files':>8s}" + "".join(f"{name:>18s}" for name in columns)]
    for kind, counts in rows.items():
        lines.append(f"{kind:18s}{counts.total():8d}" + "".join(f"{counts[name]:18d}" for name in columns))
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=5000, help="how many files (default 5000)")
    parser.add_argument("--seed", type=int, default=0, help="of the mutations (default 0)")
    parser.add_argument("--only", type=int, metavar="N", help="read only the file of this number, and keep it")
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work is not None:
        work(range(given.first, given.files), given.seed, given.work)
        return 0
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    files = range(given.first, given.files) if given.only is None else range(given.only, given.only + 1)
    found = fuzz(files, given.seed, folder)
    print(table(found))
    failed = any(result.startswith("FAILED") for _, result in found)
    print(f"the last file is in {folder}" if given.only is not None or failed else "no failures")
    return failed


if __name__ == "__main__":
    sys.exit(main())
