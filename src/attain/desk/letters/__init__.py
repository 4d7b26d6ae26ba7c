"""Letters to the people concerned: the decision, the reasons, and options whose printed values hold."""

from attain.desk.letters.content import Content, LetterChange, LetterOption, Reason
from attain.desk.letters.letter import Letter, save, save_each, save_templates, write
from attain.desk.letters.texts import texts_template

__all__ = [
    "Content",
    "Letter",
    "LetterChange",
    "LetterOption",
    "Reason",
    "save",
    "save_each",
    "save_templates",
    "texts_template",
    "write",
]
