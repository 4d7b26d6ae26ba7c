"""People of a file answered in slices by processes of this machine."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Container, Iterator
from importlib import import_module
from typing import Final, Literal, get_args

import joblib  # type: ignore[import-untyped]

from attain.core import interrupts
from attain.core.checks import check_choice, check_integer
from attain.core.errors import FileError, Interrupted
from attain.core.progress import track
from attain.scale.batch import ExplainBatch
from attain.scale.shards import Shards, Summary
from attain.scale.slices import PEOPLE_PER_FILE, Counts, SliceWork
from attain.scale.workers import Slices, answered
from attain.tables.streams import PeopleStream

Engine = Literal["local", "ray", "spark"]
_PEOPLE_FOR_A_PROCESS: Final = 2_000
"""People for whom one more process pays: it needs some three seconds to start, an answer some milliseconds."""


def explain(
    people: str | os.PathLike[str],
    out: str | os.PathLike[str],
    batch: ExplainBatch,
    *,
    index: str | None = None,
    separator: str | None = None,
    people_per_file: int = PEOPLE_PER_FILE,
    workers: int | None = None,
    engine: Engine = "local",
    address: str | None = None,
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
    engine, address
        What runs the workers: "local" processes, "ray" or "spark", on this machine or on the cluster at `address`. Each
        worker of an engine reads and writes for itself, so that Parquet files and folder must be at the same place for
        all of them. The bytes are the same.
    note
        Is called with sentences on what is going on.

    Raises
    ------
    Interrupted
        After Ctrl-C; its `result` is the summary of what is answered.
    """
    check_integer("people_per_file", people_per_file, 1)
    check_choice("engine", engine, get_args(Engine))
    if workers is not None:
        check_integer("workers", workers, 1)
    stream = PeopleStream(os.fspath(people), batch.explainer.schema_, index=index, separator=separator)
    if engine != "local" and stream.is_csv:
        raise FileError(f"{stream.path!r} is CSV, which {engine} cannot read in parts; write it as Parquet first")
    batch = batch.named_by(stream.index_name, integers=stream.integers)
    work = SliceWork(stream, batch, Shards(os.fspath(out)), people_per_file)
    run = {
        "people_digest": stream.digest(),
        "people_per_file": people_per_file,
        "columns": [[field.name, str(field.type)] for field in batch.columns],
        "settings": batch.empty.settings,
    }
    with work.shards.opened(run, lambda: stream.slices(people_per_file)):
        done, total = _answered_before(work, note)
        bar, new = track(max(stream.rows - total.people, 0), "answering"), Summary()

        def tell(unfinished: Counts) -> None:
            bar.show(new.people + unfinished.people, new.found + unfinished.found, new.asked + unfinished.asked)

        left = [number for number in range(-(-stream.rows // people_per_file)) if number not in done]
        try:
            if engine == "local":
                summaries = _by_this_machine(work, done, len(left), workers, tell, note)
            else:
                home = import_module(f"attain.scale.{engine}")
                summaries = home.answered(work, left, address, workers) if left else iter(())
            for summary in summaries:
                new.add(summary)
                tell(Counts())
        except KeyboardInterrupt:
            interrupts.answered()
            total.add(new)
            raise Interrupted(total) from None
        except FileError as error:
            raise FileError(f"{error}; what is answered so far is kept, and the same call goes on from there") from None
        finally:
            bar.close()
        return work.shards.finish()


def _answered_before(work: SliceWork, note: Callable[[str], None]) -> tuple[set[int], Summary]:
    """The slices that are there already, and their summary."""
    done, total = work.shards.done(), Summary()
    for number in sorted(done):
        total.add(work.shards.summary(number))
    if done:
        left = work.stream.rows - total.people
        note(f"{total.people:,} people are answered already; {f'{left:,} are' if left > 0 else 'none is'} left")
    return done, total


def _by_this_machine(
    work: SliceWork,
    done: Container[int],
    left: int,
    workers: int | None,
    tell: Callable[[Counts], None],
    note: Callable[[str], None],
) -> Iterator[Summary]:
    """Answers the slices that are not done, about so many, by as many processes as pay."""
    people = left * work.people_per_file
    number = min(int(joblib.cpu_count()), people // _PEOPLE_FOR_A_PROCESS) if workers is None else workers
    work.batch.warm_up(people)  # what this process compiles, its workers read from the cache
    slices = work.stream.slices(work.people_per_file, lambda number: number not in done)
    named_once = _noting_duplicates(slices, work.batch.person, note)
    return answered(named_once, work.batch, work.shards, max(min(number, left), 1), people, tell, note)


def _noting_duplicates(slices: Slices, column: str, note: Callable[[str], None]) -> Slices:
    """The slices; a note says once that people of one have the same name."""
    noted = False
    for number, people in slices:
        if not noted and people.index.has_duplicates:
            noted, name = True, people.index[people.index.duplicated()][0]
            note(f"several people have the same name in {column!r}, such as {name!r}; each has their own answer")
        yield number, people
