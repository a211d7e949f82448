"""`fq`: fair queueing of sockets, which it paces.                                    [iproute2 q_fq.c]"""

import functools
from collections.abc import Iterator

from tailback.qdiscs import forms
from tailback.qdiscs.discipline import Discipline, InKernel, Json, Settings, Shown
from tailback.tc import units as quantities
from tailback.tc.options import NOT_GIVEN_IF_ZERO, PLAIN_NUMBER, Grammar, Option, Options, Table, Words, keyword
from tailback.tc.writing import Units, plain, without

_WEIGHTS = ("weight_0", "weight_1", "weight_2")


def _weights(words: Words, table: Table) -> Options:
    return {name: table.next_value(name, words) for name in _WEIGHTS}


def _ignored(words: Words, _table: Table) -> Options:
    """Reads a rate that kernels ignore."""
    quantities.rate(words.next() or "")
    return {}


_plain = functools.partial(plain, opposites={"pacing": "nopacing"})


def _words(options: Settings, units: Units) -> Iterator[str]:
    yield from _plain(without(options, "priomap", *_WEIGHTS, "horizon_action"), units)
    if "horizon_action" in options:
        yield ("horizon_drop", "horizon_cap")[options["horizon_action"]]


def _settings(resolved: Settings) -> Json:
    counts = ("limit", "flow_limit", "buckets", "orphan_mask", "quantum", "initial_quantum")
    found: Json = {name: resolved[name] for name in counts}
    if not resolved["pacing"]:
        found["pacing"] = False
    found |= {name: resolved[name] // 8 for name in ("maxrate", "low_rate_threshold") if resolved.get(name)}
    found |= {name: forms.nanoseconds_in_us(resolved[name]) for name in ("refill_delay", "horizon")}
    found["timer_slack"] = resolved["timer_slack"]
    if resolved.get("ce_threshold") is not None:
        found["ce_threshold"] = forms.nanoseconds_in_us(resolved["ce_threshold"])
    found["horizon_cap" if resolved["horizon_action"] else "horizon_drop"] = None
    return found


_OLD_TC = "the `tc` of most machines does not support them"

ROW = Discipline(
    "fq",
    shown=Shown(
        _settings,
        denied=("pacing",),
        counters=(
            ("flows", "inactive", "throttled_flows"),
            (
                "gc", "fastpath", "throttled", "ce_mark", "flows_plimit", "pkts_too_long", "horizon_drops",
                "horizon_caps",
            ),
        ),
        units={
            "limit": "packets", "maxrate": "rate", "low_rate_threshold": "rate", "refill_delay": "time",
            "horizon": "time", "ce_threshold": "time",
        },
    ),
    kernel=InKernel(
        refused={
            **dict.fromkeys(_WEIGHTS, f"remove `weights`: {_OLD_TC}"),
            "priomap": f"remove `bands` and `priomap`: {_OLD_TC}",
        },
        marks=(80,),
    ),
    grammar=Grammar(
        options={
            "quantum": Option("plain number", cut_to=(256, 1 << 20)),
            "initial_quantum": PLAIN_NUMBER,
            "timer_slack": Option("nanoseconds"),
            "buckets": NOT_GIVEN_IF_ZERO,
        },
        without_keyword=(*_WEIGHTS, "horizon_action"),
        forms={
            "bands": forms.three_bands,
            "priomap": forms.priomap,
            "weights": _weights,
            "horizon_drop": keyword(horizon_action=0),
            "horizon_cap": keyword(horizon_action=1),
            "defrate": _ignored,
        },
        # Pacing by the hardware, which no device here has.
        printed={"offload_horizon": 1},
        keywords={
            "bands": "bands 3: before `priomap`, as `tc` prints it",
            "weights": "bytes of each of the three bands per round: weights 589824 196608 65536",
            "horizon_drop": "drop a packet that is due later than `horizon`; the default",
            "horizon_cap": "send a packet that is due later than `horizon` at its end",
            "defrate": "no effect, as in kernels",
        },
    ),
    writer=_words,
)  # fmt: skip
