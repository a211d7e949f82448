"""The verdict on a difference of a comparison as text."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from tailback.analysis.differences import SIGNIFICANT, fewest
from tailback.analysis.digits import signed
from tailback.analysis.news import relevant
from tailback.analysis.registry import of_key

Direction = Literal["higher", "lower", "perhaps higher", "perhaps lower", "not shown", "the same", "one repetition"]

LEAST_EXCESS = 0.1
"""The smallest excess that a verdict prints; with one digit, a smaller one is 0."""

LEAST_PERCENT = 0.001
"""Differences below this are not written out."""

NEGLIGIBLE = "negligible"

EFFECTS = ((0.8, "large"), (0.5, "medium"), (0.2, "small"), (0.0, NEGLIGIBLE))
"""Names of effect sizes, each from this size on [cohen1988 §2.2.3]."""


def in_words(row: Mapping[str, Any]) -> str:
    """The verdict on one metric of one configuration."""
    if row["outcome"] == "unknown":
        return f"unknown in the {'candidate' if math.isnan(row['candidate']) else 'reference'}"
    return "; ".join(filter(None, (_judgement(row), _difference(row))))


def direction(row: Mapping[str, Any]) -> Direction:
    """What the repetitions show about a known difference."""
    if row["pairs"] == 1:
        return "the same" if row["difference"] == 0 else "one repetition"
    if row["low"] == row["high"] == 0:
        return "the same"
    if row["low"] <= 0 <= row["high"]:
        return "not shown"
    if row["p"] < SIGNIFICANT:
        return "higher" if row["low"] > 0 else "lower"
    return "perhaps higher" if row["low"] > 0 else "perhaps lower"


def overall(rows: Sequence[Mapping[str, Any]]) -> str:
    """How many numbers of a comparison differ, as one sentence."""
    known = [direction(row) for row in rows if row["outcome"] != "unknown"]
    counts = {word: known.count(word) for word in dict.fromkeys(known)}
    names = {
        "higher": "{} higher", "lower": "{} lower", "perhaps higher": "{} perhaps higher",
        "perhaps lower": "{} perhaps lower", "not shown": "{} without a difference that shows",
        "the same": "{} the same", "one repetition": "{} different in the one repetition",
    }  # fmt: skip
    parts = [text.format(counts[word]) for word, text in names.items() if word in counts]
    lacking = len(rows) - len(known)
    parts += [f"{lacking} that one side lacks"] if lacking else []
    return f"of {len(rows)} numbers, {', '.join(parts)}" if parts else "nothing to compare"


def _judgement(row: Mapping[str, Any]) -> str:
    if row["outcome"] == "shown":
        return ""
    if row["outcome"] == "within":
        return "within tolerance"
    excess = abs(row["excess"])
    times = f"×{excess:.1f}" if LEAST_EXCESS <= excess < math.inf else ""
    return " ".join(filter(None, (row["outcome"], times)))


def _difference(row: Mapping[str, Any]) -> str:
    word, size = direction(row), amount(row, [row["difference"]])
    if row["pairs"] == 1:
        return "the same in the one repetition" if word == "the same" else f"{size}, one repetition: no interval"
    if word == "the same":
        return "the same in every repetition"
    spread = amount(row, [row["low"], row["high"]])
    if word == "not shown":
        return f"no difference shown ({spread}; {_strength(row)})"
    by = f": {size}" if not _is_tiny(row) else f" by less than {LEAST_PERCENT:g} %"
    return f"{word}{by} ({spread}; {_strength(row)})"


def _strength(row: Mapping[str, Any]) -> str:
    """p and the effect size: `p 0.1, needs 4 repetitions, paired p 0.01, large effect`. A difference may be beyond
    chance and too small to matter: `p 0.0079, significant, but negligible in practice`.
    """
    few = f"needs {fewest()} repetitions" if row["pairs"] < fewest() else ""
    paired = "" if math.isnan(row["paired_p"]) else f"paired p {_probability(row['paired_p'])}"
    effect = _effect(row)
    if effect.startswith(NEGLIGIBLE) and direction(row) in ("higher", "lower"):
        effect = f"significant, but {effect}"
    return ", ".join(filter(None, (f"p {_probability(row['p'])}", few, paired, effect)))


def _effect(row: Mapping[str, Any]) -> str:
    """The effect size. It compares the difference with the spread of the repetitions, which may be tiny: a difference
    that no user would notice is negligible in practice, however small the spread. Without a spread there is none.
    """
    size = abs(row["effect"])
    if math.isnan(size):
        return ""
    metric = of_key(str(row["metric"]))
    allowed = relevant("" if metric is None else metric.name).allowed(row["reference"], row["candidate"])
    if allowed is None or abs(row["difference"]) <= allowed:
        return f"{NEGLIGIBLE} in practice"
    return f"{next(name for least, name in EFFECTS if size >= least)} effect"


def _probability(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.2g}"


def _is_tiny(row: Mapping[str, Any]) -> bool:
    base = abs(float(row["reference"]))
    return base > 0 and row["unit"] != "%" and abs(float(row["difference"])) / base * 100 < LEAST_PERCENT


def amount(row: Mapping[str, Any], values: Sequence[float]) -> str:
    """Differences in per cent of the reference, or in the unit of the metric if the reference is 0. Of a metric in per
    cent they are percentage points: `10 %` of it could be either.
    """
    base = abs(row["reference"])
    if base and row["unit"] != "%":
        return " … ".join(_percent(value / base * 100) for value in values) + " %"
    unit = "pp" if row["unit"] == "%" else row["unit"]
    return f"{' … '.join(signed(value) for value in values)} {unit}".rstrip()


def _percent(value: float) -> str:
    """`+1.2`, `−0.03`, `+0.0012`, `+140`: one decimal place, of what is below 1 two digits."""
    if abs(value) < LEAST_PERCENT / 2:
        return "0"
    if abs(value) < 1:
        return signed(value, 2)
    return f"{value:+.{1 if abs(value) < 100 else 0}f}".replace("-", "−")
