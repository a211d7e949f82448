"""`dualpi2`: two coupled queues, one for L4S.                           [rfc9332] [linux-7.3 sch_dualpi2.c]"""

import struct
import sys
from collections.abc import Iterator

from tailback.qdiscs import forms
from tailback.qdiscs.discipline import Discipline, InKernel, Json, Settings, Shown
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


def _settings(resolved: Settings) -> Json:
    times = ("target", "tupdate", "step_thresh")
    counts = ("limit", "memlimit", "coupling_factor")
    return {
        **{name: resolved[name] for name in counts if name in resolved},
        **{name: forms.nanoseconds_in_us(resolved[name]) for name in times if name in resolved},
    }


_OPPOSITES = {
    "drop_on_overload": "overflow", "drop_enqueue": "drop_dequeue", "any_ect": "l4s_ect", "split_gso": "no_split_gso",
}  # fmt: skip


def _words(options: Settings, units: Units) -> Iterator[str]:
    yield from plain(without(options, "step_packets"), units, _OPPOSITES)
    if "step_packets" in options:
        yield from ("step_thresh", f"{options['step_packets']}p")


OPTIONS = {
    1: ("limit", "packets"), 2: ("memlimit", "bytes"), 3: ("target", "time"), 4: ("tupdate", "time"),
    5: ("alpha", "gain"), 6: ("beta", "gain"), 7: ("step_packets", "packets"), 8: ("step_thresh", "time"),
    9: ("min_qlen_step", "packets"), 10: ("coupling_factor", "plain"), 11: ("drop_on_overload", "flag"),
    12: ("drop_enqueue", "flag"), 13: ("classic_protection", "plain"), 14: ("any_ect", "mask"),
    15: ("split_gso", "flag"),
}  # fmt: skip
"""The attributes of `TCA_OPTIONS`; times are in us, gains in 1/256 Hz.    [linux-6.17 uapi/linux/pkt_sched.h]"""

L4S_ECT, ANY_ECT = 1, 3
"""The bits of the code point of which one has to be set.                  [linux-6.17 uapi/linux/pkt_sched.h]"""

STATISTICS = (
    "prob", "delay_c", "delay_l", "packets_in_c", "packets_in_l", "maxq", "ecn_mark", "step_marks", "credit",
    "memory_used", "max_memory_used", "memory_limit",
)  # fmt: skip
"""The members of `struct tc_dualpi2_xstats`, 32 bits each."""

ECN_MARK, STEP_MARKS = (4 * STATISTICS.index(name) for name in ("ecn_mark", "step_marks"))

FIRST_BYTE = 10
"""From this attribute on, values have one byte."""

HEAD = struct.Struct("=HH")


def _decoded(options: bytes, statistics: bytes) -> tuple[Json, Json]:
    """What the kernel says of it, as `tc` shows it."""
    shown: Json = {}
    for kind, value in _attributes(options):
        name, unit = OPTIONS.get(kind, ("", ""))
        flag = unit in ("flag", "mask")
        on = value == ANY_ECT if unit == "mask" else value
        if name and (not flag or on):
            shown[name] = True if flag else value / 256 if unit == "gain" else value
    count = len(statistics) // 4
    counters: Json = dict(zip(STATISTICS, struct.unpack(f"={count}I", statistics[: 4 * count]), strict=False))
    if counters:
        counters["prob"] /= 0xFFFF_FFFF
        counters["credit"] -= (counters["credit"] >> 31) << 32
    return shown, counters


STEERS = ("target", "tupdate", "alpha", "beta")
"""What follows from `max_rtt`, which the kernel does not know."""


def _encoded(given: Settings, resolved: Settings) -> bytes:
    """The attributes of the options that were given."""
    names = {*given, *(STEERS if "max_rtt" in given else ())}
    return b"".join(
        _attribute(kind, unit, resolved[name])
        for kind, (name, unit) in OPTIONS.items()
        if name in names and not (name == "step_thresh" and "step_packets" in names)
    )


def _attribute(kind: int, unit: str, value: int) -> bytes:
    """An attribute, padded to whole words; those from `coupling_factor` on have one byte."""
    mask = ANY_ECT if value else L4S_ECT
    number = value // 1000 if unit == "time" else mask if unit == "mask" else value
    content = number.to_bytes(1 if kind >= FIRST_BYTE else 4, sys.byteorder)
    return HEAD.pack(HEAD.size + len(content), kind) + content.ljust(4, b"\0")


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
            ("prob", "credit", "memory_used", "max_memory_used", "maxq"),
            ("packets_in_c", "packets_in_l", "ecn_mark", "step_marks"),
        ),
        shares=("prob",),
        units={
            "limit": "packets", "memlimit": "bytes", "target": "time", "tupdate": "time", "step_thresh": "time",
        },
    ),
    kernel=InKernel(marks=(ECN_MARK,), decoded=_decoded, encoded=_encoded),
    grammar=Grammar(
        without_keyword=("step_packets", "drop_on_overload", "drop_enqueue", "any_ect", "split_gso"),
        forms={
            "step_thresh": _step_threshold,
            "classic_protection": _protection,
            "l4s_ect": keyword(any_ect=0), "any_ect": keyword(any_ect=1),
            "drop_on_overload": keyword(drop_on_overload=1), "overflow": keyword(drop_on_overload=0),
            "drop_enqueue": keyword(drop_enqueue=1), "drop_dequeue": keyword(drop_enqueue=0),
            "split_gso": keyword(split_gso=1), "no_split_gso": keyword(split_gso=0),
        },
        keywords={
            "l4s_ect": "the opposite of `any_ect`",
            "overflow": "the opposite of `drop_on_overload`",
            "drop_dequeue": "the opposite of `drop_enqueue`",
            "no_split_gso": "the opposite of `split_gso`",
        },
    ),
    writer=_words,
    marks="always",
)  # fmt: skip
