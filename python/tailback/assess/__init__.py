"""`tailback assess`: a congestion control, judged by the criteria of a suite, beside other controls.

A suite is a folder of experiments and a table of criteria (`suite`), each a measure (`measures`) with a bound. The runs
are those of a sweep (`session`), the verdicts follow from intervals (`verdicts`).
"""

from tailback.assess.errors import WrongSuite
from tailback.assess.session import Assessment, Wanted, assess
from tailback.assess.suite import Criterion, Suite, fits, load_suite, suites
from tailback.assess.verdicts import Estimate, Place, Row

__all__ = [
    "Assessment",
    "Criterion",
    "Estimate",
    "Place",
    "Row",
    "Suite",
    "Wanted",
    "WrongSuite",
    "assess",
    "fits",
    "load_suite",
    "suites",
]
