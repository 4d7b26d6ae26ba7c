"""Every Python block of the README and the documentation runs."""

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path) -> list[str]:
    return BLOCK.findall(page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: page.name)
def test_the_blocks_of_a_page_run_one_after_the_other(
    page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("attain.density.estimator._STEPS", 1)  # train as short as possible: whether it runs is tested
    names: dict[str, Any] = _readers_own_data() if page.name == "README.md" else {}
    for number, block in enumerate(blocks(page), start=1):
        exec(compile(block, f"{page.name}, block {number}", "exec"), names)


def _readers_own_data() -> dict[str, Any]:
    """What the README's reader is said to have: a model and frames."""
    names: dict[str, Any] = {}
    first = blocks(ROOT / "docs" / "index.md")[0]
    exec(first, names)
    return {name: names[name] for name in ("train", "y_train", "model", "refused")}
