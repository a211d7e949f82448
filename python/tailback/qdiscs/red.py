"""`red`: random early detection on an average of the queue.                          [iproute2 q_red.c]"""

from tailback.qdiscs import forms
from tailback.qdiscs.discipline import Discipline, InKernel, Json, Settings, Shown
from tailback.tc import units
from tailback.tc.errors import WordError
from tailback.tc.options import NOT_GIVEN_IF_ZERO, Grammar, Options, Table, Words
from tailback.tc.printing import Printed

UNITS: dict[str, Printed] = {"min": "bytes", "max": "bytes"}


def law(resolved: Settings) -> Json:
    """The options of the RED law, which `sfq` has, too."""
    switches = {name: bool(resolved.get(name, 0)) for name in ("ecn", "harddrop", "adaptive", "nodrop")}
    thresholds = {name: resolved[name] for name in ("min", "max")}
    return {**thresholds, **switches, "probability": forms.share(resolved["probability"])}


_EWMA = "ewma"
EWMA_MEANING = "the exponent that `tc` prints in place of `burst`"
"""Pseudo-option: the weight of the average, which `tc -d` prints instead of the `burst` that it computed it from."""

_LONGEST_BURST = 100_000

#: What follows from the options that are read, or from those that `tc` was given and does not print.
DERIVED = {"Scell_log": 1, "Plog": 1}


def ewma(words: Words, table: Table) -> Options:
    """Reads the exponent of the weight of the average, as `tc -d` prints it."""
    word = words.next() or ""
    found = units.whole(word)
    if found is None or not 1 <= found <= 31:
        raise WordError(f"`ewma` of `{table.kind}`: `{units.shown(word)}` is not an exponent", "write 1 to 31")
    return {_EWMA: found}


def with_burst(found: Options, average_packet: int) -> Options:
    """The options with the shortest burst that leads to their `ewma`. `min` and `average_packet` have one unit."""
    exponent = found.get(_EWMA)
    rest = {name: value for name, value in found.items() if name != _EWMA}
    if exponent is None or "burst" in found or not average_packet or "min" not in found:
        return rest
    threshold = found["min"] / average_packet
    for burst in range(max(1, int(threshold)), _LONGEST_BURST):
        if _exponent(threshold, burst) == exponent:
            return {**rest, "burst": burst}
    raise WordError(f"no `burst` leads to `ewma {exponent}`", "write the `burst` that `tc qdisc add` was given")


def _exponent(threshold: float, burst: int) -> int | None:
    """The exponent that `tc` computes for a burst above a threshold in packets. [iproute2 tc_red.c tc_red_eval_ewma]"""
    over = burst + 1 - threshold
    if over < 1:
        return None
    enough = (number for number in range(1, 32) if over <= (1 - (1 - 0.5**number) ** burst) / 0.5**number)
    return next(enough, None)


def _finished(found: Options) -> Options:
    return with_burst(found, found.get("avpkt", 0))


def _settings(resolved: Settings) -> Json:
    return {**forms.limit(resolved), **law(resolved)}


ROW = Discipline(
    "red",
    shown=Shown(
        _settings,
        counters=(("marked", "early", "pdrop", "other", "max_P"),),
        shares=("max_P",),
        units={**UNITS, "limit": "bytes"},
    ),
    kernel=InKernel(marks=(12,)),
    grammar=Grammar(
        options=dict.fromkeys(("burst", "min", "max"), NOT_GIVEN_IF_ZERO),
        forms={_EWMA: ewma},
        keywords={_EWMA: EWMA_MEANING},
        printed=DERIVED,
        finished=_finished,
    ),
    law_of="all flows",
)
