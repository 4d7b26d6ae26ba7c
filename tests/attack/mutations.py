"""Mutations of files, each determined by a generator of random numbers; those of a container agree with its hashes."""

import io
import json
import re
import struct
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

from attain.core import container

EXTREMES = Path(__file__).with_name("extremes.txt").read_text(encoding="utf-8").split("# ")[1:]
VALUES, TOML_VALUES, CSV_CELLS = ([eval(line) for line in part.splitlines()[1:]] for part in EXTREMES)
"""Extreme values of JSON, TOML and CSV."""
NEW_LINES = ["x", "levels", "rules", "name", "a.b.c", "[a]", "[[feature]]", "[x"]


def mutated(name: str, content: bytes, random: Random) -> bytes:
    """The content of a file with one to three mutations; the ending of its name says what it is."""
    change = next((change for ending, change in _BY_ENDING.items() if name.endswith(ending)), _in_bytes)
    for _ in range(random.choice((1, 1, 2, 3))):
        content = (_in_bytes if random.random() < 0.15 else change)(content, random)
    return content


def _in_bytes(content: bytes, random: Random) -> bytes:
    """Cut off, one bit turned, bytes put in, repeated, left out, or replaced by an extreme number."""
    at = random.randrange(len(content) + 1)
    before, after = content[:at], content[at:]
    match random.randrange(6):
        case 0:
            return before
        case 1 if after:
            return before + bytes([after[0] ^ 1 << random.randrange(8)]) + after[1:]
        case 2:
            return before + random.randbytes(random.choice((1, 8, 100))) + after
        case 3:
            return before + before[at // 2 :] + after
        case 4:
            return before + after[random.choice((1, 4, 100, 5000)) :]
    return before + random.choice((b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\x7f", b"[[[[")) + after[4:]


def in_json(content: bytes, random: Random) -> bytes:
    """One value of a JSON text replaced, removed, doubled, renamed or nested."""
    try:
        tree = json.loads(content)
    except ValueError:
        return _in_bytes(content, random)
    places = list(_places(tree))
    if not places:
        return json.dumps(random.choice(VALUES)).encode()
    # long lists of numbers would otherwise take nearly all mutations
    depth = random.choice(sorted({depth for depth, _, _ in places}))
    _, parent, key = random.choice([place for place in places if place[0] == depth])
    value = parent[key]
    match random.randrange(9):
        case 0:
            del parent[key]
        case 1 if isinstance(parent, list):
            parent.insert(key, value)
        case 1:
            parent[str(random.choice(VALUES))] = value
        case 2:
            parent[key] = [value] * random.choice((2, 1000))
        case 3 if isinstance(value, list):
            random.shuffle(value)
        case 4 if isinstance(value, str):
            parent[key] = _in_bytes(value.encode("utf-8", "replace"), random).decode("utf-8", "replace")
        case 5:
            _, other, place = random.choice(places)
            parent[key] = other[place] if place in other or (isinstance(other, list) and place < len(other)) else None
        case 6 if isinstance(value, int | float):
            parent[key] = random.choice((-value, value + 0.5, value * 2**40, -value - 1, value + 1000, str(value)))
        case _:
            parent[key] = random.choice(VALUES)
    try:
        return json.dumps(tree, ensure_ascii=random.random() < 0.9).encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError):  # a tree that holds itself
        return content


def _places(tree: Any, depth: int = 0) -> Any:
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in items:
        yield depth, tree, key
        if depth < 8:
            yield from _places(value, depth + 1)


def _in_toml(content: bytes, random: Random) -> bytes:
    lines = content.decode("utf-8", "replace").splitlines(keepends=True)
    if not lines:
        return random.choice(TOML_VALUES).encode()
    at = random.randrange(len(lines))
    match random.randrange(6):
        case 0:
            del lines[at]
        case 1:
            lines.insert(random.randrange(len(lines) + 1), lines[at])
        case 2:
            lines.insert(at, f"{random.choice(NEW_LINES)} = 1\n")
        case 3:
            lines[at] = re.sub(r"[\w.]+", lambda match: random.choice((match[0], match[0], "age", "7")), lines[at])
        case _:
            name = lines[at].partition("=")[0]
            lines[at] = f"{name}= {random.choice(TOML_VALUES)}\n"
    return "".join(lines).encode("utf-8", "surrogatepass")


def _in_csv(content: bytes, random: Random) -> bytes:
    rows = [line.split(",") for line in content.decode("utf-8", "replace").split("\n")]
    i = random.choice((0, *random.choices(range(len(rows)), k=3)))
    j = random.randrange(len(rows[i]))
    match random.randrange(7):
        case 0:
            del rows[i][j]
        case 1:
            rows[i].insert(j, random.choice(CSV_CELLS))
        case 2:
            rows[i][j] = rows[0][random.randrange(len(rows[0]))]
        case 3:
            rows.insert(i, list(rows[random.randrange(len(rows))]))
        case 4:
            rows[i] = rows[i] * random.choice((0, 2, 50))
        case _:
            rows[i][j] = random.choice(CSV_CELLS)
    return "\n".join(",".join(row) for row in rows).encode("utf-8", "surrogatepass")


def _in_lines(content: bytes, random: Random) -> bytes:
    """A line of a log altered, moved, doubled or removed."""
    lines = content.split(b"\n")
    at = random.randrange(len(lines))
    match random.randrange(4):
        case 0:
            del lines[at]
        case 1:
            lines.insert(at, random.choice(lines))
        case 2:
            random.shuffle(lines)
        case _:
            lines[at] = in_json(lines[at], random) if lines[at] else b"{}"
    return b"\n".join(lines)


def members(content: bytes) -> dict[str, bytes]:
    """The members of a container."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def forged(content: bytes, change: Callable[[dict[str, bytes]], None]) -> bytes:
    """The file as someone who knows the format would alter it: the seal agrees again."""
    parts = members(content)
    change(parts)
    return container.sealed(parts)


def resealed(content: bytes) -> bytes:
    """The content with a seal that matches it."""
    body = content[: -container._SEAL_LENGTH]
    return body + container._SEAL + sha256(body).hexdigest().encode()


def _in_container(content: bytes, random: Random) -> bytes:
    try:
        parts = members(content)
        member = random.choice([name for name in parts if parts[name]])
    except (zipfile.BadZipFile, ValueError, RuntimeError, NotImplementedError, OSError, EOFError, IndexError):
        return resealed(_in_bytes(content, random))
    if random.random() < 0.15:
        return resealed(_in_bytes(content, random))

    def change(parts: dict[str, bytes]) -> None:
        parts[member] = _BY_ENDING[member[member.rindex(".") :]](parts[member], random)

    try:
        return forged(content, change)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return container.sealed(parts)


def _in_arrays(content: bytes, random: Random) -> bytes:
    """The header of a safetensors member altered as JSON, or its data as numbers."""
    if len(content) < 8 or random.random() < 0.1:
        return _in_bytes(content, random)
    length = int.from_bytes(content[:8], "little")
    header, data = content[8 : 8 + length], bytearray(content[8 + length :])
    if random.random() < 0.4:
        header = in_json(header, random)
        header += b" " * (-len(header) % 8)
    else:
        for _ in range(random.choice((1, 5))):
            at = 8 * random.randrange(max(len(data) // 8, 1))
            value = random.choice((float("nan"), float("inf"), -1.0, 0.5, 1e300, 7.0, -0.0, 1e-310))
            data[at : at + 8] = struct.pack("<d", value)
    return len(header).to_bytes(8, "little") + header + bytes(data)


_BY_ENDING: dict[str, Callable[[bytes, Random], bytes]] = {
    ".json": in_json,
    ".toml": _in_toml,
    ".csv": _in_csv,
    ".attain": _in_container,
    ".safetensors": _in_arrays,
    ".log": _in_lines,
    ".parquet": _in_bytes,
}
