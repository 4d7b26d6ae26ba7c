"""The sections of a report besides the people."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from textwrap import shorten
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from attain.core.drawing import detached, written
from attain.core.intervals import mean_intervals, share_interval
from attain.core.page import (
    Block,
    Bullets,
    Cell,
    Code,
    Details,
    Facts,
    Heading,
    Mark,
    Paragraph,
    Part,
    Picture,
    TableBlock,
    Tile,
    Tiles,
    Whole,
)
from attain.core.text import ENGLISH, number, plain
from attain.results.exports import flattened
from attain.results.options import WAITING, Change
from attain.results.plot_people import changed_columns, time_waited
from attain.results.plots import Plots
from attain.results.report_people import counted_outcomes, outcome_words
from attain.results.sentences import joined
from attain.results.status import Status, Typicality
from attain.schema.text import FEATURE_HEADER, feature_lines
from attain.tables import RuleBook

if TYPE_CHECKING:
    from attain.results.counterfactuals import Counterfactuals

_INTERVALS: Final = (
    "All figures but the first are over people with an answer, by their best option. The intervals say how much a "
    "figure would vary with other people: Wilson's for shares, by bootstrap for means."
)
_LIMITS: Final = (
    "An answer says what would flip this model's decision. It is no promise: the model may change, and other checks "
    "may apply.",
    "It is no causal claim: it says what the model does with such a record, not what improves anything in life.",
    "It is only as fair as the model. Compare groups before handing answers out, and do not use answers to justify a "
    "decision.",
    "This file contains values of people's records. Protect it like the data it was made from.",
)
_OTHER_LEVEL: Final = "another level of an unordered feature counts 100"
_OVERVIEW: Final = (
    "How far answers move each feature. Each point is one person's answer, in percentile points of the training data; "
    "the bar spans the middle half of them, and its mark is the median."
)
_SHIFTS: Final = (
    "Total against largest shift of each answer, in percentile points: how much it asks in all, and at most."
)
_MOST: Final = 10
"""How many features are shown at once."""
_LISTED: Final = 300
"""How many laws are listed."""
_LONGEST: Final = 400
"""How many characters of a law are shown."""
_NOT_ASKED: Final = {"versions", "method", "parameters", "seed", "explainer_digest", "robust", "model", "training"}
"""Settings that are no arguments of `explain`."""


def about(result: Counterfactuals) -> str:
    """The line below the title."""
    version = result.settings.get("versions", {}).get("attain")
    by = f"{result.method}, attain {version}" if version else result.method
    return f"For {result.request} · {by}"


def overview(result: Counterfactuals) -> list[Block]:
    """How many were asked about and answered, how typical the answers are, and why others have none."""
    counts = counted_outcomes(result)
    parts = [Part(outcome_words(kind)[0], count, outcome_words(kind)[1]) for kind, count in counts]
    said = "; ".join(f"{part.count} {part.name}" for part in parts)
    blocks: list[Block] = [Heading("Overview"), _tiles(result)]
    blocks += [Whole(parts, f"Outcomes: {said}")] if parts else []
    statuses = Counter(status for status in result.statuses if status is not Status.FOUND)
    if statuses:
        rows = [
            [outcome_words(status)[0], f"{count:,}", status.reason, status.remedy or "–"]
            for status, count in statuses.most_common()
        ]
        blocks += [
            Heading("People without an answer", 3),
            TableBlock(("outcome", "people", "what it means", "what to do about it"), rows, (1,)),
        ]
    if result.unreadable:
        rows = [[plain(result.table.labels[i]), result.reason(i)] for i in sorted(result.unreadable)[:_LISTED]]
        blocks.append(Details("Records that cannot be read", [TableBlock(("person", "why"), rows)]))
    return blocks


def _tiles(result: Counterfactuals) -> Tiles:
    asked, found = _asked(result), result.found
    tiles = [Tile(f"{len(result):,}", "people", _already(result))]
    figures = {measure.name: measure for measure in _measures(result)}
    for name, title, unit in (
        (_FOUND, "with an answer", f" of {int(asked.sum()):,}"),
        (_TYPICAL, "typical answers", ""),
        (_CHANGED, "features to change", " on average"),
        (_TOTAL, "total shift", " percentile points"),
        (_MONTHS, "months to carry out", " on average"),
    ):
        if name in figures:
            about = f"{int(found.sum()):,}{unit}" if name == _FOUND else f"{figures[name].interval}{unit}".strip()
            tiles.append(Tile(figures[name].text, title, about))
    return Tiles(tiles)


def _already(result: Counterfactuals) -> str:
    count = sum(status is Status.ALREADY_DESIRED for status in result.statuses)
    return f"{count:,} of them decided as asked already" if count else ""


def _asked(result: Counterfactuals) -> np.ndarray:
    """Who needed an answer (n,)."""
    return np.array([status is not Status.ALREADY_DESIRED for status in result.statuses], dtype=bool)


_FOUND, _TYPICAL, _CHANGED = "people with an answer", "typical answers", "changes asked for"
_TOTAL, _LARGEST, _MONTHS = "total shift (TS)", "largest shift (MS)", "months"


@dataclass(frozen=True)
class _Measure:
    """A mean or a share over people, with its interval."""

    name: str
    values: np.ndarray
    low: float
    high: float
    meaning: str
    share: bool = False

    @property
    def mean(self) -> float:
        return float(self.values.mean())

    @property
    def text(self) -> str:
        return _written(self.mean, self.share)

    @property
    def interval(self) -> str:
        if np.isnan(self.low):
            return ""
        first, last = (_written(end, self.share) for end in (self.low, self.high))
        return f"{first.removesuffix(' %')} to {last}"

    @property
    def cell(self) -> Cell:
        return Cell(self.interval or "–", mark=Mark(self.mean, self.low, self.high) if self.share else None)


def _written(value: float, share: bool) -> str:
    return f"{100 * value:.0f} %" if share else f"{value:.1f}"


def quality(result: Counterfactuals) -> list[Block]:
    """The figures of the answers, with intervals."""
    measures = _measures(result)
    if not measures:
        return []
    rows = [(measure.name, measure.text, measure.cell, measure.meaning) for measure in measures]
    header = ("figure", "mean or share", "95 % interval", "what it is")
    return [Heading("Quality of the answers"), TableBlock(header, rows, (1, 2)), Paragraph(_INTERVALS, "muted")]


def _measures(result: Counterfactuals) -> list[_Measure]:
    """Shares first, then means; those that the result does not have are left out."""
    asked, best = _asked(result), result.of_best
    shares = [
        (_FOUND, result.found[asked].astype(np.float64), "of all people who needed one"),
        (_TYPICAL, _equal(best("typicality"), Typicality.TYPICAL), "look like real people who have the decision"),
        ("connected answers", best("connected"), "as near to a real person who has the decision as those are usually"),
        ("local outliers", best("outlier"), "unlike the real people nearest to them; few is good"),
    ]
    means = [
        (_CHANGED, _features(result), "how many features an answer changes; waiting counts as one"),
        (_TOTAL, 100 * best("total_shift"), f"in percentile points, summed over features; {_OTHER_LEVEL}"),
        (_LARGEST, 100 * best("max_shift"), "in percentile points, of the feature that moves most"),
        (_MONTHS, _months(result), "how long carrying an answer out takes"),
    ]
    found = [_share(name, values, meaning) for name, values, meaning in shares if (~np.isnan(values)).any()]
    known = [entry for entry in means if (~np.isnan(entry[1])).any()]
    if known:
        drawn = mean_intervals(np.column_stack([values for _, values, _ in known]))
        for (name, values, meaning), (low, high) in zip(known, drawn, strict=True):
            found.append(_Measure(name, values[~np.isnan(values)], low, high, meaning))
    return found


def _share(name: str, values: np.ndarray, meaning: str) -> _Measure:
    low, high = share_interval(values)
    return _Measure(name, values[~np.isnan(values)], low, high, meaning, share=True)


def _equal(values: np.ndarray, kind: float) -> np.ndarray:
    """1 where a value is this kind, 0 where it is another, NaN where there is none."""
    return np.where(np.isnan(values), np.nan, values == kind)


def _features(result: Counterfactuals) -> np.ndarray:
    """How many features each person's best option changes (n,); NaN without one."""
    values = np.full(len(result), np.nan)
    values[result.owners[result.best]] = changed_columns(result).sum(axis=1)
    return values


