"""Tamper-evident logs of explanations: one JSON line per person, chained by hashes.

    log = attain.audit.AuditLog("explanations.jsonl", key=attain.audit.read_key("audit.key"))
    log.append(result)

`verify` finds lines that were altered, deleted, inserted or moved. `regenerate` explains a person again and compares.
"""

from attain.audit.keys import KEY_VARIABLE, new_key, read_key
from attain.audit.lines import FORMAT
from attain.audit.log import AuditLog
from attain.audit.regeneration import Difference, Regeneration, regenerate
from attain.audit.verification import Problem, Verification, read_lines, verify

__all__ = [
    "FORMAT",
    "KEY_VARIABLE",
    "AuditLog",
    "Difference",
    "Problem",
    "Regeneration",
    "Verification",
    "new_key",
    "read_key",
    "read_lines",
    "regenerate",
    "verify",
]
