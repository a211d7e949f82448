"""`hhf`: heavy hitters share one queue, all other flows another.                       [iproute2 q_hhf.c]"""

from tailback.qdiscs import forms
from tailback.qdiscs.discipline import Discipline, InKernel, Json, Settings, Shown
from tailback.tc.options import NOT_GIVEN_IF_ZERO, Grammar, Option

JIFFY_NS, JIFFY_US = 1_000_000, 1000


def _settings(resolved: Settings) -> Json:
    counts = {name: resolved[name] for name in ("quantum", "hh_limit", "admit_bytes", "non_hh_weight")}
    # In jiffies of 1 ms, rounded up.
    times = {name: -(-resolved[name] // JIFFY_NS) * JIFFY_US for name in ("reset_timeout", "evict_timeout")}
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
    grammar=Grammar(
        options={
            **dict.fromkeys(("limit", "hh_limit", "non_hh_weight"), NOT_GIVEN_IF_ZERO),
            **dict.fromkeys(("reset_timeout", "evict_timeout"), NOT_GIVEN_IF_ZERO),
            "quantum": Option("plain number", "not given", raised_to=256),
            "admit_bytes": Option("plain number", "not given"),
        },
    ),
)  # fmt: skip
