"""The commands, run as people run them: what they write, what they say, how they end."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import attain
from attain.cli import main, terminal
from attain.cli.fit import make_explainer
from attain.desk.report import write_report
from attain.results.counterfactuals import Counterfactuals
from attain.results.text import people_table
from attain.review import questions
from attain.testing import people
from attain.testing.explainer import digest
from tests.counting import PATIENCE

EXPLAIN = ["explain", "e.attain", "refused.csv", "--index", "who", "--model", "mine:classifier", "--target", "granted"]


def direct(n: int = 1, **arguments: Any) -> Counterfactuals:
    """What the library itself answers."""
    X = people.frame(150)
    refused = pd.read_parquet("refused.parquet")
    return attain.load("e.attain").explain(
        people.linear_model(X, people.labels(X)), refused, target="granted", n=n, **arguments
    )


def test_schema_infer_prints_and_writes_what_the_library_infers(files: Path, capsys: Any) -> None:
    arguments = ["schema", "infer", "train.csv", "--index", "who", "--drop", "decision", "--immutable", "age,sex"]
    assert main([*arguments, "--out", "s.toml"]) == 0
    out = capsys.readouterr().out
    expected = attain.Schema.infer(people.frame(150), immutable=["age", "sex"])
    assert attain.Schema.from_toml((files / "s.toml").read_text()) == expected
    assert str(expected).splitlines()[2] in out
    assert main([*arguments, "--out", "s.toml"]) == 1
    assert "--force" in capsys.readouterr().err
    assert main([*arguments, "--out", "s.toml", "--force", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    shown = [(tuple(one["columns"]), one["topic"], one["evidence"]) for one in report.pop("questions")]
    assert shown == [(one.columns, one.topic, one.evidence) for one in questions(expected, people.frame(150))]
    assert report == tomllib.loads(expected.to_toml())
    assert main(["schema", "show", "s.toml"]) == 0
    assert str(expected).splitlines()[2] in capsys.readouterr().out


def test_schema_infer_asks_and_check_repeats_it_until_it_is_decided(files: Path, capsys: Any) -> None:
    arguments = ["schema", "infer", "train.csv", "--index", "who", "--drop", "decision", "--out", "s.toml"]
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert "Nobody has decided what may happen to 'housing', " in " ".join(out.split())
    assert "apart from all others" not in out
    train = pd.read_csv("train.csv")
    train.loc[:9, "months_late"] = 98
    train.to_csv("train.csv", index=False)
    check = ["schema", "check", "s.toml", "train.csv", "--index", "who"]
    assert main(check) == 0
    streams = capsys.readouterr()
    assert "train.csv fits s.toml: 150 people, 13 features." in streams.out
    assert "To decide:\nmonths_late: 98 stands in 10 of 140 cells, apart from all others" in streams.out
    assert "\n  m: it means that nothing is known\n" in streams.out
    assert "'decision'" in streams.err
    schema = attain.Schema.from_toml(files / "s.toml")
    schema.change(schema.names, reviewed="Ada").to_toml(files / "s.toml")
    assert main(check) == 0
    assert not re.search("decide", capsys.readouterr().out)


def test_laws_are_printed_and_written_into_the_schema(files: Path, capsys: Any) -> None:
    random = np.random.default_rng(0)
    total = random.integers(0, 50, 900)
    part, job = random.binomial(total, 0.5), random.choice(["cook", 'a "chef"'], 900)
    frame = pd.DataFrame(
        {"total": total, "part": part, "job": job, "tips": (job == "cook") * random.integers(1, 9, 900)}
    )
    frame["price"] = np.round(random.uniform(5, 9, 900), 2)
    frame["spent"] = np.round(frame["part"] * frame["price"], 2)
    frame.assign(label=1).to_csv("people.csv", index=False)
    laws = attain.laws.find(frame)
    assert "part <= total" in [law.text for law in laws]
    assert main(["laws", "people.csv", "--drop", "label"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{len(laws)} laws in people.csv, 900 people. A law rests on 299")
    assert "fewer have" in " ".join(out.split())
    assert "spent looks computed: part * price (100 % of people" in out
    assert '\n  derived = "part * price"\n\nColumns that others tell' in out
    for law in laws:
        assert f"{law.sentence} {law.text} {law.evidence}" in " ".join(out.split())
    infer = ["schema", "infer", "people.csv", "--drop", "label", "--out", "s.toml"]
    assert main(infer) == 0
    assert attain.Schema.from_toml(files / "s.toml").laws == laws
    for law in laws:
        assert f",  # {law.evidence}\n" in (files / "s.toml").read_text()
    capsys.readouterr()
    assert main(["laws", "people.csv", "--schema", "s.toml", "--json"]) == 0
    streams = capsys.readouterr()
    printed = json.loads(streams.out)
    assert [law["text"] for law in printed["laws"]] == [law.text for law in laws]
    assert [one["line"] for one in printed["computed"]] == ['derived = "part * price"']
    assert "'label'" in streams.err
    assert main(["laws", "people.csv", "--schema", "s.toml", "--drop", "label"]) == 1
    assert main([*infer, "--force", "--no-laws"]) == 0
    assert attain.Schema.from_toml(files / "s.toml").laws is None
    assert main(["laws", "train.csv", "--drop", "who"]) == 0
    assert "people at least: these are too few" in " ".join(capsys.readouterr().out.split())


def test_schema_check_counts_who_breaks_rules_and_refuses_what_does_not_fit(files: Path, capsys: Any) -> None:
    schema = people.schema().with_rules("cards <= 8").with_laws(["age <= 70"])
    schema.to_toml("s.toml")
    check = ["schema", "check", "s.toml", "train.csv", "--index", "who"]
    X = people.frame(150)
    many, old = int((X["cards"] > 8).sum()), int((X["age"] > 70).sum())
    assert many
    assert old
    assert main(check) == 0
    out = capsys.readouterr().out
    assert f"The rule cards <= 8 is broken by {many} of 150 people." in out
    assert f"The law age <= 70 is broken by {old} of 150 people." in out
    assert main([*check, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["people"] == 150
    assert report["broken"] == {"cards <= 8": many, "age <= 70": old}
    schema.change("age", bounds=(18, 60)).to_toml("s.toml")
    assert main(check) == 1
    assert "the schema's upper bound is 60" in capsys.readouterr().err


def test_fit_saves_what_the_library_saves(files: Path, capsys: Any) -> None:
    command = ["fit", "train.csv", "--schema", "schema.toml", "--index", "who", "--label", "decision", "--seed", "3"]
    command += ["--method", "growing-spheres", "--set", "budget=400", "--set", "sparsity=false", "--out", "new.attain"]
    assert main([*command, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["people"] == 150
    assert report["reference"] == "rows"
    X = people.frame(150)
    same = attain.GrowingSpheres(people.schema(), budget=400, sparsity=False, random_state=3).fit(X, people.labels(X))
    same.save("same.attain")
    assert (files / "new.attain").read_bytes() == (files / "same.attain").read_bytes()
    assert main([*command, "--reference", "none"]) == 0
    assert "holds no training rows" in capsys.readouterr().out


def test_fit_calibrates_on_people_whom_the_model_did_not_see(files: Path, capsys: Any) -> None:
    command = ["fit", "train.csv", "--schema", "schema.toml", "--index", "who", "--label", "decision"]
    command += ["--calibration", "train.parquet", "--out", "new.attain"]
    assert main(command) == 0
    X = people.frame(150)
    pair = (X, people.labels(X))
    attain.Guarded(people.schema(), random_state=0).fit(*pair, calibration=pair).save("same.attain")
    assert (files / "new.attain").read_bytes() == (files / "same.attain").read_bytes()
    assert main([*command, "--method", "growing-spheres"]) == 1
    assert "--calibration is for the method Guarded; GrowingSpheres does not use it" in capsys.readouterr().err


@pytest.mark.filterwarnings("default")
def test_fit_notes_a_column_that_seems_to_be_the_outcome(files: Path, capsys: Any) -> None:
    train = pd.read_csv("train.csv")
    train.assign(alive=train["decision"].map({"granted": "yes", "refused": "no"})).to_csv("leak.csv", index=False)
    assert main(["schema", "infer", "leak.csv", "--drop", "who,decision", "--out", "s.toml"]) == 0
    assert main(["fit", "leak.csv", "--schema", "s.toml", "--label", "decision", "--out", "new.attain"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "note: 'alive' alone tells the labels of 100.0% of the training rows. If it is the outcome" in said
    assert "Warning" not in said


def test_running_fit_again_from_its_config_gives_the_same_bytes(files: Path, capsys: Any) -> None:
    command = ["fit", "train.parquet", "--schema", "schema.toml", "--label", "decision", "--out", "new.attain"]
    assert main([*command, "--method", "Growing_Spheres", "--set", "budget=500", "--set", "step=0.2"]) == 0
    names = ("new.attain", "new.attain.config.toml")
    first = [(files / name).read_bytes() for name in names]
    (files / names[0]).unlink()
    (files / "kept.toml").write_bytes(first[1])
    assert main(["fit", "--config", "kept.toml"]) == 0
    assert [(files / name).read_bytes() for name in names] == first
    assert main(["fit", "--config=kept.toml", "--set", "budget=600", "--out", "other.attain"]) == 0
    assert attain.load("other.attain").budget == 600
    assert attain.load("other.attain").step == 0.2


@pytest.mark.parametrize("ending", ["csv", "parquet", "json", "xlsx"])
def test_running_explain_again_from_its_config_gives_the_same_bytes(ending: str, files: Path, capsys: Any) -> None:
    out = f"o.{ending}"
    assert main([*EXPLAIN, "--n", "2", "--out", out, "--changes", "c.csv", "--probability", "0.6"]) == 0
    names = (out, "c.csv", f"{out}.config.toml")
    first = [(files / name).read_bytes() for name in names]
    (files / "kept.toml").write_bytes(first[2])
    for name in names:
        (files / name).unlink()
    assert main(["explain", "--config", "kept.toml"]) == 0
    assert [(files / name).read_bytes() for name in names] == first


def test_notes_name_commands_instead_of_what_they_are_in_python(capsys: Any) -> None:
    terminal.say_summary("Rows can be given as `calibration` when fitting. Raise `timeout` to wait longer.")
    said = " ".join(capsys.readouterr().out.split())  # however wide the terminal is
    assert said == "Rows can be given to `attain fit --calibration`. Raise `--timeout` to wait longer."


def test_every_text_that_commands_replace_stands_in_the_package() -> None:
    source = "".join(path.read_text("utf-8") for path in Path(attain.__file__).parent.rglob("*.py"))
    for python in terminal._COMMANDS:
        assert source.count(python) > 1, python


def test_explain_writes_the_librarys_answers(files: Path, capsys: Any) -> None:
    assert main([*EXPLAIN, "--n", "2", "--out", "o.csv", "--changes", "c.csv"]) == 0
    assert "6 of 6 people have an answer" in capsys.readouterr().out
    expected = direct(n=2)
    exact: dict[str, Any] = {} if pd.__version__ >= "3" else {"float_precision": "round_trip"}
    written = pd.read_csv("o.csv", keep_default_na=False, na_values=[""], **exact)
    options = expected.options
    assert written["who"].tolist() == options["person"].tolist()
    assert written["option"].tolist() == options["option"].tolist()
    assert set(written["status"]) == {"FOUND"}
    assert written["sentence"][written["option"] == 1].tolist() == expected.sentences.tolist()
    for name in people.schema().names:
        pd.testing.assert_series_equal(written[name], options[name], check_exact=True, check_dtype=False)
    np.testing.assert_allclose(written["total_shift"], 100 * expected.option_figures["total_shift"], atol=6e-4)
    changes = pd.read_csv("c.csv", keep_default_na=False)
    assert changes["feature"].tolist() == expected.changes["feature"].tolist()
    assert changes["who"].tolist() == expected.changes["person"].tolist()


def test_importance_and_contributions_are_in_the_whole_result(files: Path, capsys: Any) -> None:
    assert main([*EXPLAIN, "--out", "o.json", "--importance", "--contributions"]) == 0
    result = Counterfactuals.from_json(Path("o.json").read_text(encoding="utf-8"))
    expected = direct(importance=True, contributions=True)
    pd.testing.assert_frame_equal(result.importance, expected.importance)
    pd.testing.assert_frame_equal(result.contributions, expected.contributions)
    first = Path("o.json").read_bytes()
    assert main(["explain", "--config", "o.json.config.toml"]) == 0
    assert Path("o.json").read_bytes() == first
    assert main([*EXPLAIN, "--out", "o.csv", "--importance"]) == 1
    assert "--importance: 'o.csv' has one row for each option; write OUT as .json or .xlsx" in capsys.readouterr().err


def test_ranges_and_a_timeout_are_those_of_the_library(files: Path, capsys: Any) -> None:
    asked = ["--ranges", "--timeout", "600", "--class-names", "paid out,turned down"]
    assert main([*EXPLAIN, *asked, "--out", "o.csv"]) == 0
    assert "Written: o.csv, o.csv.config.toml" in " ".join(capsys.readouterr().out.split())
    said = direct(ranges=True).sentences.str.replace("the decision “granted”", "the decision “paid out”")
    assert pd.read_csv("o.csv", keep_default_na=False)["sentence"].tolist() == said.tolist()
    assert "will do" in " ".join(said)


def test_few_people_get_sentences_and_many_a_table(files: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    monkeypatch.setattr("attain.cli.terminal._WIDEST", 1000)
    assert main([*EXPLAIN, "--n", "2", "--out", "o.csv"]) == 0
    expected = direct(n=2)
    assert people_table(expected, range(6), 1000) in capsys.readouterr().out
    pd.read_csv("refused.csv").head(2).to_csv("refused.csv", index=False)
    assert main([*EXPLAIN, "--n", "2", "--out", "o.csv"]) == 0
    out = capsys.readouterr().out
    for label, sentence in expected.sentences.head(2).items():
        assert f"{label}: {sentence}\n" in out
    assert out.count("\nOr: For the decision “granted”, ") == (expected.owners < 2).sum() - 2


def test_features_have_their_labels_and_units_in_the_header_where_asked(files: Path) -> None:
    assert main([*EXPLAIN, "--out", "o.csv", "--labels"]) == 0
    names = [f"{f.title} ({f.unit})" if f.unit else f.title for f in people.schema()]
    assert set(names) <= set(pd.read_csv("o.csv").columns)
    assert any("(€)" in name for name in names)


def test_csv_and_parquet_in_and_out_hold_the_same(files: Path) -> None:
    parquet = [*EXPLAIN[:2], "refused.parquet", *EXPLAIN[5:]]
    assert main([*EXPLAIN, "--out", "o.csv", "--changes", "c.csv"]) == 0
    assert main([*parquet, "--out", "o.parquet", "--changes", "c.parquet"]) == 0
    pd.read_parquet("o.parquet").to_csv("again.csv", index=False)
    assert (files / "again.csv").read_text() == (files / "o.csv").read_text()
    assert pd.read_parquet("c.parquet")["feature"].tolist() == pd.read_csv("c.csv")["feature"].tolist()


def test_a_person_without_an_answer_has_a_row_that_says_why_and_the_exit_code_says_if_all_are_so(
    files: Path, capsys: Any
) -> None:
    (files / "c.toml").write_text(
        "immutable = ['debt']\nmax_changes = 3\n[range]\ncards = { down = -1 }\n[bounds]\nincome = { upper = 90000 }\n"
        f"[people.{pd.read_csv('refused.csv')['who'][0]}]\nimmutable = {json.dumps(list(people.schema().names))}\n"
    )
    assert main([*EXPLAIN, "--constraints", "c.toml", "--out", "o.csv"]) == 0
    written = pd.read_csv("o.csv")
    assert written["status"][0] == "NOTHING_FREE"
    assert written["sentence"][0] == attain.Status.NOTHING_FREE.reason
    own = pd.read_csv("refused.csv")[list(people.schema().names)]
    assert written.loc[0, own.columns].dropna().tolist() == own.loc[0].dropna().tolist()
    assert np.isnan(written["option"][0])
    assert len(written) == 6
    (files / "c.toml").write_text(f"immutable = {json.dumps(list(people.schema().names))}\n")
    assert main([*EXPLAIN, "--constraints", "c.toml", "--out", "o.csv", "--json"]) == 3
    assert '"found": 0' in capsys.readouterr().out
    assert set(pd.read_csv("o.csv")["status"]) == {"NOTHING_FREE"}


def test_records_that_cannot_be_read_are_written_with_the_reason_and_the_others_are_answered(
    files: Path, capsys: Any
) -> None:
    bad = pd.read_csv("refused.csv", dtype=str, keep_default_na=False)
    bad.loc[1, "cards"], bad.loc[2, "housing"] = "some", "castle"
    bad.to_csv("refused.csv", index=False)
    assert main([*EXPLAIN, "--out", "o.csv"]) == 0
    told = capsys.readouterr().err
    assert "2 of 6 records cannot be read" in told
    assert "column 'cards', row" in told
    assert "found 'some'" in told
    written = pd.read_csv("o.csv")
    assert written["status"].tolist() == ["FOUND", "UNREADABLE", "UNREADABLE", "FOUND", "FOUND", "FOUND"]
    assert written["sentence"][1] == "This record cannot be read; please check cards."
    assert written["cards"][1] == "some"
    assert written["housing"][2] == "castle"
    expected = direct()
    for i in (0, 3, 4, 5):
        assert written["total_shift"][i] == pytest.approx(100 * expected.option_figures["total_shift"][i], abs=6e-4)
    assert main([*EXPLAIN, "--out", "o.json"]) == 0
    read = Counterfactuals.from_json((files / "o.json").read_text())
    assert digest(read, (0, 3, 4, 5)) == digest(expected, (0, 3, 4, 5))
    assert list(read.unreadable) == [1, 2]
    evaluated = ["evaluate", "o.csv", "--people", "refused.csv", "--schema", "schema.toml", "--target", "granted"]
    assert main([*evaluated, "--model", "mine:classifier", "--train", "train.csv", "--json"]) == 0
    capsys.readouterr()
    assert main([*EXPLAIN, "--errors", "raise", "--out", "o.csv"]) == 1
    assert "found 'some'" in capsys.readouterr().err


def test_explain_reports_as_json_and_leaves_standard_output_to_it(files: Path, capsys: Any) -> None:
    pd.read_csv("refused.csv").assign(extra=1).to_csv("more.csv", index=False)
    assert main([*EXPLAIN[:2], "more.csv", *EXPLAIN[3:], "--out", "o.csv", "--json"]) == 0
    streams = capsys.readouterr()
    report = json.loads(streams.out)
    assert report["found"] == report["people"] == 6
    assert report["status"] == {"FOUND": 6}
    assert "columns that are not in the schema are ignored" in " ".join(streams.err.split())
    assert "extra" in streams.err


def test_inspect_says_in_its_first_line_whether_it_holds_rows(files: Path, capsys: Any) -> None:
    assert main(["inspect", "e.attain"]) == 0
    assert capsys.readouterr().out.startswith("This file holds training rows: real people's records.")
    assert main(["inspect", "e.attain", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert next(iter(report)) == "training_rows"
    assert report["parameters"]["budget"] == 3000
    attain.load("e.attain").save("none.attain", reference="none")
    assert main(["inspect", "none.attain"]) == 0
    assert capsys.readouterr().out.startswith("This file holds no training rows")


def test_a_config_of_another_version_is_noted(files: Path, capsys: Any) -> None:
    assert main([*EXPLAIN, "--out", "o.csv"]) == 0
    text = (files / "o.csv.config.toml").read_text()
    (files / "old.toml").write_text(text.replace('attain = "', 'attain = "0.0.'))
    assert main(["explain", "--config", "old.toml"]) == 0
    assert "other versions are installed" in capsys.readouterr().err
    (files / "fit.toml").write_text(text.replace('"explain"', '"fit"', 1))
    assert main(["explain", "--config", "fit.toml"]) == 1


def run(*arguments: str, columns: int = 80, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": str(columns), **variables}
    command = [sys.executable, "-m", "attain.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def test_in_a_pipe_there_is_no_progress_and_nothing_on_standard_error(files: Path) -> None:
    done = run(*EXPLAIN, "--out", "o.csv")
    assert done.returncode == 0
    assert done.stderr == ""


def test_a_terminal_without_unicode_gets_ascii(files: Path) -> None:
    done = run("schema", "show", "schema.toml", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert "-inf ... inf" in done.stdout


@pytest.mark.parametrize("columns", [80, 50])
@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["schema", "infer", "--help"],
        ["schema", "show", "--help"],
        ["schema", "check", "--help"],
        ["schema", "infer", "train.csv", "--drop", "who"],
        ["schema", "check", "schema.toml", "train.csv"],
        ["laws", "--help"],
        ["fit", "--help"],
        ["explain", "--help"],
        ["inspect", "--help"],
        ["schema", "show", "schema.toml"],
        ["inspect", "e.attain"],
        [*EXPLAIN, "--out", "o.csv"],
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_everything_fits_the_terminal(
    arguments: list[str], columns: int, files: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= columns


def test_an_interrupted_run_writes_what_is_done_and_ends_with_130(files: Path) -> None:
    (files / "slow.py").write_text(
        "import time\nfrom mine import classifier\n\n\ndef decide(frame):\n"
        "    if len(frame) not in (150, 6):\n        print('asked', flush=True)\n        time.sleep(9999)\n"
        "    return classifier.predict(frame)\n"
    )
    command = [sys.executable, "-m", "attain.cli", *EXPLAIN[:5], "--model", "slow:decide", "--target", "granted"]
    process = subprocess.Popen([*command, "--out", "o.csv"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "asked\n"
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "INTERRUPTED" in out
    assert set(pd.read_csv("o.csv")["status"]) == {"INTERRUPTED"}


def test_values_of_set_are_json_or_strings() -> None:
    settings = ["month_weight=none", "guard=typical", "rate=0.2", "figures=false"]
    made: Any = make_explainer("guarded", people.schema(), 3, settings)
    assert (made.month_weight, made.guard, made.rate, made.figures) == (None, "typical", 0.2, False)
    assert made.random_state == 3
    other: Any = make_explainer("c-chvae", people.schema(), 3, ["norm=inf", "autoencoder=vae"])
    assert other.norm == np.inf
    assert (type(other.autoencoder).__name__, other.autoencoder.random_state) == ("VAE", 3)


def test_a_report_is_the_librarys(files: Path, capsys: Any) -> None:
    assert main([*EXPLAIN, "--out", "o.json"]) == 0
    capsys.readouterr()
    assert main(["report", "o.json", "--out", "r.html", "--title", "Refused <today>"]) == 0
    assert capsys.readouterr().out == "6 of 6 people have an answer. Written: r.html\n"
    text = (files / "r.html").read_text(encoding="utf-8")
    assert "<h1>Refused &lt;today&gt;</h1>" in text
    write_report(Counterfactuals.from_json((files / "o.json").read_text()), "s.html", "Refused <today>")
    assert (files / "s.html").read_text(encoding="utf-8") == text
