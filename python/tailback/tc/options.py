"""The options of a queue discipline as `tc` takes them: words in, integers in base units out.

Most options are `NAME VALUE`, or a flag `NAME` / `noNAME`; those of the registry's rows are read so. What has another
shape in `tc` (`delay 10ms 2ms 25%`, `loss gemodel 1% 25%`, `bands 3 priomap 1 2 2 ...`) has a form of its own here.

units: rates, sizes and times as in `units.py`; a bare number is bit/s, bytes, microseconds (nanoseconds for netem) or
per cent.                                                   [iproute2 tc(8), tc_util.c, q_*.c; linux-6.12 pkt_sched.h]

As in `tc`, of an option given twice the last counts, an option of 0 is often one not given, and what the kernel cuts to
its range is cut here. `python -m conformance.tc` holds all this against a real `tc` on a real kernel.

Deviations: `180p` is taken for a number of packets, which `tc` prints and does not read; `tc`'s abbreviations and rates
in per cent of a device's speed are refused; so are values below zero that `tc` lets wrap around.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tailback.tc import units
from tailback.tc.errors import WordError, nearest_hint
from tailback.tc.rows import Parameter
from tailback.tc.units import LARGEST, shown

#: All of something, as the kernel holds shares: 2^32 - 1.
WHOLE = 2**32 - 1

Options = dict[str, int]


@dataclass(frozen=True)
class Table:
    """What may be set: the kind for messages, and the parameters."""

    kind: str
    parameters: Sequence[Parameter]

    def parameter(self, name: str) -> Parameter | None:
        """The parameter of that name."""
        return next((row for row in self.parameters if row.name == name), None)

    def require(self, name: str) -> Parameter:
        """A parameter that a form of this module names: the registry has it."""
        found = self.parameter(name)
        assert found is not None, f"{self.kind} has no parameter {name}"
        return found


class Words:
    """Words still to be read."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = list(words)

    def next(self) -> str | None:
        """The next word, taken; None at the end."""
        return self._words.pop(0) if self._words else None

    def peek(self) -> str | None:
        """The next word, left in place."""
        return self._words[0] if self._words else None


#: Reads what follows a keyword.
Form = Callable[[Words, Table], Options]


def options(words: Sequence[str], table: Table) -> Options:
    """The options given, in base units."""
    rest, found = Words(words), Options()
    while (word := rest.next()) is not None:
        given = _option(word, rest, table)
        for name in given.keys() & found.keys() & set(_ONCE.get(table.kind, ())):
            raise WordError(f"`{name}` of `{table.kind}` is given twice", "remove one of the two")
        found.update(_added(found, given) if table.kind == "cake" else given)
    _check_companions(words, found, table.kind)
    return {name: value for name, value in found.items() if value or (table.kind, name) not in _ZERO_IS_NOT_GIVEN}


def _added(found: Options, given: Options) -> Options:
    """The overheads of two of `cake`'s links add up, and `raw` ends when there is one."""
    if _LINK_OVERHEAD not in given:
        return given
    rest = {name: value for name, value in given.items() if name != _LINK_OVERHEAD}
    return {**rest, "overhead": found.get("overhead", 0) + given[_LINK_OVERHEAD], "raw": 0}


def _check_companions(words: Sequence[str], found: Options, kind: str) -> None:
    """Options that say something only beside others."""
    for names, needed in _COMPANIONS.get(kind, ()):
        for word in names:
            if word in words and not any(name in found for name in needed):
                raise WordError(f"`{word}` of `{kind}` needs `{needed[0]}`", f"give `{needed[0]}` too, or leave it out")


def value_of(parameter: Parameter, word: str, kind: str) -> int:
    """One value in its base unit, within its range."""
    try:
        value = _READERS[parameter.unit](parameter, word, kind)
    except WordError as error:
        raise WordError(f"`{parameter.name}` of `{kind}`: {error.message}", error.hint) from None
    value = _cut(value, _CUT.get((kind, parameter.name), (0, LARGEST)))
    if value == 0 and (kind, parameter.name) in _ZERO_IS_NOT_GIVEN:
        return 0
    return within(parameter, max(value, _LEAST.get((kind, parameter.name), 0)), word, kind)


