"""All commands: their options, their help, and the functions that do the work."""

import click
from click import IntRange

from attain import methods
from attain.cli import options
from attain.cli.layer import Group
from attain.cli.options import argument, choice, option, switch

METHODS = [name for name in methods.__all__ if name != "Explainer"]
DEFAULT_METHOD, COMPARED = "Guarded", "guarded,nearest-unlike,growing-spheres"


commands = Group(
    "attain",
    """Faithful counterfactuals for tabular data: what would have to change to flip a decision.

Exit codes:
  0    done
  1    wrong input; the message says what is
       wrong and how to fix it
  2    unknown command, unknown or missing flag
  3    done and written, but nobody who needed
       an answer has one
  4    `audit`: the log was altered, or the
       explanation was not reproduced
  130  interrupted by Ctrl-C; `explain` writes
       the answers found until then
  143  the same, by SIGTERM""",
)
click.version_option(package_name="attain", message="%(prog)s %(version)s")(commands)
schema = Group("schema", "Guess the schema of a file, show a schema, or check a file against it.")
audit = Group(
    "audit",
    "Verify logs of explanations, and repeat what they record. `attain explain --audit LOG` appends one line per "
    "person. Lines are signed with a key, which is read from a file, or from the environment variable "
    "ATTAIN_AUDIT_KEY; `attain audit key` creates one.",
)
commands.add_command(schema)


@schema.declare(
    "attain.cli.schema:infer",
    options.DATA,
    option("--immutable", "A,B", "Columns that never change.", multiple=True),
    option("--drop", "A,B", "Columns to drop.", multiple=True),
    option("--out", "S.toml", "The file to write the schema to."),
    switch("--force", "Replace an existing schema."),
    switch("--no-laws", "Do not look for laws."),
    *options.READING,
    options.JSON,
)
def infer() -> None:
    """Guess the schema of a table, with its laws, and ask what is to be decided. Print it, and write it as TOML to be
    reviewed and edited. Drop columns that are not features, such as the label.

    Example:
      attain schema infer credit.csv --drop label \\
        --immutable age,sex --out schema.toml
    """


@schema.declare("attain.cli.schema:show", argument("S.toml", "schema", "A schema."), options.JSON)
def show() -> None:
    """Read a schema and print it as a table.

    Example:
      attain schema show schema.toml
    """


@schema.declare(
    "attain.cli.schema:check", argument("S.toml", "schema", "A schema."), options.DATA, *options.READING, options.JSON
)
def check() -> None:
    """Check a table against a schema: cells that do not fit, rules and laws that people break, what is to be decided.

    Example:
      attain schema check schema.toml credit.csv
    """


@commands.declare(
    "attain.cli.schema:laws",
    options.DATA,
    option("--schema", "S.toml", "What the columns are; a guess by default."),
    option("--drop", "A,B", "Columns to drop, such as the label.", multiple=True),
    option("--exceptions", "SHARE", "The largest share of people who may break a law.", type=float, default=0.003),
    *options.READING,
    options.JSON,
)
def laws() -> None:
    """Find laws in a table, which hold for everybody or all but a few, and columns that are computed from others.

    Example:
      attain laws credit.csv --drop label
    """


@commands.declare(
    "attain.cli.schema:review",
    argument("S.toml", "schema", "The schema; decisions are written into it."),
    argument("DATA", "data", "A CSV or Parquet file of people like those to be explained."),
    *options.MODEL,
    *options.target_options(required=True),
    option("--by", "NAME", "Who decides; written beside each decision.", required=True),
    options.PROBABILITY,
    options.LABEL,
    option("--people", "PEOPLE", "People whose answers are looked at; by default 40 refused ones of DATA."),
    options.SEED,
    options.LEVELS,
    *options.READING,
)
def review() -> None:
    """Decide what may happen to columns, one question at a time: first those that most answers depend on.

    Each question has what the data say, an example, and the choices. After each decision the answers are found again,
    until all of them rest on decisions. S.toml has every decision at once, with who took it and when: stopped at any
    moment, the same command goes on from there. Comments in the file are not kept.

    Example:
      attain schema infer train.csv --drop label \\
        --out schema.toml
      attain review schema.toml train.csv \\
        --label label --model model.onnx \\
        --target good --by "Ada Lovelace"
    """


