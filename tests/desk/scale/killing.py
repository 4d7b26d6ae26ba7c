"""Kills runs of `attain.scale.explain` at random moments until there were enough kills; run by test_local.py.

Each run is a fork of this process, which has imported and fitted everything, and is killed with SIGKILL after a random
time. When one gets through, its folder is compared with that of an unbroken run, and the next begins with nothing.
"""

import json
import math
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

from attain.desk.scale import ExplainBatch, explain
from attain.methods import NearestUnlike
from attain.testing import people


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def forked(path: str, out: Path, batch: ExplainBatch, workers: int) -> int:
    """The id of a process that answers the people; it leads a group, of which its workers are members."""
    child = os.fork()
    if child:
        return child
    try:
        os.setpgid(0, 0)
        explain(path, out, batch, people_per_file=5, workers=workers, note=lambda text: None)
        os._exit(0)
    except BaseException as error:
        print(error, file=sys.stderr)
        os._exit(1)


def main(folder: Path, path: str, wanted: int, workers: int) -> None:
    X = people.frame(150)
    y = people.labels(X)
    explainer = NearestUnlike(people.schema(), laws=people.LAWS).fit(X, y)
    batch = ExplainBatch(explainer, people.linear_model(X, y), target=people.DESIRED)
    explain(path, folder / "unbroken", batch, people_per_file=5, workers=1)
    expected, chance = contents(folder / "unbroken"), random.Random(0)
    kills = runs = equal = 0
    usual = 0.0
    while kills < wanted or runs == 0:
        shutil.rmtree(folder / "out", ignore_errors=True)
        started = time.monotonic()
        while True:
            child = forked(path, folder / "out", batch, workers)
            deadline = time.monotonic() + (chance.uniform(0, 0.5 * usual) if usual and kills < wanted else math.inf)
            status = 0, 0
            while status[0] == 0 and time.monotonic() < deadline:
                time.sleep(0.002)
                status = os.waitpid(child, os.WNOHANG)
            if status[0]:
                assert status[1] == 0, "a run failed"
                break
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            kills += 1
        usual = usual or time.monotonic() - started
        runs += 1
        equal += contents(folder / "out") == expected
    print(json.dumps({"kills": kills, "runs": runs, "equal": equal}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
