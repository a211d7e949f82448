"""An assessment as documents for other programs: JSON, and JUnit's XML for a CI."""

import math
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree as Xml

from tailback import plain
from tailback.assess.session import Assessment
from tailback.assess.verdicts import OUTCOMES, Estimate, Place, Row
from tailback.assess.words import in_words
from tailback.results.provenance import tailback_version


def document(found: Assessment) -> dict[str, Any]:
    """The assessment; what is not known is absent."""
    suite = found.wanted.suite
    return {
        "tailback": tailback_version(),
        "suite": suite.name,
        "title": suite.title,
        "source": suite.source,
        "control": found.control,
        "baselines": list(suite.baselines),
        "backend": found.wanted.backend,
        "dir": str(found.wanted.folder),
        "counts": {outcome: found.count(outcome) for outcome in OUTCOMES},
        "rows": [_row(row) for row in found.rows],
    }


def _row(row: Row) -> dict[str, Any]:
    asked = row.criterion
    told = {
        "reason": row.reason,
        "measure": asked.measure,
        "unit": asked.unit,
        "against": list(asked.against),
        "allow": asked.allow,
        "source": asked.source,
    }
    return {
        "id": asked.id,
        "section": asked.section,
        "question": asked.question,
        "verdict": row.outcome,
        **{key: value for key, value in told.items() if value},
        **({} if asked.absent else {"better": asked.better}),
        **({"places": [_place(place) for place in row.places]} if row.places else {}),
    }


def _place(place: Place) -> dict[str, Any]:
    return {
        "axes": dict(place.axes),
        "verdict": place.outcome,
        **({} if math.isnan(place.bound) else {"bound": place.bound}),
        **({} if place.enough is None else {"enough": place.enough}),
        "found": {name: _estimate(each) for name, each in place.found.items()},
    }


def _estimate(found: Estimate) -> dict[str, Any]:
    interval = {} if math.isnan(found.low) else {"interval": [found.low, found.high]}
    return {"n": found.n, "mean": found.mean, **interval}


STATES: Mapping[str, str] = {"fails": "failure", "ended": "error", "undecided": "skipped", "absent": "skipped"}
"""The elements of JUnit's XML that say what became of a test."""


def junit(found: Assessment) -> bytes:
    """A test suite with a test case per row. What is undecided or absent counts as skipped."""
    rows = found.rows
    suite = Xml.Element("testsuite", {
        "name": f"tailback assess {found.control} --suite {found.wanted.suite.name}",
        "tests": str(len(rows)),
        "failures": str(found.count("fails")),
        "errors": str(found.count("ended")),
        "skipped": str(found.count("undecided") + found.count("absent")),
    })  # fmt: skip
    for row in rows:
        name = f"{row.criterion.section} {row.criterion.id}"
        case = Xml.SubElement(suite, "testcase", {"classname": found.wanted.suite.name, "name": name})
        if row.outcome in STATES:
            said = plain.visible(row.reason or in_words(row, found.control))
            Xml.SubElement(case, STATES[row.outcome], {"message": said}).text = plain.visible(row.criterion.question)
    Xml.indent(suite)
    return (Xml.tostring(suite, encoding="unicode", xml_declaration=False) + "\n").encode()


def status(found: Assessment) -> int | None:
    """The exit status of a CI: 1 if a row fails, 0 if all meet; `None` if nothing tells."""
    if found.count("fails") or found.count("ended"):
        return 1
    return 0 if found.count("meets") and not found.count("undecided") else None
