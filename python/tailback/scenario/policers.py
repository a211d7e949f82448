"""Reads the policer of a link in the words of `tc`: `rate 10mbit burst 20kb`, or the same as a mapping.

The words are those behind `police` of an action or a filter, whose line may be pasted whole. What exceeds is dropped,
also if the words do not say so: `conform-exceed drop`. [tc-police(8)] [iproute2 m_police.c]
"""

from __future__ import annotations

from collections.abc import Mapping

from tailback.scenario.stages import check_required
from tailback.scenario.ways import each_way_or_none
from tailback.tc import options as tc
from tailback.tc.errors import WordError, nearest_hint
from tailback.tc.options import Grammar, Options, Table, Words
from tailback.tc.rows import Parameter
from tailback.tc.units import shown

HINT = "write what follows `police` in tc: rate 10mbit burst 20kb"

LARGEST_BPS = 10_000_000_000_000
LARGEST = 2**32 - 1

DEFAULT_MTU = 2040
"""The longest frame that conforms, unless given: that of `crates/qdisc/src/police.rs`."""

PARAMETERS = (
    Parameter("rate", "rate", None, 8, LARGEST_BPS, "rate at which tokens come", required=True),
    Parameter("burst", "bytes", None, 1, LARGEST, "bytes of the bucket", required=True),
    Parameter("mtu", "bytes", DEFAULT_MTU, 1, LARGEST, "longest frame that conforms"),
    Parameter("peakrate", "rate", None, 8, LARGEST_BPS, "rate of a second bucket, which holds `mtu`"),
)

DROPS = ("drop", "shot", "drop/pipe", "drop/ok", "drop/pass", "drop/continue", "shot/pipe", "shot/ok")
"""What may become of packets that exceed, and of those that conform. [iproute2 tc_util.c parse_action_control]"""

_FRAMING = "remove it: a policer counts the bytes of the IP packet"
_AVERAGE = "give `rate` and `burst`: the rate estimator of the kernel is not modelled"


def _dropped(rest: Words, _table: Table) -> Options:
    word = rest.next()
    if word not in DROPS:
        what = "nothing" if word is None else f"`{shown(word)}`"
        raise WordError(f"`conform-exceed` of `police` is followed by {what}", "write `drop`: what exceeds is dropped")
    return {}


TABLE = Table(
    "police",
    PARAMETERS,
    Grammar(
        aliases={"buffer": "burst", "maxburst": "burst", "minburst": "mtu"},
        forms={"conform-exceed": _dropped},
        printed={"drop": 0, "shot": 0, "flowid": 1, "classid": 1},
        companions=((("peakrate",), ("mtu",)),),
        not_modelled={
            **dict.fromkeys(("overhead", "mpu", "linklayer"), _FRAMING),
            **dict.fromkeys(("avrate", "estimator"), _AVERAGE),
            **dict.fromkeys(("pkts_rate", "pkts_burst"), "give `rate` and `burst`: bytes are policed, not packets"),
            "index": "remove it: each direction of a link has a policer of its own",
            **dict.fromkeys(("pipe", "ok", "pass", "continue", "reclassify"), "write `drop`: what exceeds is dropped"),
        },
    ),
)


def policers(word: object) -> list[Mapping[str, int] | None]:
    """Reads a policer for both directions, or one for each; `null` means none."""
    return each_way_or_none(word, policer)


def policer(word: object) -> Mapping[str, int]:
    """Reads the options of a policer, in base units."""
    if isinstance(word, Mapping):
        return _mapped(word)
    words = word.split() if isinstance(word, str) else []
    if "police" in words:
        words = words[words.index("police") + 1 :]
    if not words:
        raise WordError(f"`{shown(word)}` is not a policer", HINT)
    options = tc.options(words, TABLE)
    check_required(TABLE, options)
    return options


def _mapped(entry: Mapping[object, object]) -> Options:
    found: Options = {}
    for name, value in entry.items():
        parameter = TABLE.parameter(TABLE.grammar.aliases.get(str(name), str(name)))
        if parameter is None:
            known = [each.name for each in PARAMETERS]
            remedy = TABLE.grammar.not_modelled.get(str(name)) or nearest_hint(str(name), known)
            raise WordError(f"`{shown(name)}` is not an option of `police`", remedy)
        if isinstance(value, bool) or not isinstance(value, int | str) or not str(value).split():
            raise WordError(f"`{shown(value)}` is not a value of `{parameter.name}` of `police`", HINT)
        found[parameter.name] = tc.value_of(parameter, str(value).strip(), TABLE)
    if "peakrate" in found and "mtu" not in found:
        raise WordError("`peakrate` of `police` needs `mtu`", "add `mtu`, the size of its bucket")
    check_required(TABLE, found)
    return found
