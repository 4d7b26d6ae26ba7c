"""Tamper-evident logs of explanations: one JSON line per person, chained by hashes.

    log = attain.audit.AuditLog("explanations.jsonl", key=attain.audit.read_key("audit.key"))
    log.append(result)

`verify` finds lines that were altered, deleted, inserted or moved. `regenerate` explains a person again and compares.

A line is canonical JSON: `number` from 1, `time`, `previous` (the hash of the line before, null in the first), `key`
(which key, null without one), what it is about, and then

- `mac`, the HMAC-SHA-256 of all of that, null without a key;
- `hash`, the SHA-256 of all of that, `mac` included;
- `id`, the first 16 digits of `hash`.
"""

from attain.desk.audit.keys import KEY_VARIABLE, Shown, new_key, read_key
from attain.desk.audit.log import AuditLog, LogFault, Verification, read_lines, verify
from attain.desk.audit.regeneration import Difference, Regeneration, regenerate

__all__ = [
    "KEY_VARIABLE", "AuditLog", "Difference", "LogFault", "Regeneration", "Shown", "Verification", "new_key",
    "read_key", "read_lines", "regenerate", "verify",
]  # fmt: skip