def _months(result: Counterfactuals) -> np.ndarray:
    """How long each person's best option takes (n,); NaN without one, and everywhere if none takes time."""
    values = np.full(len(result), np.nan)
    if result.months.any():
        values[result.owners[result.best]] = result.months[result.best]
    return values


def changed_features(result: Counterfactuals) -> list[Block]:
    """Which features the best options change, for how many people, and how far."""
    answered = int(result.found.sum())
    if not answered:
        return []
    schema, changes = result.table.schema, dict[str, list[Change]]()
    for place in np.flatnonzero(result.best).tolist():
        for change in result.option(place).changes:
            if change.follows != "time":
                changes.setdefault(change.feature.name, []).append(change)
    counted = [(len(own), plain(schema[name].title), *_moves(own)) for name, own in changes.items()]
    waited = result.months[result.best & result.waits]
    if len(waited):
        counted.append((len(waited), WAITING, time_waited(waited), "–"))
    rows: list[Sequence[str | Cell]] = [
        (title, Cell(f"{100 * count / answered:.0f} % ({count:,})", mark=Mark(count / answered)), *moves)
        for count, title, *moves in sorted(counted, key=lambda entry: -entry[0])
    ]
    header = ("feature", "answers that change it", "direction", "median shift")
    about = "By the best option of each person with an answer."
    clocks = [plain(schema.features[j].title) for j in schema.clocks]
    if result.months.any() and clocks:
        about += f" With time, {joined(clocks)} advance{'s' if len(clocks) == 1 else ''}, too."
    blocks: list[Block] = [Heading("What changes"), TableBlock(header, rows[:_MOST], (3,), about)]
    more = len(rows) - _MOST
    if more > 0:
        blocks.append(Details(f"{more} more", [TableBlock(header, rows[_MOST:], (3,))]))
    return [*blocks, *_pictures(result)]


