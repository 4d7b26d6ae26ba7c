"""`python -m experiments COMMAND`: the benchmark over data sets, the paper's experiments, and the capacity card."""

from __future__ import annotations

import sys

from attain.cli import stoppable
from attain.cli.layer import Group, run
from attain.cli.options import COMPARISON, JSON, option, switch

commands = Group("experiments", __doc__ or "")


@commands.declare(
    "experiments.bench.command:run",
    switch("--quick", "German credit, three classifiers, 20 rows; a minute or two."),
    option("--datasets", "NAMES", "german, heloc, gmsc, adult, compas, separated by commas; all by default."),
    option("--classifiers", "NAMES", "Such as logistic-regression,random-forest; all five by default."),
    option("--methods", "NAMES", "Such as cchvae,growing-spheres, or none; all by default."),
    option(
        "--method",
        "NAME",
        "Add a method from outside, if installed: dice-genetic, treecf, nice-sparsity and others; or "
        "NAME=module:function, a function of schema and seed; repeatable.",
        multiple=True,
    ),
    option("--seeds", "N,N", "Of split, classifiers and methods, separated by commas.", default="0"),
    option("--people", "N", "Number of refused rows to explain; 100 by default, with --quick 20.", type=int),
    option("--budget", "ROWS", "Most rows scored for one row explained; each method's own by default.", type=int),
    option("--jobs", "N", "Number of processes, one thread each; the number of cores by default.", type=int),
    option("--limit", "SECONDS", "Stop a run that takes longer.", type=float),
    option("--out", "FOLDER", "Output folder; the same folder resumes an interrupted benchmark."),
    option("--merge", "FOLDER", "First copy the runs of this --out folder; repeatable.", multiple=True),
    switch("--only-report", "Run nothing; write tables, figures and page of what --out has."),
    option("--markdown", "FILE", "Also write the tables as Markdown."),
    option("--date", "TEXT", "Date to print in the report; today by default."),
    option("--machine", "TEXT", "Machine to print in the report; this one by default."),
    option("--command", "TEXT", "Command line to print in the report, for merged runs; this one by default."),
    JSON,
)
def bench() -> None:
    """Compare every method on real data: validity, rules, difficulty, faithfulness, speed.

    The same command resumes an interrupted benchmark. The folder has rows.parquet (one line for each explained row of
    each run), summary.parquet, index.html, figures, and the runs they are made from.

    Examples:
      python -m experiments bench --quick
      python -m experiments bench --out results \\
        --datasets german,compas --seeds 0,1,2
      python -m experiments bench --out results \\
        --methods cchvae,face \\
        --method mine=package.module:make
      python -m experiments bench --out all \\
        --merge results --merge other --only-report
    """


@commands.declare(
    "experiments.paper.command:run",
    switch(
        "--quick",
        "The synthetic examples and German credit, which need no data folder; one seed, under three minutes.",
    ),
    option(
        "--seeds",
        "N",
        "Run with the seeds 0 to N - 1; 5 by default, with --quick 1. The same folder can be given more later.",
        type=int,
    ),
    option("--jobs", "N", "Processes, each on one thread.", type=int, default=1),
    option(
        "--out",
        "DIR",
        "The folder for figures, tables and index.html; the same folder resumes an interrupted run.",
        required=True,
    ),
    option("--data", "DIR", "The folder of Give Me Some Credit and HELOC; by default that in ATTAIN_DATA."),
    JSON,
)
def paper() -> None:
    """Run every experiment of the C-CHVAE paper: its figures, its tables, and whether its claims are reproduced.

    Examples:
      python -m experiments paper --quick --out paper-quick
      python -m experiments paper --data ~/data \\
        --out paper --jobs 2
      python -m experiments paper --data ~/data \\
        --out paper --seeds 1
    """


@commands.declare(
    "experiments.research.capacity_command:run",
    *COMPARISON,
    switch("--quick", "5 networks instead of 8, at most 2,000 rows, 20 people and 120 seconds."),
    option("--seconds", "S", "Start no other network after so many seconds.", type=float),
)
def capacity() -> None:
    """Sweep the sizes of the CHVAE: bound, judge, answers of C-CHVAE, and a recommendation.

    Needs the extra autoencoders. OUT gets capacity.csv and capacity.png.

    Examples:
      python -m experiments capacity --demo --quick
      python -m experiments capacity train.csv people.csv \\
        --model model.onnx --label y --target good \\
        --quick --out OUT
    """


def main(arguments: list[str] | None = None) -> int:
    """Runs one command; gives its exit code."""
    with stoppable() as stop:
        return stop.code_of(lambda: run(commands, sys.argv[1:] if arguments is None else arguments, stop))


if __name__ == "__main__":
    sys.exit(main())
