"""A result as a report: one HTML file for analysts and case officers, which needs no network and prints well."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from attain.core import page
from attain.core.files import check_ending
from attain.results.report_people import explorer
from attain.results.report_sections import about, changed_features, overview, provenance, quality, rules

if TYPE_CHECKING:
    from attain.results.counterfactuals import Counterfactuals

ENDINGS = (".html", ".htm")


def write(result: Counterfactuals, path: str | os.PathLike[str], title: str | None = None) -> None:
    """Writes the report; the same result gives the same bytes."""
    check_ending(path, *ENDINGS)
    blocks: list[page.Block] = [
        *overview(result),
        *quality(result),
        *changed_features(result),
        *explorer(result),
        *rules(result),
        *provenance(result, title),
    ]
    name = f"What {_people(len(result))} could change" if title is None else title
    page.write(
        os.fspath(path), name, blocks, about=about(result), style=page.asset("attain.results", "report_page/report.css")
    )


def _people(count: int) -> str:
    return "one person" if count == 1 else f"{count:,} people"
