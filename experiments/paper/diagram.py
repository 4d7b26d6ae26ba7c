"""Figure 1 as a drawn diagram, with a real person's numbers."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd

from attain.core.drawing import COLOURS, panels
from attain.tables import unchanged
from experiments.paper.credit import Results
from experiments.paper.person import Person, shown_cell

_MOST: Final = 7
_LONGEST_TITLE: Final = 38
_LONGEST_VALUE: Final = 22


def diagram(results: Results, person: Person) -> tuple[Any, pd.DataFrame]:
    """Encoder, perturbation, decoder and classifier, filled with one person's search; and the numbers."""
    figure, axes = panels(1, 1, width=12.0, height=5.0)
    axis = axes[0, 0]
    axis.set_axis_off()
    axis.set_xlim(0, 120)
    axis.set_ylim(2, 49)
    schema = results.credit.schema
    fixed = list(schema.immutable_columns)
    free = sorted(schema.free_columns, key=lambda j: bool(unchanged(person.factual[j], person.answer[j])))[:_MOST]
    left = len(schema.free_columns) - len(free)
    wanted = results.credit.data.desired
    _box(axis, 1, 5, 32, 42, "the person x", "#eef3f8")
    _lines(axis, 2.5, 41, "xᵖ, immutable", [_cell(results, j, person.factual[j]) for j in fixed[:4]])
    lines = [_cell(results, j, person.factual[j]) for j in free] + ([f"and {left} more"] if left else [])
    _lines(axis, 2.5, 39.5 - 2.5 * (len(fixed[:4]) + 1), "xᶠ, free", lines)
    _box(axis, 42, 29, 13, 14, "encoder m", "#fbeee6")
    axis.text(48.5, 33.5, f"component ĉ = {person.component + 1}", ha="center", fontsize=8)
    _box(axis, 42, 5, 36, 19, "latent space", "#f6f6f6")
    _codes(axis, person)
    _box(axis, 65, 29, 13, 14, "decoder g", "#fbeee6")
    axis.text(71.5, 33.5, f"given xᵖ, c = {person.answer_component + 1}", ha="center", fontsize=8)
    _box(axis, 87, 17, 32, 30, "the counterfactual x̃ = (xᵖ, x̃ᶠ)", "#e8f4ef")
    after = [(_cell(results, j, person.answer[j]), not unchanged(person.factual[j], person.answer[j])) for j in free]
    _lines(
        axis, 88.5, 41, "xᵖ unchanged, x̃ᶠ (changes in colour)", after + ([(f"and {left} more", False)] if left else [])
    )
    _box(axis, 87, 3, 32, 10, "classifier f", "#eef3f8")
    axis.text(
        103, 5.4, f"P(y = {wanted}) = {person.probability_before:.4f} before, {person.probability_after:.4f} after:\n"
        "the decision flips, the search stops", ha="center", va="center", fontsize=8,
    )  # fmt: skip
    for start, end in (((33, 36), (42, 36)), ((48.5, 29), (48.5, 24)), ((71.5, 24), (71.5, 29)), ((78, 36), (87, 36)),
                       ((103, 17), (103, 13))):  # fmt: skip
        axis.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": COLOURS["black"], "lw": 1.4})
    axis.set_title(f"C-CHVAE's search for one person of {results.study.title}, with its numbers", fontsize=11)
    return figure, _numbers(results, person)


def _box(axis: Any, x: float, y: float, width: float, height: float, title: str, colour: str) -> None:
    from matplotlib.patches import FancyBboxPatch

    axis.add_patch(
        FancyBboxPatch(
            (x, y), width, height, boxstyle="round,pad=0,rounding_size=1.2", fc=colour, ec=COLOURS["black"], lw=0.9
        )
    )
    axis.text(x + width / 2, y + height - 2.2, title, ha="center", va="center", fontsize=9.5, weight="bold")


def _lines(axis: Any, x: float, y: float, heading: str, lines: list[Any]) -> None:
    axis.text(x, y, heading, fontsize=8, style="italic", color="#555555", va="center")
    for place, entry in enumerate(lines, start=1):
        text, marked = entry if isinstance(entry, tuple) else (entry, False)
        colour = COLOURS["vermilion"] if marked else COLOURS["black"]
        axis.text(x, y - 2.5 * place, text, fontsize=7.6, color=colour, va="center")


def _codes(axis: Any, person: Person) -> None:
    def shown_code(code: np.ndarray) -> str:
        return "(" + ", ".join(f"{value:.2f}" for value in code[:6]) + (", …)" if len(code) > 6 else ")")

    for height, text in (
        (18.5, f"ẑ = {shown_code(person.code)}"),
        (14.5, f"+ δ,  ‖δ‖ = {person.distance:.3f}, found in shell {person.shells}"),
        (10.5, f"z̃* = {shown_code(person.answer_code)}"),
    ):
        axis.text(60, height, text, ha="center", va="center", fontsize=8)


def _cell(results: Results, column: int, cell: float) -> str:
    feature = results.credit.schema.features[column]
    return f"{_short(feature.title, _LONGEST_TITLE)}: {_short(shown_cell(feature, cell), _LONGEST_VALUE)}"


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _numbers(results: Results, person: Person) -> pd.DataFrame:
    schema = results.credit.schema
    rows = [
        {
            "what": feature.name,
            "before": shown_cell(feature, person.factual[j]),
            "after": shown_cell(feature, person.answer[j]),
        }
        for j, feature in enumerate(schema)
    ]
    for j, (own, best) in enumerate(zip(person.code, person.answer_code, strict=True), start=1):
        rows.append({"what": f"latent code {j}", "before": f"{own:.6g}", "after": f"{best:.6g}"})
    rows.append(
        {
            "what": f"probability of {results.credit.data.desired}",
            "before": f"{person.probability_before:.6f}",
            "after": f"{person.probability_after:.6f}",
        }
    )
    rows.append({"what": "latent distance", "before": "0", "after": f"{person.distance:.6g}"})
    rows.append({"what": "component", "before": str(person.component + 1), "after": str(person.answer_component + 1)})
    return pd.DataFrame(rows)
