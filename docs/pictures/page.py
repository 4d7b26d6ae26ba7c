"""The pictures of docs/use/page.md, from German credit: `python docs/pictures/page.py`; needs Chromium."""

import io
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from attain import Guarded, Schema
from attain.cli.demo import service_demo
from attain.core.files import write_atomically
from attain.desk.service import create_app, server

FOLDER = Path(__file__).parent
PERSON = "205"


@contextmanager
def service(**options: Any) -> Iterator[str]:
    """The address of a service that runs meanwhile."""
    app = create_app(**options)
    running = server(app, port=0)
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    while not running.started:
        thread.join(0.02)
    yield f"http://127.0.0.1:{running.servers[0].sockets[0].getsockname()[1]}/?token={app.state.token}"
    running.should_exit = True
    thread.join()


def unreviewed(explainer: Guarded, **options: Any) -> dict[str, Any]:
    """A demonstration whose schema is inferred."""
    train, labels = explainer.population_.table.layout.frame(explainer.population_.values), explainer.population_.labels
    return {**options, "explainer": Guarded(Schema.infer(train), random_state=0).fit(train, labels)}


def options(page: Any) -> None:
    page.get_by_role("searchbox").fill(PERSON)
    page.get_by_role("button", name=PERSON, exact=True).click()
    page.wait_for_selector(".card:not(.ghost) .importance")
    page.wait_for_selector(".reasons")


def reviewed(page: Any) -> None:
    page.locator("#views button").last.click()
    page.wait_for_selector(".asked li:nth-child(2) .effect .hint + .hint")


def tried(page: Any) -> None:
    options(page)
    page.locator("#tab-try").click()
    page.wait_for_selector(".histogram .yes")


PICTURES: dict[str, tuple[Callable[[Any], None], int, int, str, str]] = {
    "page-people": (lambda page: None, 1280, 620, "light", "en-GB"),
    "page-options": (options, 1360, 1150, "light", "en-GB"),
    "page-try": (tried, 1360, 1000, "light", "en-GB"),
    "page-review": (reviewed, 1280, 900, "light", "en-GB"),
    "page-phone": (options, 390, 1500, "light", "de-DE"),
}
"""What is shown, the width and height of the window, its colour scheme and its language."""


def main() -> None:
    """Writes all pictures, with 256 colours."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    given = service_demo()
    with service(**given) as address, service(**unreviewed(**given)) as other, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, (show, width, height, scheme, language) in PICTURES.items():
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme, locale=language)
            page.goto(other if name == "page-review" else address)
            page.wait_for_selector("tbody tr")
            show(page)
            page.wait_for_timeout(1000)
            small = io.BytesIO()
            Image.open(io.BytesIO(page.screenshot())).convert("RGB").quantize(256).save(small, "PNG", optimize=True)
            write_atomically(FOLDER / f"{name}.png", small.getvalue())
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
