"""The result of every method: frames of the caller's library, a status for every row, and figures for every answer."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from attain.core.errors import DataError, free_name, listed
from attain.core.frames import Frame
from attain.core.text import number, plain
from attain.results import exports
from attain.results.details import Attributions, Importances, Ranges, Related, needed_changes
from attain.results.json_text import read_fields, to_json
from attain.results.levers import lever_columns
from attain.results.options import Option, entries, option_at
from attain.results.plots import Plots
from attain.results.sentences import person_sentences, unreadable_sentence, why_nothing_is_free
from attain.results.status import Status, Verdict
from attain.results.text import description, notebook, overview
from attain.schema.laws import Law
from attain.tables import RuleBook, Table, unchanged


def _long_table(name: str) -> cached_property[Frame]:
    """A table with a row for each change, law, input or problem, made when it is looked at."""
    return cached_property(lambda result: result.table.layout.library.make(exports.long_columns(result, name)))


@dataclass(frozen=True, eq=False, repr=False)
class Counterfactuals:
    """Answers for a batch of people.

    Frames and columns are of the library that came in, in the order of the rows that were explained.

    Attributes
    ----------
    frame
        One row per person, the best option: the index, column order and dtypes of the input. A person without an
        answer keeps their own record; `found` says who has one.
    found
        Whether each person has an answer: an array of booleans.
    options
        All options in long form: person, option (1 is the best), then the features. Where a feature is called `person`
        or `option`, that column is called `person_` or `option_`.
    changes
        One row per changed feature, with the columns of the paper's Table 1, the feature's label and unit, whether
        somebody has reviewed it, and the verdict on the option. Percentiles run from 0 to 100.
    law_changes
        One row for each change that a law asks for: without it, and with all the others, the answer would break the
        law. `laws` are those that answers keep.
    ranges
        With `explain(..., ranges=True)`, one row per changed feature: `low` and `high`, the ends of the widest run of
        checked values around the suggestion for which the answer holds, the others as suggested, and their percentiles;
        or the other `levels` that do as well. `checked` is how many values were checked and hold.
    importance
        With `explain(..., importance=True)`, one row per changed feature: `gain`, the share of the score gained that is
        due to it (its Shapley value among the changes), and `per_point`, the same per percentile point moved; whether
        it is needed for the decision, only to stay typical, or by a rule or law, all other changes carried out.
        Features that follow others have no gain, and clocks have no row.
    contributions
        With `explain(..., contributions=True)`, why the decision was made: for each person one row per scored input,
        immutable ones too. `contribution` is its Shapley value for the person's score, against real people who have the
        desired decision: negative where it speaks against the person. `error` is the half-width of its 95 % interval
        over other such people, `rank` is 1 for the input that speaks most against the person, and `free` says whether
        it may change. `attributions` says on which scale.
    status
        How each person's search ended: the names of `Status`.
    reasons
        The same as sentences, written for the person concerned.
    sentences
        A text for each person, to be read or read out: what to change, by the best option, what the new record is like,
        and which of its features nobody has reviewed; or why there is no answer. Values are rounded for reading;
        `frame` has the exact ones. `describe` has all options.
    problems
        One row per person whose record cannot be read (UNREADABLE), or whose search ended unexpectedly (FAILED):
        `person`, and the `error` in technical words.
    verdict
        How typical each answer is among real people of the desired class: the words of a `Verdict`, or None where
        that is not known. `verdicts` has the members of all options.
    unreviewed
        The features that the best options change and nobody has reviewed, by name, with how many options change them.
    figures
        One row per person: score before and after, shifts, outlier, connectedness, rows scored, …
    notes
        What to know when reading these answers, as sentences.
    statuses
        The members of `Status` as a tuple, one for each person.
    settings
        What the answers follow from, as JSON: `versions`; `method`, its `parameters`, `seed` and `explainer_digest`,
        which is the same after saving and loading; what was asked, by the names of `explain`; of the `model` its
        library, class, classes and `class_names` (what texts call the classes, in their order), `answers_digest` (of
        its scores of up to 256 training rows, to six decimals) and `file_digest` (SHA-256, where it was read from a
        file); and of the `training` data rows, columns and digest.
    """

    table: Table
    method: str
    target: Any
    probability: float | None
    statuses: tuple[Status, ...]
    rows: np.ndarray
    """Every option as a row of the matrix (m, d), grouped by person, best first."""
    owners: np.ndarray
    """The position of the person that each option belongs to (m,)."""
    percentiles: tuple[np.ndarray, np.ndarray, np.ndarray]
    """Percentiles of the factual, percentiles of the option, and shifts, each (m, d)."""
    person_figures: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Figures with one value per person (n,)."""
    option_figures: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Figures with one value per option (m,)."""
    notes: tuple[str, ...] = ()
    rows_asked: int = 0
    """All rows that models were asked about in this call, once for each score or decision."""
    rows_uncharged: int = 0
    """Those that are charged to nobody: the probe, controls, training rows, gradients, rows of importance and
    contributions, searches that failed, rows asked again after an error. The others add up to `rows_scored`."""
    unreadable: Mapping[int, str] = field(default_factory=dict)
    """The people whose record cannot be read, by position, each with a sentence that says why."""
    failures: Mapping[int, str] = field(default_factory=dict)
    """The people whose search ended with an unexpected error, by position, each with the error."""
    target_name: str | None = None
    """What the target is called in texts; None for the target itself."""
    laws: tuple[Law, ...] = ()
    """The laws that answers keep, unless a person breaks one already."""
    intervals: Ranges | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    importances: Importances | None = None
    attributions: Attributions | None = None
    related: Related | None = None
    """What relations between columns say of each option; None where there are none."""

    def __len__(self) -> int:
        return len(self.table)

    # frames of the caller's library

    @cached_property
    def frame(self) -> Frame:
        return self.table.replaced(np.where(self.found[:, None], self.answers, self.table.values))

    @cached_property
    def options(self) -> Frame:
        frame = self.table.take(self.owners, self.rows)
        person, option = (free_name(name, self.table.schema.names) for name in ("person", "option"))
        people = [self.table.labels[i] for i in self.owners]
        return self.table.layout.library.with_leading(frame, {person: people, option: self.ranks.tolist()})

    changes = _long_table("changes")
    law_changes = _long_table("law_changes")
    ranges = _long_table("ranges")
    importance = _long_table("importance")
    contributions = _long_table("contributions")
    problems = _long_table("problems")

    @cached_property
    def status(self) -> Any:
        return self._series("status", [status.name for status in self.statuses])

    @cached_property
    def reasons(self) -> Any:
        return self._series("reason", [self.reason(i) for i in range(len(self))])

    @cached_property
    def sentences(self) -> Any:
        return self._series("sentence", person_sentences(self))

    @cached_property
    def verdict(self) -> Any:
        words: list[str | None] = [None] * len(self)
        for owner, kind in zip(self.owners[self.best], self.best_verdicts, strict=True):
            words[owner] = None if kind is None else str(kind)
        return self._series("verdict", words)

    @cached_property
    def figures(self) -> Frame:
        library = self.table.layout.library
        columns = {name: np.asarray(values) for name, values in self.person_figures.items()}
        columns |= {name: self.best_figure(name) for name in self.option_figures}
        return library.make(columns, index=library.index(self.table.source))

    def _series(self, name: str, values: Sequence[Any]) -> Any:
        return self.table.layout.library.series(name, values, self.table.source)

    # people and their options by position

    @property
    def decision(self) -> Any:
        """The target as texts call it."""
        return self.target if self.target_name is None else self.target_name

    @property
    def request(self) -> str:
        """What was asked for in words: the decision, and the probability if there is one."""
        name = f"the decision “{plain(self.decision)}”" if isinstance(self.decision, str) else f"class {self.decision}"
        return name if self.probability is None else f"{name} with a probability of at least {number(self.probability)}"

    @cached_property
    def ranks(self) -> np.ndarray:
        """The number of each option among those of its person, from 1 (m,)."""
        return np.arange(len(self.owners)) - np.searchsorted(self.owners, self.owners, side="left") + 1

    @property
    def best(self) -> np.ndarray:
        """Which options are the best of their person (m,)."""
        return self.ranks == 1

    @cached_property
    def verdicts(self) -> tuple[Verdict | None, ...]:
        """What each option is like (m,); None where that is not known."""
        typicality, outlier, connected = (self._figure(name) for name in ("typicality", "outlier", "connected"))
        failed = outlier + (1 - connected)  # how many of two checks, for methods without a guard: see `Verdict`
        levels = np.where(np.isnan(typicality), failed, typicality)
        contradictions = self.related.contradictions if self.related is not None else [""] * len(levels)
        return tuple(
            Verdict.CONTRADICTORY if contradiction else Verdict.of(level)
            for level, contradiction in zip(levels.tolist(), contradictions, strict=True)
        )

    @property
    def best_verdicts(self) -> list[Verdict | None]:
        """What the best option of each person who has one is like."""
        return [kind for kind, best in zip(self.verdicts, self.best, strict=True) if best]

    @cached_property
    def unreviewed(self) -> dict[str, int]:
        """How many of the best options change each feature that nobody has reviewed, the most frequent first."""
        names, best = self.table.schema.unreviewed, self.best
        changed = ~unchanged(self.table.values[self.owners[best]], self.rows[best])
        counts = Counter({name: int(changed[:, self.table.schema.position(name)].sum()) for name in names})
        return {name: count for name, count in counts.most_common() if count}

    @property
    def found(self) -> np.ndarray:
        """Who has an answer (n,)."""
        return np.array([status is Status.FOUND for status in self.statuses], dtype=bool)

    @property
    def answers(self) -> np.ndarray:
        """The best option of each person as a row of the matrix (n, d); NaN where there is none."""
        answers = np.full(self.table.values.shape, math.nan)
        answers[self.owners[self.best]] = self.rows[self.best]
        return answers

    @property
    def share_found(self) -> float:
        """The share of people with an answer among those whose decision was not the desired one already."""
        needed = len(self) - self.statuses.count(Status.ALREADY_DESIRED)
        return self.statuses.count(Status.FOUND) / needed if needed else math.nan

    def best_figure(self, name: str) -> np.ndarray:
        """A figure of each person's best option (n,); NaN where there is no option or no such figure."""
        values = np.full(len(self), math.nan)
        values[self.owners[self.best]] = self._figure(name)[self.best]
        return values

    def _figure(self, name: str) -> np.ndarray:
        """A figure of each option (m,); NaN where there is no such figure."""
        return np.asarray(self.option_figures.get(name, np.full(len(self.owners), math.nan)), dtype=np.float64)

    def reason(self, position: int) -> str:
        """How the search for the person at this position ended, as a sentence."""
        status = self.statuses[position]
        if position in self.unreadable:
            return unreadable_sentence(self.table.schema, self.unreadable[position])
        why = why_nothing_is_free(self.table, position) if status is Status.NOTHING_FREE else ""
        return f"{status.reason.rstrip('.')}: {why}." if why else status.reason

    @property
    def troubles(self) -> dict[int, str]:
        """What is wrong with people's records, or went wrong in their search, in technical words, by position."""
        return dict(sorted({**self.unreadable, **self.failures}.items()))

    def positions(self, person: Any) -> list[int]:
        """The positions of the rows with this label."""
        found = [i for i, label in enumerate(self.table.labels) if label == person]
        if not found:
            raise DataError(f"no row has the label {person!r}; the labels are {listed(self.table.labels)}")
        return found

    def option(self, place: int) -> Option:
        """The option at a place among all, to be shown."""
        return option_at(self, place)

    def options_of(self, position: int) -> list[Option]:
        """The options of the person at a position, the best first."""
        return [self.option(place) for place in entries(self.owners, position)]

    @cached_property
    def all_options(self) -> list[Option]:
        """Every option as an `Option`, in the order of `rows`."""
        return [self.option(place) for place in range(len(self.owners))]

    # laws and time

    @cached_property
    def _book(self) -> RuleBook:
        return RuleBook(self.table.schema, self.laws)

    @cached_property
    def following(self) -> frozenset[str]:
        """The features that follow others by a law: nobody changes them by themselves."""
        return frozenset(self.table.schema.names[one.column] for one in self._book.derivations if one.follows)

    @cached_property
    def months(self) -> np.ndarray:
        """How long each option takes (m,), by the clocks and paces of the schema."""
        return self._months(self.rows)

    @cached_property
    def months_needed(self) -> np.ndarray:
        """The same without the changes that only keep the record typical, where `importance` was asked for (m,)."""
        rows, known = self.rows.copy(), self.importances
        if known is not None:
            options, columns = (part[known.only_typical == 1] for part in (known.option, known.column))
            rows[options, columns] = self.table.values[self.owners[options], columns]
        return self._months(rows)

    def _months(self, rows: np.ndarray) -> np.ndarray:
        timing, before = self._book.timing, self.table.values[self.owners]
        return np.zeros(len(before)) if timing is None else timing.months(rows, before)

    @cached_property
    def waits(self) -> np.ndarray:
        """Which options take longer than their changes need, so that clocks advance (m,)."""
        timing, before = self._book.timing, self.table.values[self.owners]
        return np.zeros(len(before), dtype=bool) if timing is None else timing.waits(self.rows, before)

    @cached_property
    def needs(self) -> list[tuple[int, int, int]]:
        """(option, column, rule or law) for each changed cell without which the option would break what it keeps."""
        follows = np.array([name in self.following for name in self.table.schema.names])
        return needed_changes(self._book, self.table.values[self.owners], self.rows, follows)

    @cached_property
    def needed_by_law(self) -> np.ndarray:
        """Which changed cells (m, d) nobody chose: rules or laws ask for them, or others or time determine them."""
        result = np.zeros(self.rows.shape, dtype=bool)
        for place, column, _ in self.needs:
            result[place, column] = True
        computed = [*(derivation.column for derivation in self._book.derivations), *self.table.schema.clocks]
        result[:, computed] = ~unchanged(self.table.values[self.owners], self.rows)[:, computed]
        return result

    # texts, plots and files

    def levers(self) -> Frame:
        """Which features the best answers rest on: one row for each, those that most answers change first.

        Columns that follow others, and clocks, are left out. `attain.metrics.levers` adds what it would cost to hold
        each feature as it is, by searching again.

        The columns are `feature`, `label` and `unit`; `answers`, how many answers change it, and their `share`;
        `alone`, how many of them change nothing else; `up` and `down`, which way; `change`, the median in its unit, and
        `shift`, the median distance in percentile points; of levels the most `common` new one; who `reviewed` the
        feature; and an `example`, the sentence of the answer that changes the fewest other features.
        """
        return self.table.layout.library.make(lever_columns(self))

    def describe(self, person: Any, width: int | None = None) -> str:
        """All options of one person as text: what changes, from which value and percentile to which.

        Parameters
        ----------
        person
            The label of the row: its index in pandas, otherwise its position. Where several rows have this label, all
            are described.
        width
            The number of columns that the text may have; None is the width of the terminal.
        """
        return "\n\n".join(description(self, i, width) for i in self.positions(person))

    @property
    def plot(self) -> Plots:
        """Plots of these answers: `result.plot.changes(person)` and others, each of which returns Matplotlib axes."""
        return Plots(self)

    def __repr__(self) -> str:
        found = f"{self.found.sum()} of {len(self)} people have an answer"
        return f"<Counterfactuals by {self.method} for target {plain(repr(self.target))}: {found}>"

    def __str__(self) -> str:
        return overview(self)

    def _repr_html_(self) -> str:
        return notebook(self)

    def to_json(self) -> str:
        """The whole result as JSON, which `Counterfactuals.from_json` reads."""
        return to_json(self)

    def to_csv(
        self, path: str | PathLike[str], table: str = "answers", *, labels: bool = False, separator: str = ","
    ) -> None:
        """Writes a table as CSV. No text in it can be taken for a formula; numbers stay numbers.

        A text that begins with `=`, `+`, `-`, `@`, a tab or a line break, or has one of the first four after a
        separator, gets an apostrophe before it. `attain evaluate` reads the answers as they were.

        Parameters
        ----------
        path
            The file, which is replaced: .csv, .tsv or .txt.
        table
            "answers": one row for each option, and one with their own record for each person without an answer;
            "changes", "ranges", "law_changes", "importance", "contributions", "problems" or "figures": the frame of
            that name; "settings": one row for each. In all of them shifts are percentile points, and the column with
            the names of people is called like the index of the frame that was explained, or else `person`.
        labels
            Whether features are called by their labels and units in the header of the answers.
        separator
            The character between cells.
        """
        exports.to_csv(self, path, table, labels, separator)

    def to_excel(self, path: str | PathLike[str], *, labels: bool = False) -> None:
        """Writes all tables that `to_csv` can write into an Excel file (.xlsx), one sheet each.

        No text can be taken for a formula, as in `to_csv`. The same result gives the same bytes. It needs the extra
        `report`.
        """
        exports.to_excel(self, path, labels)

    @classmethod
    def from_json(cls, text: str) -> Counterfactuals:
        """The result that `to_json` wrote, with frames of the library it came from."""
        return cls(**read_fields(text))
