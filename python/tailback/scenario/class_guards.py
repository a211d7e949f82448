"""Guards of disciplines with classes: packets that no filter matches, and classes that do not share by their rates."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from msgspec import Struct

from tailback import qdiscs
from tailback.resolved import Class, Filter, Qdisc
from tailback.scenario.packets import Packets

#: Minimum and maximum of a quantum that follows from a rate. [linux-6.12 sch_htb.c htb_change_class]
QUANTUM = (1000, 200_000)

R2Q = 10

#: Shares that differ by less than this are alike.
NEARLY = Fraction(11, 10)


class Guarded(Struct, frozen=True):
    """A warning about one discipline of a device."""

    code: str
    text: str
    remedy: str


def unmatched(node: Qdisc, crossing: Sequence[Packets], hosts: Sequence[str]) -> Guarded | None:
    """The warning of a discipline that has no class for some packets."""
    takes_all = not qdiscs.of(node.kind).class_rates or _has_default(node)
    drops = qdiscs.of(node.kind).takes == "packets of filters"
    if takes_all and not drops:
        return None
    leaves = {each.minor for each in _leaves(node)}
    missed = [each for each in crossing if _class_of(node, each, hosts) not in leaves]
    if not missed:
        return None
    names = ", ".join(dict.fromkeys(f"`{_named(each)}`" for each in missed[:3]))
    if drops:
        text = f"no filter of `{node.kind}` matches packets of {names}, so it drops them"
        return Guarded("unclassified", text, "add a filter for the rest behind the others: filter all flowid 1")
    if not node.classes:
        text = f"`{node.kind}` has no classes, so it shapes nothing: {names} take its direct queue"
        return Guarded(
            "htb-unshaped", text, "add its classes (`tc class show` prints them), or write `htb rate 10mbit`"
        )
    leaf = _leaves(node)[0].minor
    default = node.options.get("default")
    inner = default if default else next(filter(None, (_class_of(node, each, hosts) for each in missed)), None)
    which = "no class is the `default`" if inner is None else f"class {inner:x} is no leaf"
    text = f"{which}, so packets of {names} pass `{node.kind}` without being shaped"
    return Guarded("htb-unshaped", text, f"name the class of all other packets: {node.kind} default {leaf:x}")


def _has_default(node: Qdisc) -> bool:
    """Whether a discipline has a leaf for packets that no filter matches."""
    if not node.classes:
        return "rate" in node.options
    return node.options.get("default", 0) in [each.minor for each in _leaves(node)]


def _leaves(node: Qdisc) -> list[Class]:
    inner = {each.parent for each in node.classes}
    return [each for each in node.classes if each.minor not in inner]


def _class_of(node: Qdisc, packets: Packets, hosts: Sequence[str]) -> int | None:
    """The class of the first filter that takes all packets of a flow."""
    return next((one.minor for one in node.filters if _fits(one, packets, hosts)), None)


def _fits(filter_: Filter, packets: Packets, hosts: Sequence[str]) -> bool:
    """Whether a filter matches all packets of a flow that go this way."""
    fits = filter_.fits
    if fits == "all":
        return True
    named = fits.traffic in {*packets.flow.names, *(name.rpartition(".")[0] for name in packets.flow.names)}
    source = fits.source is not None and hosts[fits.source] == packets.way.source
    target = fits.target is not None and hosts[fits.target] == packets.way.target
    return named or source or target or (fits.dscp is not None and fits.dscp == packets.flow.dscp)


def _named(packets: Packets) -> str:
    first = packets.flow.names[0]
    return first if len(packets.flow.names) == 1 else first.rpartition(".")[0] or first


def clamped(node: Qdisc) -> Guarded | None:
    """The warning of classes that borrow in another proportion than that of their rates."""
    siblings: dict[tuple[int, int], list[Class]] = {}
    for each in _leaves(node) if qdiscs.of(node.kind).class_rates else ():
        if "quantum" not in each.options and each.options.get("ceil", 0) > each.options.get("rate", 0):
            siblings.setdefault((each.parent, each.options.get("prio", 0)), []).append(each)
    for group in siblings.values():
        found = _distorted(group, node.options.get("r2q", R2Q))
        if found is not None:
            return found
    return None


def _distorted(group: Sequence[Class], r2q: int) -> Guarded | None:
    """The warning of siblings that borrow in another proportion than that of their rates."""
    meant = {each.minor: Fraction(each.options["rate"], 8 * r2q) for each in group}
    real = {minor: min(max(quantum, Fraction(QUANTUM[0])), Fraction(QUANTUM[1])) for minor, quantum in meant.items()}
    changes = [real[minor] / meant[minor] for minor in meant]
    if max(changes) < NEARLY * min(changes):
        return None
    odd = next(minor for minor in meant if real[minor] != meant[minor])
    size, end = ("big", "most") if meant[odd] > QUANTUM[1] else ("small", "least")
    # The proportion of those that are like their rates, if there are any.
    unit = min(meant, key=lambda minor: (real[minor] != meant[minor], meant[minor]))
    shares, rates = (" : ".join(f"{float(each[minor] / each[unit]):.3g}" for minor in meant) for each in (real, meant))
    text = (
        f"the quantum of class {odd:x} is too {size}: it is {int(real[odd])} bytes, the {end} there is, and not "
        f"{float(meant[odd]):.0f}; classes {', '.join(f'{minor:x}' for minor in meant)} borrow {shares}, and "
        f"their rates are {rates}"
    )
    return Guarded("htb-quantum", text, _remedy(group))


def _remedy(group: Sequence[Class]) -> str:
    """An `r2q` that leaves all quanta in their range, if there is one."""
    bytes_ = [each.options["rate"] // 8 for each in group]
    least, most = -(-max(bytes_) // QUANTUM[1]), min(bytes_) // QUANTUM[0]
    if 1 <= least <= most:
        return f"give the discipline an `r2q` of {least} to {most}, or each class a `quantum`"
    return "give each class a `quantum` in proportion to its rate"
