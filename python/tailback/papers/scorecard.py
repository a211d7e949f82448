"""The scorecard: each claim with the measured value, the expected range and the verdict.

A claim holds if the median over repetitions of each quantity is in its expected range, in every case, and so is what
witnesses that the mechanism of the paper is at work. The scorecard
also shows half the 95 % interval of the mean over repetitions. A claim without results is skipped and does not count as
holding.
"""

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, Literal

from tailback.analysis.digits import significant
from tailback.papers import access21, teacup14, ton22, wlan18
from tailback.papers.claims import Claim, Paper
from tailback.papers.sample import Evaluator, Sample
from tailback.results import NotResults, Results
from tailback.results.provenance import tailback_version
from tailback.results.reading import Wanted, texts

Status = Literal["pass", "fail", "skipped"]
EVALUATORS: Mapping[str, Mapping[str, Evaluator]] = {
    "access21": access21.EVALUATORS,
    "teacup14": teacup14.EVALUATORS,
    "ton22": ton22.EVALUATORS,
    "wlan18": wlan18.EVALUATORS,
}
UNEXPLAINED = "unexplained"
NOT_REPRODUCED = "not reproduced: the values are in range, but the witness of the mechanism is not"
MAX_CASES = 4
"""Maximum number of cases of a quantity that are shown individually."""


@dataclass(frozen=True)
class Value:
    """A measured value of a quantity, or the range of many, as text with its unit."""

    case: str
    """Empty if it is the only one."""
    words: str
    off: bool
    """Whether the measured value is outside the expected range."""


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
        """The measured values as text; of many cases, minimum, maximum, and those outside the expected range."""
        return "; ".join(words + (" (!)" if not holds else "") for words, holds in self.in_short)

    @property
    def in_short(self) -> Sequence[tuple[str, bool]]:
        """The measured values as text, of many cases as in `measured`, and whether they are in the expected range."""
        quantities = dict.fromkeys(sample.quantity for sample in self.samples)
        found = [(quantity, value) for quantity in quantities for value in self.values_of(quantity)]
        return [(self._as_text(quantity, value), not value.off) for quantity, value in found]

    def values_of(self, quantity: str) -> Sequence[Value]:
        """The measured values of a quantity; of many, the range, and those outside the expected one."""
        samples = [sample for sample in self.samples if sample.quantity == quantity]
        return self._range(quantity, samples) if len(samples) > MAX_CASES else list(map(self._value, samples))

    def _range(self, quantity: str, samples: Sequence[Sample]) -> list[Value]:
        medians = [sample.median for sample in samples]
        low, high = (significant(end, 4) for end in (min(medians), max(medians)))
        span = f"{low} … {high} {self.claim.bounds[quantity].unit}".rstrip()
        words = f"{span} in {len(samples)} cases"
        off = [self._value(sample) for sample in samples if sample in self.misses]
        if len(off) > MAX_CASES:
            return [Value("", f"{words}; {len(off)} cases", off=True)]
        return [Value("", words, off=False), *off]

    @property
    def expected(self) -> str:
        """The expected range as text."""
        several = len(self.claim.bounds) > 1
        return "; ".join(f"{name} {bound}" if several else str(bound) for name, bound in self.claim.bounds.items())

    @property
    def described(self) -> Sequence[tuple[str, bool]]:
        """Each quantity as text, and whether it is in the expected range."""
        found = [(sample.quantity, self._value(sample)) for sample in self.samples]
        return [(self._as_text(quantity, value), not value.off) for quantity, value in found]

    def _as_text(self, quantity: str, value: Value) -> str:
        names = [quantity] if len(self.claim.bounds) > 1 else []
        names += [value.case] if value.case else []
        return " ".join([", ".join(names), value.words]) if names else value.words

    def _value(self, sample: Sample) -> Value:
        words = f"{significant(sample.median, 4)}{spread(sample)} {self.claim.bounds[sample.quantity].unit}".rstrip()
        several = sum(other.quantity == sample.quantity for other in self.samples) > 1
        return Value(sample.case if several else "", words, off=sample in self.misses)

    @property
    def misses(self) -> Sequence[Sample]:
        """The values outside the expected range, of the witness too."""
        return [sample for sample in self.samples if not self.claim.bounds[sample.quantity].holds(sample.median)]

    @property
    def unwitnessed(self) -> bool:
        """Whether only the witness is outside its range: the values hold, but not by the mechanism of the paper."""
        return bool(self.misses) and all(sample.quantity in self.claim.witness for sample in self.misses)


def spread(sample: Sample) -> str:
    """Half the interval over repetitions; empty if they do not differ."""
    return f" ± {significant(sample.half_width, 2)}" if sample.half_width else ""


