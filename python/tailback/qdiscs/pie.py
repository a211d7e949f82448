"""`pie`: one queue under PIE.                                                        [iproute2 q_pie.c]"""

import functools
from collections.abc import Iterator

from tailback.qdiscs import forms
from tailback.qdiscs.discipline import Discipline, InKernel, Json, Settings, Shown
from tailback.tc.options import NOT_GIVEN_IF_ZERO, Grammar
from tailback.tc.printing import Printed
from tailback.tc.writing import Units, plain, without

OPTIONS = dict.fromkeys(("limit", "target", "tupdate", "alpha", "beta"), NOT_GIVEN_IF_ZERO)
"""The syntax of the options; `fq_pie` has the same."""

UNITS: dict[str, Printed] = {"limit": "packets", "target": "time", "tupdate": "time"}

with_opposites = functools.partial(
    plain,
    opposites={"ecn": "noecn", "bytemode": "nobytemode", "dq_rate_estimator": "no_dq_rate_estimator"},
)


def settings(resolved: Settings) -> Json:
    """The options in `tc -s -j`; `fq_pie` has the same."""
    times = {name: forms.nanoseconds_in_us(resolved[name]) for name in ("target", "tupdate")}
    gains = {name: resolved[name] for name in ("alpha", "beta")}
    return {
        **forms.limit(resolved),
        **times,
        **gains,
        **forms.flags(resolved, "ecn", "bytemode", "dq_rate_estimator"),
    }


def _words(options: Settings, units: Units) -> Iterator[str]:
    # `generation` selects a variant in the simulator; a kernel has only one.
    return with_opposites(without(options, "generation"), units)


ROW = Discipline(
    "pie",
    shown=Shown(
        settings,
        counters=(("prob", "delay", "avg_dq_rate"), ("pkts_in", "overlimit", "dropped", "maxq", "ecn_mark")),
        shares=("prob",),
        units={**UNITS, "delay": "time"},
    ),
    kernel=InKernel(refused={"generation": "the kernel has only one PIE: remove `generation`"}, marks=(36,)),
    grammar=Grammar(options=OPTIONS),
    writer=_words,
    law_of="all flows",
)
