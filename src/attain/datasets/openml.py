"""Data sets from OpenML, taken only where their content is the published one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from http.client import HTTPException
from typing import Any

import pandas as pd

from attain.core.errors import MissingDataSetError
from attain.datasets import files
from attain.datasets.dataset import Dataset


def load(
    name: str,
    columns: Iterable[str],
    build: Callable[[pd.DataFrame, str], Dataset],
    published: files.Published,
    advice: str,
    /,
    **which: Any,
) -> Dataset:
    """The data set as OpenML has it, or a `MissingDataSetError` where that is out of reach or something else.

    Parameters
    ----------
    name
        The data set, as messages call it.
    columns
        The columns as we spell them; OpenML's may differ in case and in signs that are no letter or digit.
    build
        From the frame, and what to call it in messages, to the data set.
    published
        What its content must be.
    advice
        Where else to get the file.
    which
        What to ask scikit-learn's `fetch_openml` for: `name` and `version`, or `data_id`.
    """
    title = f"OpenML's data set {which.get('data_id') or repr(which['name'])}"
    remedy = f"{advice} Name its folder in the environment variable ATTAIN_DATA, or pass path=."
    try:
        frame = _fetch(which)
    except (OSError, ValueError, HTTPException) as problem:
        raise MissingDataSetError(
            f"the data set {name!r} is not here, and OpenML did not give it ({type(problem).__name__}: {problem}). "
            f"{remedy}"
        ) from problem
    try:
        data = build(_respelled(frame, columns), "it")
        difference = published.difference(data)
    except (TypeError, ValueError) as problem:  # another table may hold anything
        difference = str(problem)
    if difference is not None:
        raise MissingDataSetError(
            f"the data set {name!r} is not here, and {title} is not {published.title} as published ({difference}). "
            f"{remedy}"
        )
    return data


def _fetch(which: dict[str, Any]) -> pd.DataFrame:
    from sklearn.datasets import fetch_openml

    with warnings.catch_warnings():
        # scikit-learn warns at each new attempt; when all fail, the error says so.
        warnings.simplefilter("ignore")
        bunch = fetch_openml(as_frame=True, parser="auto", data_home=str(files.cache_folder() / "openml"), **which)
    return pd.DataFrame(bunch.frame).reset_index(drop=True)


def _respelled(frame: pd.DataFrame, columns: Iterable[str]) -> pd.DataFrame:
    """The frame with our names for its columns, and plain columns where OpenML has categories."""
    ours = {_letters(column): column for column in columns}
    renamed = frame.rename(columns={name: ours.get(_letters(str(name)), name) for name in frame.columns})
    return renamed.apply(_plain)


def _letters(name: str) -> str:
    return "".join(sign for sign in name.lower() if sign.isalnum())


def _plain(column: pd.Series[Any]) -> pd.Series[Any]:
    """Categories as what they are: numbers where all are written so, else texts."""
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return column
    plain = column.astype(object)
    try:
        return pd.to_numeric(plain)
    except (TypeError, ValueError):
        return plain
