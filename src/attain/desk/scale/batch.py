"""One function for every engine: a frame of people in, a frame of answers out, with columns that are known before.

The answers to some people do not depend on how many others are asked about at once, nor on the types of the frame's
columns: numbers are read as float64, whatever an engine makes of integers with missing cells.
"""

from __future__ import annotations

import pickle
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
from joblib import wrap_non_picklable_objects  # type: ignore[import-untyped]

from attain.core.errors import AttainError, DataError, MissingExtraError, free_name, listed
from attain.methods.base import Explainer
from attain.models import Model
from attain.results.counterfactuals import Counterfactuals
from attain.results.exports import OPTIONAL, answer_rows
from attain.schema import Constraints, Feature

if TYPE_CHECKING:
    import pyarrow

_NOT_HERE: Final = ("contributions", "errors")
"""Arguments of `explain` that batches do not take: one needs a table of its people, one is always "status"."""
PEOPLE_AT_ONCE: Final = 2_000
"""How many people a worker answers at once, and those of a file of answers."""
_LEADING: Final = ("option", "status", "sentence", *OPTIONAL)


class ExplainBatch:
    """Answers frames of people; can be pickled, so that an engine sends it to each of its workers once.

    Parameters
    ----------
    explainer
        A fitted method.
    model
        The classifier, as in `Explainer.explain`.
    index
        The column of the frames with people's names; None for the index of a pandas frame.
    integers
        Whether these names are integers; otherwise they are written as texts.
    request
        Further arguments of `Explainer.explain`, such as `target`, `n` and `timeout`. Constraints of single people and
        contributions are not possible. A record that cannot be read is always a row with the status UNREADABLE.
    """

    def __init__(
        self, explainer: Explainer, model: Any, *, index: str | None = None, integers: bool = False, **request: Any
    ) -> None:
        unknown = [name for name in _NOT_HERE if name in request]
        if unknown:
            raise AttainError(f"batches do not take {unknown[0]!r}; call `explain` for a few people instead")
        if Constraints.of(request.get("constraints")).people:
            raise AttainError("batches do not take constraints of single people; call `explain` for these people")
        if index is not None and index in explainer.population_.schema:
            raise DataError(f"index names {index!r}, which is a feature of the schema; name another column")
        self.explainer, self.model, self.request = explainer, Model.of(model), request
        self.index, self.integers = index, integers

    def __getstate__(self) -> dict[str, Any]:
        """The state without what is computed again."""
        return {name: value for name, value in vars(self).items() if name not in ("empty", "columns")}

    def named_by(self, index: str | None, *, integers: bool) -> ExplainBatch:
        """The same for frames whose people are named by another column."""
        return ExplainBatch(self.explainer, self.model, index=index, integers=integers, **self.request)

    @cached_property
    def empty(self) -> Counterfactuals:
        """The result for nobody: its settings and figures are those of all batches. A wrong request is refused here."""
        names = self._features if self.index is None else (*self._features, self.index)
        return self.explain(pd.DataFrame({name: np.empty(0) for name in names}))

    @cached_property
    def columns(self) -> pyarrow.Schema:
        """The columns of the answers with their types: person, `_LEADING`, features, figures.

        Numbers are float64, levels are texts unless all are integers or booleans.
        """
        pa = arrow()
        figures = (*self.empty.person_figures, *self.empty.option_figures)
        return pa.schema(
            [
                (self.person, pa.int64() if self.integers else pa.string()),
                *((self._free(name), pa.int64() if name == "option" else pa.string()) for name in _LEADING),
                *((name, _feature_type(self.explainer.population_.schema[name])) for name in self._features),
                *((self._free(name), pa.float64()) for name in figures),
            ]
        )

    @property
    def person(self) -> str:
        """The column of the answers with people's names."""
        return self.index or self._free("person")

    @property
    def _features(self) -> tuple[str, ...]:
        return self.explainer.population_.table.layout.columns

    def _free(self, name: str) -> str:
        return free_name(name, self.explainer.population_.schema.names)

    def __call__(self, frame: Any) -> Any:
        """The answers to a pandas frame or a pyarrow table of people, as one of the same kind."""
        if isinstance(frame, pd.DataFrame):
            return self.table(self.explain(frame)).to_pandas(types_mapper={arrow().int64(): pd.Int64Dtype()}.get)
        return self.table(self.explain(frame.to_pandas()))

    def explain(self, frame: pd.DataFrame) -> Counterfactuals:
        """The result for a batch; columns that the explainer does not know are ignored."""
        named = self.index is not None and self.index in frame.columns
        absent = [name for name in self._features if name not in frame.columns]
        if self.index is not None and self.index not in (*frame.columns, *frame.index.names):
            absent.append(self.index)
        if absent:
            raise DataError(f"the frame lacks columns: {listed(absent)}; it has {listed(frame.columns, 40)}")
        schema = self.explainer.population_.schema
        people = pd.DataFrame({name: _cells(frame[name], schema[name]) for name in self._features})
        people.index = pd.Index(frame[self.index] if named else frame.index, name=self.index)
        return self.explainer.explain(self.model, people, errors="status", **self.request)

    def table(self, result: Counterfactuals) -> pyarrow.Table:
        """One row for each option, and one with their own record for each person without an answer.

        What a result lacks is missing, and so are cells that cannot be read.
        """
        pa = arrow()
        owners, rows, leading, figures = answer_rows(result)
        names = (
            leading["person"] if self.integers else [None if pd.isna(name) else str(name) for name in leading["person"]]
        )
        cells: dict[str, Any] = {self.person: names}
        cells |= {self._free(name): leading[name] for name in _LEADING}
        cells |= {name: _values(result, name, rows) for name in self._features}
        cells |= {self._free(name): values for name, values in figures.items()}
        nothing = [None] * len(owners)
        return pa.table(
            [pa.array(cells.get(field.name, nothing), field.type, from_pandas=True) for field in self.columns],
            schema=self.columns,
        )


