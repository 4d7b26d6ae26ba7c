"""Decisions of people about the columns of a schema: the questions, their evidence, and reviews that ask them."""

from attain.review.question import Choice, Question, questions
from attain.review.review import OpenQuestion, Review

__all__ = ["Choice", "OpenQuestion", "Question", "Review", "questions"]
