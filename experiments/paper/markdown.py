"""The outcome as a page of the documentation: verdicts, and a table of figures for each study."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from benchmarks.report import made_by, table
from experiments.paper.credit import OWN
from experiments.paper.page import counted
from experiments.paper.settings import Settings
from experiments.paper.tables import as_text, shown

_COLUMNS = (
    *("method", "asked", "answered", "outliers k=20", "connected ε.9", "TS", "MS", "changed"),
    *("outliers k=20, raw", "connected ε.9, raw", "reconstructions"),
)


def markdown(settings: Settings, claims: pd.DataFrame, summaries: Mapping[str, pd.DataFrame]) -> str:
    """The page.

    Parameters
    ----------
    settings
        What was run.
    claims
        As `experiments.paper.run` returns them.
    summaries
        By the title of the study, the table of its figures.
    """
    cited = claims["cited"].to_numpy(dtype=bool)
    command = "python -m experiments paper" + (" --quick" if settings.quick else " --data DATA") + " --out paper"
    parts = [
        "# The paper's experiments: results",
        made_by(f"{command} --seeds {settings.seeds}"),
        "[The paper's experiments](paper.md) says what was run and "
        f"how to read it. Of {len(claims)} claims, {counted(claims)}. In brackets: on how many seeds it holds. "
        "The figures behind each verdict are in `claims.csv` and on the page that the command writes.",
        "## The five claims the paper is cited for",
        _claims(claims[cited]),
        "## Every other claim",
        _claims(claims[~cited]),
        "## Figures",
        "Rows that each method's own classifier refuses. Means over seeds and answered rows, with 95 % intervals over "
        "seeds and people; asked and answered are over all seeds. Outliers and connected are shares of the answers, by "
        "z-scored distances unless they are called raw. Reconstructions: the share of the answers that are the decoded "
        "code of the row itself, r = 0, without any search.",
    ]
    for title, summary in summaries.items():
        frame = shown(summary[summary["people"] == OWN])[list(_COLUMNS)]
        parts += [f"### {title}", table(_COLUMNS, as_text(frame))]
    return "\n\n".join(parts) + "\n"


def _claims(claims: pd.DataFrame) -> str:
    rows = [[row["section"], row["claim"], row["verdict"], row["seeds"] or row["figures"]]
            for row in claims.astype(str).to_dict("records")]  # fmt: skip
    return table(["section", "the paper's words", "verdict", "what holds, and on how many seeds"], rows)
