"""Misuse is a sentence and an exit code, and leaves no file behind."""

from pathlib import Path

import pytest

from tests.cli.conftest import Run

ASKED = "explain e.attain refused.csv --index who --model mine:classifier"
REVIEW = "review schema.toml train.csv --index who --label decision --model mine:classifier --target granted"
FIT = "fit train.csv --schema schema.toml --out x"
MISUSED = [
    # commands and flags
    (2, "unknown", "No such command 'unknown'."),
    (2, "explian --n 2", "No such command 'explian'. Did you mean 'explain'?"),
    (2, "schema chek", "No such command 'chek'. Did you mean 'check'?"),
    (2, "", "Usage: attain [OPTIONS] COMMAND"),
    (2, "schema", "Usage: attain schema [OPTIONS] COMMAND"),
    (2, "explain --range r.csv", "No such option '--range'. (Did you mean one of: '--changes', '--ranges',"),
    (2, "explain e p --taget=good", "No such option '--taget'. (Did you mean one of: '--ranges',"),
    (2, "audit verify log --keys k", "No such option '--keys'. Did you mean '--key'?"),
    (2, "fit train.csv --zebra", "No such option '--zebra'."),
    (2, "explain e.attain refused.csv", "--model"),
    (1, "demo --people 0", "Invalid value for '--people': 0 is not in the range x>=1"),
    (1, "compare --demo --seed -1", "Invalid value for '--seed': -1 is not in the range x>=0"),
    # schemas and fitting
    (1, "schema infer train.csv --drop none", "--drop: the file has no column 'none'"),
    (1, "schema infer train.csv --drop decison", "did you mean 'decision'?"),
    (1, f"{FIT} --method magic", "--method must be one of"),
    (1, f"{FIT} --method guardd", "got 'guardd'; did you mean 'Guarded'?"),
    (1, f"{FIT} --method face --set size=1", "FACE has no such parameter"),
    (1, f"{FIT} --method cchvae --set autoencoder.k=1", "--set k: CHVAE has no such parameter; it has"),
    (1, f"{FIT} --set random_state=1", "use --seed"),
    (1, "fit train.csv --schema no.toml --out x", "there is no file 'no.toml'; `attain schema infer`"),
    (1, f"{FIT} --method face --reference none", "searches among its training rows"),
    (1, "inspect train.csv", "is refused: it was not written by `save` or `attain fit`"),
    # reviewing
    (2, "review schema.toml train.csv --model mine:classifier --target granted", "--by"),
    (1, f"{REVIEW.replace('schema.toml', 'no.toml')} --by Ada", "there is no file 'no.toml'; `attain schema infer`"),
    (1, f"{REVIEW} --by ' '", "--by must be the name of the person who decides"),
    (1, f"{REVIEW} --by Ada --target no", "is not among the model's classes: 'granted', 'refused'"),
    # explaining
    (1, ASKED.replace("e.attain", "no.attain") + " --target granted --out o.csv", "there is no file 'no.attain'"),
    (1, ASKED.replace("refused.csv", "no.csv") + " --target granted --out o.csv", "there is no file 'no.csv'"),
    (1, f"{ASKED} --target granted --out none/o.csv", "does not exist"),
    (1, f"{ASKED} --target granted --out o.ods", "has an unknown file extension"),
    (1, f"{ASKED} --target granted --out o.csv --constraints c.toml", "--constraints: there is no file 'c.toml'"),
    (1, f"{ASKED} --target maybe --out o.csv", "is not among the model's classes: 'granted', 'refused'"),
    (1, f"{ASKED} --target granted --out o.csv --timeout 0", "timeout must be a number > 0, got 0.0"),
    (
        1,
        f"{ASKED} --target granted --out o.csv --class-names 'paid out'",
        "--class-names must be a name for each class, 'granted', 'refused', in this order; got 'paid out'",
    ),
    (
        1,
        f"{ASKED} --target granted --out o.csv --importance",
        "'o.csv' has one row for each option; write OUT as .json or",
    ),
    (1, "explain --config no.toml", "--config: there is no file 'no.toml'"),
    (1, "explain --config schema.toml", "was not written by attain"),
    # results
    (1, "report o.csv --out r.html", "'o.csv' is not a whole result, which is a .json file"),
    (1, "report o.json --out r.pdf", "'r.pdf' must end with .html or .htm"),
    (1, "report o.json --out r.html", "there is no file 'o.json'"),
    (1, "letter", "name a RESULT"),
    (1, "letter refused.csv", "'refused.csv' is not a whole result, which is a .json file; `attain explain --out"),
    (1, "compare", "TRAIN, PEOPLE, --model, --target must be given; --demo needs no files"),
    (1, "compare --demo --methods ,", "--methods must name at least one method"),
    (1, "compare train.csv refused.csv --demo", "--demo brings its own data"),
    (1, "compare --demo --methods oracle", "got 'oracle'"),
]


@pytest.mark.parametrize(("code", "line", "message"), MISUSED, ids=[line for _, line, _ in MISUSED])
def test_misuse_is_a_sentence(code: int, line: str, message: str, files: Path, run: Run) -> None:
    before = set(files.iterdir())
    assert message in run(line, code).noted
    assert set(files.iterdir()) == before
