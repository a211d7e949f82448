"""What to know before believing a comparison: how it was made, and the warnings about the runs of both sides.

`compare` prints it, and `--json` has it as `warnings`.
"""

from collections.abc import Iterator
from typing import Any

from tailback.analysis.cautions import Caution, over
from tailback.analysis.differences import fewest, least_p
from tailback.results import Results, left_out
from tailback.results.pairing import CANDIDATE, REFERENCE
from tailback.validation.comparison import Comparison


def of_pairs(compared: Comparison) -> Iterator[Caution]:
    """What limits the comparison."""
    pairing = compared.pairing
    if compared.alike:
        many = "1 configuration" if len(compared.alike) == 1 else f"{len(compared.alike)} configurations"
        of = f" of {many}" if len(pairing.configurations) > 1 else ""
        text = f"the repetitions{of} are alike and count as one: no interval, no p"
        hint = "spread the starts: `jitter: 100ms` in a traffic entry"
        yield Caution("repetitions-alike", "warning", text, hint, count=len(compared.alike))
    counts = [len(pairing.of(place)) for place in range(len(pairing.configurations)) if place not in compared.alike]
    common = max(counts, default=0)
    if common == 1:
        yield Caution("one-repetition", "info", "one repetition: no intervals", "`--repeat 5` gives them")
    elif 1 < common < fewest() and compared.differ:
        text = f"{common} repetitions: p is at least {least_p(common):.2g}, so no difference can be shown"
        yield Caution("few-repetitions", "info", text, f"`--repeat {fewest()}` or more decides")


def of_sides(compared: Comparison) -> Iterator[tuple[str, Caution]]:
    """The warnings about the runs of each side."""
    pairing = compared.pairing
    for side, results in {REFERENCE: pairing.reference, CANDIDATE: pairing.candidate}.items():
        for caution in over([(run.axes, run.summary) for run in results.runs]):
            yield side, caution


def entries(compared: Comparison) -> list[dict[str, Any]]:
    """All of them as a JSON document, with what is said when the folders are opened."""
    pairing = compared.pairing
    opened = [
        {"side": side, "code": code, "severity": "warning", "text": text, "hint": hint}
        for side, results in {REFERENCE: pairing.reference, CANDIDATE: pairing.candidate}.items()
        for code, text, hint in _of_folder(results)
    ]
    return [
        *opened,
        *(_entry(caution) for caution in of_pairs(compared)),
        *({"side": side, **_entry(caution)} for side, caution in of_sides(compared)),
    ]


def _of_folder(results: Results) -> Iterator[tuple[str, str, str]]:
    said = {"damaged": left_out(results.damaged), "analysis-changed": [results.remark] if results.remark else []}
    for code, texts in said.items():
        for each in texts:
            text, _, hint = each.partition("\n  hint: ")
            yield code, text, hint


def _entry(each: Caution) -> dict[str, Any]:
    said = {"code": each.code, "severity": each.severity, "text": each.text, "hint": each.hint}
    return {**said, "count": each.count, **({"axes": dict(each.axes)} if each.axes else {})}
