"""The people that can be picked: their records, and what the model decides about them."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal

import numpy as np

from attain.core.checks import repeated
from attain.core.errors import DataError, listed
from attain.core.frames import Frame
from attain.methods.records import Assessed, assess
from attain.methods.session import Session
from attain.service.errors import Refused
from attain.service.records import as_record
from attain.tables import Table

Which = Literal["all", "refused", "accepted"]


class People:
    """Rows of a frame by their labels, as texts.

    Parameters
    ----------
    session
        What the rows are read with, and what is known about each.
    frame
        One row per person; None is nobody.
    """

    def __init__(self, session: Session, frame: Frame | None) -> None:
        self._session, schema = session, session.explainer.schema_
        self._table = None if frame is None else Table.read(frame, schema, "people", errors="status")
        labels = [] if self._table is None else [str(label) for label in self._table.labels]
        if twice := repeated(labels):
            raise DataError(f"people has several rows with the same label: {listed(twice)}; label each differently")
        self._positions = {label: i for i, label in enumerate(labels)}

    def __len__(self) -> int:
        return len(self._positions)

    def frame_of(self, person: str) -> Frame:
        """Somebody's row, with their label."""
        position, table = self._position(person), self._table
        assert table is not None
        return table.layout.library.take(table.source, np.array([position]))

    def table_of(self, person: str) -> Table:
        """The same as a table."""
        return Table.read(self.frame_of(person), self._session.explainer.schema_, "person", errors="status")

    def entry(self, person: str) -> dict[str, Any]:
        """Somebody, and what the model decides."""
        return self._entries[self._position(person)]

    def page(self, search: str, which: Which, offset: int, limit: int) -> dict[str, Any]:
        """Some of those whose label or cells contain a text, and how many there are."""
        wanted = search.casefold().split()
        found = [
            entry
            for entry, text in zip(self._entries, self._texts, strict=True)
            if (which == "all" or entry["accepted"] == (which == "accepted")) and all(word in text for word in wanted)
        ]
        return {"total": len(found), "people": found[offset : offset + limit]}

    def _position(self, person: str) -> int:
        if self._table is None:
            raise Refused(404, "This service has no people; send a record instead.", "person")
        if person not in self._positions:
            raise Refused(404, "There is nobody with this id among the people.", "person")
        return self._positions[person]

    @cached_property
    def _entries(self) -> list[dict[str, Any]]:
        if self._table is None:
            return []
        known = assess(self._session, self._table, typicality=False)
        return [self._entry(self._table, i, one) for i, one in enumerate(known)]

    def _entry(self, table: Table, i: int, known: Assessed) -> dict[str, Any]:
        return {
            "id": str(table.labels[i]),
            "decision": known.decision,
            "accepted": known.accepted,
            "score": known.score,
            "unreadable": known.unreadable,
            "record": as_record(table, table.values[i]),
        }

    @cached_property
    def _texts(self) -> list[str]:
        """What is searched, for each person."""
        return [
            " ".join([entry["id"], str(entry["decision"]), *map(str, entry["record"].values())]).casefold()
            for entry in self._entries
        ]