def _pictures(result: Counterfactuals) -> list[Block]:
    plots = Plots(result, detached)
    with warnings.catch_warnings():
        # names are in the tables, too; a font without a glyph is no reason for a warning
        warnings.simplefilter("ignore")
        return [Picture(written(plots.overview().figure), _OVERVIEW), Picture(written(plots.shifts().figure), _SHIFTS)]


def _moves(changes: Sequence[Change]) -> tuple[str, str]:
    """How many go up and down, and the median shift in percentile points."""
    ends = [(change.current_percentile, change.suggested_percentile) for change in changes]
    known = [(first, last) for first, last in ends if first is not None and last is not None]
    counts = (sum(last > first for first, last in known), sum(last < first for first, last in known))
    said = ", ".join(f"{count:,} {way}" for count, way in zip(counts, ("up", "down"), strict=True) if count)
    shifts = [change.shift for change in changes if change.shift is not None]
    return said or "–", number(round(float(np.median(shifts)), 1)) if shifts else "–"


def rules(result: Counterfactuals) -> list[Block]:
    """What every answer kept: rules, laws, and what was held fixed."""
    schema = result.table.schema
    lines = [(name, kind, may, values) for name, kind, may, values, _ in feature_lines(schema)]
    blocks: list[Block] = [Heading("Rules, laws and what was held fixed")]
    fixed = [plain(feature.title) for feature in schema if feature.immutable]
    if fixed:
        blocks.append(Paragraph(f"Held fixed for everybody: {', '.join(fixed)}."))
    if schema.max_months is not None:
        blocks.append(Paragraph(f"Answers take at most {ENGLISH.duration(schema.max_months)}."))
    book = RuleBook(schema, result.laws)
    if not book.rules:
        blocks.append(Paragraph("There are no rules or laws between columns."))
    else:
        kept, own = book.kept(result.rows), book.kept(result.table.values[result.table.readable])
        first = len(schema.rules)
        blocks += _kept("rule", [str(rule) for rule in schema.rules], kept[:, :first], own[:, :first])
        texts = [law.sentence or law.text for law in result.laws]
        blocks += _kept("law", texts, kept[:, first:], own[:, first:])
    return [*blocks, Details("What may change, feature by feature", [TableBlock(FEATURE_HEADER[:4], lines)])]


