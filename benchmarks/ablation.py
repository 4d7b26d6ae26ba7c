"""What each part of the guarded search buys: `python -m benchmarks.ablation`.

The cells and measures are those of `quality.md`. Each line switches one part off and leaves the rest as it is; figures
are relative to the search with all of its parts.

    python -m benchmarks.ablation --jobs 16
    python -m benchmarks.ablation --cells "HELOC/*" --parts attractions --people 20      # writes nothing
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks import quality, report

NOTHING = "nothing"
PARTS: Mapping[str, Mapping[str, Any]] = {
    "pulled transplants": {"pulled": False},
    "ascents": {"ascents": 0},
    "the first walk, with a small weight of the excess": {"first_penalty": 0.0},
    "bisections of changes": {"bisections": 0},
    "attractions": {"attractors": 0},
    "pairs": {"paired": 0},
    "real rows in pairs": {"pair_rows": 0},
    "relations": {"related": 0.0},
    "answers a little inside the limit of relations": {"inside_relations": 1.0},
    "columns taken back together": {"families": False},
    "starts judged for the second shortlist": {"measured": 1},
    "half of the candidates": {"candidates": 3},
    "half of the shortlist": {"shortlist": 200},
}
"""By part, the fields of `GuardedSettings` that switch it off."""


def main() -> None:
    """Measures the search whole and without each of its parts, and writes the table if nothing was left out."""
    parser = quality.arguments(__doc__)
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    given = parser.parse_args()
    cells = quality.chosen(given.cells)
    off = {NOTHING: {}, **{part: PARTS[part] for part in given.parts}}
    versions = [quality.Version(name.replace("/", " or "), change=change) for name, change in off.items()]
    found = quality.run(cells, given.people, versions, given.jobs, given.figures)
    table = quality.summary(found, [version.name for version in versions], "switched off")
    if len(found) == len(quality.chosen(["*"])) and given.parts == list(PARTS):
        report.write(__doc__, table)
    else:
        print(table)


if __name__ == "__main__":
    main()
