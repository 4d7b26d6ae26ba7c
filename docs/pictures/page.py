"""The pictures of docs/use/page.md, from German credit: `python docs/pictures/page.py`; needs Chromium."""

import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from attain.core.files import write_atomically

FOLDER = Path(__file__).parent
PERSON = "36"


@contextmanager
def service() -> Iterator[str]:
    """The address of a demonstration that runs meanwhile."""
    command = [sys.executable, "-m", "attain.cli", "serve", "--demo", "--no-open", "--port", "0"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert running.stdout is not None
        yield next(line.strip() for line in running.stdout if "token=" in line)
    finally:
        running.terminate()
        running.wait()


def options(page: Any) -> None:
    page.get_by_role("searchbox").fill(PERSON)
    page.get_by_role("button", name=PERSON, exact=True).click()
    page.wait_for_selector(".card:not(.ghost) .importance")
    page.wait_for_selector(".reasons")


def tried(page: Any) -> None:
    options(page)
    page.locator("#tab-try").click()
    page.wait_for_selector(".histogram .yes")


def mapped(page: Any) -> None:
    options(page)
    page.locator("#tab-map").click()
    page.wait_for_selector(".frame .end")


PICTURES: dict[str, tuple[Callable[[Any], None], int, int, str, str]] = {
    "page-people": (lambda page: None, 1280, 620, "light", "en-GB"),
    "page-options": (options, 1360, 1150, "light", "en-GB"),
    "page-try": (tried, 1360, 1000, "light", "en-GB"),
    "page-map": (mapped, 1360, 1180, "dark", "en-GB"),
    "page-phone": (options, 390, 1500, "light", "de-DE"),
}
"""What is shown, the width and height of the window, its colour scheme and its language."""


def main() -> None:
    """Writes all pictures, with 256 colours."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with service() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name, (show, width, height, scheme, language) in PICTURES.items():
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme, locale=language)
            page.goto(address)
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
