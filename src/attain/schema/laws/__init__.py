"""Laws: what holds for every real record, or all but a few, and would not by chance.

    laws = attain.laws.find(train)
    print(attain.laws.as_frame(laws))

A law is a rule that was found rather than written: its text is in the language of rules (`Schema.rules`), and it says
how many records it rests on. Explainers keep the laws of their training data (`laws=None` turns them off), and
`Schema.infer` proposes them.
"""

from attain.schema.laws.law import Law

__all__ = ["Law"]
