"""Names, levels and values that try to become markup, script or another layout."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from attain import Guarded, Schema
from tests.browser.steps import Site, pick, settled, until

IMAGE = "<img src=x onerror=alert(1)>"
SCRIPT = "</script><script>alert(2)</script>"
REVERSED = "‮esrever⁦ ‏עברית"
LONG = "very " * 100
QUOTED = "\"'><svg onload=alert(3)>"


@pytest.fixture(scope="session")
def hostile(serve: Callable[..., Site]) -> Site:
    random = np.random.default_rng(0)
    n = 300
    table = pd.DataFrame(
        {
            IMAGE: random.normal(size=n).round(2),
            SCRIPT: random.choice([SCRIPT, IMAGE, REVERSED], n),
            REVERSED: random.integers(0, 50, n),
            LONG: random.choice(["a", LONG, QUOTED], n),
        },
        index=[f"{IMAGE}{i}" for i in range(n)],
    )
    desired = table[IMAGE] + (table[REVERSED] - 25) / 20 > 0
    labels = np.where(desired, QUOTED, IMAGE)

    numbers = FunctionTransformer(lambda frame: frame[[IMAGE, REVERSED]].to_numpy(float))
    model = make_pipeline(numbers, LogisticRegression()).fit(table, labels)
    schema = Schema.infer(table)
    schema = schema.change(schema.names, reviewed=f"{IMAGE}, 2026-11-19")
    schema = schema.change(IMAGE, label=QUOTED, unit=IMAGE, description=SCRIPT)
    texts = {
        "letter": {"en": {"subject": SCRIPT, "closing": IMAGE}},
        "inputs": {name: {"en": {"label": f"{QUOTED}{k}", "text": SCRIPT}} for k, name in enumerate(table)},
        "classes": {IMAGE: {"en": f"{IMAGE}no"}},
    }
    explainer = Guarded(schema, random_state=0).fit(table, labels)
    return serve(explainer, model, target=QUOTED, people=table, texts=texts, title=IMAGE)


@pytest.mark.parametrize("width", [360, 1280])
def test_names_and_values_never_become_markup(hostile: Site, visit: Any, width: int) -> None:
    page = visit(hostile, width=width)
    page.wait_for_selector("tbody tr")
    for view in ("people", "person", "try", "compare", "kept", "form"):
        if view == "form":
            page.locator("#views button").nth(1).click()
        elif view == "person":
            page.locator("tbody .name").first.click()
            page.wait_for_selector(".card:not(.ghost)")
            page.locator("details").evaluate_all("all => all.forEach(one => { one.open = true; })")
            page.locator(".feature .more").first.click()
            page.locator(".card .icon-button").first.click()
        elif view != "people":
            page.locator(f"#tab-{view}").click()
        if view == "compare":
            page.locator(".compare .primary").click()
            page.wait_for_selector(".method")
        until(page, "text => document.querySelector('main').textContent.includes(text)", IMAGE)
        page.wait_for_timeout(500)
        # a markup made from data would be an image without a source of ours, a script, or a listener
        assert page.locator("main img, main script, main [onerror], main [onload], main iframe").count() == 0, view
        assert page.locator("script").count() == 1, view
        assert page.evaluate("document.documentElement.scrollWidth") <= width, view
        assert IMAGE in page.locator("main").text_content(), view


def test_a_hostile_person_is_found_and_explained(hostile: Site, visit: Any) -> None:
    page = visit(hostile)
    page.wait_for_selector("tbody tr")
    name = page.locator("tbody .name").first.inner_text()
    pick(page, name)
    settled(page)
    assert page.locator(".verdict h1").inner_text() == f"Person {name}"
    assert page.locator(".verdict .decision").inner_text() == f"{IMAGE}no"
    assert QUOTED in page.locator(".card .words").first.inner_text()


@pytest.mark.parametrize("kind", ["Letter (English)", "Report"])
def test_letters_and_reports_are_text_too(hostile: Site, visit: Any, tmp_path: Path, kind: str) -> None:
    page = visit(hostile)
    page.wait_for_selector("tbody tr")
    pick(page, page.locator("tbody .name").first.inner_text())
    settled(page)
    with page.expect_download() as download:
        page.get_by_role("button", name=kind).click()
    download.value.save_as(tmp_path / "file.html")
    # opened as anybody would, the file runs nothing that data brought along: a dialog or an error would be noticed
    opened = page.context.new_page()
    said: list[str] = []
    opened.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    opened.goto((tmp_path / "file.html").as_uri())
    opened.wait_for_timeout(300)
    assert said == []
    assert opened.locator("img[src=x], [onerror], [onload]").count() == 0
    assert "alert(" in opened.locator("body").inner_text()