def within(parameter: Parameter, value: int, word: str, kind: str) -> int:
    """A value in its base unit, if it lies within the parameter's range; `word` is how it was written."""
    if not parameter.least <= value <= parameter.most:
        least, most = written(parameter, parameter.least), written(parameter, parameter.most)
        message = f"`{parameter.name}` of `{kind}`: `{shown(word)}` is out of range"
        raise WordError(message, f"it must lie between {least} and {most}")
    return value


def _cut(value: int, within: tuple[int, int]) -> int:
    return min(max(value, within[0]), within[1])


def written(parameter: Parameter, value: int) -> str:
    """A value as `tc` would take it."""
    writer = _WRITERS.get(parameter.unit)
    return str(value) if writer is None else writer(parameter, value)


def _option(word: str, rest: Words, table: Table) -> Options:
    form = _FORMS.get(table.kind, {}).get(word)
    if form is not None:
        return form(rest, table)
    parameter = table.parameter(_ALIASES.get(table.kind, {}).get(word, word))
    if parameter is None or parameter.name in _HIDDEN.get(table.kind, ()):
        return {_switched_off(word, table): 0}
    if parameter.unit == "flag":
        return {parameter.name: 1}
    value = rest.next()
    if value is None:
        message = f"`{word}` of `{table.kind}` has no value"
        raise WordError(message, f"{parameter.meaning}; write `{word}` and a value")
    return {parameter.name: value_of(parameter, value, table.kind)}


def _switched_off(word: str, table: Table) -> str:
    for prefix in ("no_", "no"):
        parameter = table.parameter(word.removeprefix(prefix)) if word.startswith(prefix) else None
        if parameter is not None and parameter.unit == "flag":
            return parameter.name
    unknown = _NOT_MODELLED.get((table.kind, word))
    if unknown is not None:
        raise WordError(f"`{word}` of `{table.kind}` is not modelled", unknown)
    known = [row.name for row in table.parameters if row.name not in _HIDDEN.get(table.kind, ())]
    known += [key for key in _FORMS.get(table.kind, {}) if key not in known]
    raise WordError(f"`{shown(word)}` is not an option of `{table.kind}`", nearest_hint(word, known))


# -- values


#: Where a time without a unit is in ns and not in µs.
_BARE_TIMES_NS = {("fq", "timer_slack"), *(("netem", name) for name in ("delay", "jitter", "slot_min", "slot_max"))}
_WHOLE_NUMBER = re.compile(r"[0-9]{1,20}|0[xX][0-9a-fA-F]{1,16}")

#: Where `tc` takes bytes as a plain number, without a unit.
_PLAIN_BYTES = {
    ("fq", "quantum"), ("fq", "initial_quantum"), ("fq_codel", "quantum"), ("htb", "quantum"), ("htb", "mtu"),
    ("htb", "mpu"), ("tbf", "mpu"), ("sfq", "redflowlimit"), ("sfq", "min"), ("sfq", "max"), ("sfq", "avpkt"),
}  # fmt: skip

#: Where `tc` takes a number of packets as it takes sizes (`10k`).
_SIZED_PACKETS = {("pfifo", "limit"), ("pfifo_head_drop", "limit"), ("netem", "limit")}

#: What is not given if it is 0.                                                    [iproute2 q_*.c] [conformance.tc]
_ZERO_IS_NOT_GIVEN = {
    *((kind, name) for kind in ("codel", "fq_codel") for name in ("limit", "target", "interval")),
    *((kind, name) for kind in ("pie", "fq_pie") for name in ("limit", "target", "tupdate", "alpha", "beta")),
    *(("fq_codel", name) for name in ("flows", "quantum", "drop_batch")),
    *(("fq_pie", name) for name in ("flows", "quantum")),
    *(("sfq", name) for name in ("quantum", "flows", "depth", "divisor", "burst")),
    *(("cake", name) for name in ("bandwidth", "rtt", "memlimit")),
    ("fq", "buckets"), ("red", "burst"), ("red", "min"), ("red", "max"), ("htb", "quantum"),
}  # fmt: skip

#: What the kernel, or `tc`, cuts to a range without a word.
_CUT: Mapping[tuple[str, str], tuple[int, int]] = {
    ("sfq", "flows"): (0, 65_408), ("fq", "quantum"): (256, 1 << 20),
    ("htb", "prio"): (0, 7), ("htb", "r2q"): (1, LARGEST),
}  # fmt: skip

