"""Letters to the people concerned: the decision, the reasons, and options whose printed values hold."""

from attain.letters.content import Change, Content, Option, Reason
from attain.letters.letter import Letter, save, save_each, save_templates, write
from attain.letters.texts import texts_template

__all__ = [
    "Change",
    "Content",
    "Letter",
    "Option",
    "Reason",
    "save",
    "save_each",
    "save_templates",
    "texts_template",
    "write",
]
