"""Finding laws in a matrix: what holds on one half of the rows and on the other, and would not by chance.

Laws are denial constraints over single rows (Chu, Ilyas and Papotti 2013, Discovering Denial Constraints) that may have
exceptions (Livshits et al. 2020, Approximate Denial Constraints; Xiao et al. 2022, FastADC). These methods look for all
constraints that hold in the rows at hand; here, most of those would be flukes, so that what is looked for is limited to
kinds that people can read, and each finding is tested on rows that it was not found on.

Statistics alone: what is found is said in the language of rules by `attain.schema.laws`.
"""
