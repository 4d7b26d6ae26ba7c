"""Readability of plain text: Flesch's Reading Ease for English, and Amstad's variant of it for German.

    Flesch (1948):  206.835 − 1.015 · words per sentence − 84.6 · syllables per word
    Amstad (1978):  180 − words per sentence − 58.5 · syllables per word

From 60 English, and from 50 German, reads as plain language. Syllables are counted by vowels. In English a group of
vowels is one syllable, and these are silent: a final e, but not in "table"; the e of a final -es, but not in "boxes",
"changes" or "wishes"; that of a final -ed, but not in "needed". In German each vowel is one, a diphthong too. Words are
runs of letters; a sentence ends with . ! ? or :, with an item of a list, and with a blank line.
"""

import re
from collections.abc import Callable

_GERMAN_PAIRS = ("ie", "ei", "ai", "au", "eu", "äu", "aa", "ee", "oo", "ey", "ay")


def english_syllables(word: str) -> int:
    word = word.lower()
    count = len(re.findall(r"[aeiouy]+", word))
    silent = re.search(r"[^aeiouyl]e$|[aeiouy]le$|[^aeiouylszxcgh]es$|[aeiouy]les$|[^cs]hes$|[^aeiouytd]ed$", word)
    return max(1, count - bool(silent))


def german_syllables(word: str) -> int:
    count, at, word = 0, 0, word.lower()
    while at < len(word):
        if word[at] in "aeiouäöüy":
            count += 1
            at += 2 if word[at : at + 2] in _GERMAN_PAIRS else 1
        else:
            at += 1
    return max(1, count)


def _words(sentence: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", sentence)


def _means(text: str, syllables: Callable[[str], int]) -> tuple[float, float]:
    """Words per sentence, and syllables per word."""
    text = re.sub(r"(?m)^- ", "\n\n", text)
    parts = [_words(part) for part in re.split(r"[.!?:]+(?=\s|$)|\n\s*\n", text)]
    sentences = [words for words in parts if words]
    words = [word for sentence in sentences for word in sentence]
    return len(words) / len(sentences), sum(map(syllables, words)) / len(words)


def flesch(text: str) -> float:
    length, syllables = _means(text, english_syllables)
    return 206.835 - 1.015 * length - 84.6 * syllables


def amstad(text: str) -> float:
    length, syllables = _means(text, german_syllables)
    return 180 - length - 58.5 * syllables
