"""A result of the library as the JSON of the API."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from attain.results.counterfactuals import Counterfactuals
from attain.results.details import Plane
from attain.results.options import Change, Option
from attain.service.records import as_record
from attain.service.wording import sentence_of, translations

_OF_OPTION: Final = {
    *("level", "connected", "outlier", "total_shift", "max_shift", "months", "waits", "score", "sentence"),
}
_OF_CHANGE: Final = {
    *("feature", "label", "unit", "current", "suggested", "current_percentile", "suggested_percentile", "shift"),
    *("low", "high", "low_percentile", "high_percentile", "gain"),
    *("needed_for_decision", "needed_to_stay_typical", "needed_by_law"),
}


def as_answer(result: Counterfactuals, *, full: bool = False) -> dict[str, Any]:
    """The first person of a result: how the search ended, and the options."""
    options = [_option(result, option) for option in result.options_of(0)]
    least = min((option["total_shift"] for option in options), default=None)
    for option in options:
        option["easiest"] = option["total_shift"] == least
    return {
        "status": result.statuses[0].name,
        "reason": result.reason(0),
        "reasons": translations(result.reason(0)),
        "method": result.method,
        "target": result.target,
        "score": _number(result.person_figures["score_before"][0]),
        "options": options,
        "contributions": None if result.attributions is None else _contributions(result),
        "scale": None if result.attributions is None else result.attributions.scale,
        "notes": [sentence_of(note) for note in result.notes],
        "result": result.to_json() if full else None,
    }


def as_map(plane: Plane) -> dict[str, Any]:
    """A plane through real people."""
    note = "decisions about records decoded at each point" if plane.decoded else "decisions about real people nearby"
    x, y = plane.grid.round(6).tolist()
    return {
        "population": [
            [*place, accepted]
            for place, accepted in zip(plane.people.round(4).tolist(), plane.accepted.tolist(), strict=True)
        ],
        "regions": {"x": x, "y": y, "share": plane.share.round(3).tolist()},
        "person": plane.factuals[0].round(6).tolist(),
        "options": plane.options.round(6).tolist(),
        "axes": plane.axes,
        "note": f"The shades are {note}.",
    }


def report_of(result: Counterfactuals) -> bytes:
    """The report as HTML."""
    return written_file(result.report, "report.html")


def written_file(write: Callable[[str], None], name: str) -> bytes:
    """What a function writes into a file."""
    with TemporaryDirectory(prefix="attain-") as folder:
        path = Path(folder) / name
        write(str(path))
        return path.read_bytes()


def _option(result: Counterfactuals, option: Option) -> dict[str, Any]:
    found = {name: value for name, value in option.as_json().items() if name in _OF_OPTION}
    changes = [_change(change) for change in option.changes]
    return {**found, "record": as_record(result.table, result.rows[option.place]), "changes": changes}


def _change(change: Change) -> dict[str, Any]:
    found = {name: value for name, value in change.as_json().items() if name in _OF_CHANGE}
    found["levels"] = None if change.levels is None else [str(level) for level in change.levels]
    return {**found, "clock": change.follows == "time", "follows": change.follows == "law"}


def _contributions(result: Counterfactuals) -> list[dict[str, Any]]:
    kept = ("feature", "label", "value", "contribution", "error", "rank", "free")
    return [{name: entry[name] for name in kept} for entry in result.contribution_entries()]


def _number(value: Any) -> float | None:
    return None if math.isnan(value) else float(value)
