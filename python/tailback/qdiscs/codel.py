"""`codel`: one queue under CoDel.                                                    [iproute2 q_codel.c]"""

import functools

from tailback.qdiscs import forms
from tailback.qdiscs.discipline import Discipline, InKernel, Json, Settings, Shown
from tailback.tc.options import NOT_GIVEN_IF_ZERO, Grammar
from tailback.tc.printing import Printed
from tailback.tc.writing import plain

OPTIONS = dict.fromkeys(("limit", "target", "interval"), NOT_GIVEN_IF_ZERO)
"""The syntax of the options; `fq_codel` has the same."""

UNITS: dict[str, Printed] = {
    "limit": "packets", "target": "time", "interval": "time", "ce_threshold": "time",
}  # fmt: skip


def settings(resolved: Settings) -> Json:
    """The options in `tc -s -j`; `fq_codel` has the same."""
    times = {name: forms.codel_us(resolved[name]) for name in ("target", "interval")}
    return {**forms.limit(resolved), **times, **_threshold(resolved), **forms.flags(resolved, "ecn")}


def _threshold(resolved: Settings) -> Json:
    given = resolved.get("ce_threshold")
    return {} if given is None else {"ce_threshold": forms.codel_us(given)}


ROW = Discipline(
    "codel",
    shown=Shown(
        settings,
        counters=(
            ("count", "lastcount", "ldelay", "drop_next"),
            ("maxpacket", "ecn_mark", "drop_overlimit", "ce_mark"),
        ),
        units={**UNITS, "ldelay": "time", "drop_next": "time"},
    ),
    kernel=InKernel(marks=(24, 32)),
    grammar=Grammar(options=OPTIONS),
    writer=functools.partial(plain, opposites={"ecn": "noecn"}),
    law_of="all flows",
)
