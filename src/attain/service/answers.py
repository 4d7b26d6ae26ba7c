"""A result of the library as the JSON of the API."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from attain.results.counterfactuals import Counterfactuals
from attain.results.plots.planes import Plane
from attain.results.sentences import option_sentences
from attain.service.records import as_record
from attain.service.wording import sentence_of, translations


def as_answer(result: Counterfactuals, *, full: bool = False) -> dict[str, Any]:
    """The first person of a result: how the search ended, and the options."""
    options = [_option(result, i) for i in range(len(result.owners)) if result.owners[i] == 0]
    least = min((option["total_shift"] for option in options), default=None)
    for option, sentence in zip(options, option_sentences(result), strict=False):
        option["sentence"] = sentence
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


def _option(result: Counterfactuals, i: int) -> dict[str, Any]:
    rank = int(result.ranks[i])
    cells = [cell for cell in result.changed_cells([int(result.owners[i])]) if cell["option"] == rank]
    ranges = {} if result.intervals is None else _by_feature(result.range_entries(), rank)
    importance = {}
    if result.importances is not None:
        importance = _by_feature(result.importance_entries(), rank)
    figures = {name: _number(values[i]) for name, values in result.option_figures.items()}
    return {
        "record": as_record(result.table, result.rows[i]),
        "changes": [
            _change(result, cell, ranges.get(cell["feature"], {}), importance.get(cell["feature"], {}))
            for cell in cells
        ],
        "level": result.levels[i],
        "connected": _verdict(figures.get("connected")),
        "outlier": _verdict(figures.get("outlier")),
        "total_shift": _points(figures.get("total_shift")),
        "max_shift": _points(figures.get("max_shift")),
        "months": float(result.months[i]),
        "waits": bool(result.waits[i]),
        "score": figures.get("score_after"),
    }


def _change(
    result: Counterfactuals, cell: dict[str, Any], held: dict[str, Any], matters: dict[str, Any]
) -> dict[str, Any]:
    return {
        "feature": cell["feature"],
        "label": cell["label"],
        "unit": cell["unit"],
        "current": cell["current"],
        "suggested": cell["counterfactual"],
        "current_percentile": cell["current_percentile"],
        "suggested_percentile": cell["counterfactual_percentile"],
        "shift": cell["shift"],
        "low": held.get("low"),
        "high": held.get("high"),
        "low_percentile": held.get("low_percentile"),
        "high_percentile": held.get("high_percentile"),
        "levels": held.get("levels"),
        "gain": matters.get("gain"),
        "needed_for_decision": matters.get("needed_for_decision"),
        "needed_to_stay_typical": matters.get("needed_to_stay_typical"),
        "needed_by_law": matters.get("needed_by_law"),
        "clock": result.table.schema[cell["feature"]].clock is not None,
        "follows": cell["feature"] in result.following or result.table.schema[cell["feature"]].computed is not None,
    }


def _by_feature(entries: list[dict[str, Any]], rank: int) -> dict[str, dict[str, Any]]:
    """The entries of an option by their feature."""
    return {entry["feature"]: entry for entry in entries if entry["option"] == rank}


def _contributions(result: Counterfactuals) -> list[dict[str, Any]]:
    kept = ("feature", "label", "value", "contribution", "error", "rank", "free")
    return [{name: entry[name] for name in kept} for entry in result.contribution_entries()]


def _number(value: Any) -> float | None:
    return None if math.isnan(value) else float(value)


def _points(share: float | None) -> float | None:
    return None if share is None else round(100 * share, 3)


def _verdict(value: float | None) -> bool | None:
    return None if value is None else bool(value)
