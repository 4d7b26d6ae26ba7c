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
VIEWS = ("people", "form", "options", "nothing", "try", "compare", "kept", "review")
ENGLISH = re.compile(
    r"\b(the|and|of|is|are|with|from|option|options|people|refused|granted|good|bad|month|months|nobody|unknown)\b",
    re.I,
)


def show(page: Any, view: str) -> None:
    """Goes to a view, by position and not by words, so that the language does not matter."""
    if view in ("people", "form"):
        page.locator("#views button").nth(("people", "form").index(view)).click()
    if view == "review":
        page.locator("#views button").last.click()
        page.wait_for_selector(".standing")
    if view in ("options", "nothing"):
        page.locator("#views button").first.click()
        page.wait_for_selector("tbody tr")
        pick(page, REFUSED)
        page.wait_for_selector(".reasons")
        page.locator("details").evaluate_all("all => all.forEach(one => { one.open = true; })")
        page.locator(".feature .more").first.click()
    if view == "nothing":
        while page.locator(".lock[aria-pressed=false]").count():
            page.locator(".lock[aria-pressed=false]").first.click()
        page.wait_for_selector(".panel .empty")
    if view in ("try", "compare", "kept"):
        if view == "try":  # everything was locked
            page.locator(".panel .empty button").last.click()
            page.wait_for_selector(".card:not(.ghost)")
        if view == "kept":
            page.locator("#tab-options").click()
            page.locator(".card .icon-button").first.click()
        page.locator(f"#tab-{view}").click()
    if view == "try":
        page.wait_for_selector(".histogram .yes")
    if view == "compare":
        page.locator(".compare .primary").click()
        page.wait_for_selector(".method")
    page.wait_for_timeout(400)
    settled(page)


def violations(page: Any) -> list[str]:
    """What axe-core finds serious or critical."""
    package = pytest.importorskip("axe_playwright_python")
    if not page.evaluate("'axe' in window"):
        page.evaluate((Path(package.__file__).parent / "axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    serious = [one for one in found if one["impact"] in ("serious", "critical")]
    return [f"{one['id']}: {one['help']}: {one['nodes'][0]['html'][:200]}" for one in serious]


@pytest.mark.parametrize(
    ("width", "scheme", "locale"),
    [(360, "dark", "de-DE"), (390, "light", "en-GB"), (820, "light", "de-DE"), (1280, "dark", "en-GB"),
     (1920, "light", "de-DE")],
)  # fmt: skip
def test_every_view_is_accessible_fits_and_speaks_one_language(
    german: Site, visit: Any, width: int, scheme: str, locale: str
) -> None:
    page = visit(german, width=width, scheme=scheme, locale=locale)
    for view in VIEWS:
        show(page, view)
        assert (view, violations(page)) == (view, [])
        assert page.evaluate("document.documentElement.scrollWidth") <= width, view
        if locale == "de-DE":
            text = page.locator("main").inner_text().replace("German credit", "")
            assert (view, ENGLISH.findall(text)) == (view, [])


def test_what_is_printed_is_the_decision_and_the_options(german: Site, visit: Any) -> None:
    page = visit(german, width=720)  # about what A4 has
    pick(page, REFUSED)
    settled(page)
    page.emulate_media(media="print")
    assert page.locator(".verdict .decision").is_visible()
    assert all(card.is_visible() for card in page.locator(".card").all())
    assert all(
        not page.locator(gone).first.is_visible() for gone in ("#top", ".controls", ".toolbar .actions", ".cannot")
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 720
    sizes = "all => all.map(one => parseFloat(getComputedStyle(one).fontSize))"
    assert min(page.locator(".card .label, .card .to, .card .words").evaluate_all(sizes)) >= 10


def test_all_words_are_in_both_languages() -> None:
    """The keys that the scripts ask for are those that each language has."""
    folder = ROOT / "src" / "attain" / "desk" / "service" / "page"
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


def test_new_options_are_asked_for_once(german: Site, visit: Any) -> None:
    """From the click to the new cards, and to all that is known about them, for five people.

    All times are printed, with the processor time of the service, which runs in this process. What is checked is that
    the page asks once each for options, their details and their contributions.
    """
    page = visit(german)
    times, work, whole, asked = [], [], [], []
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/explain") else None)
    for person in [one["id"] for one in german.asked("people?decision=refused&offset=5&limit=5")["people"]]:
        pick(page, person)
        page.wait_for_selector(".reasons, .empty")
        settled(page)
        page.evaluate("document.querySelector('.cards').dataset.old = 'yes'")
        asked.clear()
        started, worked = time.perf_counter(), time.process_time()
        page.locator(".card .cannot").first.click()
        page.wait_for_selector(".panel .cards:not([data-old]), .panel .empty")
        times.append(time.perf_counter() - started)
        work.append(time.process_time() - worked)
        settled(page)
        whole.append(time.process_time() - worked)
        assert 0 < len(asked) <= 3
        page.locator("#views button").first.click()
        page.wait_for_selector("table.people")
    measured = {"seconds": times, "processor": work, "with details": whole}
    print(json.dumps({name: [round(one, 2) for one in found] for name, found in measured.items()}))