#: What is raised to this least by the kernel, unless it is 0 and so not given.
_LEAST: Mapping[tuple[str, str], int] = {("fq_codel", "quantum"): 256, ("sfq", "quantum"): 256}

#: What `tc` lets nobody say twice.
_ONCE: Mapping[str, Sequence[str]] = {
    "tbf": ("rate", "burst", "limit", "latency", "peakrate", "mtu", "mpu"),
    "htb": ("rate", "ceil"),
}

#: Words that say something only beside one of these options.
_COMPANIONS: Mapping[str, Sequence[tuple[Sequence[str], Sequence[str]]]] = {
    "netem": ((("distribution",), ("jitter",)), (("ecn",), ("loss", "p13", "p"))),
    "sfq": (
        (("min", "max", "avpkt", "burst", "probability", "ecn", "harddrop"), ("redflowlimit",)),
    ),
}  # fmt: skip

#: Written in hexadecimal, as all numbers of classes.
_HEXADECIMAL = {("htb", "default")}


def _number(parameter: Parameter, word: str, kind: str) -> int:
    if (kind, parameter.name) in _HEXADECIMAL:
        return minor(word)
    if not _WHOLE_NUMBER.fullmatch(word):
        raise WordError(f"`{shown(word)}` is not a whole number", "write a whole number without a unit")
    return int(word, 16 if word[:2].lower() == "0x" else 10)


def _packets(parameter: Parameter, word: str, kind: str) -> int:
    if _WHOLE_NUMBER.fullmatch(word):
        return _number(parameter, word, kind)
    if (kind, parameter.name) in _SIZED_PACKETS and not word.endswith("p"):
        return units.size(word)
    return units.packets(word)


def _bytes(parameter: Parameter, word: str, kind: str) -> int:
    if _WHOLE_NUMBER.fullmatch(word):
        return _number(parameter, word, kind)
    if (kind, parameter.name) in _PLAIN_BYTES:
        hint = "write a plain number of bytes: tc takes no unit here"
        raise WordError(f"`{shown(word)}` is not a whole number", hint)
    size, _, cell = word.partition("/")
    if cell and kind in ("htb", "tbf"):
        units.size(cell if not cell.isdigit() else f"{cell}b")
        return units.size(size if not size.isdigit() else f"{size}b")
    return units.size(word)


def _time(parameter: Parameter, word: str, kind: str) -> int:
    bare = _decimal(word)
    if bare is not None:
        return int(bare * (1 if (kind, parameter.name) in _BARE_TIMES_NS else 1000))
    return units.time(word)


def _rate(_parameter: Parameter, word: str, kind: str) -> int:
    if word.endswith("%"):
        raise WordError(f"`{shown(word)}` is a share of a device's speed", "write the rate itself: 100mbit")
    bare = _decimal(word)
    bits = units.rate(word) if bare is None else int(bare)
    if bits == 0 and kind == "cake":
        return 0
    if bits == 0:
        raise WordError(f"`{word}` is a rate of zero", "give a rate above zero, such as 100mbit")
    return bits


def _percent(_parameter: Parameter, word: str, _kind: str) -> int:
    share = _decimal(word.removesuffix("%"))
    if share is None or share > 100:
        raise WordError(f"`{shown(word)}` is not a share in per cent", "write 0% to 100%, such as 1% or 0.1%")
    return round(share / 100 * WHOLE)


def _fraction(_parameter: Parameter, word: str, _kind: str) -> int:
    share = _decimal(word)
    if share is None or share > 1:
        raise WordError(f"`{shown(word)}` is not a probability", "write a number from 0 to 1, such as 0.02")
    return round(share * WHOLE)


def _gain(_parameter: Parameter, word: str, _kind: str) -> int:
    gain = _decimal(word)
    if gain is None:
        raise WordError(f"`{shown(word)}` is not a gain", "write a number of Hz, such as 0.16")
    return int(gain * 256)


def _choice(parameter: Parameter, word: str, _kind: str) -> int:
    if word not in parameter.words:
        raise WordError(f"`{shown(word)}` is not one of the choices", nearest_hint(word, parameter.words))
    return parameter.words.index(word)


def _decimal(word: str) -> Fraction | None:
    """A number without a unit, not below zero."""
    plain = re.fullmatch(r"\+?([0-9]{1,18}(\.[0-9]{0,18})?|\.[0-9]{1,18})([eE][+-]?[0-9]{1,2})?", word)
    return Fraction(word.removesuffix(".") if "e" not in word.lower() else str(float(word))) if plain else None


