"""`dualpi2`: two coupled queues, one for L4S.                           [rfc9332] [linux-6.17 sch_dualpi2.c]"""

import struct
import sys
from collections.abc import Iterator

from tailback.qdiscs import forms
from tailback.qdiscs.discipline import Discipline, InKernel, Json, Settings, Shown
from tailback.tc.errors import WordError
from tailback.tc.options import Grammar, Options, Table, Words, keyword
from tailback.tc.writing import Units, plain, without


def _step_threshold(words: Words, table: Table) -> Options:
    word = words.next() or ""
    name = "step_packets" if word.endswith("p") and not word.endswith("sp") else "step_thresh"
    if word.endswith("packets"):
        name, word = "step_packets", word.removesuffix("packets") + "p"
    return {name: table.value(name, word)}


def _protection(words: Words, table: Table) -> Options:
    """Reads a number of per cent; `tc show` prints `10%`."""
    return {"classic_protection": table.value("classic_protection", (words.next() or "").removesuffix("%"))}


def _any_ect(_words: Words, table: Table) -> Options:
    raise WordError(
        f"`any_ect` of `{table.kind}` is not modelled", "remove it: only ECT(1), and CE, choose the L queue, `l4s_ect`"
    )


def _settings(resolved: Settings) -> Json:
    times = ("target", "tupdate", "step_thresh")
    counts = ("limit", "memlimit", "coupling_factor")
    return {
        **{name: resolved[name] for name in counts if name in resolved},
        **{name: forms.nanoseconds_in_us(resolved[name]) for name in times if name in resolved},
    }


_OPPOSITES = {"drop_on_overload": "overflow", "drop_enqueue": "drop_dequeue", "split_gso": "no_split_gso"}


def _words(options: Settings, units: Units) -> Iterator[str]:
    yield from plain(without(options, "step_packets"), units, _OPPOSITES)
    if "step_packets" in options:
        yield from ("step_thresh", f"{options['step_packets']}p")


OPTIONS = {
    1: ("limit", "packets"), 2: ("memlimit", "bytes"), 3: ("target", "time"), 4: ("tupdate", "time"),
    5: ("alpha", "gain"), 6: ("beta", "gain"), 7: ("step_packets", "packets"), 8: ("step_thresh", "time"),
    9: ("min_qlen_step", "packets"), 10: ("coupling_factor", "plain"), 11: ("drop_on_overload", "flag"),
    12: ("drop_enqueue", "flag"), 13: ("classic_protection", "plain"), 15: ("split_gso", "flag"),
}  # fmt: skip
"""The attributes of `TCA_OPTIONS`; times are in us, gains in 1/256 Hz.    [linux-6.17 uapi/linux/pkt_sched.h]"""

STATISTICS = (
    "prob", "delay_c", "delay_l", "packets_in_c", "packets_in_l", "maxq", "ecn_mark", "step_marks", "credit",
    "memory_used", "max_memory_used", "memory_limit",
)  # fmt: skip
"""The members of `struct tc_dualpi2_xstats`, 32 bits each."""

ECN_MARK, STEP_MARKS = (4 * STATISTICS.index(name) for name in ("ecn_mark", "step_marks"))

HEAD = struct.Struct("=HH")


def _decoded(options: bytes, statistics: bytes) -> tuple[Json, Json]:
    """What the kernel says of it, as `tc` shows it."""
    shown: Json = {}
    for kind, value in _attributes(options):
        name, unit = OPTIONS.get(kind, ("", ""))
        if name and (unit != "flag" or value):
            shown[name] = bool(value) if unit == "flag" else value / 256 if unit == "gain" else value
    count = len(statistics) // 4
    counters: Json = dict(zip(STATISTICS, struct.unpack(f"={count}I", statistics[: 4 * count]), strict=False))
    if counters:
        counters["prob"] /= 0xFFFF_FFFF
        counters["credit"] -= (counters["credit"] >> 31) << 32
    return shown, counters


def _attributes(content: bytes) -> Iterator[tuple[int, int]]:
    """The attributes with their values, which have one or four bytes."""
    while len(content) >= HEAD.size:
        length, kind = HEAD.unpack_from(content)
        yield kind & 0x3FFF, int.from_bytes(content[HEAD.size : length], sys.byteorder)
        content = content[(max(length, HEAD.size) + 3) // 4 * 4 :]


ROW = Discipline(
    "dualpi2",
    shown=Shown(
        _settings,
        counters=(
            ("prob", "credit", "memory_used", "maxq"),
            ("packets_in_c", "packets_in_l", "ecn_mark", "step_marks"),
        ),
        shares=("prob",),
        units={
            "limit": "packets", "memlimit": "bytes", "target": "time", "tupdate": "time", "step_thresh": "time",
        },
    ),
    kernel=InKernel(marks=(ECN_MARK,), decoded=_decoded),
    grammar=Grammar(
        without_keyword=("step_packets", "drop_on_overload", "drop_enqueue", "split_gso"),
        forms={
            "step_thresh": _step_threshold,
            "classic_protection": _protection,
            "l4s_ect": keyword(), "any_ect": _any_ect,
            "drop_on_overload": keyword(drop_on_overload=1), "overflow": keyword(drop_on_overload=0),
            "drop_enqueue": keyword(drop_enqueue=1), "drop_dequeue": keyword(drop_enqueue=0),
            "split_gso": keyword(split_gso=1), "no_split_gso": keyword(split_gso=0),
        },
        keywords={
            "l4s_ect": "the only choice of packets for the L queue: those with ECT(1)",
            "any_ect": "refused: the L queue takes only packets with ECT(1)",
            "overflow": "the opposite of `drop_on_overload`",
            "drop_dequeue": "the opposite of `drop_enqueue`",
            "no_split_gso": "the opposite of `split_gso`",
        },
    ),
    writer=_words,
    marks="always",
)  # fmt: skip
