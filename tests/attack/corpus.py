"""Kinds of attacks on every format: a name, the file attacked, and what is done to it."""

import base64
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from attain.core import container
from tests.attack.mutations import forged, members, resealed
from tests.misuse import under_headings

Change = Callable[[bytes], bytes]


def edited(change: Callable[[Any], object]) -> Change:
    """A change of a JSON text as the value that it is."""

    def apply(content: bytes) -> bytes:
        value = json.loads(content)
        change(value)
        return json.dumps(value).encode()

    return apply


def of(key: str, value: Any) -> Change:
    """One key of a JSON object with another value."""
    return edited(lambda content: content.update({key: value}))


def at(*path: Any, to: Any) -> Change:
    """The place of a JSON text that these keys lead to, with another value."""

    def change(content: Any) -> None:
        for key in path[:-1]:
            content = content[key]
        content[path[-1]] = to

    return edited(change)


def member(name: str, change: Change) -> Change:
    """A change of one member of a container, with hashes that agree."""
    return lambda content: forged(content, lambda parts: parts.update({name: change(parts[name])}))


def state(*path: Any, to: Any) -> Change:
    return member("explainer.json", at(*path, to=to))


def arrow(dtype: pa.DataType) -> str:
    return base64.b64encode(pa.schema([("", dtype)]).serialize().to_pybytes()).decode()


def header(change: Callable[[dict[str, Any]], object]) -> Change:
    """A change of the header of the arrays."""

    def apply(content: bytes) -> bytes:
        length = int.from_bytes(content[:8], "little")
        text = edited(change)(content[8 : 8 + length])
        return len(text).to_bytes(8, "little") + text + content[8 + length :]

    return member(container.ARRAYS, apply)


def directory(offset: int, value: bytes) -> Change:
    """Bytes of the last entry of the archive's directory."""

    def apply(content: bytes) -> bytes:
        place = content.rindex(b"PK\x01\x02") + offset
        return resealed(content[:place] + value + content[place + len(value) :])

    return apply


def line(start: str, text: str) -> Change:
    """The first line of a TOML text that begins so, replaced."""

    def apply(content: bytes) -> bytes:
        lines = content.decode().splitlines()
        lines[next(i for i, one in enumerate(lines) if one.startswith(start))] = text
        return "\n".join(lines).encode()

    return apply


def text(old: str, new: str) -> Change:
    def apply(content: bytes) -> bytes:
        assert old.encode() in content
        return content.replace(old.encode(), new.encode(), 1)

    return apply


def parquet(change: Callable[[pa.Table], pa.Table]) -> Change:
    def apply(content: bytes) -> bytes:
        buffer = io.BytesIO()
        pyarrow.parquet.write_table(change(pyarrow.parquet.read_table(io.BytesIO(content))), buffer)
        return buffer.getvalue()

    return apply


def column(name: str, values: Callable[[int], pa.Array]) -> Change:
    def change(table: pa.Table) -> pa.Table:
        return table.set_column(table.column_names.index(name), name, values(table.num_rows))

    return parquet(change)


def _many_members(content: bytes) -> bytes:
    parts = members(content)
    return container.sealed({**parts, **{f"{k}.json": b"" for k in range(2000)}})


def _encrypted(content: bytes) -> bytes:
    return directory(8, b"\x01\x00")(content)


def _overlapping(content: bytes) -> bytes:
    """Every entry of the directory points to the first member."""
    data = bytearray(content)
    place = data.find(b"PK\x01\x02")
    while place >= 0:
        data[place + 42 : place + 46] = bytes(4)
        place = data.find(b"PK\x01\x02", place + 4)
    return resealed(bytes(data))


def _nested(content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("inner.attain", content)
    return buffer.getvalue()


ATTACKS: dict[str, tuple[str, str, Change]] = {
    name: (*heading.split(": "), eval(change))
    for heading, name, change in under_headings(Path(__file__).with_name("corpus.txt"))
}
"""By name: the format, the file attacked, and the change. Every one of them is refused."""
