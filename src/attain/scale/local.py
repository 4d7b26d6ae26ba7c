"""People of a file answered in slices by processes of this machine."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Final

import joblib  # type: ignore[import-untyped]

from attain.core.checks import check_integer
from attain.core.errors import FileError, Interrupted
from attain.core.progress import interrupt_answered, track
from attain.scale.batch import PEOPLE_AT_ONCE, ExplainBatch
from attain.scale.shards import Shards, Summary
from attain.scale.workers import Counts, Slices, answered
from attain.tables.streams import PeopleStream

_PEOPLE_FOR_A_PROCESS: Final = 2_000
"""People for whom one more process pays: it needs some three seconds to start, an answer some milliseconds."""


def explain(
    people: str | os.PathLike[str],
    out: str | os.PathLike[str],
    batch: ExplainBatch,
    *,
    index: str | None = None,
    separator: str | None = None,
    people_per_file: int = PEOPLE_AT_ONCE,
    workers: int | None = None,
    note: Callable[[str], None] = warnings.warn,
) -> Summary:
    """Answers the people of a file, in memory that does not grow with their number, on all cores.

    The answers are Parquet files in the folder `out`, which is a table to whatever reads Parquet: one row for each
    option, as in `Counterfactuals.to_csv`. A call that was stopped, by whatever means, is continued by the same call,
    and the bytes in the end are those of one that was not; a folder of another call is refused.

    Parameters
    ----------
    people
        A CSV or Parquet file, or a folder of Parquet files.
    out
        The folder, which is made.
    batch
        Explainer, model and request.
    index
        The column of the file with people's names; by default as in `attain explain`.
    separator
        That of a CSV file.
    people_per_file
        How many people are in each file of answers: what is lost when a process is killed is less than that for each.
    workers
        How many processes to use, one thread each; by default one for each core, but not more than one for 2,000
        people. With 1, this process does the work.
    note
        Is called with sentences on what is going on.

    Raises
    ------
    Interrupted
        After Ctrl-C; its `result` is the summary of what is answered.
    """
    check_integer("people_per_file", people_per_file, 1)
    if workers is not None:
        check_integer("workers", workers, 1)
    stream = PeopleStream(os.fspath(people), batch.explainer.schema_, index=index, separator=separator)
    batch, shards = batch.named_by(stream.index_name, integers=stream.integers), Shards(os.fspath(out))
    run = {
        "people_digest": stream.digest(),
        "people_per_file": people_per_file,
        "columns": [[field.name, str(field.type)] for field in batch.columns],
        "settings": batch.empty.settings,
    }
    with shards.opened(run, lambda: stream.slices(people_per_file)):
        done, before, new = shards.done(), shards.total(), Summary()
        left = max(stream.rows - before.people, 0)
        if done:
            note(f"{before.people:,} people are answered already; {f'{left:,} are' if left else 'none is'} left")
        bar = track(left, "answering")

        def tell(unfinished: Counts) -> None:
            bar.show(new.people + unfinished.people, new.found + unfinished.found, new.asked + unfinished.asked)

        slices = stream.slices(people_per_file, lambda number: number not in done)
        named_once = _noting_duplicates(slices, batch.person, note)
        if workers is None:
            workers = min(int(joblib.cpu_count()), left // _PEOPLE_FOR_A_PROCESS)
        workers = max(min(workers, -(-left // people_per_file)), 1)
        try:
            for summary in answered(named_once, batch, shards, workers, tell):
                new.add(summary)
                tell(Counts())
        except KeyboardInterrupt:
            interrupt_answered()
            before.add(new)
            raise Interrupted(before) from None
        except FileError as error:
            raise FileError(f"{error}; what is answered so far is kept, and the same call goes on from there") from None
        finally:
            bar.close()
        return shards.finish()


def _noting_duplicates(slices: Slices, column: str, note: Callable[[str], None]) -> Slices:
    """The slices; a note says once that people of one have the same name."""
    noted = False
    for number, people in slices:
        if not noted and people.index.has_duplicates:
            noted, name = True, people.index[people.index.duplicated()][0]
            note(f"several people have the same name in {column!r}, such as {name!r}; each has their own answer")
        yield number, people