def score(
    paper: Paper, claims: Iterable[Claim], results: Mapping[str, Results], left_out: Set[str] = frozenset()
) -> list[Row]:
    """Measures claims from the results of experiments, by name; cases of `left_out` values of axes do not count."""
    present = {name: _present(found, left_out) for name, found in results.items()}
    return [_row(paper.paper, claim, present, left_out) for claim in claims]


@dataclass(frozen=True)
class _Present(Results):
    """Results of an experiment that leaves out values of its axes: it has no runs of them."""

    left_out: Set[str] = frozenset()

    def select(self, **values: Wanted) -> Results:
        if self.left_out.isdisjoint(text for value in values.values() for text in texts(value)):
            return super().select(**values)
        return Results(self.path, self.title, self.axes, [], self.damaged)


def _present(found: Results, left_out: Set[str]) -> Results:
    return _Present(found.path, found.title, found.axes, found.runs, found.damaged, left_out) if left_out else found


def _row(paper: str, claim: Claim, results: Mapping[str, Results], left_out: Set[str]) -> Row:
    for name in claim.experiments:
        if name not in results:
            return _skipped(paper, claim, f"experiment `{name}` was not run")
    try:
        found = EVALUATORS[paper][claim.id](*(results[name] for name in claim.experiments))
        samples = [sample for sample in found if sample.values or sample.case not in left_out]
    except (NotResults, KeyError) as missing:
        return _skipped(paper, claim, f"results are missing: {missing}".splitlines()[0])
    if not all(sample.values for sample in samples):
        empty = next(sample for sample in samples if not sample.values)
        return _skipped(paper, claim, f"no complete run to measure {empty.quantity} ({empty.case})")
    samples = [sample for sample in samples if not _unknown(claim, sample)]
    measured = Row(claim, paper, "pass", samples, "")
    return measured if not measured.misses else replace(measured, status="fail", note=_why(measured))


def _unknown(claim: Claim, sample: Sample) -> bool:
    """Whether the backend does not report this witness."""
    return sample.quantity in claim.witness and all(map(math.isnan, sample.values))


def _why(row: Row) -> str:
    """Why a claim does not hold."""
    note = row.claim.note or UNEXPLAINED
    return f"{NOT_REPRODUCED}; {note}" if row.unwitnessed else note


def _skipped(paper: str, claim: Claim, why: str) -> Row:
    return Row(claim, paper, "skipped", [], why)


def as_document(rows: Iterable[Row]) -> dict[str, Any]:
    """The scorecard as the document of `--json`."""
    return {"claims": [_entry(row) for row in rows]}


def _entry(row: Row) -> dict[str, Any]:
    return {
        "id": row.claim.id,
        "paper": row.paper,
        "figure": row.claim.figure,
        "status": row.status,
        "measured": row.measured or None,
        "expected": row.expected,
        "note": row.note,
    }


def in_full(rows: Iterable[Row]) -> dict[str, Any]:
    """The scorecard with the text of each claim and the numbers of each quantity."""
    claims = [
        {**_entry(row), "says": row.claim.says, "quantities": [_quantity(row.claim, sample) for sample in row.samples]}
        for row in rows
    ]
    return {"tailback": tailback_version(), "claims": claims}


def _quantity(claim: Claim, sample: Sample) -> dict[str, Any]:
    bound = claim.bounds[sample.quantity]
    known = {"from": bound.low, "to": bound.high}
    return {
        "quantity": sample.quantity,
        "case": sample.case,
        "unit": bound.unit,
        "witness": sample.quantity in claim.witness,
        "median": sample.median,
        "half_width": sample.half_width,
        "repetitions": len(sample.values),
        "holds": bound.holds(sample.median),
        **{name: value for name, value in known.items() if value is not None},
    }


def in_one_line(rows: Iterable[Row]) -> str:
    """The number of claims that hold, in total and, of several papers, for each."""
    papers: dict[str, list[Row]] = {}
    for row in rows:
        papers.setdefault(row.paper, []).append(row)
    each = [f"{held(of_paper)} of {len(of_paper)} of {paper}" for paper, of_paper in papers.items()]
    everything = [row for of_paper in papers.values() for row in of_paper]
    if len(papers) == 1:
        return f"{held(everything)} of {len(everything)} claims of {', '.join(papers)} hold"
    return f"{held(everything)} of {len(everything)} claims hold: {', '.join(each)}"


def held(rows: Sequence[Row]) -> int:
    """The number of claims that hold."""
    return sum(row.status == "pass" for row in rows)
