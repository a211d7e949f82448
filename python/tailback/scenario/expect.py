"""What a file expects of the results: `expect: {"ping p99": "< 20ms", jain: "> 0.9"}`.

Only the form is read here, because the reader of experiment files does not import the analysis; `sweep.expectations`
reads the names of the metrics and judges the results.
"""

from __future__ import annotations

import re

from tailback.tc.errors import WordError
from tailback.tc.units import shown

HINT = 'write `<` or `>`, and a value: "< 20ms", "> 0.9", ">= 95% of best"'

PATTERN = r"^\s*(<=|>=|[<>≤≥])\s*[0-9]+(\.[0-9]+)?\s*[a-zA-Zµ%]*(\s+of\s+(the\s+)?best)?\s*$"


def condition(word: object) -> str:
    """Reads the condition on one metric."""
    if not isinstance(word, str) or re.fullmatch(PATTERN, word) is None:
        raise WordError(f"`{shown(word)}` is not a condition", HINT)
    return " ".join(word.split())
