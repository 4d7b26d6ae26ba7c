"""The pictures of docs/use/reports.md and letters.md, from German credit: `python docs/pictures/report.py`.

It needs Chromium.
"""

import io
import os
import re
import subprocess
import tempfile
from pathlib import Path

from PIL import Image

import attain
from attain import letters
from attain.cli.demo import german_case
from attain.core.files import write_atomically

FOLDER = Path(__file__).parent
PICTURES = {
    "report": (1280, 900, 1, "Overview"),
    "report-people": (1280, 900, 1, "People"),
}
"""Width and height of the window, the colour scheme that it prefers, light (1) or dark (0), and its first section."""


PERSON = 640


def pages(report: Path, letter: Path) -> None:
    """The report of everybody who is refused, and a letter to one of them in German."""
    case = german_case(0)
    data, model, refused = case.data, case.model, case.refused
    explainer = attain.Guarded(data.schema, random_state=0).fit(case.train, case.y_train)
    asked = {"n": 2, "ranges": True, "importance": True, "contributions": True, "constraints": {"max_changes": 2}}
    attain.write_report(explainer.explain(model, refused, target=data.desired, **asked), report)
    result = explainer.explain(model, refused, target=data.desired, n=3, ranges=True, contributions=True)
    texts, sender = attain.datasets.german_texts(), "Musterbank AG\nHauptstraße 1\n12345 Musterstadt"
    written = letters.write(
        result, explainer, model, texts, language="de", people=[PERSON], sender=sender, date="1. März 2027"
    )
    letters.save(written, letter)


def screenshot(page: Path, width: int, height: int, scheme: int, section: str) -> bytes:
    """The page from a section on as a window shows it, with few colours."""
    cut, picture = page.with_suffix(".cut.html"), page.with_suffix(".png")
    text = page.read_text(encoding="utf-8")
    cut.write_text(re.sub(rf"<main>.*?(?=<h2[^>]*>{section})", "<main>", text, count=1, flags=re.DOTALL), "utf-8")
    command = [os.environ.get("CHROMIUM", "chromium"), "--headless", "--no-sandbox", "--disable-gpu"]
    look = [
        "--hide-scrollbars",
        f"--blink-settings=preferredColorScheme={scheme}",
        f"--window-size={width},{height}",
    ]
    subprocess.run([*command, *look, f"--screenshot={picture}", cut.as_uri()], check=True, capture_output=True)
    small = io.BytesIO()
    Image.open(picture).convert("RGB").quantize(64).save(small, "PNG", optimize=True)
    return small.getvalue()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        report, letter = Path(folder) / "report.html", Path(folder) / "letter.html"
        pages(report, letter)
        for name, look in PICTURES.items():
            write_atomically(FOLDER / f"{name}.png", screenshot(report, *look))
        write_atomically(FOLDER / "letter-de.png", screenshot(letter, 806, 1139, 1, ""))
