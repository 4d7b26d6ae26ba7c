"""What a notebook shows: only what changes, with percentiles. Every value is escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from attain.results.status import Status
from attain.results.text import plain, points, with_unit, yes_no

if TYPE_CHECKING:
    from attain.results.counterfactuals import Counterfactuals

_MOST = 20
_STYLE = (
    "<style>.attain{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    ".attain th,.attain td{padding:.2em .7em;text-align:left;vertical-align:top}"
    ".attain th{border-bottom:1px solid currentColor}"
    ".attain tr.first td{border-top:1px solid rgba(128,128,128,.4)}"
    ".attain td:first-child{white-space:nowrap}"
    ".attain .muted{opacity:.65}</style>"
)
_HEADER = (
    *("person", "feature", "current", "percentile", "counterfactual", "percentile"),
    *("shift", "total shift", "outlier", "connected"),
)


def notebook(result: Counterfactuals) -> str:
    """The first people's changes as a table, and a line for each who has no answer."""
    cells: dict[int, list[dict[str, Any]]] = {}
    for cell in result.changed_cells():
        cells.setdefault(cell["position"], []).append(cell)
    shown = range(min(len(result), _MOST))
    rows = "".join(_person(result, i, cells.get(i, [])) for i in shown)
    head = "".join(f"<th>{name}</th>" for name in _HEADER)
    more = f"<p class='muted'>… and {len(result) - _MOST} more people</p>" if len(result) > _MOST else ""
    title = f"{int(result.found.sum())} of {len(result)} people have an answer ({result.method})"
    notes = "".join(f"<p class='muted'>{escape(note)}</p>" for note in result.notes)
    table = f"<table class='attain'><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f"{_STYLE}<p>{escape(title)}</p>{table}{more}{notes}"


def _person(result: Counterfactuals, i: int, cells: list[dict[str, Any]]) -> str:
    name = escape(plain(result.table.labels[i]))
    status = result.outcome[i]
    if status is not Status.FOUND:
        return f"<tr class='first'><td>{name}</td><td colspan='9' class='muted'>{escape(status.value)}</td></tr>"
    rows = []
    for k, cell in enumerate(cells):
        first = k == 0 or cell["option"] != cells[k - 1]["option"]
        feature = result.table.schema[cell["feature"]]
        option = "" if cell["option"] == 1 else f", option {cell['option']}"
        texts = (
            name + option if first else "",
            escape(plain(feature.title)),
            escape(plain(with_unit(cell["current"], feature))),
            points(cell["current_percentile"]),
            escape(plain(with_unit(cell["counterfactual"], feature))),
            points(cell["counterfactual_percentile"]),
            points(cell["shift"]),
            points(cell["total_shift"]) if first else "",
            yes_no(cell["outlier"]) if first else "",
            yes_no(cell["connected"]) if first else "",
        )
        rows.append(
            f"<tr{' class=' + repr('first') if first else ''}>" + "".join(f"<td>{t}</td>" for t in texts) + "</tr>"
        )
    return "".join(rows)