_READERS: Mapping[str, Callable[[Parameter, str, str], int]] = {
    "number": _number, "packets": _packets, "bytes": _bytes, "time": _time, "rate": _rate, "percent": _percent,
    "fraction": _fraction, "gain": _gain, "choice": _choice,
}  # fmt: skip


def _written_share(value: int, whole: int) -> str:
    return f"{value / WHOLE * whole:.6f}".rstrip("0").rstrip(".")


_WRITERS: Mapping[str, Callable[[Parameter, int], str]] = {
    "rate": lambda _, value: units.rate_word(value),
    "time": lambda _, value: units.time_word(value),
    "bytes": lambda _, value: units.size_word(value),
    "percent": lambda _, value: f"{_written_share(value, 100)}%",
    "fraction": lambda _, value: _written_share(value, 1),
    "gain": lambda _, value: f"{value / 256:g}",
    "choice": lambda parameter, value: parameter.words[value] if value < len(parameter.words) else str(value),
    "flag": lambda _, value: "on" if value else "off",
}


def minor(word: str) -> int:
    """The number of a class: `1:10`, `:10` or `10`, in hexadecimal."""
    major, colon, number = word.rpartition(":")
    number = number.removeprefix("0x") if not colon else number
    digits = (number or "0") + (major if colon else "")
    if not re.fullmatch(r"[0-9a-fA-F]+", digits) or len(number) > 4 or len(major) > 4:
        raise WordError(f"`{shown(word)}` is not the number of a class", "write it as tc does, in hexadecimal: 1:10")
    return int(number or "0", 16)


# -- forms


def positional(*names: str) -> Form:
    """Values one after another, the first required; the next keyword ends them."""

    def read(words: Words, table: Table) -> Options:
        found = {
            names[0]: value_of(table.require(names[0]), _needed(words, table.require(names[0]), table), table.kind)
        }
        for name in names[1:]:
            word = words.peek()
            below = _BELOW_ZERO.get(name)
            if word is not None and below is not None and re.fullmatch("-[0-9]{1,9}", word):
                found[below] = value_of(table.require(below), (words.next() or "")[1:], table.kind)
                continue
            if word is None or not word[:1].isdigit():
                break
            found[name] = value_of(table.require(name), words.next() or "", table.kind)
        return found

    return read


#: Where a number below zero is kept.
_BELOW_ZERO = {"packet_overhead": "packet_undercharge"}


def _needed(words: Words, parameter: Parameter, table: Table) -> str:
    word = words.next()
    if word is None:
        raise WordError(f"`{parameter.name}` of `{table.kind}` has no value", f"it is: {parameter.meaning}")
    return word


def _set(**values: int) -> Form:
    return lambda _words, _table: dict(values)


def _choices(parameter: str, *words: str) -> dict[str, Form]:
    """Keywords that each stand for one value of a choice."""

    def form(word: str) -> Form:
        return lambda _, table: {parameter: table.require(parameter).words.index(word)}

    return {word: form(word) for word in words}


def _priomap(words: Words, table: Table) -> Options:
    bands: list[int] = []
    while len(bands) < 16 and (band := units.whole(words.peek())) is not None:
        bands.append(band)
        words.next()
    if any(band > 15 for band in bands):
        hint = "write the bands of up to 16 priorities: priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1"
        raise WordError(f"`priomap` of `{table.kind}` names a band {max(bands)}", hint)
    # Of the priorities that are not named the map stays as it is.
    usual = table.require("priomap").default or 0
    bands += [usual >> 4 * priority & 15 for priority in range(len(bands), 16)]
    return {"priomap": sum(band << (4 * priority) for priority, band in enumerate(bands))}


def _three_bands(words: Words, table: Table) -> Options:
    if words.next() != "3":
        raise WordError(
            f"`bands` of `{table.kind}` is always 3", "write: bands 3 priomap 1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1"
        )
    return {}


def _weights(words: Words, table: Table) -> Options:
    names = [f"weight_{band}" for band in range(3)]
    return {
        name: value_of(table.require(name), _needed(words, table.require(name), table), table.kind) for name in names
    }


