"""Kinds of attacks on every format: a name, the file attacked, and what is done to it."""

import base64
import io
import json
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from attain.core import container
from tests.attack.mutations import forged, members, resealed

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


EXPLAINERS: dict[str, Change] = {
    **{
        f"dtype {dtype}": state("dtypes", "age", to=dtype)
        for dtype in ("<U1000000", "V2000000000", "S1000000000", "complex128", "M8[as]", "interval[int64, right]")
    },
    "dtype that opens a file": state("dtypes", "age", to="datetime64[ns, dateutil//etc/passwd]"),
    "dtype of categories that are lists": state("dtypes", "sex", to='category: [[["f"]], false]'),
    "dtype of two parts": state("dtypes", "sex", to="objects: [1]"),
    "schema named by a path": member("schema.toml", lambda _: b"/etc/hostname.toml"),
    "rule nested deeply": member("schema.toml", line("rules", f"rules = ['{'(' * 5000}']\nlaws = [")),
    "parameter too large for a float": state("parameters", "budget", to=10**400),
    "parameter that is no number": state("parameters", "budget", to={"float": "nan"}),
    "parameter nested deeply": state("parameters", "budget", to=json.loads('{"tuple":[' * 400 + "1" + "]}" * 400)),
    "autoencoder with a number for parameters": state("parameters", "budget", to={"estimator": ["CHVAE", 5]}),
    "autoencoder for a number": state("parameters", "budget", to={"estimator": ["CHVAE", {}]}),
    "law of another type": state("laws", to=[{"text": 7}]),
    "law that cannot be parsed": state("laws", to=[{"text": "age >> 3", "sentence": ""}]),
    "law of an unknown column": state("laws", to=[{"text": "wealth > 3", "sentence": ""}]),
    "half of a character": member("explainer.json", text('"library": "pandas"', '"library": "\\ud800"')),
    "array of no size and many rows": header(lambda h: h.update(table={**h["table"], "shape": [0, 2**60]})),
    "array of negative size": header(lambda h: h["table"].update(shape=[-2, -13])),
    "array of unknown type": header(lambda h: h["table"].update(dtype="F8_E4M3")),
    "arrays that overlap": header(lambda h: h.update(twin=dict(h["table"]))),
    "header longer than the file": member(container.ARRAYS, lambda c: b"\xff" * 7 + b"\x7f" + c[8:]),
    "archive in an archive": _nested,
    "archive of many members": _many_members,
    "archive that is encrypted": _encrypted,
    "archive whose members overlap": _overlapping,
    "member with another checksum": directory(16, b"\0\0\0\0"),
    "member of another version": directory(6, b"\xff\xff"),
    "member that begins beyond the file": directory(42, b"\xff\xff\xff\x7f"),
}
POLARS: dict[str, Change] = {
    f"polars dtype {dtype}": state("dtypes", "age", to=dtype)
    for dtype in ("List", "Array: [1, 9]", "Struct", "Enum: 7", "Decimal: [99999999, -5]", "Field", "Object")
}
ARROW: dict[str, Change] = {
    "arrow dtype of cells of gigabytes": state("dtypes", "age", to=arrow(pa.binary(2**31 - 1))),
    "arrow dtype of lists": state("dtypes", "age", to=arrow(pa.list_(pa.int8(), 2**31 - 1))),
    "arrow dtype of maps": state("dtypes", "age", to=arrow(pa.map_(pa.string(), pa.int8()))),
    "arrow dtype that is no base64": state("dtypes", "age", to="====é"),
    "arrow dtype of zeros": state("dtypes", "age", to=base64.b64encode(bytes(400)).decode()),
    "arrow dtype without a field": state("dtypes", "age", to=base64.b64encode(pa.schema([]).serialize()).decode()),
}
_FIGURE = {"dtype": "float", "values": [0.5]}
ANSWERS: dict[str, Change] = {
    "nothing": lambda _: b"",
    "another format": of("format", "attain-counterfactuals-0"),
    "a key twice": text('{"format"', '{"method": "x", "format"'),
    "an unknown key": of("extra", 1),
    "NaN": text('"rows_asked": ', '"rows_asked": NaN, "x": '),
    "arrays nested deeply": lambda _: b"[" * 100_000,
    "a number of many digits": text('"rows_asked": ', '"rows_asked": ' + "9" * 5000),
    "half of a character in a text": text('"method": "', '"method": "\\ud800'),
    "not UTF-8": lambda content: content + b"\xff",
    "schema named by a path again": of("schema", "/etc/hostname.toml"),
    "schema of another type": of("schema", 7),
    "schema of other columns": of("schema", "[[feature]]\nname = 'a'\nkind = 'real'\n"),
    "unknown library": of("library", "os"),
    "column lost": edited(lambda c: c["columns"].popitem()),
    "column too short": edited(lambda c: c["columns"]["age"]["cells"].pop()),
    "column with a forged dtype": at("columns", "age", "dtype", to="<U1000000"),
    "cell that is a list": at("columns", "age", "cells", 0, to=[1]),
    "cell of an unknown kind": at("columns", "age", "cells", 0, to={"python": "1"}),
    "decimal that is none": at("columns", "age", "cells", 0, to={"decimal": "x"}),
    "index too short": edited(lambda c: c["index"]["levels"][0]["labels"].pop()),
    "index without levels": at("index", "levels", to=[]),
    "index with a forged dtype": at("index", "levels", 0, "dtype", to="V2000000000"),
    "index with lists for labels": at("index", "levels", 0, "labels", 0, to=[1]),
    "owner beyond the people": at("owners", -1, to=2),
    "owner below zero": at("owners", 0, to=-1),
    "owner between people": at("owners", 0, to=0.5),
    "owner in words": at("owners", 0, to="0"),
    "owner of many digits": at("owners", 0, to=10**30),
    "owners in disorder": edited(lambda c: c["owners"].reverse()),
    "options of nobody": of("owners", []),
    "unknown status": at("status", 0, to="LOST"),
    "status too few": edited(lambda c: c["status"].pop()),
    "found without an option": of("status", ["FOUND", "FOUND", "FOUND"]),
    "an option without being found": at("status", 0, to="OUT_OF_REACH"),
    "rows of other lengths": edited(lambda c: c["rows"][0].pop()),
    "rows too few": edited(lambda c: c["rows"].pop()),
    "rows in words": at("rows", 0, 0, to="7"),
    "infinite rows": at("rows", 0, 0, to=1e999),
    "a level beyond the last": at("rows", 0, 1, to=99),
    "a level between two": at("rows", 0, 1, to=0.5),
    "a level below the first": at("rows", 0, 1, to=-1),
    "percentiles of two parts": edited(lambda c: c["percentiles"].pop()),
    "percentiles too few": edited(lambda c: c["percentiles"][2].pop()),
    "figure too short": at("option_figures", "total_shift", to=_FIGURE),
    "figure of another dtype": at("option_figures", "total_shift", "dtype", to="object"),
    "figure of integers that are none": at("person_figures", "rows_scored", "values", 0, to=0.5),
    "unknown level of typicality": at("option_figures", "typicality", "values", 0, to=7),
    "figures as a list": of("person_figures", []),
    "unreadable beyond the people": of("unreadable", {"7": "why"}),
    "unreadable without a number": of("unreadable", {"x": "why"}),
    "unreadable without a sentence": of("unreadable", {"0": 7}),
    "range of an option beyond": at("intervals", "option", 0, to=99),
    "range of a column beyond": at("intervals", "column", 0, to=99),
    "ranges of other lengths": edited(lambda c: c["intervals"]["low"].append(1.0)),
    "ranges of unknown keys": at("intervals", "extra", to=[]),
    "range of a level beyond": at("intervals", "levels", 0, to=[99]),
    "range of levels that are no list": at("intervals", "levels", 0, to=0.5),
    "importance of a column beyond": at("importances", "column", 0, to=10**9),
    "importance of other lengths": edited(lambda c: c["importances"]["gain"].pop()),
    "contribution of a person beyond": at("attributions", "person", 0, to=99),
    "contributions of other lengths": edited(lambda c: c["attributions"]["error"][0].pop()),
    "contribution that is missing": at("attributions", "contribution", 0, 0, to=None),
    "contributions of a scale that is no text": at("attributions", "scale", to=7),
    "probability above one": of("probability", 2),
    "target that is a list": of("target", []),
    "notes that are numbers": of("notes", [7]),
    "settings that are a list": of("settings", []),
    "law of another type in a result": of("laws", [{"text": 7}]),
    "law in no language": of("laws", [{"text": "age >> 3", "sentence": ""}]),
}
SCHEMAS: dict[str, Change] = {
    "TOML nested deeply": lambda _: b"a = " + b"[" * 50_000,
    "TOML keys nested deeply": lambda _: b"a." * 20_000 + b"a = 1",
    "TOML keys of 190 parts": lambda _: b"".join(b"k%d.%s=1\n" % (k, b".".join([b"a"] * 190)) for k in range(2700)),
    "TOML number of many digits": line("step", f"step = {'9' * 5000}"),
    "TOML that is UTF-16": lambda content: content.decode().encode("utf-16"),
    "TOML with a raw control character": lambda content: content + b"x = '\x1b'",
    "schema of a number": lambda _: b"feature = 7",
    "schema without features": lambda _: b"",
    "schema with a feature twice": lambda content: content + b"\n[[feature]]\nname = 'age'\nkind = 'real'\n",
    "schema with a step of nan": line("step", "step = nan"),
    "schema with bounds in disorder": line("bounds", "bounds = {lower = 9, upper = 1}"),
    "schema with bounds in words": line("bounds", "bounds = {lower = 'x'}"),
    "schema with levels twice": line("levels", "levels = ['f', 'f']"),
    "schema with levels that are dates": line("levels", "levels = [1979-05-27, 12:00:00]"),
    "schema with a step of a date": line("step", "step = 1979-05-27"),
    "rule of many parentheses": line("rules", f"rules = ['{'(' * 20_000}age']"),
    "rule of many negations": line("rules", f"rules = ['{'not ' * 20_000}age > 1']"),
    "rule of powers": line("rules", "rules = ['age ** age ** age ** age ** (']"),
    "rule of control characters": line("rules", 'rules = ["age \\u001b[2J"]'),
    "computed column that needs itself": line("derived", "derived = 'debt_ratio + 1'"),
}
CONFIGS: dict[str, Change] = {
    "configuration of a list": lambda _: b"command = []\narguments = {}\nflags = {}\nversions = {}",
    "configuration without arguments": text("[arguments]", "[other]"),
    "configuration of another command": text('"fit"', '"explain"'),
    "configuration with flags that are none": text("[flags]", "flags = 7\n[x]"),
    "configuration nested deeply": lambda content: content + b"x = " + b"[" * 5000,
}
CONSTRAINTS: dict[str, Change] = {
    "constraints of unknown sides": text("lower = 500", "least = 500"),
    "constraints that are no TOML": lambda _: b"= 1",
    "constraints nested deeply": lambda _: b"a = " + b"{a = " * 5000,
}
TEXTS: dict[str, Change] = {
    "texts of an unknown input": lambda content: content + b"\n[inputs.wealth.en]\ntext = 'x'\n",
    "texts that are numbers": text('text = ""', "text = 7"),
    "texts of a list": lambda _: b"inputs = []",
}
TABLES: dict[str, Change] = {
    "CSV without anything": lambda _: b"",
    "CSV with a quote that stays open": lambda content: content + b'"x',
    "CSV with a long row": lambda content: content + b"1,2,3,4" * 99 + b"\n",
    "CSV with a column twice": text("debt_ratio", "debt"),
    "CSV without a column": text("debt_ratio", "x"),
    "CSV that is UTF-16 too": lambda content: content.decode().encode("utf-16"),
    "CSV that is not UTF-8": lambda content: content + b"\xff\xfe",
    "CSV of one cell that never ends": lambda content: b'"' + b"x" * 200_000 + b"\n" + content,
    "CSV of zeros": lambda content: bytes(5000),
}
PARQUET: dict[str, Change] = {
    "Parquet without its end": lambda content: content[:-9],
    "Parquet of its name alone": lambda _: b"PAR1PAR1",
    "Parquet whose footer is longer than the file": lambda content: content[:-8] + b"\xff\xff\xff\x7fPAR1",
    "Parquet with rubbish for pages": lambda content: content[:4] + bytes(3000) + content[3004:],
    "Parquet without a column": parquet(lambda table: table.drop_columns(["age"])),
}
FOLDERS: dict[str, Change] = {
    "run that is a list": lambda _: b"[]",
    "run of slices of nobody": of("people_per_file", 0),
    "run of slices in words": of("people_per_file", "40"),
    "run of other people": of("people_digest", "0" * 64),
    "run without settings": edited(lambda content: content.pop("settings")),
    "run of a probability in words": at("settings", "probability", to="much"),
}
SLICES: dict[str, Change] = {
    "slice without a summary": parquet(lambda table: table.replace_schema_metadata({})),
    "slice with a summary that is a list": parquet(lambda table: table.replace_schema_metadata({b"attain": b"[]"})),
    "slice with a summary of words": parquet(
        lambda table: table.replace_schema_metadata({b"attain": b'{"people": "x", "sums": {}}'})
    ),
    "slice with unknown statuses counted": parquet(
        lambda table: table.replace_schema_metadata({b"attain": b'{"status": {"LOST": 1}, "sums": {}}'})
    ),
}
LOGS: dict[str, Change] = {
    "log of something else": lambda _: b"a\nb\n",
    "log with a torn end": lambda content: content[:-9],
    "log with an altered last line": lambda content: content[:-60] + b"x" + content[-59:],
}
HEADS: dict[str, Change] = {
    "head of a number that never ends": lambda _: b"9" * 5000 + b":" + b"a" * 64,
    "head of other digits": lambda _: "٣:".encode() + b"a" * 64,
    "head of rubbish": lambda _: struct.pack("<16d", *np.arange(16.0)),
}
ATTACKS = {
    name: (kind, file, change)
    for kind, file, changes in (
        ("explainer", "spheres.attain", EXPLAINERS),
        ("explainer", "polars.attain", POLARS),
        ("explainer", "pyarrow.attain", ARROW),
        ("answers", "answers.json", ANSWERS),
        ("schema", "schema.toml", SCHEMAS),
        ("config", "config.toml", CONFIGS),
        ("constraints", "constraints.toml", CONSTRAINTS),
        ("texts", "texts.toml", TEXTS),
        ("people", "people.csv", TABLES),
        ("people", "people.parquet", PARQUET),
        ("folder", "_run.json", FOLDERS),
        ("folder", "part-00000000.parquet", SLICES),
        ("audit log", "audit.log", LOGS),
        ("audit head", "audit.head", HEADS),
    )
    for name, change in changes.items()
}
"""By name: the format, the file attacked, and the change. Every one of them is refused."""
