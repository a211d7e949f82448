"""The scorecard: each claim with what was measured, what was expected and the verdict.

The median over repetitions of every quantity must lie where it is expected, in every case. The range over repetitions
is told beside it. A claim whose results are not there is skipped, never passed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tailback.papers import access21
from tailback.papers.claims import Claim, Paper
from tailback.papers.sample import Evaluator, Sample
from tailback.results import NotResults, Results
from tailback.results.provenance import tailback_version

Status = Literal["pass", "fail", "skipped"]
EVALUATORS: Mapping[str, Mapping[str, Evaluator]] = {"access21": access21.EVALUATORS}
UNEXPLAINED = "the reason is not known"


@dataclass(frozen=True)
class Row:
    """One line of the scorecard."""

    claim: Claim
    paper: str
    status: Status
    samples: Sequence[Sample]
    note: str

    @property
    def measured(self) -> str:
        """What was measured, in words."""
        return "; ".join(self._told(sample) for sample in self.samples)

    @property
    def expected(self) -> str:
        """What was expected, in words."""
        several = len(self.claim.expected) > 1
        return "; ".join(f"{name} {bound}" if several else str(bound) for name, bound in self.claim.expected.items())

    def _told(self, sample: Sample) -> str:
        alone = len(self.samples) == 1
        named = sample.quantity if len(self.claim.expected) > 1 else sample.case
        unit = self.claim.expected[sample.quantity].unit
        value = f"{sample.median:.3g} {unit}" + spread(sample)
        return value if alone else f"{named} {value}"


def spread(sample: Sample) -> str:
    """The range over repetitions, where they differ."""
    low, high = f"{min(sample.values):.3g}", f"{max(sample.values):.3g}"
    return "" if low == high else f" ({low} … {high})"


def score(paper: Paper, claims: Iterable[Claim], results: Mapping[str, Results]) -> list[Row]:
    """The claims measured from the results of the experiments, by name."""
    return [_row(paper.paper, claim, results.get(claim.experiment)) for claim in claims]


def _row(paper: str, claim: Claim, results: Results | None) -> Row:
    if results is None:
        return _skipped(paper, claim, f"experiment `{claim.experiment}` was not run")
    try:
        samples = list(EVALUATORS[paper][claim.id](results))
    except (NotResults, KeyError) as missing:
        return _skipped(paper, claim, f"results are missing: {missing}".splitlines()[0])
    if not all(sample.values for sample in samples):
        empty = next(sample for sample in samples if not sample.values)
        return _skipped(paper, claim, f"no complete run to measure {empty.quantity} ({empty.case})")
    if all(claim.expected[sample.quantity].holds(sample.median) for sample in samples):
        return Row(claim, paper, "pass", samples, "")
    return Row(claim, paper, "fail", samples, claim.note or UNEXPLAINED)


def _skipped(paper: str, claim: Claim, why: str) -> Row:
    return Row(claim, paper, "skipped", [], why)


def as_document(rows: Iterable[Row]) -> dict[str, Any]:
    """The scorecard as JSON: `measured` and `expected` in words, `quantities` in numbers."""
    return {"tailback": tailback_version(), "claims": [_entry(row) for row in rows]}


def _entry(row: Row) -> dict[str, Any]:
    return {
        "id": row.claim.id,
        "paper": row.paper,
        "figure": row.claim.figure,
        "status": row.status,
        "measured": row.measured or None,
        "expected": row.expected,
        "note": row.note,
        "says": row.claim.says,
        "quantities": [_quantity(row.claim, sample) for sample in row.samples],
    }


def _quantity(claim: Claim, sample: Sample) -> dict[str, Any]:
    bound = claim.expected[sample.quantity]
    known = {"from": bound.low, "to": bound.high}
    return {
        "quantity": sample.quantity,
        "case": sample.case,
        "unit": bound.unit,
        "median": sample.median,
        "min": min(sample.values),
        "max": max(sample.values),
        "repetitions": len(sample.values),
        **{name: value for name, value in known.items() if value is not None},
    }
