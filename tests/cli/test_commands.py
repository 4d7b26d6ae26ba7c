"""The commands, run as people run them: what they write, what they say, how they end."""

import json
import os
import shlex
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
from attain.cli import terminal
from attain.cli.fit import make_explainer
from attain.desk.report import write_report
from attain.results.counterfactuals import Counterfactuals
from attain.results.text import people_table
from attain.review import questions
from attain.testing import people
from attain.testing.explainer import digest
from tests.cli.conftest import EXPLAIN, Run
from tests.counting import PATIENCE


def direct(n: int = 1, **arguments: Any) -> Counterfactuals:
    """What the library itself answers."""
    X = people.frame(150)
    refused = pd.read_parquet("refused.parquet")
    return attain.load("e.attain").explain(
        people.linear_model(X, people.labels(X)), refused, target="granted", n=n, **arguments
    )


def test_schema_infer_prints_and_writes_what_the_library_infers(files: Path, run: Run) -> None:
    infer = "schema infer train.csv --index who --drop decision --immutable age,sex --out s.toml"
    expected = attain.Schema.infer(people.frame(150), immutable=["age", "sex"])
    assert str(expected).splitlines()[2] in run(infer).out
    assert attain.Schema.from_toml((files / "s.toml").read_text()) == expected
    assert "--force" in run(infer, 1).err
    report = run(f"{infer} --force --json").json
    shown = [(tuple(one["columns"]), one["topic"], one["evidence"]) for one in report.pop("questions")]
    assert shown == [(one.columns, one.topic, one.evidence) for one in questions(expected, people.frame(150))]
    assert report == tomllib.loads(expected.to_toml())
    assert str(expected).splitlines()[2] in run("schema show s.toml").out


def test_schema_infer_asks_and_check_repeats_it_until_it_is_decided(files: Path, run: Run) -> None:
    said = run("schema infer train.csv --index who --drop decision --out s.toml").said
    assert "Nobody has decided what may happen to 'housing', " in said
    assert "apart from all others" not in said
    train = pd.read_csv("train.csv")
    train.loc[:9, "months_late"] = 98
    train.to_csv("train.csv", index=False)
    check = run("schema check s.toml train.csv --index who")
    assert "train.csv fits s.toml: 150 people, 13 features." in check.out
    assert "To decide:\nmonths_late: 98 stands in 10 of 140 cells, apart from all others" in check.out
    assert "\n  m: it means that nothing is known\n" in check.out
    assert "'decision'" in check.err
    schema = attain.Schema.from_toml(files / "s.toml")
    schema.change(schema.names, reviewed="Ada").to_toml(files / "s.toml")
    assert "decide" not in run("schema check s.toml train.csv --index who").out


def test_laws_are_printed_and_written_into_the_schema(files: Path, run: Run) -> None:
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
    found = run("laws people.csv --drop label")
    assert found.out.startswith(f"{len(laws)} laws in people.csv, 900 people. A law rests on 299")
    assert "fewer have" in found.said
    assert "spent looks computed: part * price (100 % of people" in found.out
    assert '\n  derived = "part * price"\n\nColumns that others tell' in found.out
    infer = "schema infer people.csv --drop label --out s.toml"
    run(infer)
    assert attain.Schema.from_toml(files / "s.toml").laws == laws
    for law in laws:
        assert f"{law.sentence} {law.text} {law.evidence}" in found.said
        assert f",  # {law.evidence}\n" in (files / "s.toml").read_text()
    again = run("laws people.csv --schema s.toml --json")
    assert [law["text"] for law in again.json["laws"]] == [law.text for law in laws]
    assert [one["line"] for one in again.json["computed"]] == ['derived = "part * price"']
    assert "'label'" in again.err
    run("laws people.csv --schema s.toml --drop label", 1)
    run(f"{infer} --force --no-laws")
    assert attain.Schema.from_toml(files / "s.toml").laws is None
    assert "people at least: these are too few" in run("laws train.csv --drop who").said


def test_schema_check_counts_who_breaks_rules_and_refuses_what_does_not_fit(files: Path, run: Run) -> None:
    schema, X = people.schema().with_rules("cards <= 8").with_laws(["age <= 70"]), people.frame(150)
    schema.to_toml("s.toml")
    check = "schema check s.toml train.csv --index who"
    many, old = int((X["cards"] > 8).sum()), int((X["age"] > 70).sum())
    assert min(many, old) > 0
    out = run(check).out
    assert f"The rule cards <= 8 is broken by {many} of 150 people." in out
    assert f"The law age <= 70 is broken by {old} of 150 people." in out
    report = run(f"{check} --json").json
    assert (report["people"], report["broken"]) == (150, {"cards <= 8": many, "age <= 70": old})
    schema.change("age", bounds=(18, 60)).to_toml("s.toml")
    assert "the schema's upper bound is 60" in run(check, 1).err


