"""`htb`: a tree of token buckets that borrow from their parents.                     [iproute2 q_htb.c]"""

from collections.abc import Iterator

from tailback.qdiscs import forms
from tailback.qdiscs.discipline import Discipline, InKernel, Json, Settings, Shown
from tailback.tc.options import PLAIN_NUMBER, Grammar, Option
from tailback.tc.units import LARGEST
from tailback.tc.writing import Units


def _settings(resolved: Settings) -> Json:
    # `htb rate …` is short for a tree with one class, the default.
    default = resolved.get("default", 0) or int("rate" in resolved)
    return {
        "r2q": resolved.get("r2q", 10),
        "default": f"{default:#x}" if default else "0",
        "direct_qlen": resolved.get("direct_qlen", 1000),
    }


def _words(options: Settings, units: Units) -> Iterator[str]:
    for name, value in options.items():
        # A class has a number in hexadecimal.
        yield from (name, f"{value:x}") if name == "default" else forms.with_link_layer({name: value}, units)


ROW = Discipline(
    "htb",
    shown=Shown(
        _settings,
        among_options=("direct_packets_stat",),
        class_counters=(("lended", "borrowed", "giants"), ("tokens", "ctokens")),
    ),
    kernel=InKernel(),
    grammar=Grammar(
        options={
            **{name: Option("size and cell") for name in ("burst", "cburst")},
            "quantum": Option("plain number", "not given"),
            "mtu": PLAIN_NUMBER,
            "mpu": PLAIN_NUMBER,
            "prio": Option(cut_to=(0, 7)),
            "r2q": Option(cut_to=(1, LARGEST)),
            "default": Option("hexadecimal"),
        },
        aliases={"buffer": "burst", "maxburst": "burst", "cbuffer": "cburst", "cmaxburst": "cburst"},
        forms={"linklayer": forms.link_layer},
        once=("rate", "ceil"),
        printed={"direct_packets_stat": 1, "ver": 1, "level": 1},
        not_modelled={"offload": "remove it: no device has hardware shaping"},
    ),
    writer=_words,
    above_classes=("default", "r2q", "direct_qlen"),
    tree=(
        "htb default 20; class 10 rate 5mbit ceil 9mbit prio 1 | fq_codel; "
        "class 20 rate 4mbit ceil 9mbit prio 2 | fq_codel; filter dscp EF flowid 10"
    ),
    shaper="rate",
    class_rates=("ceil", "rate"),
    queue="none",
)
