"""What the site shows beyond its pages: tutorials from notebooks, and the output of every block, run in the build.

A page runs in a process of its own. What it shows is kept in `.docs_cache` until its blocks or the package change.
"""

import hashlib
import json
import multiprocessing
import os
import re
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # for `mkdocs`, which does not look in the current folder

from docs import runner  # noqa: E402

CACHE = ROOT / ".docs_cache"
MARK = "attain-output-{}"
MARKED = re.compile(f"<p>{MARK.format('([0-9]+)')}</p>")
NOTEBOOK_LINK = re.compile(r"\]\(([^):]*/[^):]+)\.ipynb\)")
"""In the repository a link leads to the notebook itself; the link that downloads one has no folder."""
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(ROOT / ".jax_cache"))
os.environ.setdefault("OMP_NUM_THREADS", "1")

_shown: dict[str, list[str]] = {}


def on_files(files: Files, config: Any) -> Files:
    """Adds a page for each notebook, and runs the blocks of all pages."""
    for file in list(files):
        if file.src_uri.endswith(".ipynb"):
            note = f'[Download this notebook]({Path(file.src_uri).name}){{ .md-button download="" }}\n'
            text = f"{runner.as_markdown(file.content_string)}\n{note}"
            files.append(File.generated(config, file.src_uri.removesuffix("ipynb") + "md", content=text))
    pages = {file.src_uri: file.content_string for file in files.documentation_pages()}
    _run({name: text for name, text in pages.items() if runner.blocks(text)})
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links to notebooks lead to their pages, and the places of outputs are marked."""
    markdown = NOTEBOOK_LINK.sub(r"](\1.md)", markdown)
    numbers = iter(range(len(_shown.get(page.file.src_uri, []))))
    return runner.FENCE.sub(lambda block: f"{block[0]}\n\n{block[1]}{MARK.format(next(numbers))}\n", markdown)


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Fills them in."""
    shown = _shown.get(page.file.src_uri, [])
    return re.sub(MARKED, lambda mark: shown[int(mark[1])], html)


def _run(pages: dict[str, str]) -> None:
    """What the blocks of each page show, from the cache where it is there."""
    package = _digest(*(path.read_bytes() for path in _sources()))
    kept = {name: CACHE / f"{_digest(package, repr(runner.blocks(text)))}.json" for name, text in pages.items()}
    CACHE.mkdir(exist_ok=True)
    # The longest pages first, so that no process is left with one of them at the end.
    missing = sorted((name for name in pages if not kept[name].exists()), key=lambda name: -len(pages[name]))
    with ProcessPoolExecutor(
        max_workers=os.cpu_count(), mp_context=multiprocessing.get_context("spawn"), max_tasks_per_child=1
    ) as pool:
        running = {pool.submit(runner.run_apart, pages[name], name): name for name in missing}
        wrong = []
        for future in as_completed(running):
            if error := future.exception():
                wrong.append(f"{running[future]} does not run: {error!r}\n{error.__cause__ or ''}")
            else:
                kept[running[future]].write_text(json.dumps(future.result()), encoding="utf-8")
    if wrong:
        raise PluginError("\n".join(wrong))
    for path in set(CACHE.glob("*.json")) - set(kept.values()):
        path.unlink()
    _shown.update({name: json.loads(path.read_text(encoding="utf-8")) for name, path in kept.items()})


def _sources() -> list[Path]:
    files = [ROOT / "docs" / "runner.py", ROOT / "constraints.txt"]
    for folder in ("src/attain", "experiments"):
        files += [path for path in sorted((ROOT / folder).rglob("*")) if path.suffix in (".py", ".toml", ".csv")]
    return files


def _digest(*parts: bytes | str) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(part.encode() if isinstance(part, str) else part)
    return found.hexdigest()[:24]