FIT = "fit train.csv --schema schema.toml --index who --label decision --out new.attain"


def test_fit_saves_what_the_library_saves(files: Path, run: Run) -> None:
    command = f"{FIT} --seed 3 --method growing-spheres --set budget=400 --set sparsity=false"
    report = run(f"{command} --json").json
    assert (report["people"], report["reference"]) == (150, "rows")
    X = people.frame(150)
    same = attain.GrowingSpheres(people.schema(), budget=400, sparsity=False, random_state=3).fit(X, people.labels(X))
    same.save("same.attain")
    assert (files / "new.attain").read_bytes() == (files / "same.attain").read_bytes()
    assert "holds no training rows" in run(f"{command} --reference none").out


def test_fit_calibrates_on_people_whom_the_model_did_not_see(files: Path, run: Run) -> None:
    run(f"{FIT} --calibration train.parquet")
    X = people.frame(150)
    pair = (X, people.labels(X))
    attain.Guarded(people.schema(), random_state=0).fit(*pair, calibration=pair).save("same.attain")
    assert (files / "new.attain").read_bytes() == (files / "same.attain").read_bytes()
    refused = run(f"{FIT} --calibration train.parquet --method growing-spheres", 1)
    assert "--calibration is for the method Guarded; GrowingSpheres does not use it" in refused.err


@pytest.mark.filterwarnings("default")
def test_fit_notes_a_column_that_seems_to_be_the_outcome(files: Path, run: Run) -> None:
    train = pd.read_csv("train.csv")
    train.assign(alive=train["decision"].map({"granted": "yes", "refused": "no"})).to_csv("leak.csv", index=False)
    run("schema infer leak.csv --drop who,decision --out s.toml")
    noted = run("fit leak.csv --schema s.toml --label decision --out new.attain").noted
    assert "note: 'alive' alone tells the labels of 100.0% of the training rows. If it is the outcome" in noted
    assert "Warning" not in noted


def test_running_fit_again_from_its_config_gives_the_same_bytes(files: Path, run: Run) -> None:
    command = "fit train.parquet --schema schema.toml --label decision --out new.attain"
    run(f"{command} --method Growing_Spheres --set budget=500 --set step=0.2")
    names = ("new.attain", "new.attain.config.toml")
    first = [(files / name).read_bytes() for name in names]
    (files / names[0]).unlink()
    (files / "kept.toml").write_bytes(first[1])
    run("fit --config kept.toml")
    assert [(files / name).read_bytes() for name in names] == first
    run("fit --config=kept.toml --set budget=600 --out other.attain")
    other: Any = attain.load("other.attain")
    assert (other.budget, other.step) == (600, 0.2)


@pytest.mark.parametrize("ending", ["csv", "parquet", "json", "xlsx"])
def test_running_explain_again_from_its_config_gives_the_same_bytes(ending: str, files: Path, run: Run) -> None:
    run(f"{EXPLAIN} --n 2 --out o.{ending} --changes c.csv --probability 0.6")
    names = (f"o.{ending}", "c.csv", f"o.{ending}.config.toml")
    first = [(files / name).read_bytes() for name in names]
    (files / "kept.toml").write_bytes(first[2])
    for name in names:
        (files / name).unlink()
    run("explain --config kept.toml")
    assert [(files / name).read_bytes() for name in names] == first


def test_notes_name_commands_instead_of_what_they_are_in_python(capsys: Any) -> None:
    terminal.say_summary("Rows can be given as `calibration` when fitting. Raise `timeout` to wait longer.")
    said = " ".join(capsys.readouterr().out.split())  # however wide the terminal is
    assert said == "Rows can be given to `attain fit --calibration`. Raise `--timeout` to wait longer."


def test_every_text_that_commands_replace_stands_in_the_package() -> None:
    source = "".join(path.read_text("utf-8") for path in Path(attain.__file__).parent.rglob("*.py"))
    for python in terminal._COMMANDS:
        assert source.count(python) > 1, python


def test_explain_writes_the_librarys_answers(files: Path, run: Run) -> None:
    assert "6 of 6 people have an answer" in run(f"{EXPLAIN} --n 2 --out o.csv --changes c.csv").out
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


def test_importance_and_contributions_are_in_the_whole_result(files: Path, run: Run) -> None:
    run(f"{EXPLAIN} --out o.json --importance --contributions")
    result = Counterfactuals.from_json(Path("o.json").read_text(encoding="utf-8"))
    expected = direct(importance=True, contributions=True)
    pd.testing.assert_frame_equal(result.importance, expected.importance)
    pd.testing.assert_frame_equal(result.contributions, expected.contributions)
    first = Path("o.json").read_bytes()
    run("explain --config o.json.config.toml")
    assert Path("o.json").read_bytes() == first


