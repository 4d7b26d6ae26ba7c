"""The style of figures, and how they are written: PNG and SVG, with the same bytes for the same numbers."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from attain.core.errors import MissingExtraError
from attain.core.files import write_atomically

COLOURS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "blue": "#0072B2", "orange": "#E69F00", "green": "#009E73", "vermilion": "#D55E00",
        "purple": "#CC79A7", "sky": "#56B4E9", "yellow": "#F0E442", "black": "#222222", "grey": "#999999",
    }
)  # fmt: skip
"""Okabe and Ito's palette, which colour-blind readers can tell apart."""
_STYLE: Final[Any] = {
        "font.family": "DejaVu Sans", "font.size": 9.0, "axes.titlesize": 10.0, "axes.labelsize": 9.0,
        "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": "#e6e6e6",
        "grid.linewidth": 0.6, "axes.axisbelow": True, "legend.frameon": False, "lines.linewidth": 1.6,
        "svg.hashsalt": "attain", "svg.fonttype": "none", "figure.dpi": 100.0, "savefig.dpi": 160.0,
}  # fmt: skip


def style() -> Any:
    """A context in which figures are drawn in the project's style."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise MissingExtraError(
            "figures need Matplotlib, which is not installed: pip install 'attain[report]'"
        ) from None
    return mpl.rc_context(_STYLE)


def panels(rows: int = 1, columns: int = 1, *, width: float = 6.4, height: float = 4.0) -> tuple[Any, Any]:
    """A figure and its axes, (rows, columns), in the project's style; sizes in inches."""
    with style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False)
    return figure, axes


def save(figure: Any, folder: Path, name: str) -> None:
    """Writes NAME.png and NAME.svg into the folder."""
    with style():
        for ending, metadata in (("png", {"Software": None}), ("svg", {"Date": None, "Creator": None})):
            content = BytesIO()
            figure.savefig(content, format=ending, metadata=metadata)
            write_atomically(folder / f"{name}.{ending}", content.getvalue())
