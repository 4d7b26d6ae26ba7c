"""The page in a real browser: Chromium, driven by Playwright. `make test-browser` installs both and runs the tests."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.browser.steps import TOKEN, Site
from tests.counting import PATIENCE
from tests.serving import served

FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests of this folder are tests of the page, and skip where nobody asked for a browser."""
    for item in items:
        if FOLDER in item.path.parents:
            item.add_marker(pytest.mark.browser)
            if not os.environ.get("ATTAIN_BROWSER"):
                item.add_marker(pytest.mark.skip(reason="run by `make test-browser`, which installs what it needs"))


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[..., Site]]:
    """Starts a service on a free port; what it needs is given as to `create_app`."""
    import uvicorn

    from attain.desk.service import create_app

    with ExitStack() as running:

        def start(explainer: Any, model: Any, **options: Any) -> Site:
            app = create_app(explainer, model, token=TOKEN, **options)
            server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", timeout_graceful_shutdown=1))
            port = running.enter_context(served(server))
            return Site(f"http://127.0.0.1:{port}", explainer, model, options.get("people"), options["target"])

        yield start


@pytest.fixture(scope="session")
def german(serve: Callable[..., Site]) -> Site:
    """What `attain serve --demo` shows, warm."""
    from attain.cli.demo import service_demo

    site = serve(**service_demo())
    refused = site.asked("people?decision=refused&limit=1")["people"]
    site.asked("explain", {"person": refused[0]["id"], "n": 5, "contributions": True})
    return site


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    assert path, "Chromium is not installed: apt-get install chromium, or name it in the environment variable CHROMIUM"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium: Any) -> Iterator[Callable[..., Any]]:
    """Opens a site as somebody new; at the end nothing may have been logged, thrown or fetched from elsewhere."""
    opened: list[tuple[Any, list[str]]] = []

    def open_site(
        site: Site, *, width: int = 1280, height: int = 900, scheme: str = "light", locale: str = "en-GB"
    ) -> Any:
        context = chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, locale=locale, accept_downloads=True
        )
        page = context.new_page()
        page.set_default_timeout(1000 * PATIENCE)
        wrong: list[str] = []
        page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: (wrong.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith((site.address, "blob:", "data:"))
                else wrong.append(f"asked elsewhere: {request.url}")
            ),
        )
        opened.append((context, wrong))
        page.goto(site.opening)
        page.wait_for_selector("main h1")
        return page

    yield open_site
    for context, _ in opened:
        context.close()
    assert [text for _, wrong in opened for text in wrong] == []
