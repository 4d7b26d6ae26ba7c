"""The first pages run, the README shows what was measured, and the runner that builds the site shows what it should.

The build of the site (`make docs`) runs the blocks of every page and notebook.
"""

import inspect
import json
import re
from pathlib import Path

import pytest

from attain import Guarded, methods
from docs import runner

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "docs").rglob("*.ipynb"))


def title(page: Path) -> str:
    return str(page.relative_to(ROOT))


def test_the_blocks_of_the_readme_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    list(runner.run(runner.read(ROOT / "README.md"), "README.md"))


def test_the_readme_quotes_the_sentence_that_the_first_page_shows() -> None:
    first = list(runner.run(runner.read(ROOT / "docs" / "index.md"), "docs/index.md"))
    quoted = re.search(r"(?:^> .*\n)+", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert quoted
    assert f">{' '.join(quoted[0].replace('> ', '').split())}<" in first[2]


COMPARED = {
    "**attain** `Guarded`": "guarded",
    "DiCE 0.12, genetic": "dice-ml, genetic",
    "DiCE 0.12, random": "dice-ml, random",
    "NICE 0.2.3, plausibility ¹": "NICE, plausibility, frozen",
    "NICE 0.2.3, sparsity ¹": "NICE, sparsity, frozen",
    "treecf 0.3.2, genetic": "treecf, genetic",
    "treecf 0.3.2, exact, 5 s": "treecf, exact",
    "alibi 0.9.6, reinforcement learning ²": "alibi, reinforcement learning",
}
"""The lines of the README's tables, and what `benchmarks/results/guarded_peers.md` calls them."""


@pytest.mark.parametrize(
    ("data", "title", "shares"),
    [
        ("German", "German credit", ("usable", "LOF20", "conn95")),
        ("HELOC", "HELOC", ("usable", "LOF20", "breaks relation")),
    ],
)
def test_the_readme_compares_packages_by_the_figures_that_were_measured(
    data: str, title: str, shares: tuple[str, ...]
) -> None:
    measured = (ROOT / "benchmarks" / "results" / "guarded_peers.md").read_text(encoding="utf-8")
    section = measured.partition(f"## {data}, gradient boosting\n")[2].partition("| guarded : package")[0]
    header, _, *lines = (
        [cell.strip() for cell in row.split("|")[1:-1]] for row in re.findall(r"^\|.*$", section, re.M)
    )
    figures = {line[0]: dict(zip(header, line, strict=True)) for line in lines}
    shown = (ROOT / "README.md").read_text(encoding="utf-8").partition(f"| {title} | usable")[2].partition("\n\n")[0]
    expected = []
    for name, method in COMPARED.items():
        if (one := figures.get(method)) and one["usable"]:
            cells = [name, *(f"{100 * float(one[key]):.0f} %" for key in shares), one["TS"]]
            expected.append(f"| {' | '.join(cells)} | {1000 * float(one['s CPU']):,.0f} |")
    assert shown.splitlines()[2:] == expected


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=title)
def test_a_tutorial_is_committed_without_output(notebook: Path) -> None:
    content = json.loads(notebook.read_text(encoding="utf-8"))
    assert content["nbformat"] == 4
    for cell in content["cells"]:
        assert cell["cell_type"] == "markdown" or (cell["outputs"], cell["execution_count"]) == ([], None)


def test_a_block_shows_what_it_prints_its_last_value_and_its_figures() -> None:
    page = """
```python
print("a < b")
x = 2
```

    ```python
    from matplotlib import pyplot

    axes = pyplot.figure().add_subplot()
    x + 40
    ```

```python
import pandas as pd

pd.DataFrame({"column": [x]})
```

```python
axes
```
"""
    first, second, third, fourth = runner.run(page, "a page")
    assert first == '<div class="output"><pre class="prose">a &lt; b</pre></div>'
    assert "42</pre>" in second
    assert second.count("<img") == 1
    assert "<th>column</th>" in third
    assert fourth == ""


def test_a_console_block_runs_commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("age,income\n" + "".join(f"{20 + i},{i * 100}\n" for i in range(40)))
    (shown,) = runner.run("```console\n$ attain schema infer people.csv \\\n    --out s.toml\n```\n", "a page")
    assert "income" in shown
    assert (tmp_path / "s.toml").exists()
    with pytest.raises(AssertionError, match="exit code 1"):
        list(runner.run("```console\n$ attain schema show nothing.toml\n```\n", "a page"))


@pytest.mark.parametrize("method", [Guarded, methods.Wachter, methods.REVISE, methods.BudgetedInverseClassification])
def test_the_reference_has_the_default_of_each_parameter(method: type) -> None:
    griffe = pytest.importorskip("griffe", reason="the extra docs has it")
    from docs.defaults import Defaults

    module = griffe.load(
        method.__module__, extensions=griffe.load_extensions(Defaults()), docstring_parser="numpy", search_paths=["src"]
    )
    sections = module[method.__name__].docstring.parsed
    listed = next(one.value for one in sections if one.kind is griffe.DocstringSectionKind.parameters)
    declared = inspect.signature(method).parameters
    assert {one.name for one in listed} == set(declared)
    for one in listed:
        assert eval(str(one.value), {}) == getattr(method(), one.name), one.name
