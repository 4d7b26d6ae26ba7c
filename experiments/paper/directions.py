"""Which way the free features of GMSC and HELOC may move in the paper's runs of HCLS."""

from __future__ import annotations

from typing import Final

from attain.schema import Direction

GMSC_DIRECTIONS: Final[dict[str, Direction]] = {
    "RevolvingUtilizationOfUnsecuredLines": "decrease",
    "NumberOfTime30-59DaysPastDueNotWorse": "decrease",
    "DebtRatio": "decrease",
    "MonthlyIncome": "increase",
    "NumberOfOpenCreditLinesAndLoans": "decrease",
    "NumberRealEstateLoansOrLines": "decrease",
    "NumberOfTime60-89DaysPastDueNotWorse": "decrease",
}
"""The way each feature may move in the paper's runs of HCLS.

There `NumberOfTimes90DaysLate` changes indirectly; here it moves either way. Its runs of AR use the direction of
`DebtRatio` only; the other methods use none, and so neither does the schema.
"""

HELOC_DIRECTIONS: Final[dict[str, Direction]] = {
    "NumSatisfactoryTrades": "increase",
    "NumTrades60Ever2DerogPubRec": "decrease",
    "PercentTradesNeverDelq": "increase",
    "MaxDelq2PublicRecLast12M": "increase",
    "MaxDelqEver": "increase",
    "NumTotalTrades": "decrease",
    "NumTradesOpeninLast12M": "decrease",
    "PercentInstallTrades": "increase",
    "MSinceMostRecentInqexcl7days": "increase",
    "NumInqLast6M": "decrease",
    "NumInqLast6Mexcl7days": "decrease",
    "NetFractionRevolvingBurden": "decrease",
    "NumRevolvingTradesWBalance": "increase",
    "NumInstallTradesWBalance": "increase",
    "NumBank2NatlTradesWHighUtilization": "decrease",
    "PercentTradesWBalance": "increase",
}
"""The way each feature may move in the paper's runs of HCLS.

There `NumTrades90Ever2DerogPubRec` changes indirectly; here it moves either way. Corrected: more trades never
delinquent, more months since the last inquiry and a higher delinquency code (which is the milder one) are better, and
the feature that the table lists twice with opposite arrows, `NumBank2NatlTradesWHighUtilization`, goes down. The other
methods use no directions, and so neither does the schema.
"""
