"""What somebody does with the page, from opening it to taking a letter away."""

import re
from pathlib import Path
from typing import Any

import pytest

from attain.datasets import german_texts
from tests.browser.steps import Site, pick, settled, until

REFUSED = 640
"""Somebody whom the model of the demonstration refuses."""
DURATION = "time to pay back the loan"


def suggested(page: Any) -> list[list[str]]:
    """The names of the changed features, option by option."""
    cards = page.locator(".cards .card")
    return [cards.nth(i).locator(".change > .name > .label").all_inner_texts() for i in range(cards.count())]


def downloaded(page: Any, button: str, folder: Path) -> str:
    """What a button lets the browser save."""
    with page.expect_download() as download:
        page.get_by_role("button", name=button).click()
    download.value.save_as(folder / "file.html")
    return (folder / "file.html").read_text(encoding="utf-8")


def test_the_token_leaves_the_address(german: Site, visit: Any) -> None:
    page = visit(german)
    assert "token" not in page.url
    assert page.evaluate("document.cookie") == ""  # the cookie is out of reach of scripts


def test_people_are_found_by_search_and_decision(german: Site, visit: Any) -> None:
    page = visit(german)
    page.wait_for_selector("tbody tr")
    assert set(page.locator("tbody .decision").all_inner_texts()) == {"Refused"}
    page.get_by_role("radio", name="Granted").check()
    until(page, "() => document.querySelector('tbody .decision')?.textContent === 'Granted'")
    page.get_by_role("radio", name="All").check()
    page.get_by_role("searchbox").fill(str(REFUSED))
    until(page, "() => document.querySelectorAll('tbody tr').length < 25")
    assert str(REFUSED) in page.locator("tbody .name").all_inner_texts()


def test_options_are_those_of_the_library(german: Site, visit: Any) -> None:
    page = visit(german)
    pick(page, REFUSED)
    person = german.people.loc[[REFUSED]]
    result = german.explainer.explain(german.model, person, target=german.target, n=3, ranges=True, importance=True)
    words = german_texts()["inputs"]
    expected = [
        [words[name]["en"]["label"] for name in changes["feature"]] for _, changes in result.changes.groupby("option")
    ]
    assert suggested(page) == expected
    first = result.changes[result.changes["option"] == 1]
    shown = page.locator(".card").first.locator(".to bdi").all_inner_texts()
    assert [text.split()[0] for text in shown] == [str(value).split()[0] for value in first["counterfactual"]]
    settled(page)
    first = result.ranges[result.ranges["option"] == 1]
    held = page.locator(".card").first.locator(".holds bdi").all_inner_texts()
    ends = [(low, high) for low, high in zip(first["low"], first["high"], strict=True) if low != high]
    for text, (low, high) in zip(held, ends, strict=True):
        if not isinstance(low, str):
            assert [int(found) for found in re.findall(r"\d+", text.replace(",", ""))] == [low, high]


def test_cards_say_what_an_option_is_like_what_it_is_for_and_what_nobody_has_reviewed(german: Site, visit: Any) -> None:
    page = visit(german)

    def judged(route: Any) -> None:
        answer = route.fetch()
        told = answer.json()
        first = told["options"][0]
        other = {"verdict": "unusual", "purpose": "smallest", "unreviewed": ["duration", "housing"]}
        wrong = {"verdict": "contradicts itself", "contradiction": "nobody is 20 with 30 years in a job"}
        told["options"] = [
            first | {"purpose": "typical", "total_shift": 20.0},
            first | other | {"total_shift": 8.0},
            first | {"verdict": "unlike anybody", "purpose": ""},
            first | wrong | {"purpose": ""},
        ]
        route.fulfill(response=answer, json=told)

    page.route("**/explain", judged)
    pick(page, REFUSED)
    cards = page.locator(".cards .card")
    assert [cards.nth(i).locator(".badges").inner_text().split("\n")[0] for i in range(4)] == [
        "more typical",
        "smallest change",
        "unlike anybody",
        "contradicts itself",
    ]
    assert "typical instead of unusual" in cards.nth(0).locator(".buys").inner_text()
    assert "12 places more than the smallest change" in cards.nth(0).locator(".buys").inner_text()
    assert cards.nth(1).locator(".buys").inner_text() == "This is the smallest change that is enough."
    assert f"not reviewed: {DURATION}, your home" in cards.nth(1).locator(".badges").inner_text()
    assert cards.nth(0).get_by_text("not reviewed").count() == 0
    page.get_by_role("button", name="Letter (English)").click()
    assert f"nobody has decided whether people can change {DURATION}, your home" in page.locator(".toast").inner_text()
    assert cards.nth(3).locator(".error").last.inner_text() == "Nobody is 20 with 30 years in a job"
    assert [cards.nth(i).get_by_text("This is no advice").count() for i in range(4)] == [0, 0, 1, 1]


