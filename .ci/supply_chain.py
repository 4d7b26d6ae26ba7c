"""What an installed attain brings with it: `licences` checks them, `sbom` writes them as a CycloneDX file.

    python .ci/supply_chain.py licences
    python .ci/supply_chain.py sbom dist/attain-0.1.0-cp311-cp311-linux_x86_64.whl

Both read the metadata of installed distributions, from attain along its requirements, extras for users included. What
is not installed is named, and is not in the file. The same environment and wheel give the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import uuid
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PACKAGE = "attain"
FOR_DEVELOPERS = {"docs", "test", "cluster", "browser", "dev"}
"""Extras that no user installs."""
ALLOWED = {
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "HPND",
    "ISC",
    "LLVM-exception",
    "MIT",
    "MIT-CMU",
    "MPL-2.0",
    "PSF-2.0",
    "Python-2.0",
    "Unlicense",
    "Zlib",
}
"""SPDX licences that an MIT package may depend on: permissive ones, and MPL, which is about its own files only."""
CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
}
TEXTS = {
    "3-clause bsd license": "BSD-3-Clause",
    "apache 2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "apache software license 2.0": "Apache-2.0",
    "bsd": "BSD-3-Clause",
    "bsd 3-clause": "BSD-3-Clause",
    "bsd license": "BSD-3-Clause",
    "mit license": "MIT",
    "the mit license": "MIT",
    "the mit license (mit)": "MIT",
    "psf": "PSF-2.0",
}
"""How the field License of older distributions is read, in lower case; SPDX names are read as they are."""

READ_BY_HAND = {"skops": "MIT"}
"""Those whose metadata name no licence, by their licence file."""
EXCEPTIONS = {"pebble": "LGPL: used as it is by the experiments, which are not in the wheel"}
"""Those with another licence, and why they may be required."""


@dataclass(frozen=True)
class Part:
    """An installed distribution, the names of what it requires, and whether attain itself needs it."""

    found: Distribution
    requires: tuple[str, ...]
    required: bool

    @property
    def name(self) -> str:
        return canonicalize_name(self.found.metadata["Name"])

    @property
    def licence(self) -> str:
        """An SPDX expression, or what the distribution says that is none."""
        return licence_of(self.found)


def licence_of(found: Distribution) -> str:
    """The licence that a distribution declares, as an SPDX expression where it is known."""
    meta = found.metadata
    expression = meta.get("License-Expression")
    if expression:
        return str(expression)
    given = [line.split(" :: ")[-1] for line in meta.get_all("Classifier") or () if line.startswith("License ::")]
    known = [CLASSIFIERS.get(one, one) for one in given if one != "OSI Approved"]
    if known:
        return " AND ".join(known)
    lines = str(meta.get("License") or "").strip().splitlines()
    first = lines[0].strip() if lines else READ_BY_HAND.get(canonicalize_name(meta["Name"]), "not declared")
    return TEXTS.get(first.lower(), first)


def allowed(expression: str) -> bool:
    """Whether every licence of an SPDX expression is allowed, or one of each alternative."""
    plain = expression.replace("(", " ").replace(")", " ")
    if "(" not in expression:
        return any(
            all(one.strip() in ALLOWED for one in re.split(r"\s+(?:AND|WITH)\s+", choice))
            for choice in re.split(r"\s+OR\s+", plain)
        )
    # without a parser of nested expressions, all names in one must be allowed
    return all(one in ALLOWED for one in re.split(r"\s+(?:AND|OR|WITH)\s+", " ".join(plain.split())))


def closure() -> tuple[dict[str, Part], list[str]]:
    """All installed distributions that attain requires, by name, and the names of those that are not installed."""
    own = distribution(PACKAGE)
    extras = set(own.metadata.get_all("Provides-Extra") or ()) - FOR_DEVELOPERS
    core = _reached(PACKAGE, {""})
    everything = _reached(PACKAGE, {"", *extras})
    parts = {
        name: Part(found, tuple(sorted(needs & everything.keys())), name in core)
        for name, (found, needs) in sorted(everything.items())
        if found is not None
    }
    return parts, sorted(name for name, (found, _) in everything.items() if found is None)


def _reached(name: str, extras: set[str]) -> dict[str, tuple[Distribution | None, set[str]]]:
    """By name, the installed distribution and what it requires, from one distribution with some extras on."""
    reached: dict[str, tuple[Distribution | None, set[str]]] = {}
    waiting, seen = [(canonicalize_name(name), extras)], set()
    while waiting:
        name, extras = waiting.pop()
        if (name, frozenset(extras)) in seen:
            continue
        seen.add((name, frozenset(extras)))
        try:
            found: Distribution | None = distribution(name)
        except PackageNotFoundError:
            found = None
        needs = reached.setdefault(name, (found, set()))[1]
        for requirement in _requirements(found, extras):
            needs.add(canonicalize_name(requirement.name))
            waiting.append((canonicalize_name(requirement.name), {"", *requirement.extras}))
    return reached


def _requirements(found: Distribution | None, extras: Iterable[str]) -> Iterator[Requirement]:
    for text in (found.requires or ()) if found is not None else ():
        requirement = Requirement(text)
        if requirement.marker is None or any(requirement.marker.evaluate({"extra": extra}) for extra in extras):
            yield requirement


def core_megabytes() -> float:
    """What the distributions that the core needs take on the disk, without attain and without bytecode."""
    needed = [part for name, part in closure()[0].items() if part.required and name != PACKAGE]
    paths = (Path(file.locate()) for part in needed for file in part.found.files or () if file.suffix != ".pyc")
    return sum(path.stat().st_size for path in paths if path.is_file()) / 1e6


def licences() -> int:
    """Prints the licence of each distribution; returns the number of those that are not allowed."""
    parts, missing = closure()
    refused = [name for name, part in parts.items() if not allowed(part.licence) and name not in EXCEPTIONS]
    for part in parts.values():
        mark = "NOT ALLOWED" if part.name in refused else EXCEPTIONS.get(part.name, "")
        print(f"{part.name:28} {part.found.version:14} {part.licence:32} {mark}".rstrip())
    if missing:
        print(f"\nnot installed, so not checked: {', '.join(missing)}")
    print(f"\nThe core needs {core_megabytes():.0f} MB.")
    print(f"{len(parts)} distributions, {len(refused)} with a licence that is not allowed")
    return len(refused)


def sbom(wheel: Path) -> dict[str, Any]:
    """The wheel and all that it requires, as CycloneDX 1.6."""
    parts, _ = closure()
    references = {name: f"pkg:pypi/{name}@{part.found.version}" for name, part in parts.items()}
    components = [_component(part, references[name]) for name, part in parts.items() if name != PACKAGE]
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    own = _component(parts[PACKAGE], references[PACKAGE])
    own |= {"hashes": [{"alg": "SHA-256", "content": digest}], "components": list(_compiled(wheel, own))}
    del own["scope"]
    content = {
        "metadata": {"component": own},
        "components": components,
        "dependencies": [
            {
                "ref": references[name],
                "dependsOn": [references[need] for need in part.requires if need in parts and need != name],
            }
            for name, part in parts.items()
        ],
    }
    # numbered by its content, without a time: the same content has the same bytes
    number = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(content, sort_keys=True))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{number}",
        "version": 1,
        **content,
    }


def _compiled(wheel: Path, own: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The modules in the wheel that Cython has made of attain's own sources, and the one of its own functions."""
    with zipfile.ZipFile(wheel) as archive:
        for name in sorted(archive.namelist()):
            if name.endswith((".so", ".pyd")):
                cythons = Path(name).name.startswith("_cyutility.")
                source = "Cython" if cythons else f"src/{name.partition('.')[0]}.pyx"
                yield {
                    "type": "file",
                    "bom-ref": f"{own['bom-ref']}#{name}",
                    "name": name,
                    "version": own["version"],
                    "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(archive.read(name)).hexdigest()}],
                    "licenses": [{"expression": "Apache-2.0"}] if cythons else own["licenses"],
                    "properties": [{"name": "source", "value": source}],
                }


def _component(part: Part, reference: str) -> dict[str, Any]:
    licence = part.licence
    listed = [{"expression": licence}] if allowed(licence) else [{"license": {"name": licence}}]
    return {
        "type": "library",
        "bom-ref": reference,
        "name": part.name,
        "version": part.found.version,
        "scope": "required" if part.required else "optional",
        "licenses": listed,
        "purl": reference,
    }


def main() -> None:
    """`licences`, or `sbom WHEEL`."""
    if sys.argv[1:] == ["licences"]:
        sys.exit(bool(licences()))
    if len(sys.argv) != 3 or sys.argv[1] != "sbom":
        sys.exit("usage: supply_chain.py licences | sbom WHEEL")
    wheel = Path(sys.argv[2])
    name, version = wheel.name.split("-")[:2]
    target = wheel.with_name(f"{name}-{version}.cdx.json")
    target.write_text(json.dumps(sbom(wheel), indent=2) + "\n", encoding="utf-8")
    print(f"Written: {target}")


if __name__ == "__main__":
    main()
