"""The style of figures, and how they are written: PNG and SVG, with the same bytes for the same numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from textwrap import wrap
from typing import Any, Final

from attain.core.errors import MissingExtraError
from attain.core.files import write_atomically
from attain.core.text import plain

COLOURS: Final[Mapping[str, str]] = {
        "blue": "#0072B2", "orange": "#E69F00", "green": "#009E73", "vermilion": "#D55E00",
        "purple": "#CC79A7", "sky": "#56B4E9", "yellow": "#F0E442", "black": "#222222", "grey": "#999999",
}  # fmt: skip
"""Okabe and Ito's palette, which colour-blind readers can distinguish."""
FAINT: Final = "#5f6670"
"""For text that is read second: dark enough for small print."""
TRACK: Final = "#dfe3e8"
"""For lines that values lie on."""
LOOKS: Final = tuple(
    zip(
        (COLOURS[name] for name in ("blue", "vermilion", "green", "purple", "orange", "black", "grey")),
        "osD^vPX",
        ("-", "--", "-.", ":", (0, (5, 1)), (0, (1, 1)), (0, (3, 1, 1, 1))),
        strict=True,
    )
)
"""Colour, marker and line of the first, second, … of several series; each of the three distinguishes them."""
_STYLE: Final[Any] = {
        "font.family": "DejaVu Sans", "font.size": 9.0, "axes.titlesize": 10.0, "axes.labelsize": 9.0,
        "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": "#e6e6e6",
        "grid.linewidth": 0.6, "axes.axisbelow": True, "legend.frameon": False, "lines.linewidth": 1.6,
        "svg.hashsalt": "attain", "svg.fonttype": "none", "figure.dpi": 100.0, "savefig.dpi": 160.0,
}  # fmt: skip
_PARTS: Final = re.compile(r"[A-Z]+[^A-Z_./-]*[_./-]*|[^A-Z_./-]+[_./-]*|[_./-]+")
"""The parts of a word that may stand on separate lines."""
_HEADLINE: Final = "headline"
"""Marks a title and the text below it."""
_METADATA: Final[Mapping[str, Any]] = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}


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


def detached(width: float, height: float) -> Any:
    """The axes of a new figure that pyplot does not keep: for files and pages."""
    return panels(width=width, height=height)[1][0, 0]


def shown(width: float, height: float) -> Any:
    """The axes of a new figure of pyplot, which a notebook shows at the end of its cell."""
    with style():
        from matplotlib import pyplot

        return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def finished(ax: Any) -> Any:
    """The axes, with every text literal, so that a column called `$x_1$` is no formula, and the title flush left.

    The figure is laid out for that, but not rendered.
    """
    from matplotlib.text import Annotation, Text
    from matplotlib.transforms import ScaledTranslation

    for text in ax.findobj(Text):
        text.set_parse_math(False)
    figure = ax.get_figure(root=True)
    figure.draw_without_rendering()
    names = ax.yaxis.get_tightbbox()
    left = (min(ax.bbox.x0, ax.bbox.x0 if names is None else names.x0) - ax.bbox.x0) / figure.dpi
    for text in ax.findobj(lambda artist: artist.get_gid() == _HEADLINE):
        if isinstance(text, Annotation):
            text.xyann = (72 * left, text.xyann[1])
        else:
            moved = ScaledTranslation(left, 0, figure.dpi_scale_trans)
            text.set_transform(ax.transAxes + ax.titleOffsetTrans + moved)
    return ax


def label(text: object, width: int, lines: int = 1) -> str:
    """A name on a few lines of at most `width` characters; what does not fit is cut off, with an ellipsis."""
    parts = _wrapped(plain(text), width)
    if len(parts) > lines:
        parts[lines - 1 :] = [f"{parts[lines - 1][: width - 1].rstrip()}…"]
    return "\n".join(parts)


def _wrapped(text: str, width: int) -> list[str]:
    """Lines of at most `width` characters; longer words are broken before capitals and after punctuation."""
    lines = [""]
    for word in text.split():
        parts = [word] if len(word) <= width else [cut for part in _PARTS.findall(word) for cut in wrap(part, width)]
        for k, part in enumerate(parts):
            space = " " if lines[-1] and not k else ""
            if len(lines[-1] + space + part) <= width:
                lines[-1] += space + part
            else:
                lines.append(part)
    return [line for line in lines if line]


def headline(ax: Any, title: str, about: str = "") -> None:
    """A bold title with smaller print below; `finished` aligns them left."""
    width = ax.get_figure().bbox.width / ax.get_figure(root=True).dpi
    about = label(about, int(14 * width), 2)
    lines = about.count("\n") + 1 if about else 0
    look = {"fontweight": "bold", "color": COLOURS["black"], "pad": 8 + 11 * lines, "gid": _HEADLINE}
    ax.set_title(label(title, int(10.5 * width), 2), loc="left", **look)
    if about:
        place = {"xy": (0, 1), "xycoords": "axes fraction", "xytext": (0, 7), "textcoords": "offset points"}
        look = {"fontsize": 8, "color": FAINT, "linespacing": 1.25, "gid": _HEADLINE}
        ax.annotate(about, **place, **look, va="bottom", annotation_clip=False)


def mark(name: str, **look: Any) -> Any:
    """An entry of a legend: a marker, or a line where `ls` is given."""
    from matplotlib.lines import Line2D

    return Line2D([], [], **{"ls": "", "mew": 0, "label": name, **look})


def legend_below(ax: Any, entries: Sequence[Any], loc: str, columns: int, points: float) -> None:
    """A legend some points below the axes, aligned with one side: `loc` is "upper left" or "upper right"."""
    from matplotlib.transforms import ScaledTranslation

    below = ax.transAxes + ScaledTranslation(0, -points / 72, ax.get_figure(root=True).dpi_scale_trans)
    place = {"loc": loc, "bbox_to_anchor": (int(loc.endswith("right")), 0), "bbox_transform": below, "ncols": columns}
    look = {"fontsize": 8, "labelcolor": FAINT, "handletextpad": 0.5, "columnspacing": 1.5}
    ax.legend(handles=entries, **place, **look, borderpad=0, borderaxespad=0)


def written(figure: Any, ending: str = "png") -> bytes:
    """The figure as PNG or SVG, with the same bytes for the same numbers."""
    content = BytesIO()
    with style():
        figure.savefig(content, format=ending, metadata=_METADATA[ending])
    return content.getvalue()


def save(figure: Any, folder: Path, name: str) -> None:
    """Writes NAME.png and NAME.svg into the folder."""
    for ending in _METADATA:
        write_atomically(folder / f"{name}.{ending}", written(figure, ending))