@commands.declare(
    "attain.cli.fit:fit",
    argument("DATA", "data", "A CSV or Parquet file of people like those to be explained."),
    option("--schema", "S.toml", "The schema of the columns.", required=True),
    option("--out", "E.attain", "Output file.", required=True),
    options.LABEL,
    option("--calibration", "DATA", "People whom the model was not trained on: what is typical rests on them."),
    option("--method", "NAME", f"The method: {', '.join(METHODS)}.", default=DEFAULT_METHOD),
    option("--set", "KEY=VALUE", "A parameter of the method, named as in Python; repeatable.", multiple=True),
    choice("--reference", "Keep training rows, or only each column's distribution.", "rows", "none"),
    options.LEVELS,
    options.SEED,
    *options.READING,
    options.CONFIG,
    options.JSON,
)
def fit() -> None:
    """Fit an explainer on a table and save it in one file.

    The file contains training rows unless you pass --reference none: protect it like the data. The .config.toml beside
    it has all arguments.

    Examples:
      attain fit credit.csv --schema schema.toml \\
        --label label --out credit.attain
      attain fit credit.csv --schema schema.toml \\
        --out credit.attain \\
        --method cchvae --set autoencoder.epochs=50
    """


@commands.declare(
    "attain.cli.explain:explain",
    options.EXPLAINER,
    argument("PEOPLE", "people", "A CSV or Parquet file with one row per person; for many, a folder of Parquet."),
    *options.MODEL,
    *options.target_options(required=True),
    option("--out", "OUT", "Output file: .csv, .xlsx, .parquet, .json; or a folder.", required=True),
    switch("--labels", "Call features by their labels and units in OUT."),
    option("--changes", "FILE", "Also write one row per changed cell: .csv or .parquet."),
    switch("--ranges", "Say in which range each change may lie."),
    switch("--importance", "Find how much each change matters, and for what, into a .json or .xlsx OUT."),
    switch("--contributions", "Find why each decision was made, into a .json or .xlsx OUT."),
    switch("--allow-unreviewed", "Allow letters about changes of features that nobody has reviewed."),
    option("--n", "N", "Number of options for each person.", type=IntRange(1), default=1),
    options.PROBABILITY,
    options.CONSTRAINTS,
    option("--timeout", "S", "The most seconds for each person, or none.", type=options.seconds, default="60"),
    choice("--errors", "Note records that cannot be read in OUT, as UNREADABLE, or stop.", "status", "raise"),
    option("--workers", "N", "Into a folder: number of processes; one for each core by default.", type=IntRange(1)),
    option("--people-per-file", "N", "Into a folder: people in each file.", type=IntRange(1), default=2000),
    option("--audit", "LOG", "Also append a line per person to this log."),
    option("--audit-key", "FILE", "The key; by default that in the environment variable ATTAIN_AUDIT_KEY."),
    choice("--audit-inputs", "Store people's records as HMACs, or in plain text.", "hmac", "plain"),
    *options.READING,
    options.CONFIG,
    options.JSON,
)
def explain() -> None:
    """Find what people could change so that a model decides differently.

    Models:
      .onnx          ONNX
      .json, .ubj    XGBoost
      .txt, .lgb     LightGBM
      .skops         skops; --trust unknown types
      module:object  imports the module, so its code
                     runs; this folder comes first
      .pkl, .joblib  a pickle; needs --trust-pickle

    OUT has one row for each option: the person, the number of the option, the status, a sentence that says what to
    change, the features, the figures. A person without an answer has one row with their own record, and the sentence
    says why. If OUT ends with .json, it has the whole result; with .xlsx, all its tables, one sheet each.

    If OUT is a folder, such as answers/, any number of people are answered in constant memory, on all cores, into
    Parquet files in it. Stopped at any moment, the same command goes on from there.

    Example:
      attain explain credit.attain refused.csv \\
        --model model.onnx --target good --n 3 \\
        --out answers.csv --changes changes.csv
    """


