"""`netem`: network emulator: delay, loss, corruption, duplication, reordering, rate, slots.  [iproute2 q_netem.c]"""

from collections.abc import Iterator, Mapping
from typing import Any

from tailback.qdiscs import forms
from tailback.qdiscs.discipline import Discipline, InKernel, Json, Settings, Shown
from tailback.tc.errors import WordError
from tailback.tc.options import Form, Grammar, Option, Options, Table, Words, positional
from tailback.tc.printing import microseconds, rate
from tailback.tc.writing import Units, plain, positions, word_of

_DELAY = ("delay", "jitter", "delay_correlation")
_RANDOM = ("loss", "loss_correlation")
_MARKOV = ("p13", "p31", "p32", "p23", "p14")
_GILBERT_ELLIOTT = ("p", "r", "1-h", "1-k")
_MODELS = ("random", "state", "gemodel")
_RATE = ("rate", "packet_overhead", "cell_size", "cell_overhead")
_BELOW_ZERO = {"packet_overhead": "packet_undercharge"}
_DISTRIBUTIONS = ("uniform", "normal", "pareto", "paretonormal")


def _loss(words: Words, table: Table) -> Options:
    model = words.peek()
    if model == "state":
        words.next()
        return {"loss_model": 1, **positional(*_MARKOV)(words, table)}
    if model == "gemodel":
        words.next()
        return {"loss_model": 2, **positional(*_GILBERT_ELLIOTT)(words, table)}
    if model == "random":
        words.next()
    return positional(*_RANDOM)(words, table)


def _slot(words: Words, table: Table) -> Options:
    if words.peek() == "distribution":
        raise WordError(
            "`slot distribution` of `netem` is not modelled", "give the minimum and maximum gap: slot 1ms 2ms"
        )
    found = positional("slot_min", "slot_max")(words, table)
    if found.get("slot_max", found["slot_min"]) < found["slot_min"]:
        raise WordError(
            "the maximum gap of `slot` of `netem` is below the minimum", "write the minimum first: slot 1ms 2ms"
        )
    while words.peek() in ("packets", "bytes"):
        name = f"slot_{words.next()}"
        found[name] = table.next_value(name, words)
    return found


def _packet_overhead(words: Words, table: Table) -> Options:
    word = words.next() or ""
    name = "packet_undercharge" if word.startswith("-") else "packet_overhead"
    return {name: table.value(name, word.removeprefix("-"))}


def _as(parameter: str) -> Form:
    """Reads a value under another name."""
    return lambda words, table: {parameter: table.value(parameter, words.next() or "")}


def _words(options: Settings, units: Units) -> Iterator[str]:
    yield from plain({name: options[name] for name in ("limit", "gap") if name in options}, units)
    if options.get("delay") or options.get("jitter"):
        yield from ("delay", *positions(options, units, _DELAY))
        if options.get("distribution"):
            yield from ("distribution", _DISTRIBUTIONS[options["distribution"]])
    yield from _loss_words(options, units)
    for name in ("corrupt", "duplicate", "reorder"):
        if options.get(name):
            yield from (name, *positions(options, units, (name, f"{name}_correlation")))
    yield from _pace_words(options, units)


def _pace_words(options: Settings, units: Units) -> Iterator[str]:
    if options.get("rate"):
        overhead = str(options.get("packet_overhead", 0) - options.get("packet_undercharge", 0))
        cells = [str(options.get(name, 0)) for name in ("cell_size", "cell_overhead")]
        yield from ("rate", word_of(options["rate"], "rate"), overhead, *cells)
    if options.get("slot_min") or options.get("slot_max"):
        yield from ("slot", *positions(options, units, ("slot_min", "slot_max")))
        for name in ("packets", "bytes"):
            if f"slot_{name}" in options:
                yield from (name, str(options[f"slot_{name}"]))


def _loss_words(options: Settings, units: Units) -> Iterator[str]:
    model = options.get("loss_model", 0)
    names = (_RANDOM, _MARKOV, _GILBERT_ELLIOTT)[model]
    if model or options.get("loss"):
        yield from ("loss", _MODELS[model], *positions(options, units, names))
    if options.get("ecn"):
        yield "ecn"


