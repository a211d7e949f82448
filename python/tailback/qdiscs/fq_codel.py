"""`fq_codel`: fair queueing of flows with CoDel on each.                             [iproute2 q_fq_codel.c]"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tailback.qdiscs import codel
from tailback.qdiscs.discipline import Discipline, InKernel, Json, Settings, Shown
from tailback.tc.errors import WordError
from tailback.tc.options import NOT_GIVEN_IF_ZERO, Grammar, Option, Options, Table, Words
from tailback.tc.units import shown
from tailback.tc.writing import Units, plain, without

_SELECTOR, _MASK = "ce_threshold_selector", "ce_threshold_mask"


def _selector(words: Words, table: Table) -> Options:
    """Reads `VALUE/MASK`, octets in decimal, in hexadecimal with 0x, or in octal with 0."""
    word = words.next() or ""
    value, _, mask = word.partition("/")
    if not (_NUMBER.fullmatch(value) and _NUMBER.fullmatch(mask)):
        hint = f"write VALUE/MASK of the DS octet: {_SELECTOR} 0x1/0x3 for packets with ECT(1)"
        raise WordError(f"`{_SELECTOR}` of `{table.kind}`: `{shown(word)}` is not a value and a mask", hint)
    # A mask of 0 selects all packets, whatever the value.
    return {name: table.value(name, str(_octet(part))) for name, part in ((_SELECTOR, value), (_MASK, mask))}


_NUMBER = re.compile(r"0[xX][0-9a-fA-F]{1,8}|0[0-7]{0,8}|[1-9][0-9]{0,8}")


def _octet(word: str) -> int:
    return int(word, 8) if re.fullmatch("0[0-7]+", word) else int(word, 0)


def _words(options: Settings, units: Units) -> Iterator[str]:
    yield from plain(without(options, _SELECTOR, _MASK), units, {"ecn": "noecn"})
    if _MASK in options:
        yield from (_SELECTOR, f"{options.get(_SELECTOR, 0):#x}/{options[_MASK]:#x}")


def _settings(resolved: Settings) -> Json:
    counts = {name: resolved[name] for name in ("flows", "quantum", "memory_limit", "drop_batch")}
    selected = {name: resolved[name] for name in (_SELECTOR, _MASK) if name in resolved}
    selects = "ce_threshold" in resolved and any(selected.values())
    return {**codel.settings(resolved), **(selected if selects else {}), **counts}


def _together(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """The selector with its mask, as `tc` prints them; zero without `0x`."""
    if _MASK not in options:
        return options
    joined = "/".join(f"{options[name]:#x}" if options[name] else "0" for name in (_SELECTOR, _MASK))
    return {name: joined if name == _SELECTOR else value for name, value in options.items() if name != _MASK}


ROW = Discipline(
    "fq_codel",
    shown=Shown(
        _settings,
        counters=(
            (
                "maxpacket", "drop_overlimit", "new_flow_count", "ecn_mark", "ce_mark", "memory_used",
                "drop_overmemory",
            ),
            ("new_flows_len", "old_flows_len"),
        ),
        units={**codel.UNITS, "memory_limit": "bytes"},
        joined=_together,
    ),
    kernel=InKernel(marks=(12, 28)),
    grammar=Grammar(
        options={
            **codel.OPTIONS,
            "flows": NOT_GIVEN_IF_ZERO,
            "drop_batch": NOT_GIVEN_IF_ZERO,
            "quantum": Option("plain number", "not given", raised_to=256),
        },
        without_keyword=(_MASK,),
        forms={_SELECTOR: _selector},
        off_unless_printed=("ecn",),
    ),
    writer=_words,
)  # fmt: skip