@commands.declare(
    "attain.cli.desk:serve",
    argument("[E.attain]", "explainer", "A file written by `attain fit` or `save`."),
    *options.OPTIONAL_MODEL,
    *options.target_options(required=False),
    option("--people", "FILE", "A CSV or Parquet file with the people who can be picked."),
    option("--texts", "FILE", "Texts of letters, as TOML; see `attain letter`."),
    option("--title", "TEXT", "The heading of the page."),
    switch("--demo", "Show it on German credit; needs no files."),
    option("--port", "N", "Port; 0 is a free one.", type=IntRange(0, 65535), default=8765),
    option("--host", "ADDRESS", "Address to listen on.", default="127.0.0.1"),
    option("--allow-host", "NAME", "Answer under this name, too; repeatable.", multiple=True),
    switch("--no-open", "Do not open a browser."),
    *options.READING,
)
def serve() -> None:
    """Open a page for exploring what would change a decision, with a JSON API on the same port.

    The service listens on this machine only, unless --host says otherwise, and asks for a token, which the address to
    open has. It keeps no files.

    Examples:
      attain serve --demo
      attain serve credit.attain --model m.onnx \\
        --target good --people people.csv \\
        --index id --texts reasons.toml
    """


@commands.declare(
    "attain.cli.desk:letter",
    argument("[RESULT]", "result", "A result of `attain explain` (.json)."),
    option("--explainer", "E.attain", "The explainer that the answers were found with."),
    *options.OPTIONAL_MODEL,
    option("--texts", "FILE", "Texts of reasons, names of inputs and levels, as TOML."),
    option("--out", "FILE", "Output file: .html or .txt."),
    switch("--separate", "Write a file for each person: FILE-PERSON.html."),
    option("--language", "en|de", "Language of the letters.", default="en"),
    option("--person", "NAME", "Write to this person only, not to everybody; repeatable.", multiple=True),
    option("--reasons", "N", "The most reasons.", type=int, default=4),
    option("--options", "N", "The most options.", type=int, default=3),
    option("--sender", "LINE", "A line of the sender; repeatable.", multiple=True),
    option("--date", "TEXT", "The date, as it should be printed.", default=""),
    option("--reference", "TEXT", "Reference; {person} is the name.", default="{person}"),
    option("--template", "FILE", "Your own words instead of the built-in template."),
    option("--page", "FILE", "Your own page of HTML around the letters."),
    option("--texts-template", "FILE", "Write a table of texts to fill in, and stop."),
    option("--write-templates", "FOLDER", "Write the built-in templates, and stop."),
    options.JSON,
)
def letter() -> None:
    """Write letters: the decision, the reasons, and what would lead to another one.

    RESULT is the .json file that `attain explain --contributions` wrote; with --ranges, letters say which other values
    would do. The texts of reasons are yours: start with --texts-template.

    Examples:
      attain letter answers.json \\
        --texts-template reasons.toml
      attain letter answers.json \\
        --texts reasons.toml \\
        --explainer credit.attain --model m.onnx \\
        --language de --person 17 --out letter.html
      attain letter --write-templates templates
    """


@commands.declare(
    "attain.cli.desk:report",
    argument("RESULT.json", "result", "A result that `attain explain` wrote as JSON."),
    option("--out", "FILE", "Output file: .html.", required=True),
    option("--title", "TEXT", "The heading of the report."),
)
def report() -> None:
    """Write a result as one HTML file that opens without a network and prints well.

    FILE has outcomes, quality figures with intervals, what changes, each person's options, rules and laws, settings
    and versions. It contains values of people's records: protect it like the data.

    Example:
      attain explain credit.attain refused.csv \\
        --model model.onnx --target good \\
        --out answers.json
      attain report answers.json --out report.html
    """


