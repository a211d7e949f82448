"""The options of a discipline as the words that `tc` takes for them: base units back into its grammar.

The inverse of `scenario/tc.py`, for whoever asks a kernel; the two are held together by
`tests/python/backends/linux/test_words.py`: what the words say is what was meant.   [iproute2 tc(8), q_*.c]
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from tailback import _core
from tailback.backends.linux.steps import time_word

Options: TypeAlias = Mapping[str, int]

WHOLE = 2**32 - 1
"""All of something, as shares are counted."""

_TINS = ("diffserv3", "besteffort", "diffserv4", "diffserv8", "precedence")
_ISOLATIONS = (
    "triple-isolate", "flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost",
)  # fmt: skip


def words_of(kind: str, options: Options) -> list[str]:
    """The words after the kind."""
    return list(_SHAPES.get(kind, functools.partial(_plain, kind))(options))


@functools.cache
def _units(kind: str) -> Mapping[str, str]:
    row = next(row for row in _core.qdiscs() if row["name"] == kind)
    both = [*row["parameters"], *(row.get("class_parameters") or ())]
    return {one["name"]: one["unit"] for one in both}


def _word(value: int, unit: str) -> str:
    # Not every option takes a unit of size.
    if unit == "time":
        return time_word(value)
    if unit == "percent":
        return f"{value / WHOLE * 100:.10g}%"
    if unit == "fraction":
        return f"{value / WHOLE:.10g}"
    if unit == "gain":
        return f"{value / 256:.10g}"
    return f"{value}bit" if unit == "rate" else str(value)


def _plain(kind: str, options: Options) -> Iterator[str]:
    """`NAME VALUE`, or a flag, which some kinds can also take back."""
    for name, value in options.items():
        unit = _units(kind)[name]
        if unit == "flag":
            yield from [name] if value else _OPPOSITES.get((kind, name), [])
        elif name == "linklayer":
            yield from ("linklayer", ("ethernet", "atm")[value])
        else:
            yield from (name, _word(value, unit))


#: How a flag that is usually on, or may have been on, is turned off.
_OPPOSITES: Mapping[tuple[str, str], list[str]] = {
    **{(kind, "ecn"): ["noecn"] for kind in ("codel", "fq_codel", "pie", "fq_pie")},
    **{(kind, "bytemode"): ["nobytemode"] for kind in ("pie", "fq_pie")},
    **{(kind, "dq_rate_estimator"): ["no_dq_rate_estimator"] for kind in ("pie", "fq_pie")},
    ("fq", "pacing"): ["nopacing"],
}


def _without(options: Options, *names: str) -> Options:
    return {name: value for name, value in options.items() if name not in names}


def _bands(kind: str, options: Options) -> Iterator[str]:
    yield from _plain(kind, _without(options, "priomap"))
    if "priomap" in options:
        yield from ("priomap", *(str(options["priomap"] >> 4 * place & 15) for place in range(16)))


def _pie(options: Options) -> Iterator[str]:
    # The generation is that of the kernel: `suitable` refuses another.
    return _plain("pie", _without(options, "generation"))


def _fq(options: Options) -> Iterator[str]:
    special = ("priomap", "weight_0", "weight_1", "weight_2", "horizon_action")
    yield from _plain("fq", _without(options, *special))
    if "horizon_action" in options:
        yield ("horizon_drop", "horizon_cap")[options["horizon_action"]]


def _netem(options: Options) -> Iterator[str]:
    yield from _plain("netem", {name: options[name] for name in ("limit", "gap") if name in options})
    if options.get("delay") or options.get("jitter"):
        yield from ("delay", *_given(options, "delay", "jitter", "delay_correlation"))
        if options.get("distribution"):
            yield from ("distribution", ("uniform", "normal", "pareto", "paretonormal")[options["distribution"]])
    yield from _netem_loss(options)
    for name in ("corrupt", "duplicate", "reorder"):
        if options.get(name):
            yield from (name, *_given(options, name, f"{name}_correlation"))
    yield from _netem_pace(options)


def _given(options: Options, *names: str) -> Iterator[str]:
    """The values of a form, up to the last that is given."""
    last = max((place for place, name in enumerate(names) if name in options), default=-1)
    for name in names[: last + 1]:
        yield _word(options.get(name, 0), _units("netem")[name])


def _netem_pace(options: Options) -> Iterator[str]:
    if options.get("rate"):
        overhead = str(options.get("packet_overhead", 0) - options.get("packet_undercharge", 0))
        cells = [str(options.get(name, 0)) for name in ("cell_size", "cell_overhead")]
        yield from ("rate", _word(options["rate"], "rate"), overhead, *cells)
    if options.get("slot_min") or options.get("slot_max"):
        yield from ("slot", *_given(options, "slot_min", "slot_max"))
        for name in ("packets", "bytes"):
            if f"slot_{name}" in options:
                yield from (name, str(options[f"slot_{name}"]))


def _netem_loss(options: Options) -> Iterator[str]:
    model = options.get("loss_model", 0)
    if model == 0 and options.get("loss"):
        yield from ("loss", "random", *_given(options, "loss", "loss_correlation"))
    if model == 1:
        yield from ("loss", "state", *_given(options, "p13", "p31", "p32", "p23", "p14"))
    if model == 2:
        yield from ("loss", "gemodel", *_given(options, "p", "r", "1-h", "1-k"))
    if options.get("ecn"):
        yield "ecn"


def _cake(options: Options) -> Iterator[str]:
    for name in ("bandwidth", "rtt", "memlimit", "mpu", "fwmark"):
        if name in options:
            yield from (name, _word(options[name], _units("cake")[name]))
    if options.get("raw") or ("overhead" in options and "raw" not in options):
        yield "raw"
    if "overhead" in options and not options.get("raw"):
        yield from ("overhead", str(options["overhead"] - options.get("undercharge", 0)))
    for name, choices in _CAKE_CHOICES.items():
        if name in options:
            yield choices[options[name]]


_CAKE_CHOICES: Mapping[str, tuple[str, ...]] = {
    "framing": ("noatm", "atm", "ptm"),
    "tins": _TINS,
    "isolation": _ISOLATIONS,
    "ack_filter": ("no-ack-filter", "ack-filter", "ack-filter-aggressive"),
    "ingress": ("egress", "ingress"),
    "nat": ("nonat", "nat"),
    "wash": ("nowash", "wash"),
    "split_gso": ("no-split-gso", "split-gso"),
}

_SHAPES: Mapping[str, Callable[[Options], Iterator[str]]] = {
    "prio": functools.partial(_bands, "prio"),
    "pie": _pie,
    "fq": _fq,
    "netem": _netem,
    "cake": _cake,
}
