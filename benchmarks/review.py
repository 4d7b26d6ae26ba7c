"""How many questions a review asks: `python -m benchmarks.review`.

Seven tables with inferred schemas, two classifiers, 40 people of the third that was held out whom the model refuses. A
scripted reviewer answers what is asked, as a person who knows the table would: `REVIEWERS` has the decision on each
column, revised once when the examples had been read; how questions are put together was chosen by these tables, but for
the cards. Of a question about several columns, those with the decision that most of them have
are decided (“past” and “not at all” are one), and the others are asked about again. `questions`: how many were answered
until every answer rested on reviewed columns; aimed at eight. Then the share of answers, in percent, that change what
nobody has reviewed: before the first question, and after each.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial

from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from attain import Guarded, Review, Schema
from attain.datasets import Dataset, load_german
from attain.review import OpenQuestion
from benchmarks import report
from benchmarks.tasks import breast_cancer, read_table
from experiments.data import load_adult, load_compas, load_gmsc, load_heloc

PEOPLE, ROWS = 40, 20_000
TABLES = {
    "German": load_german,
    "HELOC": load_heloc,
    "GMSC": load_gmsc,
    "Adult": load_adult,
    "COMPAS": load_compas,
    "breast cancer": breast_cancer,
    "cards": partial(read_table, "cards"),
}
REVIEWERS: Mapping[str, Mapping[str, str]] = {
    "German": {
        "c": "duration|credit_amount|other_debtors|property|other_plans|housing|telephone",
        "u": "checking_account|savings|employment_since",
        "p": "credit_history|existing_credits|residence_since",
        "n": "purpose|personal_status_sex|job|dependants|foreign_worker|instalment_rate",
        "y": "age",
    },
    "HELOC": {
        "t": "MSince.*|AverageMInFile",
        "d": "NetFraction.*|NumRevolvingTradesWBalance|NumInstallTradesWBalance|NumBank2.*|PercentTradesWBalance",
        "p": "Num.*|MaxDelq.*|PercentTradesNeverDelq|PercentInstallTrades",
        "n": "ExternalRiskEstimate",
    },
    "GMSC": {
        "d": "RevolvingUtilizationOfUnsecuredLines|DebtRatio|NumberOfOpenCreditLinesAndLoans|NumberReal.*",
        "r": "MonthlyIncome",
        "p": "NumberOfTime.*",
        "n": "NumberOfDependents",
        "y": "age",
    },
    "Adult": {
        "c": "workclass|occupation|hours-per-week",
        "p": "capital-.*",
        "n": "education|marital-status|relationship|race|sex|native-country",
        "y": "age",
    },
    "COMPAS": {"p": "juv_.*|priors_count|c_charge_degree|length_of_stay", "n": "sex|race", "y": "age"},
    "breast cancer": {"n": ".*"},
    "cards": {
        "n": "LIMIT_BAL|SEX|EDUCATION|MARRIAGE|ID",
        "y": "AGE",
        "u": "PAY_AMT.*",
        "d": "BILL_AMT.*",
        "p": "PAY_.*",
    },
}
"""Per table, the columns of which each choice is true: the first pattern that fits a name counts."""
HOLDS = {"order": "o", "missing": "m", "code": "c"}
"""What columns hold: levels that look ordered are, 99999 is a code and not a number, and so are 3, 6 and 7."""
MONTHS = 24
"""How long people can wait."""
HELD = ("n", "p")


def decision(table: str, column: str, keys: tuple[str, ...]) -> str:
    """What the reviewer says of a column; a direction of levels without order is any change."""
    key = next(key for key, names in REVIEWERS[table].items() if re.fullmatch(names, column))
    return key if key in keys else "n" if key == "y" else "c"


def answer(table: str, asked: OpenQuestion, review: Review) -> None:
    """Answers one question: about all columns with the decision that most of them have."""
    if asked.question.topic == "time":
        review.decide(asked.question.id, "m", "a reviewer", months=MONTHS)
        return
    question, key = asked.question, HOLDS.get(asked.question.topic, "k")
    wanted = {part.columns[0]: decision(table, part.columns[0], part.keys) for part in question.parts or (question,)}
    columns = list(question.columns)
    if question.topic == "change":
        key = Counter(wanted.values()).most_common(1)[0][0]
        columns = [name for name in columns if wanted[name] in (HELD if key in HELD else key)]
    elif question.topic == "order":
        key = next(one for one in ("y", wanted[columns[0]], "o") if one in question.keys)
    elif "n" in question.keys and all(decision(table, name, ("n", "p")) in HELD for name in columns):
        key = "n"
    review.decide(question.id, key, "a reviewer", columns=columns, months=MONTHS if key == "r" else None)


def begun(data: Dataset, linear: bool) -> Review:
    """A review of a table whose schema is inferred, by refused people of the part that was held out."""
    X, y = data.X.reset_index(drop=True), data.y.reset_index(drop=True)
    if len(X) > ROWS:
        X, _, y, _ = train_test_split(X, y, train_size=ROWS, random_state=0, stratify=y)
    train, test, y_train, _ = train_test_split(X, y, test_size=1 / 3, random_state=0, stratify=y)
    model = _classifier(linear).fit(train, y_train)
    people = test[model.predict(test) != data.desired].head(PEOPLE)
    return Review(Guarded(Schema.infer(train)), model, people, target=data.desired, train=train, y=y_train)


def reviewed(table: str, data: Dataset, linear: bool) -> tuple[Review, float, float]:
    """A finished review, its share of unreviewed answers before it, and the CPU seconds that a decision took."""
    review = begun(data, linear)
    before, started = review.share_unreviewed, time.process_time()
    while not review.done:
        answer(table, review.questions()[0], review)
    return review, before, (time.process_time() - started) / len(review.frame())


def _classifier(linear: bool) -> object:
    numbers, words = make_column_selector(dtype_include="number"), make_column_selector(dtype_exclude="number")
    if linear:
        scaled = make_pipeline(SimpleImputer(), StandardScaler())
        coded = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
        columns = make_column_transformer((scaled, numbers), (coded, words))
        return make_pipeline(columns, LogisticRegression(max_iter=2000))
    coded = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    columns = make_column_transformer((coded, words), remainder="passthrough")
    return make_pipeline(columns, HistGradientBoostingClassifier(random_state=0))


def _rows() -> Iterator[list[object]]:
    for table, load in TABLES.items():
        for linear in (True, False):
            review, before, seconds = reviewed(table, load(), linear)
            frame = review.frame()
            shares = [before, *frame["unreviewed"]]
            print(frame[["question", "answers", "choice", "found", "unreviewed"]].to_string(), flush=True)
            yield [
                table,
                "logistic regression" if linear else "boosting",
                len(review.schema),
                len(frame),
                " → ".join(report.percent(share, 0) for share in shares),
                f"{int(review.result.found.sum())} of {len(review.result)}",
                f"{seconds:.1f}",
            ]


def main() -> None:
    """Reviews every table with both classifiers, and writes the table."""
    header = ("table", "classifier", "columns", "questions", "not reviewed, %", "have an answer", "CPU s a question")
    report.write(__doc__, report.table(header, list(_rows())))


if __name__ == "__main__":
    main()