def pickled(batch: ExplainBatch) -> bytes:
    """The pickle for other processes, functions and classes of a script included."""
    try:
        return pickle.dumps(wrap_non_picklable_objects(batch, keep_wrapper=False))
    except Exception as error:
        raise AttainError(
            f"the explainer or the model cannot be sent to other processes ({type(error).__name__}: {error}); use one "
            "worker"
        ) from None


def arrow() -> Any:
    """pyarrow, or an error that says how to install it."""
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError("batches of people need pyarrow: pip install 'attain[arrow]'") from None
    return pyarrow


def _feature_type(feature: Feature) -> Any:
    pa, kinds = arrow(), {type(level) for level in feature.levels}
    types = {frozenset({bool}): pa.bool_(), frozenset({int}): pa.int64()}
    return pa.float64() if feature.numeric else types.get(frozenset(kinds), pa.string())


def _values(result: Counterfactuals, name: str, rows: np.ndarray) -> Any:
    """A column of the matrix as numbers or levels; levels of several types are texts."""
    schema, unseen = result.table.schema, result.table.layout.unseen.get(name, ())
    column = rows[:, schema.position(name)]
    if schema[name].numeric:
        return column
    levels = [*schema[name].levels, *unseen]
    if len({type(level) for level in levels}) > 1 or isinstance(levels[0], float):
        levels = list(map(str, levels))
    return np.array([*levels, None], dtype=object)[np.where(np.isnan(column), len(levels), column).astype(np.intp)]


def _cells(column: pd.Series[Any], feature: Feature) -> pd.Series[Any]:
    """A column of any type as cells of a feature: numbers as float64, or as objects where some cells are none."""
    column = column.reset_index(drop=True)
    if isinstance(column.dtype, pd.CategoricalDtype) or pd.api.types.is_bool_dtype(column.dtype):
        column = column.astype(object)
    elif feature.numeric and pd.api.types.is_numeric_dtype(column.dtype):
        column = column.astype("float64")
    if not feature.numeric or column.dtype != object:
        return column
    # integers alone would tell the explainer that only integers may be suggested
    return column.map(lambda cell: float(cell) if type(cell) is int else cell).astype(object)
