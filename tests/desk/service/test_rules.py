"""Rules in words, in both languages."""

import pytest

from attain import Feature, Schema
from attain.desk.letters.texts import LANGUAGES, Texts
from attain.desk.service.rules import rule_sentence

SCHEMA = Schema(
    (
        Feature("housing", "categorical", levels=("rents", "owns", "free")),
        Feature("mortgage", "positive", unit="€"),
        Feature("income", "positive", label="monthly income", unit="€"),
        Feature("grade", "ordinal", levels=("low", "mid", "high")),
        Feature("age", "count", special={-9.0: "not asked"}),
        Feature("ratio", "real"),
        Feature("phone", "categorical", levels=(False, True)),
    )
)
TEXTS = {
    "inputs": {
        "housing": {"de": {"label": "Wohnung", "levels": {"rents": "zur Miete"}}},
        "income": {"de": {"label": "Einkommen im Monat"}},
        "grade": {"de": {"label": "Note"}},
    }
}


@pytest.mark.parametrize(
    ("rule", "english", "german"),
    [
        (
            "if housing = rents then mortgage = 0",
            "If housing = “rents”, then mortgage = €0.",
            "Wenn Wohnung = „zur Miete“, dann mortgage = 0 €.",
        ),
        (
            "mortgage + 2 * income <= 1000000.5",
            "Mortgage + (2 × monthly income) ≤ 1,000,000.5.",
            "Mortgage + (2 × Einkommen im Monat) ≤ 1.000.000,5.",
        ),
        ("phone = true", "Phone = “yes”.", "Phone = „ja“."),
        ("grade >= mid", "Grade ≥ “mid”.", "Note ≥ „mid“."),
        ("housing in (rents, free)", "Housing = “rents” or “free”.", "Wohnung = „zur Miete“ oder „free“."),
        ("not housing in (owns)", "Housing ≠ “owns”.", "Wohnung ≠ „owns“."),
        ("income is not missing", "Monthly income is known.", "Einkommen im Monat ist bekannt."),
        ("income is missing", "Monthly income is missing.", "Einkommen im Monat fehlt."),
        ("age = -9", "Age = not asked.", "Age = not asked."),
        ("18 <= age <= 65", "18 ≤ age and age ≤ 65.", "18 ≤ age und age ≤ 65."),
        (
            "(age < 30 or grade = high) and mortgage >= 0",
            "(age < 30 or grade = “high”) and mortgage ≥ €0.",
            "(age < 30 oder Note = „high“) und mortgage ≥ 0 €.",
        ),
        ("not (age < 30 and grade = low)", "Not: age < 30 and grade = “low”.", "Nicht: age < 30 und Note = „low“."),
        (
            "abs(ratio - mortgage / income) <= 0.01",
            "Ratio = mortgage ÷ monthly income ± 0.01.",
            "Ratio = mortgage ÷ Einkommen im Monat ± 0,01.",
        ),
        ("min(age, ratio) <= sqrt(income)", "Min(age, ratio) ≤ sqrt(monthly income).", None),
        ("-ratio <= table(grade, {low: 1, mid: 2})", "−ratio ≤ grade by a table.", "−ratio ≤ Note laut Tabelle."),
    ],
)
def test_rules_are_said(rule: str, english: str, german: str | None) -> None:
    formula = SCHEMA.rule(rule).formula
    for code, expected in (("en", english), ("de", german)):
        if expected is not None:
            assert rule_sentence(formula, SCHEMA, Texts.read(TEXTS, LANGUAGES[code], SCHEMA)) == expected