def test_the_whole_journey(german: Site, visit: Any, tmp_path: Path) -> None:
    page = visit(german)
    pick(page, REFUSED)
    assert page.locator(".verdict .decision").inner_text() == "Refused"
    # what somebody says is not possible is in no option any more
    gone = suggested(page)[0][0]
    page.locator(".card").first.locator(".cannot").first.click()
    until(page, "name => ![...document.querySelectorAll('.change .label')].some(e => e.innerText === name)", gone)
    settled(page)
    assert all(gone not in names for names in suggested(page))
    assert page.locator(".lock[aria-pressed=true]").count() == 1
    # one change at most
    page.get_by_role("group", name="Changes at most").get_by_role("radio", name="1").check()
    until(page, "() => [...document.querySelectorAll('.card')].every(c => c.querySelectorAll('.change').length <= 1)")
    settled(page)
    page.get_by_role("button", name="Clear all limits").click()
    until(page, "name => [...document.querySelectorAll('.change .label')].some(e => e.innerText === name)", gone)
    settled(page)
    # sliders
    page.get_by_role("tab", name="Try values").click()
    page.get_by_role("button", name="their record").click()
    meter = page.locator(".live .gauge strong")
    until(page, "() => document.querySelector('.live .decision')?.textContent === 'Refused'")
    before = meter.inner_text()
    page.get_by_role("slider", name=DURATION).fill("6")
    until(page, "before => document.querySelector('.live .gauge strong').innerText !== before", before)
    assert DURATION in page.locator(".changed").inner_text()
    until(page, "() => document.querySelector('.live .measures')?.innerText.includes('effort')")
    # what is locked may be tried, and the page says so
    page.get_by_role("button", name=f"Keep {DURATION} as it is").click()
    page.get_by_role("slider", name=DURATION).fill("8")
    until(page, "() => document.querySelector('.broken')?.innerText.includes('locked')")
    page.get_by_role("button", name="Clear all limits").click()
    settled(page)
    # kept, and taken away
    page.get_by_role("tab", name="Options").click()
    for name, words in (("Letter (German)", "Mit freundlichen Grüßen"), ("Report", "attain")):
        assert words in downloaded(page, name, tmp_path)
    page.locator(".card").nth(1).get_by_role("button", name="Keep").click()
    page.get_by_role("tab", name="Kept").click()
    assert page.locator(".kept .card").count() == 1
    # the letter is about the option that was kept
    letter = downloaded(page, "Letter (German)", tmp_path)
    assert "einen Weg gefunden" in letter
    assert "Weg 2" not in letter
    assert "attain" in downloaded(page, "Report", tmp_path)


def test_methods_are_compared(german: Site, visit: Any) -> None:
    page = visit(german)
    pick(page, REFUSED)
    page.get_by_role("tab", name="Compare methods").click()
    for name in page.locator(".methods label").all_inner_texts():
        box = page.get_by_role("checkbox", name=name, exact=True)
        box.set_checked(name in ("Guarded", "GrowingSpheres"), force=True)
    page.get_by_role("button", name="Compare", exact=True).click()
    page.wait_for_selector(".method")
    assert page.locator(".method h3").all_inner_texts() == ["Guarded", "GrowingSpheres"]


def test_a_typed_person_gets_the_model_s_decision(german: Site, visit: Any) -> None:
    page = visit(german)
    page.get_by_role("button", name="Type in", exact=True).click()
    page.get_by_label(DURATION, exact=True).fill("48")
    page.get_by_label("balance of your current account").select_option(label="less than 0 DM")
    page.get_by_role("button", name="See the decision").click()
    page.wait_for_selector(".card:not(.ghost), .empty")
    record = {f["name"]: f["default"] for f in german.asked("schema")["features"]}
    record |= {"duration": 48, "checking_account": "below 0 DM"}
    decided = german.model.predict(german.people.head(1).assign(**{k: [v] for k, v in record.items()}))[0]
    assert page.locator(".verdict .decision").inner_text() == ("Granted" if decided == german.target else "Refused")


