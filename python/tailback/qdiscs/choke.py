"""`choke`: RED with a comparison of each arrival and a packet drawn from the queue.   [iproute2 q_choke.c]"""

from tailback.qdiscs import forms, red
from tailback.qdiscs.discipline import Discipline, InKernel, Json, Settings, Shown
from tailback.tc.options import NOT_GIVEN_IF_ZERO, PLAIN_NUMBER, Grammar, Options


def _finished(found: Options) -> Options:
    # Its thresholds are in packets.
    return red.with_burst(found, 1)


def _settings(resolved: Settings) -> Json:
    return {**forms.limit(resolved), **red.law(resolved)}


ROW = Discipline(
    "choke",
    shown=Shown(
        _settings,
        counters=(("marked", "early", "pdrop", "other", "matched"),),
        units={"limit": "packets", "min": "packets", "max": "packets"},
    ),
    kernel=InKernel(marks=(12,)),
    grammar=Grammar(
        options={**dict.fromkeys(("min", "max", "burst"), NOT_GIVEN_IF_ZERO), "avpkt": PLAIN_NUMBER},
        forms={"ewma": red.ewma},
        keywords={"ewma": red.EWMA_MEANING},
        printed=red.DERIVED,
        finished=_finished,
    ),
    law_of="all flows",
)
