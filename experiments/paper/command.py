"""`python -m experiments paper`: all experiments of the paper, its figures, its tables, a verdict on each claim."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from attain.cli.layer import INTERRUPTED, Arguments
from attain.cli.terminal import say, say_json


def run(given: Arguments) -> int:
    """Runs, writes and reports."""
    from attain.core.errors import check_integer
    from experiments.paper import FULL, QUICK
    from experiments.paper import run as reproduce
    from experiments.paper.page import counted

    settings = QUICK if given.quick else FULL
    if given.seeds is not None:
        check_integer("--seeds", given.seeds, 1)
        settings = replace(settings, seeds=given.seeds)
    check_integer("--jobs", given.jobs, 1)
    try:
        claims = reproduce(given.out, settings=settings, data=given.data, jobs=given.jobs)
    except KeyboardInterrupt:
        print("experiments: stopped; the same command resumes", file=sys.stderr)
        return INTERRUPTED
    page = Path(given.out) / "index.html"
    if given.json:
        say_json({"page": str(page), "claims": claims.to_dict("records")})
        return 0
    say(f"{len(claims)} claims: {counted(claims)}. The five that the paper is cited for come first.")
    say("")
    for row in claims.itertuples(index=False):
        say(f"{row.verdict}: {row.claim} ({row.section})")
        for line in filter(None, (row.seeds, row.figures)):
            say(f"  {line}")
    say("")
    say(f"Figures, tables and the page are in {given.out}; open {page}.")
    return 0
