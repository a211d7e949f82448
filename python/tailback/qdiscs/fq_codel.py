"""`fq_codel`: fair queueing of flows with CoDel on each.                             [iproute2 q_fq_codel.c]"""

import functools

from tailback.qdiscs import codel
from tailback.qdiscs.discipline import Discipline, InKernel, Json, Settings, Shown
from tailback.tc.options import NOT_GIVEN_IF_ZERO, Grammar, Option
from tailback.tc.writing import plain


def _settings(resolved: Settings) -> Json:
    counts = {name: resolved[name] for name in ("flows", "quantum", "memory_limit", "drop_batch")}
    return {**codel.settings(resolved), **counts}


ROW = Discipline(
    "fq_codel",
    shown=Shown(
        _settings,
        counters=(
            (
                "maxpacket", "drop_overlimit", "new_flow_count", "ecn_mark", "ce_mark", "memory_used",
                "drop_overmemory",
            ),
            ("new_flows_len", "old_flows_len"),
        ),
        units={**codel.UNITS, "memory_limit": "bytes"},
    ),
    kernel=InKernel(marks=(12, 28)),
    grammar=Grammar(
        options={
            **codel.OPTIONS,
            "flows": NOT_GIVEN_IF_ZERO,
            "drop_batch": NOT_GIVEN_IF_ZERO,
            "quantum": Option("plain number", "not given", raised_to=256),
        },
        off_unless_printed=("ecn",),
        not_modelled={"ce_threshold_selector": "remove it: `ce_threshold` applies to all packets"},
    ),
    writer=functools.partial(plain, opposites={"ecn": "noecn"}),
)  # fmt: skip
