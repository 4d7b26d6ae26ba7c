"""How the page is made: accessible, light, quick, right at every width, in two languages and two colour schemes."""

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from tests.browser.steps import Site, pick, settled

REFUSED = 640
ROOT = Path(__file__).parents[2]
VIEWS = ("people", "options", "try", "map", "compare", "kept", "form", "files")


def show(page: Any, view: str) -> None:
    """Goes to a view from the start, by position and not by words, so that the language does not matter."""
    if view in ("form", "files"):
        page.locator("#views button").nth(1 if view == "form" else 2).click()
    elif view != "people":
        pick(page, REFUSED)
        if view == "kept":
            page.locator(".card .icon-button").first.click()
        if view != "options":
            page.locator(f"#tab-{view}").click()
        if view == "options":
            page.locator(".controls").evaluate("details => { details.open = true; }")
            page.locator(".feature .more").first.click()
            page.locator(".legend summary").click()
        if view == "map":
            page.wait_for_selector(".frame .end")
        page.wait_for_selector(".reasons")
    page.wait_for_timeout(600)
    settled(page)


def violations(page: Any) -> list[str]:
    """What axe-core finds serious or critical."""
    package = pytest.importorskip("axe_playwright_python")
    page.evaluate((Path(package.__file__).parent / "axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    serious = [one for one in found if one["impact"] in ("serious", "critical")]
    return [f"{one['id']}: {one['help']}: {one['nodes'][0]['html'][:200]}" for one in serious]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_nothing_serious(german: Site, visit: Any, view: str, scheme: str) -> None:
    page = visit(german, scheme=scheme)
    show(page, view)
    assert violations(page) == []


@pytest.mark.parametrize("width", [360, 820, 1440])
@pytest.mark.parametrize("view", VIEWS)
def test_nothing_is_wider_than_the_window(german: Site, visit: Any, view: str, width: int) -> None:
    page = visit(german, width=width, locale="de-DE")
    show(page, view)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_all_words_are_in_both_languages() -> None:
    """The keys that the scripts ask for are those that each language has."""
    folder = ROOT / "src" / "attain" / "service" / "page"
    sources = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.js"))
    asked = set(re.findall(r'\bt\("([\w ]+)"', sources))
    for name in ("en", "de"):
        text = (folder / f"{name}.js").read_text(encoding="utf-8")
        keys = set(re.findall(r'(?:^|[{,]\s*|\s)"?([A-Za-z]\w*(?: \w+)?)"?: (?=["(])', text))
        assert asked - keys == set(), name


def test_the_language_changes_and_stays(german: Site, visit: Any) -> None:
    page = visit(german)
    page.get_by_role("button", name="DE", exact=True).click()
    assert page.locator("h1").inner_text() == "Um wen geht es?"
    assert page.locator("html").get_attribute("lang") == "de"
    page.reload()
    page.wait_for_selector("main h1")
    assert page.locator("h1").inner_text() == "Um wen geht es?"
    pick(page, REFUSED)
    settled(page)
    assert "Dann wäre die Entscheidung" in page.locator(".card .words").first.inner_text()


def test_the_colours_change_and_stay(german: Site, visit: Any) -> None:
    page = visit(german)
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Dark colours").click()
    page.reload()
    page.wait_for_selector("main h1")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light


def test_the_page_is_light_and_paints_within_a_second(german: Site, visit: Any, record_property: Any) -> None:
    page = visit(german)
    page.wait_for_selector("tbody tr")
    sizes = page.evaluate(
        "performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'))"
        ".filter(e => !/schema|people/.test(e.name)).map(e => [e.name, e.decodedBodySize])"
    )
    weight = sum(size for _, size in sizes)
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    print(json.dumps({"bytes": weight, "first paint, ms": round(paint), "files": len(sizes)}))
    assert len(sizes) > 10
    assert weight < 300_000
    assert paint < 1_000


def test_new_options_come_within_a_second(german: Site, visit: Any) -> None:
    """From the click to the new cards, for five people.

    Both times are printed. What is checked is the processor time of the service, which runs in this process: it is the
    wall time of a computer with nothing else to do, and other programs hardly change it.
    """
    page = visit(german)
    times, work = [], []
    for person in [one["id"] for one in german.asked("people?decision=refused&offset=5&limit=5")["people"]]:
        pick(page, person)
        page.wait_for_selector(".reasons, .empty")
        settled(page)
        page.evaluate("document.querySelector('.cards').dataset.old = 'yes'")
        started, worked = time.perf_counter(), time.process_time()
        page.locator(".card .cannot").first.click()
        page.wait_for_selector(".panel .cards:not([data-old]), .panel .empty")
        times.append(time.perf_counter() - started)
        work.append(time.process_time() - worked)
        page.locator("#views button").first.click()
        page.wait_for_selector("table.people")
    print(json.dumps({"seconds": [round(one, 2) for one in times], "processor": [round(one, 2) for one in work]}))
    assert sorted(work)[len(work) // 2] < 1
