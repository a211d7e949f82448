"""Answers questions about a sweep: the influence of its axes, the trade-off, the best setting under a bound."""

from tailback.advice.documents import front_document, recommendation_document, sensitivity_document
from tailback.advice.questions import (
    ALONE,
    ASKED,
    Front,
    Recommendation,
    Wish,
    WrongQuestion,
    fronts,
    recommend,
    sensitivities,
    wish,
)

__all__ = [
    "ALONE",
    "ASKED",
    "Front",
    "Recommendation",
    "Wish",
    "WrongQuestion",
    "front_document",
    "fronts",
    "recommend",
    "recommendation_document",
    "sensitivities",
    "sensitivity_document",
    "wish",
]
