"""The documentation in Chromium, from a folder without a server: `make docs` builds it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SITE = Path(__file__).parents[2] / "site"
PAGES = sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html") if path.name != "404.html")


@pytest.fixture(scope="module")
def page(chromium: Any) -> Iterator[Any]:
    """A page on a phone; at the end nothing may have been thrown or fetched from elsewhere."""
    opened = chromium.new_page(viewport={"width": 390, "height": 800})
    wrong: list[str] = []
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("request", lambda asked: wrong.append(asked.url) if asked.url.startswith("http") else None)
    yield opened
    opened.close()
    assert wrong == []


@pytest.mark.skipif(not PAGES, reason="the site is not built: make docs")
def test_no_page_is_wider_than_a_phone(page: Any) -> None:
    wide = {}
    for name in PAGES:
        page.goto((SITE / name).as_uri())
        if (width := page.evaluate("document.documentElement.scrollWidth")) > 390:
            wide[name] = width
    assert wide == {}


@pytest.mark.skipif(not PAGES, reason="the site is not built: make docs")
def test_search_works_without_a_server(page: Any) -> None:
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto((SITE / "index.html").as_uri())
    page.get_by_role("textbox", name="Search").fill("recourse gap")
    page.wait_for_selector(".md-search-result__item a")
    found = page.eval_on_selector_all(".md-search-result__item a", "links => links.map(link => link.href)")
    assert any("groups.html" in link or "measures.html" in link for link in found)
