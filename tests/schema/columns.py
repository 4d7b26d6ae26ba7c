"""Columns that rules are written about."""

from attain.schema import Feature
from attain.schema.formulas import Formula
from attain.schema.language import parse_rule

NUMBERS = ("income", "debt", "savings", "mortgage", "age", "score", "education-num", "days past due", "90days")
FEATURES = (
    *(Feature(name, "real") for name in NUMBERS),
    Feature("owner", "categorical", levels=("no", "yes")),
    Feature("job", "categorical", levels=("clerk", "self employed", "manager", "Adm-clerical")),
    Feature("grade", "ordinal", levels=("low", "mid", "high")),
    Feature("education", "categorical", levels=("HS-grad", "Bachelors")),
    Feature("word", "categorical", levels=("then", "if", "true", "1")),
    Feature("mixed", "categorical", levels=(True, "true", "False", 2, -0.5, "2", "it's")),
    Feature("digits", "categorical", levels=("1", "2")),
)
COLUMNS = {feature.name: feature for feature in FEATURES}


def parsed(text: str) -> Formula:
    return parse_rule(text, COLUMNS)
