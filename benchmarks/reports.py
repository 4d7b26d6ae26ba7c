"""Reports: size, time to write and time to open in a browser, against people: `python -m benchmarks.reports`.

The people of German credit who are refused, with three options each, ranges and importance, repeated under other names.
A page is open when its first people are shown. Chromium (`CHROMIUM`, or `chromium` on the path) measures that itself,
from the beginning of the navigation; the clock is added to a copy of the page.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from attain import Counterfactuals, Guarded
from attain.cli.demo import classifier
from attain.datasets import load_german
from attain.results.importance import Importances
from attain.results.ranges import Ranges
from attain.tables import Table
from benchmarks.report import table, write

TIMES = (1, 16, 160, 560)
RUNS = 5
OPTIONS = 3
_POLICY = re.compile(r"<meta http-equiv[^>]*>")
_CLOCK = "<script>document.documentElement.dataset.opened = performance.now()</script></body>"
_OPENED = re.compile(r'data-opened="([\d.]+)"')


def answers() -> Counterfactuals:
    """Everybody who is refused."""
    data = load_german()
    train, test, y_train, _ = train_test_split(data.X, data.y, test_size=0.3, random_state=0, stratify=data.y)
    model = classifier(data, seed=0).fit(train, y_train)
    refused = test[model.predict(test) != data.desired]
    explainer = Guarded(data.schema).fit(train, y_train)
    return explainer.explain(model, refused, target=data.desired, n=OPTIONS, ranges=True, importance=True)


def repeated(result: Counterfactuals, times: int) -> Counterfactuals:
    """The same answers for so many times the people."""
    assert result.intervals is not None
    assert result.importances is not None
    parts = [
        (
            replace(result.intervals, option=result.intervals.option + k * len(result.rows)),
            replace(result.importances, option=result.importances.option + k * len(result.rows)),
        )
        for k in range(times)
    ]
    importances = {name: np.concatenate([vars(part)[name] for _, part in parts]) for name in vars(parts[0][1])}
    return replace(
        result,
        table=Table.read(pd.concat([result.table.source] * times, ignore_index=True), result.table.schema),
        statuses=result.statuses * times,
        rows=np.tile(result.rows, (times, 1)),
        owners=np.concatenate([result.owners + k * len(result) for k in range(times)]),
        percentiles=tuple(np.tile(part, (times, 1)) for part in result.percentiles),
        person_figures={name: np.tile(values, times) for name, values in result.person_figures.items()},
        option_figures={name: np.tile(values, times) for name, values in result.option_figures.items()},
        intervals=Ranges.joined([part for part, _ in parts]),
        importances=Importances(**importances),
    )


def opened(page: Path) -> float:
    """Seconds from the beginning of the navigation until the first people are shown; the median of some runs."""
    copy = page.with_suffix(".clock.html")
    text = _POLICY.sub("", page.read_text(encoding="utf-8"), count=1)
    head, _, tail = text.rpartition("</body>")
    copy.write_text(f"{head}{_CLOCK}{tail}", encoding="utf-8")
    command = [os.environ.get("CHROMIUM", "chromium"), "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    seen = []
    for _ in range(RUNS):
        ran = subprocess.run([*command, copy.as_uri()], capture_output=True, text=True, check=True)
        assert 'class="person"' in ran.stdout
        seen.append(float(_OPENED.findall(ran.stdout)[0]) / 1000)
    return statistics.median(seen)


def main() -> None:
    result, rows = answers(), []
    with tempfile.TemporaryDirectory() as folder:
        for times in TIMES:
            many, page = repeated(result, times), Path(folder) / f"{times}.html"
            started = time.process_time()
            many.report(page)
            seconds = time.process_time() - started
            size = page.stat().st_size / 1e6
            rows.append(
                (f"{len(many):,}", f"{len(many.rows):,}", f"{size:.1f}", f"{seconds:.1f}", f"{opened(page):.2f}")
            )
    header = ("people", "options", "size, MB", "written in, CPU s", "opened in, s")
    body = table(header, rows)
    note = f"Opened: until the first people are shown, Chromium without a GPU, the median of {RUNS} runs."
    write("reports", "Reports", "python -m benchmarks.reports", f"{body}\n\n{note}")


if __name__ == "__main__":
    main()
