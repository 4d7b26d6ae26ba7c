"""The review on the page: a scripted reviewer decides until every answer rests on decisions, and takes the schema."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from attain import Guarded, Schema
from attain.testing import people
from tests.browser.steps import Site, until
from tests.browser.test_quality import violations


@pytest.fixture
def unreviewed(serve: Callable[..., Site]) -> Site:
    X, schema = people.frame(200), people.schema()
    y = people.labels(X)
    explainer = Guarded(schema.change(schema.names, reviewed=""), random_state=0).fit(X, y)
    return serve(explainer, people.linear_model(X, y), target=people.DESIRED, people=people.frame(30, seed=7))


def opened(page: Any) -> None:
    page.get_by_role("button", name="Review", exact=True).click()
    page.wait_for_selector(".asked")


@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1280, "light")])
def test_the_review_is_accessible_and_fits(unreviewed: Site, visit: Any, width: int, scheme: str) -> None:
    page = visit(unreviewed, width=width, scheme=scheme, locale="de-DE")
    page.locator("#views button").last.click()
    page.wait_for_selector(".asked li:nth-child(2) .effect .hint + .hint")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_scripted_reviewer_decides_until_all_answers_rest_on_decisions(
    unreviewed: Site, visit: Any, tmp_path: Path
) -> None:
    page = visit(unreviewed)
    opened(page)
    first = page.locator(".asked").first
    assert "hang on it" in first.locator("> summary").inner_text()
    assert first.locator(".evidence").inner_text().startswith("Nobody has decided on these columns")
    assert "For the decision “granted”" in first.locator(".example").inner_text()
    # what each choice does comes by itself
    told = "[...document.querySelectorAll('.asked[open] .effect')].every(one => !['', '…'].includes(one.textContent))"
    until(page, f"() => {told}")
    effects = first.locator(".effect").all_inner_texts()
    assert any("are told something else" in text for text in effects)
    assert any("the answers stay the same" in text for text in effects)
    # nobody decides without a name
    first.get_by_role("button", name="not at all", exact=True).click()
    assert page.evaluate("document.activeElement.id") == "reviewer"
    page.get_by_label("Who decides?").fill("Ada")
    # a decision may be about some of the columns
    assert first.get_by_role("button", name="only down").is_disabled()  # mortgage has levels
    assert "not for mortgage" in first.locator(".choices").inner_text()
    first.get_by_role("button", name="all or none").click()
    first.get_by_role("checkbox", name="debt").check(force=True)
    first.get_by_role("button", name="only down", disabled=False).wait_for()
    shares, choice = [], "only down"
    while page.locator(".asked").count():
        shares.append(int(page.locator(".standing h2").inner_text().split(" %")[0]))
        before = page.locator(".standing, .asked > summary").all_inner_texts()
        page.locator(".asked").first.get_by_role("button", name=choice, exact=True).click()
        gone = (
            "old => JSON.stringify([...document.querySelectorAll('.standing, .asked > summary')].map(e => e.innerText))"
        )
        until(page, f"{gone} !== JSON.stringify(old) && !document.querySelector('.review-body.busy')", before)
        choice = "not at all"
    assert shares == sorted(shares, reverse=True)
    assert page.locator(".standing h2").inner_text() == "All answers rest on decisions"
    assert page.locator(".levers .badge.fair").count() == 0
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the schema").click()
    download.value.save_as(tmp_path / "schema.toml")
    schema = Schema.from_toml(tmp_path / "schema.toml")
    assert schema["debt"].reviewed.startswith("Ada, 20")
    assert schema["debt"].direction == "decrease"
    # what was decided is still there when one comes back
    page.locator("#views button").first.click()
    page.get_by_role("button", name="Review", exact=True).click()
    assert page.locator(".standing h2").inner_text() == "All answers rest on decisions"
    assert "Ada, 20" in page.locator(".review .fixed dl").inner_text()