def _loss(words: Words, table: Table) -> Options:
    model = words.peek()
    if model == "state":
        words.next()
        return {"loss_model": 1, **positional("p13", "p31", "p32", "p23", "p14")(words, table)}
    if model == "gemodel":
        words.next()
        return {"loss_model": 2, **positional("p", "r", "1-h", "1-k")(words, table)}
    if model == "random":
        words.next()
    return positional("loss", "loss_correlation")(words, table)


def _slot(words: Words, table: Table) -> Options:
    if words.peek() == "distribution":
        raise WordError(
            "`slot distribution` of `netem` is not modelled", "give the least and the most gap: slot 1ms 2ms"
        )
    found = positional("slot_min", "slot_max")(words, table)
    if found.get("slot_max", found["slot_min"]) < found["slot_min"]:
        raise WordError(
            "the most gap of `slot` of `netem` is less than the least", "write the least first: slot 1ms 2ms"
        )
    while words.peek() in ("packets", "bytes"):
        name = f"slot_{words.next()}"
        found[name] = value_of(table.require(name), _needed(words, table.require(name), table), table.kind)
    return found


def _linklayer(words: Words, table: Table) -> Options:
    word = words.next()
    return {"linklayer": value_of(table.require("linklayer"), "atm" if word == "adsl" else word or "", table.kind)}


def _step_threshold(words: Words, table: Table) -> Options:
    word = words.next() or ""
    name = "step_packets" if word.endswith("p") and not word.endswith("sp") else "step_thresh"
    if word.endswith("packets"):
        name, word = "step_packets", word.removesuffix("packets") + "p"
    return {name: value_of(table.require(name), word, table.kind)}


def _rtt(nanoseconds: int) -> Form:
    return _set(rtt=nanoseconds)


def _cake_overhead(words: Words, table: Table) -> Options:
    """A number, which may be below zero; what links have added is gone."""
    word = words.next() or ""
    if re.fullmatch("-[0-9]{1,9}", word):
        return {"undercharge": value_of(table.require("undercharge"), word[1:], table.kind), "overhead": 0, "raw": 0}
    return {"overhead": value_of(table.require("overhead"), word, table.kind), "undercharge": 0, "raw": 0}


def _ignored(words: Words, _table: Table) -> Options:
    """A rate that no kernel looks at any more."""
    units.rate(words.next() or "")
    return {}


_MS = 10**6

#: An interplanetary round trip is given with its own target in the kernel. [linux-6.12 sch_cake.c]
_CAKE_RTT = {
    "datacentre": 100_000, "lan": _MS, "metro": 10 * _MS, "regional": 30 * _MS, "internet": 100 * _MS,
    "oceanic": 300 * _MS, "satellite": 1000 * _MS, "interplanetary": 1000 * 1000 * _MS,
}  # fmt: skip

#: What a link adds to the overhead there is.
_LINK_OVERHEAD = "added overhead"

#: Overhead, cells and smallest packet of known links. [tc-cake(8)]
_CAKE_LINKS: dict[str, Options] = {
    "raw": {"raw": 1, "overhead": 0, "undercharge": 0, "framing": 0},
    "conservative": {"overhead": 48, "undercharge": 0, "raw": 0, "framing": 1},
    "ipoa-vcmux": {_LINK_OVERHEAD: 8, "framing": 1},
    "ipoa-llcsnap": {_LINK_OVERHEAD: 16, "framing": 1},
    "bridged-vcmux": {_LINK_OVERHEAD: 24, "framing": 1},
    "bridged-llcsnap": {_LINK_OVERHEAD: 32, "framing": 1},
    "pppoa-vcmux": {_LINK_OVERHEAD: 10, "framing": 1},
    "pppoa-llc": {_LINK_OVERHEAD: 14, "framing": 1},
    "pppoe-vcmux": {_LINK_OVERHEAD: 32, "framing": 1},
    "pppoe-llcsnap": {_LINK_OVERHEAD: 40, "framing": 1},
    "pppoe-ptm": {_LINK_OVERHEAD: 30, "framing": 2},
    "bridged-ptm": {_LINK_OVERHEAD: 22, "framing": 2},
    "docsis": {_LINK_OVERHEAD: 18, "mpu": 64, "framing": 0},
    "ethernet": {_LINK_OVERHEAD: 38, "mpu": 84},
    "ether-vlan": {_LINK_OVERHEAD: 4},
    "via-ethernet": {},
}