@commands.declare(
    "attain.cli.evaluate:evaluate",
    argument("RESULT", "result", "A result of `attain explain` (.json, or a folder), or a table of answers."),
    *options.MODEL,
    option("--train", "DATA", "The training data, CSV or Parquet.", required=True),
    options.LABEL,
    options.TEST,
    option("--people", "PEOPLE", "The explained people, for a folder or a table."),
    option("--schema", "S.toml", "The schema, for a folder or a table."),
    option("--target", "T", "The desired class, for a table."),
    option("--probability", "P", "The requested probability, for a table.", type=float),
    option("--against", "OTHER", "Another result for the same people; repeatable.", multiple=True),
    option("--groups", "COLUMN", "Compare groups of people by this column."),
    switch("--inexact", "Measure validity after inexact execution."),
    option("--constraints", "C.toml", "The constraints of the call, checked like rules."),
    option("--out", "FILE", "Output file: one row per person (.csv, .parquet), or everything (.json)."),
    options.SEED,
    options.LEVELS,
    *options.READING,
    options.JSON,
)
def evaluate() -> None:
    """Measure validity, difficulty and faithfulness of a result, and compare it with others.

    RESULT is the .json file that `attain explain` wrote, or a table of answers by any other method; then --people,
    --schema and --target are needed.

    If RESULT is a folder that `attain explain` wrote, with --people and --schema, it is read slice after slice. What
    compares people with one another needs a file: --against and --groups.

    Example:
      attain evaluate answers.json --model m.onnx \\
        --train train.csv --label label \\
        --against other.json --groups sex
    """


@commands.declare(
    "attain.cli.evaluate:compare",
    *options.COMPARISON,
    option("--methods", "A,B", "Methods, separated by commas.", default=COMPARED),
)
def compare() -> None:
    """Compare methods side by side on your own data and model: validity, difficulty, faithfulness, speed.

    OUT gets comparison.csv, trade-off.png and .svg, and index.html, which shows both. A method that cannot take the
    model is listed with the reason.

    Examples:
      attain compare --demo
      attain compare train.csv people.csv \\
        --model model.onnx --label y --target good \\
        --methods guarded,growing-spheres --out OUT
    """


commands.add_command(audit)
LOG = argument("LOG", "log", "A log written by `attain explain --audit`.")
KEY = option("--key", "FILE", "The key; by default that in the environment variable ATTAIN_AUDIT_KEY.")


@audit.declare(
    "attain.cli.desk:verify_log",
    LOG,
    option("--expect", "HEAD", "A head that was stored elsewhere, NUMBER:HASH."),
    KEY,
    options.JSON,
)
def verify() -> None:
    """Find lines that were altered, deleted, inserted or moved.

    A truncated log is found by its head, the number and hash of its last line: that in LOG.head, or that given with
    --expect. The command prints the head; store it elsewhere.

    Example:
      attain audit verify log.jsonl \\
        --key audit.key --expect 120:9f2c...
    """


@audit.declare("attain.cli.desk:list_lines", LOG, options.JSON)
def list() -> None:
    """List the lines of a log.

    Example:
      attain audit list log.jsonl
    """


@audit.declare(
    "attain.cli.desk:repeat",
    argument("ID", "id", "The id of a line, or its first digits."),
    option("--log", "LOG", "The log.", required=True),
    KEY,
    option("--explainer", "E.attain", "A file written by `attain fit`.", required=True),
    *options.MODEL,
    option("--people", "PEOPLE", "A table with the person's record.", required=True),
    *options.READING,
    options.JSON,
)
def regenerate() -> None:
    """Repeat an explanation, and compare it with the log.

    The row of the person in PEOPLE is found by its content.

    Example:
      attain audit regenerate 9f2c41d07ab3c5e8 \\
        --log log.jsonl --key audit.key \\
        --explainer credit.attain --model m.onnx \\
        --people refused.csv
    """


@audit.declare("attain.cli.desk:create_key", argument("FILE", "out", "The file to create, readable by you only."))
def key() -> None:
    """Create a key.

    Example:
      attain audit key audit.key
      attain explain credit.attain refused.csv \\
        --model model.onnx --target good \\
        --out answers.csv \\
        --audit log.jsonl --audit-key audit.key
    """


@commands.declare("attain.cli.fit:inspect", options.EXPLAINER, options.JSON)
def inspect() -> None:
    """Describe a saved explainer. The first line says whether it contains training rows.

    Example:
      attain inspect credit.attain
    """


@commands.declare(
    "attain.cli.demo:demo",
    option("--people", "N", "How many refused people to explain.", type=IntRange(1), default=20),
    option("--seed", "N", "Seed of the split, the model and the search.", type=IntRange(0), default=0),
    option("--out", "FILE", "Output file.", default="attain-demo.csv"),
)
def demo() -> None:
    """Explain refused loan applications of the embedded German credit data.

    Example:
      attain demo --people 50 --seed 1
    """
