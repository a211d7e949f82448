"""`fq_pie`: fair queueing of flows with PIE on each.                                 [iproute2 q_fq_pie.c]"""

from tailback.qdiscs import pie
from tailback.qdiscs.discipline import Discipline, InKernel, Json, Settings, Shown
from tailback.tc.options import NOT_GIVEN_IF_ZERO, Grammar


def _settings(resolved: Settings) -> Json:
    counts = {name: resolved[name] for name in ("flows", "quantum", "memory_limit", "ecn_prob")}
    return {**pie.settings(resolved), **counts}


ROW = Discipline(
    "fq_pie",
    shown=Shown(
        _settings,
        counters=(
            ("pkts_in", "overlimit", "overmemory", "dropped", "ecn_mark"),
            ("new_flow_count", "new_flows_len", "old_flows_len", "memory_used"),
        ),
        units={**pie.UNITS, "memory_limit": "bytes"},
    ),
    kernel=InKernel(marks=(16,)),
    grammar=Grammar(options={**pie.OPTIONS, "flows": NOT_GIVEN_IF_ZERO, "quantum": NOT_GIVEN_IF_ZERO}),
    writer=pie.with_opposites,
)