def test_a_form_says_what_is_missing(german: Site, visit: Any) -> None:
    page = visit(german)
    page.get_by_role("button", name="Type in", exact=True).click()
    page.get_by_label(DURATION, exact=True).fill("")
    page.get_by_role("button", name="See the decision").click()
    assert page.get_by_role("alert").inner_text() == "Please fill this in."
    assert page.evaluate("document.activeElement.labels[0].innerText") == DURATION


def test_finer_limits_hold(german: Site, visit: Any) -> None:
    page = visit(german)
    pick(page, REFUSED)
    page.get_by_role("button", name=f"More about {DURATION}").click()
    page.get_by_label(f"{DURATION}: from").fill("12")
    page.get_by_label(f"{DURATION}: from").blur()
    note = "(note) => [...document.querySelectorAll('.feature .note')].some(one => one.innerText === note)"
    until(page, note, "at least 12 months")
    settled(page)
    durations = page.locator(".change", has=page.get_by_text(DURATION, exact=True)).locator(".to bdi").all_inner_texts()
    assert all(int(text.split()[0]) >= 12 for text in durations)
    page.get_by_role("radio", name="impossible").check()
    until(page, note, "impossible")
    settled(page)
    assert all(DURATION not in names for names in suggested(page))
    notes = page.locator(".feature", has_text=DURATION).locator(".note").all_inner_texts()
    assert notes == ["at least 12 months", "impossible"]


def test_limits_without_an_option_can_be_loosened(german: Site, visit: Any) -> None:
    page = visit(german, locale="de-DE")
    pick(page, REFUSED)
    while page.locator(".card:not(.ghost) .cannot").count():
        page.locator(".card .cannot").first.click()
        page.wait_for_timeout(100)
        settled(page)
    reason = page.locator(".panel .empty p").first.inner_text()
    assert reason.startswith("Wir haben nichts gefunden")
    page.locator(".panel .empty").get_by_role("button", name="Alle Vorgaben löschen").click()
    page.wait_for_selector(".card:not(.ghost)")
    assert page.locator(".lock[aria-pressed=true]").count() == 0


def test_somebody_else_starts_with_options_and_without_limits(german: Site, visit: Any) -> None:
    page = visit(german)
    pick(page, REFUSED)
    page.locator(".card .cannot").first.click()
    page.get_by_role("tab", name="Try values").click()
    page.locator("#views button").first.click()
    page.wait_for_selector("tbody tr")
    pick(page, german.asked("people?decision=refused&limit=1")["people"][0]["id"])
    assert page.get_by_role("tab", name="Options").get_attribute("aria-selected") == "true"
    assert page.locator(".lock[aria-pressed=true]").count() == 0


@pytest.mark.parametrize("back", [False, True])
def test_reloading_and_going_back_keep_the_place(german: Site, visit: Any, back: bool) -> None:
    page = visit(german)
    pick(page, REFUSED)
    if back:
        page.go_back()
        page.wait_for_selector("table.people")
        page.go_forward()
    else:
        page.reload()
    page.wait_for_selector(".card:not(.ghost)")
    assert page.locator(".verdict h1").inner_text() == f"Person {REFUSED}"
    assert str(REFUSED) not in page.url


def test_the_keyboard_is_enough(german: Site, visit: Any) -> None:
    page = visit(german)
    page.wait_for_selector("tbody tr")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.locator("tbody .name").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".card:not(.ghost)")
    page.get_by_role("tab", name="Options").focus()
    page.keyboard.press("ArrowRight")
    assert page.get_by_role("tab", name="Try values").get_attribute("aria-selected") == "true"
    assert page.evaluate("document.activeElement.id") == "tab-try"
    page.get_by_role("slider", name=DURATION).focus()
    before = page.get_by_role("slider", name=DURATION).input_value()
    page.keyboard.press("ArrowRight")
    assert page.get_by_role("slider", name=DURATION).input_value() != before
