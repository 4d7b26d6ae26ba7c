"""Finding laws in a matrix: what holds on one half of the rows and on the other, and would not by chance.

Statistics alone: what is found is said in the language of rules by `attain.schema.laws`.
"""
