"""German credit against UCI's file with its original codes."""

from pathlib import Path

import pandas as pd
import pytest

from attain.datasets import load_german

# UCI's codes in the order of german.data, and what we call them.
CODES = {
    "checking_account": {"A11": "below 0 DM", "A12": "0 to 200 DM", "A13": "200 DM or more", "A14": "no account"},
    "credit_history": {
        "A30": "no credits or all paid back",
        "A31": "all credits at this bank paid back",
        "A32": "existing credits paid back until now",
        "A33": "delays in the past",
        "A34": "critical account or credits elsewhere",
    },
    "purpose": {
        "A40": "new car",
        "A41": "used car",
        "A42": "furniture or equipment",
        "A43": "radio or television",
        "A44": "domestic appliances",
        "A45": "repairs",
        "A46": "education",
        "A48": "retraining",
        "A49": "business",
        "A410": "other",
    },
    "savings": {
        "A61": "below 100 DM",
        "A62": "100 to 500 DM",
        "A63": "500 to 1000 DM",
        "A64": "1000 DM or more",
        "A65": "unknown or none",
    },
    "employment_since": {
        "A71": "unemployed",
        "A72": "under 1 year",
        "A73": "1 to 4 years",
        "A74": "4 to 7 years",
        "A75": "7 years or more",
    },
    "personal_status_sex": {
        "A91": "male divorced or separated",
        "A92": "female divorced, separated or married",
        "A93": "male single",
        "A94": "male married or widowed",
    },
    "other_debtors": {"A101": "nobody", "A102": "co-applicant", "A103": "guarantor"},
    "property": {
        "A121": "real estate",
        "A122": "building society savings or life insurance",
        "A123": "car or other",
        "A124": "unknown or none",
    },
    "other_plans": {"A141": "at a bank", "A142": "at stores", "A143": "no other plan"},
    "housing": {"A151": "rents", "A152": "owns", "A153": "lives for free"},
    "job": {
        "A171": "unemployed or unskilled, not resident",
        "A172": "unskilled, resident",
        "A173": "skilled",
        "A174": "management, self-employed or highly qualified",
    },
    "telephone": {"A191": "no", "A192": "yes"},
    "foreign_worker": {"A201": "yes", "A202": "no"},
    "credit_risk": {1: "good", 2: "bad"},
}


def test_german_agrees_with_the_original_codes(data_folder: Path) -> None:
    file = data_folder / "german" / "german_codes.csv"
    if not file.is_file():
        pytest.skip("the original codes of German credit are not here")
    german = load_german()
    original = pd.read_csv(file, keep_default_na=False)
    ours = german.X.assign(credit_risk=german.y)
    assert len(original.columns) == len(ours.columns)
    for column, name in zip(original.columns, ours.columns, strict=True):
        expected = original[column].map(CODES[name]) if name in CODES else original[column]
        assert expected.tolist() == ours[name].tolist(), name