def _settings(resolved: Settings) -> Json:
    found: Json = {**forms.limit(resolved)}
    if resolved["delay"] or resolved["jitter"]:
        times = {name: forms.seconds(resolved[name]) for name in ("delay", "jitter")}
        found["delay"] = {**times, "correlation": forms.share(resolved["delay_correlation"])}
    found |= _loss_settings(resolved)
    for name in ("duplicate", "reorder", "corrupt"):
        if resolved[name]:
            correlation = forms.share(resolved[f"{name}_correlation"])
            found[name] = {name: forms.share(resolved[name]), "correlation": correlation}
    if resolved.get("rate"):
        overhead = resolved["packet_overhead"] - resolved["packet_undercharge"]
        cells = {"cellsize": resolved["cell_size"], "celloverhead": resolved["cell_overhead"]}
        found["rate"] = {"rate": resolved["rate"] // 8, "packetoverhead": overhead, **cells}
    if resolved.get("slot_min") or resolved.get("slot_max"):
        least, most = resolved["slot_min"], max(resolved["slot_min"], resolved["slot_max"])
        room = {name: resolved[f"slot_{name}"] for name in ("packets", "bytes")}
        found["slot"] = {"min-delay": forms.seconds(least), "max-delay": forms.seconds(most), **room}
    return {**found, "ecn": bool(resolved["ecn"]), "gap": resolved["gap"] or int(resolved["reorder"] > 0)}


def _loss_settings(resolved: Settings) -> Json:
    model = resolved["loss_model"]
    if model:
        names = {1: _MARKOV, 2: _GILBERT_ELLIOTT}[model]
        return {f"loss-{_MODELS[model]}": {name: forms.share(resolved[name]) for name in names}}
    if resolved["loss"]:
        shares = {"loss": forms.share(resolved["loss"]), "correlation": forms.share(resolved["loss_correlation"])}
        return {"loss-random": shares}
    return {}


def _shown_words(options: Mapping[str, Any]) -> Iterator[str]:
    yield f"limit {options['limit']}"
    if "delay" in options:
        delay, jitter, correlation = options["delay"].values()
        yield f"delay {_time(delay)}" + (f"  {_time(jitter)}" if jitter else "") + _correlation(correlation)
    for name in ("loss-random", "duplicate", "reorder", "corrupt"):
        if name in options:
            value, correlation = options[name].values()
            yield f"{name.removesuffix('-random')} {_share(value)}{_correlation(correlation)}"
    for model in _MODELS[1:]:
        if f"loss-{model}" in options:
            yield f"loss {model} " + " ".join(f"{name} {_share(p)}" for name, p in options[f"loss-{model}"].items())
    if "rate" in options:
        yield f"rate {rate(options['rate']['rate'])}"
        yield from (f"{name} {value}" for name, value in options["rate"].items() if name != "rate" and value)
    if "slot" in options:
        yield f"slot {_time(options['slot']['min-delay'])} {_time(options['slot']['max-delay'])}"
        yield from (f"{name} {options['slot'][name]}" for name in ("packets", "bytes") if options["slot"].get(name))
    yield from ("ecn",) if options["ecn"] else ()
    yield from (f"gap {options['gap']}",) if options["gap"] else ()


def _time(seconds: float) -> str:
    return microseconds(seconds * 1e6)


def _share(share: float) -> str:
    return f"{100 * share:g}%"


def _correlation(share: float) -> str:
    return f" {_share(share)}" if share else ""


ROW = Discipline(
    "netem",
    shown=Shown(
        _settings,
        counters=(("delayed", "dropped", "corrupted", "duplicated", "reordered", "ecn_marked"),),
        words=_shown_words,
    ),
    kernel=InKernel(refused={"seed": "remove `seed`: the run has one"}, marks=None),
    grammar=Grammar(
        options={
            "limit": Option("number as a size"),
            **{name: Option("nanoseconds") for name in ("delay", "jitter", "slot_min", "slot_max")},
        },
        aliases={"latency": "delay"},
        without_keyword=(
            *_DELAY[1:], "loss_model", *_RANDOM[1:], *_MARKOV, *_GILBERT_ELLIOTT, "corrupt_correlation",
            "duplicate_correlation", "reorder_correlation", *_RATE[1:], "slot_min", "slot_max", "slot_packets",
            "slot_bytes", "packet_undercharge",
        ),
        forms={
            "delay": positional(*_DELAY),
            "latency": positional(*_DELAY),
            "loss": _loss,
            "drop": _loss,
            "corrupt": positional("corrupt", "corrupt_correlation"),
            "duplicate": positional("duplicate", "duplicate_correlation"),
            "reorder": positional("reorder", "reorder_correlation"),
            "rate": positional(*_RATE, below_zero=_BELOW_ZERO),
            "slot": _slot,
            "packetoverhead": _packet_overhead,
            "cellsize": _as("cell_size"),
            "celloverhead": _as("cell_overhead"),
        },
        keywords={
            "packetoverhead": "the second value of `rate`, as `tc` prints it",
            "cellsize": "the third value of `rate`, as `tc` prints it",
            "celloverhead": "the fourth value of `rate`, as `tc` prints it",
            "latency": "the same as `delay`",
            "drop": "the same as `loss`",
            "slot": "minimum and maximum time between two delivery slots: slot 1ms 2ms packets 10",
        },
        # Every netem of a newer kernel has a seed; a run has its own.
        printed={"seed": 1},
        companions=((("distribution",), ("jitter",)), (("ecn",), ("loss", "p13", "p"))),
    ),
    writer=_words,
    shaper="rate",
)  # fmt: skip
