"""`sfq`: stochastic fairness queueing, optionally with RED on each flow.             [iproute2 q_sfq.c]"""

from tailback.qdiscs import forms, red
from tailback.qdiscs.discipline import Discipline, InKernel, Json, Settings, Shown
from tailback.tc.options import NOT_GIVEN_IF_ZERO, PLAIN_NUMBER, Grammar, Option


def _settings(resolved: Settings) -> Json:
    counts = {name: resolved[name] for name in ("limit", "quantum", "depth", "flows", "divisor")}
    perturb = {"perturb": resolved["perturb"]} if resolved["perturb"] else {}
    law = red.law(resolved) if "redflowlimit" in resolved else {}
    return {**counts, **perturb, **forms.flags(resolved, "headdrop"), **law}


ROW = Discipline(
    "sfq",
    shown=Shown(
        _settings,
        among_options=("prob_mark", "prob_mark_head", "prob_drop", "forced_mark", "forced_mark_head", "forced_drop"),
        units={**red.UNITS, "limit": "packets"},
    ),
    # Its options end with the counters of RED: random and forced marks, each at the tail and at the head of a queue.
    # [linux-6.12 include/uapi/linux/pkt_sched.h]
    kernel=InKernel(marks=(56, 60, 64, 68), marks_in="options"),
    grammar=Grammar(
        options={
            "quantum": Option(zero="not given", raised_to=256),
            "flows": Option(zero="not given", cut_to=(0, 65_408)),
            **dict.fromkeys(("depth", "divisor", "burst"), NOT_GIVEN_IF_ZERO),
            **dict.fromkeys(("redflowlimit", "min", "max", "avpkt"), PLAIN_NUMBER),
        },
        companions=((("min", "max", "avpkt", "burst", "probability", "ecn", "harddrop"), ("redflowlimit",)),),
    ),
)