_SHAPER_ALIASES = {"buffer": "burst", "maxburst": "burst", "cbuffer": "cburst", "cmaxburst": "cburst"}

_ALIASES: Mapping[str, Mapping[str, str]] = {
    "htb": _SHAPER_ALIASES,
    "tbf": {"buffer": "burst", "maxburst": "burst", "minburst": "mtu", "lat": "latency"},
    "netem": {"latency": "delay"},
}

#: Parameters that have no keyword of their own in `tc`.
_HIDDEN: Mapping[str, Sequence[str]] = {
    "fq": ("weight_0", "weight_1", "weight_2", "horizon_action"),
    "netem": (
        "jitter", "delay_correlation", "loss_model", "loss_correlation", "p13", "p31", "p32", "p23", "p14", "p", "r",
        "1-h", "1-k", "corrupt_correlation", "duplicate_correlation", "reorder_correlation", "packet_overhead",
        "cell_size", "cell_overhead", "slot_min", "slot_max", "slot_packets", "slot_bytes", "packet_undercharge",
    ),
    "cake": ("tins", "isolation", "ack_filter", "framing", "raw", "split_gso", "undercharge"),
    "dualpi2": ("step_packets", "drop_on_overload", "drop_enqueue", "split_gso"),
}  # fmt: skip

_FORMS: Mapping[str, Mapping[str, Form]] = {
    "fq": {
        "bands": _three_bands,
        "priomap": _priomap,
        "weights": _weights,
        "horizon_drop": _set(horizon_action=0),
        "horizon_cap": _set(horizon_action=1),
        "defrate": _ignored,
    },
    "prio": {"priomap": _priomap},
    "htb": {"linklayer": _linklayer},
    "tbf": {"linklayer": _linklayer},
    "netem": {
        "delay": positional("delay", "jitter", "delay_correlation"),
        "latency": positional("delay", "jitter", "delay_correlation"),
        "loss": _loss,
        "drop": _loss,
        "corrupt": positional("corrupt", "corrupt_correlation"),
        "duplicate": positional("duplicate", "duplicate_correlation"),
        "reorder": positional("reorder", "reorder_correlation"),
        "rate": positional("rate", "packet_overhead", "cell_size", "cell_overhead"),
        "slot": _slot,
    },
    "cake": {
        "unlimited": _set(bandwidth=0),
        "overhead": _cake_overhead,
        "besteffort": _set(tins=1), "precedence": _set(tins=4), "diffserv3": _set(tins=0),
        "diffserv4": _set(tins=2), "diffserv8": _set(tins=3),
        "flowblind": _set(isolation=1), "srchost": _set(isolation=2), "dsthost": _set(isolation=3),
        "hosts": _set(isolation=4), "flows": _set(isolation=5), "dual-srchost": _set(isolation=6),
        "dual-dsthost": _set(isolation=7), "triple-isolate": _set(isolation=0),
        "ack-filter": _set(ack_filter=1), "ack-filter-aggressive": _set(ack_filter=2),
        "no-ack-filter": _set(ack_filter=0),
        "ingress": _set(ingress=1), "egress": _set(ingress=0),
        "split-gso": _set(split_gso=1), "no-split-gso": _set(split_gso=0),
        "atm": _set(framing=1), "ptm": _set(framing=2), "noatm": _set(framing=0),
        **{name: _rtt(nanoseconds) for name, nanoseconds in _CAKE_RTT.items()},
        **{name: _set(**link) for name, link in _CAKE_LINKS.items()},
    },
    "dualpi2": {
        "step_thresh": _step_threshold,
        "drop_on_overload": _set(drop_on_overload=1), "overflow": _set(drop_on_overload=0),
        "drop_enqueue": _set(drop_enqueue=1), "drop_dequeue": _set(drop_enqueue=0),
        "split_gso": _set(split_gso=1), "no_split_gso": _set(split_gso=0),
    },
}  # fmt: skip

_NOT_MODELLED: Mapping[tuple[str, str], str] = {
    ("fq_codel", "ce_threshold_selector"): "leave it out: `ce_threshold` holds for all packets here",
    ("cake", "autorate-ingress"): "leave it out and give the `bandwidth`",
    ("htb", "offload"): "leave it out: no device here shapes by itself",
}
