"""Research beside the package: certificates, tests of answers against real rows, and the capacity card."""
