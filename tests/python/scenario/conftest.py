"""A small registry of algorithms, so that the tests of the file need no compiled simulator."""

from dataclasses import dataclass

import pytest
from tailback.scenario import Parameter, Registry, Row


@dataclass(frozen=True)
class FixedRegistry:
    """A registry whose rows are written down here."""

    qdiscs: tuple[Row, ...]
    congestion_controls: tuple[Row, ...]


LIMIT = Parameter("limit", "packets", 1000, 1, 100_000, "packets held at most")

REGISTRY = FixedRegistry(
    qdiscs=(
        Row("pfifo", "one queue", "", (Parameter("limit", "packets", None, 1, 100_000, "packets held at most"),)),
        Row("bfifo", "one queue", "", (Parameter("limit", "bytes", None, 1, 2**32, "bytes held at most"),)),
        Row("pfifo_fast", "three bands", "", ()),
        Row(
            "fq_codel",
            "flow queues with CoDel",
            "",
            (
                LIMIT,
                Parameter("target", "time", 5_000_000, 1, 10**9, "acceptable sojourn time"),
                Parameter("ecn", "flag", 1, 0, 1, "marks instead of drops"),
            ),
        ),
        Row(
            "htb",
            "a shaper",
            "",
            (
                Parameter("rate", "rate", None, 8, 10**12, "rate of the shaper; must be given"),
                Parameter("burst", "bytes", None, 1, 2**30, "bytes at once"),
            ),
            classful=True,
        ),
    ),
    congestion_controls=(
        Row("reno", "", "", ()),
        Row("cubic", "", "", (Parameter("hystart", "flag", 1, 0, 1, "leaves slow start early"),)),
        Row("bbr", "", "", (Parameter("cwnd_gain", "number", None, 1, 1000, "percent of the BDP"),)),
    ),
)


@pytest.fixture
def registry() -> Registry:
    return REGISTRY
