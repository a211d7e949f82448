"""`hhf`: heavy hitters share one queue, all other flows another.                       [iproute2 q_hhf.c]"""

from tailback.qdiscs import forms
from tailback.qdiscs.discipline import Discipline, InKernel, Json, Settings, Shown
from tailback.tc.options import PLAIN_NUMBER, Grammar, Option


def _settings(resolved: Settings) -> Json:
    counts = {name: resolved[name] for name in ("quantum", "hh_limit", "admit_bytes", "non_hh_weight")}
    times = {name: forms.nanoseconds_in_us(resolved[name]) for name in ("reset_timeout", "evict_timeout")}
    return {**forms.limit(resolved), **counts, **times}


ROW = Discipline(
    "hhf",
    shown=Shown(
        _settings,
        counters=(("drop_overlimit", "hh_overlimit", "tot_hh", "cur_hh"),),
        units={
            "limit": "packets", "quantum": "bytes", "admit_bytes": "bytes", "reset_timeout": "time",
            "evict_timeout": "time",
        },
    ),
    kernel=InKernel(),
    grammar=Grammar(options={"quantum": Option(raised_to=256), "admit_bytes": PLAIN_NUMBER}),
)  # fmt: skip
