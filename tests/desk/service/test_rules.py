"""Rules in words, in both languages."""

import tomllib
from pathlib import Path

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


RULES = tomllib.loads(Path(__file__).with_name("rules.toml").read_text(encoding="utf-8"))["rule"]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["text"])
def test_rules_are_said(rule: dict[str, str]) -> None:
    formula = SCHEMA.rule(rule["text"]).formula
    for code in LANGUAGES.keys() & rule.keys():
        assert rule_sentence(formula, SCHEMA, Texts.read(TEXTS, LANGUAGES[code], SCHEMA)) == rule[code]