def _kept(kind: str, texts: Sequence[str], kept: np.ndarray, own: np.ndarray) -> list[Block]:
    if not texts:
        return []
    broken, already = (~kept).sum(axis=0), (~own).sum(axis=0)
    all_kept = int((broken == 0).sum())
    rows = [
        (
            shorten(plain(texts[k]), _LONGEST, placeholder=" …"),
            Cell("kept by all", "good") if not broken[k] else Cell(f"all but {broken[k]:,}", "fair"),
            f"{already[k]:,}" if already[k] else "–",
        )
        for k in np.argsort(-broken, kind="stable")[:_LISTED]
    ]
    found = "found in the training data" if kind == "law" else "of the schema"
    said = f"{all_kept:,} of {len(texts):,} {kind}s {found} are kept by all {len(kept):,} options."
    if broken.any():
        said += " The others are broken by people's own records, and no answer breaks them by more."
    cut = f" The first {_LISTED} are listed." if len(texts) > _LISTED else ""
    grid = TableBlock((kind, "options", "own records that break it"), rows, (2,))
    listed: Block = grid if len(rows) <= 8 else Details(f"The {kind}s", [grid])
    return [Heading(f"{kind.capitalize()}s", 3), Paragraph(said + cut), listed]


def provenance(result: Counterfactuals, title: str | None) -> list[Block]:
    """The model and the data, settings and versions, notes and limits, and how to make the report again."""
    settings = result.settings
    blocks: list[Block] = [Heading("Model and data")]
    model, training = settings.get("model", {}), settings.get("training", {})
    scored = result.person_figures.get("rows_scored", np.zeros(len(result)))
    facts = [
        ("model", model.get("class")),
        ("its library", " ".join(filter(None, (model.get("library"), model.get("library_version"))))),
        ("classes", ", ".join(map(str, model.get("classes", [])))),
        ("called in texts", ", ".join(f"{label}: {name}" for label, name in _class_names(result).items())),
        ("model file, SHA-256", model.get("file_digest")),
        ("model's answers on training rows, digest", model.get("answers_digest")),
        ("training rows", _count(training.get("rows"))),
        ("features", _count(len(result.table.schema))),
        ("training data, digest", training.get("digest")),
        ("explainer, digest", settings.get("explainer_digest")),
        # `rows_asked` has training rows, too, which an explainer that knows the model does not ask about again
        ("rows that the model was asked about for people", _count(int(scored.sum()))),
    ]
    blocks.append(Facts([(name, plain(value)) for name, value in facts if value not in (None, "")]))
    if settings:
        pairs = [(name, _value(value)) for name, value in flattened(_without(settings, "model", "training"))]
        blocks += [Heading("Settings and versions"), Details("All settings", [Facts(pairs)])]
    blocks += [Heading("Notes and limits"), Bullets([*(plain(note) for note in result.notes), *_LIMITS])]
    return [*blocks, Heading("How to make this report again"), *_again(result, title)]


def _class_names(result: Counterfactuals) -> dict[Any, str]:
    """What texts call the classes, where they have names."""
    model = result.settings.get("model", {})
    names = zip(model.get("classes", ()), model.get("class_names") or (), strict=False)
    return {label: name for label, name in names if name is not None}


def _again(result: Counterfactuals, title: str | None) -> list[Block]:
    """The command and the lines of Python that write the same report."""
    settings = result.settings
    defaults = {"n": 1, "errors": "status"}
    asked = {
        name: value
        for name, value in settings.items()
        if name not in _NOT_ASKED and value not in (None, False, [], {}) and defaults.get(name) != value
    }
    asked.setdefault("target", result.target)
    if "people" in asked.get("constraints", {}):
        own = {entry["person"]: _without(entry, "person") for entry in asked["constraints"]["people"]}
        asked["constraints"] = {**asked["constraints"], "people": own}
    arguments = [f"{name}={value!r}" for name, value in asked.items()]
    arguments += ["robust=models"] if settings.get("robust") else []
    names = _class_names(result)
    python = [
        'explainer = attain.load("explainer.attain")',
        *([f"model = attain.models.Model(model, class_names={names!r})"] if names else []),
        f"result = explainer.explain(model, people, {', '.join(arguments)})",
        f'result.report("report.html"{"" if title is None else f", title={title!r}"})',
    ]
    command = "attain report answers.json --out report.html" + ("" if title is None else f" --title={quote(title)}")
    return [
        Code(command, "From the answers that `attain explain` wrote as JSON:"),
        Code("\n".join(python), "From the fitted explainer, the model and the people:"),
        Paragraph("With the same digests and versions as above, the same bytes come out.", "muted"),
    ]


def _without(settings: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name not in names}


def _value(value: Any) -> str:
    return plain(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _count(value: int | None) -> str | None:
    return None if value is None else f"{value:,}"
