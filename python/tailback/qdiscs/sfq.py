"""`sfq`: stochastic fairness queueing, optionally with RED on each flow.             [iproute2 q_sfq.c]"""

from tailback.qdiscs import forms, red
from tailback.qdiscs.discipline import Discipline, InKernel, Json, Settings, Shown
from tailback.tc.options import NOT_GIVEN_IF_ZERO, PLAIN_NUMBER, Grammar, Option, Options, Table, Words

_AVERAGE_PACKET = 1000
"""The default of `avpkt`, in bytes."""


def _settings(resolved: Settings) -> Json:
    counts = {name: resolved[name] for name in ("limit", "quantum", "depth", "flows", "divisor")}
    perturb = {"perturb": resolved["perturb"]} if resolved["perturb"] else {}
    law = red.law(resolved) if "redflowlimit" in resolved else {}
    return {**counts, **perturb, **forms.flags(resolved, "headdrop"), **law}


def _flows(words: Words, table: Table) -> Options:
    """Reads a number of slots; `tc show` of some versions has the divisor behind it: `128/1024`."""
    flows, slash, divisor = (words.next() or "").partition("/")
    found = {"flows": table.value("flows", flows)}
    return {**found, "divisor": table.value("divisor", divisor)} if slash else found


def _perturb(words: Words, table: Table) -> Options:
    """Reads a number of seconds; `tc show` prints `10sec`."""
    return {"perturb": table.value("perturb", (words.next() or "").removesuffix("sec"))}


def _finished(found: Options) -> Options:
    return red.with_burst(found, found.get("avpkt", _AVERAGE_PACKET))


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
        forms={"flows": _flows, "perturb": _perturb, "ewma": red.ewma},
        keywords={"ewma": red.EWMA_MEANING},
        finished=_finished,
        unprinted={"redflowlimit": "100000"},
        companions=((("min", "max", "avpkt", "burst", "probability", "ecn", "harddrop"), ("redflowlimit",)),),
    ),
)
