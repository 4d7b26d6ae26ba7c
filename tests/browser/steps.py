"""A running service, and steps that several tests take."""

import json
from dataclasses import dataclass
from typing import Any
from urllib.request import Request, urlopen

from tests.counting import LOOKS, PATIENCE

TOKEN = "the-token-of-the-tests-of-the-page"


@dataclass
class Site:
    """A running service, and what the page and its server are made from."""

    address: str
    explainer: Any
    model: Any
    people: Any
    target: Any

    @property
    def opening(self) -> str:
        return f"{self.address}/?token={TOKEN}"

    def asked(self, path: str, question: Any = None) -> Any:
        """The answer of the service itself."""
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        body = None if question is None else json.dumps(question).encode()
        with urlopen(Request(f"{self.address}/{path}", body, headers), timeout=PATIENCE) as answer:
            return json.load(answer)


def pick(page: Any, person: Any) -> None:
    """Chooses somebody from the table, and waits for options."""
    page.get_by_role("searchbox").fill(str(person))
    page.get_by_role("button", name=str(person), exact=True).click()
    page.wait_for_selector(".card:not(.ghost), .empty")


def settled(page: Any) -> None:
    """Waits until no answer is under way, and every card has its details."""
    until(page, "() => !document.querySelector('.workspace.busy, .card.ghost')")
    until(page, "() => ![...document.querySelectorAll('.holds')].some(one => one.textContent === '…')")


def until(page: Any, condition: str, given: Any = None) -> None:
    """Waits for a JavaScript function to say true. Playwright's own needs `eval`, which the page's policy forbids."""
    for _ in range(LOOKS):
        if page.evaluate(condition, given):
            return
        page.wait_for_timeout(30)
    raise AssertionError(condition)