def test_ranges_and_a_timeout_are_those_of_the_library(files: Path, run: Run) -> None:
    said = run(f"{EXPLAIN} --ranges --timeout 600 --class-names 'paid out,turned down' --out o.csv").said
    assert "Written: o.csv, o.csv.config.toml" in said
    sentences = direct(ranges=True).sentences.str.replace("the decision “granted”", "the decision “paid out”")
    assert pd.read_csv("o.csv", keep_default_na=False)["sentence"].tolist() == sentences.tolist()
    assert "will do" in " ".join(sentences)


def test_few_people_get_sentences_and_many_a_table(files: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    monkeypatch.setattr("attain.cli.terminal._WIDEST", 1000)
    expected = direct(n=2)
    assert people_table(expected, range(6), 1000) in run(f"{EXPLAIN} --n 2 --out o.csv").out
    pd.read_csv("refused.csv").head(2).to_csv("refused.csv", index=False)
    out = run(f"{EXPLAIN} --n 2 --out o.csv").out
    for label, sentence in expected.sentences.head(2).items():
        assert f"{label}: {sentence}\n" in out
    assert out.count("\nOr: For the decision “granted”, ") == (expected.owners < 2).sum() - 2


def test_features_have_their_labels_and_units_in_the_header_where_asked(files: Path, run: Run) -> None:
    run(f"{EXPLAIN} --out o.csv --labels")
    names = [f"{f.title} ({f.unit})" if f.unit else f.title for f in people.schema()]
    assert set(names) <= set(pd.read_csv("o.csv").columns)
    assert any("(€)" in name for name in names)


def test_csv_and_parquet_in_and_out_hold_the_same(files: Path, run: Run) -> None:
    run(f"{EXPLAIN} --out o.csv --changes c.csv")
    parquet = EXPLAIN.replace("refused.csv --index who", "refused.parquet")
    run(f"{parquet} --out o.parquet --changes c.parquet")
    pd.read_parquet("o.parquet").to_csv("again.csv", index=False)
    assert (files / "again.csv").read_text() == (files / "o.csv").read_text()
    assert pd.read_parquet("c.parquet")["feature"].tolist() == pd.read_csv("c.csv")["feature"].tolist()


def test_a_person_without_an_answer_has_a_row_that_says_why_and_the_exit_code_says_if_all_are_so(
    files: Path, run: Run
) -> None:
    (files / "c.toml").write_text(
        "immutable = ['debt']\nmax_changes = 3\n[range]\ncards = { down = -1 }\n[bounds]\nincome = { upper = 90000 }\n"
        f"[people.{pd.read_csv('refused.csv')['who'][0]}]\nimmutable = {json.dumps(list(people.schema().names))}\n"
    )
    run(f"{EXPLAIN} --constraints c.toml --out o.csv")
    written = pd.read_csv("o.csv")
    assert written["status"][0] == "NOTHING_FREE"
    assert written["sentence"][0] == attain.Status.NOTHING_FREE.reason
    own = pd.read_csv("refused.csv")[list(people.schema().names)]
    assert written.loc[0, own.columns].dropna().tolist() == own.loc[0].dropna().tolist()
    assert np.isnan(written["option"][0])
    assert len(written) == 6
    (files / "c.toml").write_text(f"immutable = {json.dumps(list(people.schema().names))}\n")
    assert run(f"{EXPLAIN} --constraints c.toml --out o.csv --json", 3).json["found"] == 0
    assert set(pd.read_csv("o.csv")["status"]) == {"NOTHING_FREE"}
    nobody_asks = EXPLAIN.replace("granted", "refused")
    assert run(f"{nobody_asks} --out o.csv --json", 0).json["share_found"] is None


def test_records_that_cannot_be_read_are_written_with_the_reason_and_the_others_are_answered(
    files: Path, run: Run
) -> None:
    bad = pd.read_csv("refused.csv", dtype=str, keep_default_na=False)
    bad.loc[1, "cards"], bad.loc[2, "housing"] = "some", "castle"
    bad.to_csv("refused.csv", index=False)
    noted = run(f"{EXPLAIN} --out o.csv").err
    assert all(text in noted for text in ("2 of 6 records cannot be read", "column 'cards', row", "found 'some'"))
    written = pd.read_csv("o.csv")
    assert written["status"].tolist() == ["FOUND", "UNREADABLE", "UNREADABLE", "FOUND", "FOUND", "FOUND"]
    assert written["sentence"][1] == "This record cannot be read; please check cards."
    assert (written["cards"][1], written["housing"][2]) == ("some", "castle")
    expected, others = direct(), [0, 3, 4, 5]
    shifts = 100 * expected.option_figures["total_shift"]
    np.testing.assert_allclose(written["total_shift"][others], shifts[others], atol=6e-4)
    run(f"{EXPLAIN} --out o.json")
    read = Counterfactuals.from_json((files / "o.json").read_text())
    assert digest(read, (0, 3, 4, 5)) == digest(expected, (0, 3, 4, 5))
    assert list(read.unreadable) == [1, 2]
    evaluated = "evaluate o.csv --people refused.csv --schema schema.toml --target granted --json"
    run(f"{evaluated} --model mine:classifier --train train.csv")
    assert "found 'some'" in run(f"{EXPLAIN} --errors raise --out o.csv", 1).err


def test_explain_reports_as_json_and_leaves_standard_output_to_it(files: Path, run: Run) -> None:
    pd.read_csv("refused.csv").assign(extra=1).to_csv("more.csv", index=False)
    ended = run(f"{EXPLAIN.replace('refused.csv', 'more.csv')} --out o.csv --json")
    assert ended.json["found"] == ended.json["people"] == 6
    assert ended.json["status"] == {"FOUND": 6}
    assert "columns that are not in the schema are ignored" in ended.noted
    assert "extra" in ended.err


def test_inspect_says_in_its_first_line_whether_it_holds_rows(files: Path, run: Run) -> None:
    assert run("inspect e.attain").out.startswith("This file holds training rows: real people's records.")
    report = run("inspect e.attain --json").json
    assert next(iter(report)) == "training_rows"
    assert report["parameters"]["budget"] == 3000
    attain.load("e.attain").save("none.attain", reference="none")
    assert run("inspect none.attain").out.startswith("This file holds no training rows")


def test_a_config_of_another_version_is_noted(files: Path, run: Run) -> None:
    run(f"{EXPLAIN} --out o.csv")
    text = (files / "o.csv.config.toml").read_text()
    (files / "old.toml").write_text(text.replace('attain = "', 'attain = "0.0.'))
    assert "other versions are installed" in run("explain --config old.toml").err
    (files / "fit.toml").write_text(text.replace('"explain"', '"fit"', 1))
    run("explain --config fit.toml", 1)


def in_process(line: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COLUMNS": "80", **variables}
    command = [sys.executable, "-m", "attain.cli", *shlex.split(line)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=True)


def test_in_a_pipe_there_is_no_progress_and_nothing_on_standard_error(files: Path) -> None:
    assert in_process(f"{EXPLAIN} --out o.csv").stderr == ""


def test_a_terminal_without_unicode_gets_ascii(files: Path) -> None:
    done = in_process("schema show schema.toml", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert done.stdout.isascii()
    assert "-inf ... inf" in done.stdout


SHOWN = [f"{name} --help" for name in ("", "schema infer", "schema show", "schema check", "laws", "fit", "explain")]
SHOWN += ["inspect --help", "schema infer train.csv --drop who", "schema check schema.toml train.csv"]
SHOWN += ["schema show schema.toml", "inspect e.attain", f"{EXPLAIN} --out o.csv"]


@pytest.mark.parametrize("columns", [80, 50])
@pytest.mark.parametrize("line", SHOWN)
def test_everything_fits_the_terminal(
    line: str, columns: int, files: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert max(map(len, run(line).out.splitlines())) <= columns


def test_an_interrupted_run_writes_what_is_done_and_ends_with_130(files: Path) -> None:
    (files / "slow.py").write_text(
        "import time\nfrom mine import classifier\n\n\ndef decide(frame):\n"
        "    if len(frame) not in (150, 6):\n        print('asked', flush=True)\n        time.sleep(9999)\n"
        "    return classifier.predict(frame)\n"
    )
    command = [sys.executable, "-m", "attain.cli", *shlex.split(EXPLAIN.replace("mine:classifier", "slow:decide"))]
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


def test_a_report_is_the_librarys(files: Path, run: Run) -> None:
    run(f"{EXPLAIN} --out o.json")
    said = run("report o.json --out r.html --title 'Refused <today>'").out
    assert said == "6 of 6 people have an answer. Written: r.html\n"
    text = (files / "r.html").read_text(encoding="utf-8")
    assert "<h1>Refused &lt;today&gt;</h1>" in text
    write_report(Counterfactuals.from_json((files / "o.json").read_text()), "s.html", "Refused <today>")
    assert (files / "s.html").read_text(encoding="utf-8") == text
