"""Reads one discipline, or a chain: `htb rate 100mbit burst 1600 | fq_codel limit 180`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import structs

from tailback import qdiscs
from tailback.scenario.algorithm import Algorithm, Class, Filter
from tailback.scenario.size_tables import KEYWORD, size_table
from tailback.tc import options as tc
from tailback.tc.errors import WordError, nearest_hint
from tailback.tc.rows import Parameter, Row
from tailback.tc.units import shown

_SAMPLES = {"rate": "100mbit", "time": "5ms", "bytes": "1600b", "packets": "1000p", "number": "1", "flag": ""}

_INGRESS = "let a host before it shape what arrives, such as `wan -> router: cake bandwidth 45mbit ingress`"

_TAIL_DROP = "write `pfifo limit 100`, a FIFO that drops at its tail"

_SHARES = "use `htb`, whose classes borrow what others leave, or `drr`, which shares by quantum"

_BANDS = "use `prio` for strict priority and `drr` for shares"

_DOWN = "give the link a `schedule` with `state: down` and `up`"

_AT_TIMES = "there is nothing like it: packets are sent in turn, not at times of a schedule"

NOT_MODELLED: Mapping[str, str] = {
    **dict.fromkeys(("droptail", "drop-tail", "drop_tail", "taildrop", "tail-drop", "fifo"), _TAIL_DROP),
    "noqueue": "remove it: the device of a link without a rate has no discipline",
    "ingress": f"{_INGRESS}; `tailback explain ifb` has an example",
    "clsact": f"{_INGRESS}; `tailback explain ifb` has an example",
    "police": "it has no queue and belongs to a link: links: [{ends: [A, B], police: rate 10mbit burst 20kb}]",
    **dict.fromkeys(("hfsc", "cbq"), _SHARES),
    "qfq": "use `drr`, which shares by quantum instead of weight",
    **dict.fromkeys(("ets", "multiq"), _BANDS),
    **dict.fromkeys(("taprio", "etf", "cbs"), _AT_TIMES),
    **dict.fromkeys(("noop", "blackhole"), _DOWN),
    **dict.fromkeys(("dsmark", "atm"), "Linux has it no more: give the traffic its `dscp`, and use `prio` or `drr`"),
    "mqprio": "use `mq queues N`, or `prio`",
    **dict.fromkeys(("gred", "sfb", "wred"), "use `red`, or `prio` with a `red` in each class"),
    "skbprio": "use `prio`, whose bands have limits of their own",
    **dict.fromkeys(("teql", "teql0", "teql1"), "there are no bundles of devices: give one link the rate of all"),
    "plug": _DOWN,
    "wfq": "use `fq_codel` for fairness of flows, `drr` for shares of classes",
    **dict.fromkeys(("sqm", "cake_mq"), "use `cake bandwidth RATE`; `tailback explain sqm` says more"),
    **dict.fromkeys(("config", "option", "uci"), "write what `tc qdisc show dev eth0` prints on the router"),
    **dict.fromkeys(("ipfw", "dnctl", "pipe", "comcast"), "write it as tc does: netem delay 50ms rate 10mbit loss 1%"),
    "wondershaper": "use `tbf rate 1mbit burst 16kb latency 50ms`, or paste the lines of `tc` of the script",
}
"""What to do instead of disciplines that Linux has, or other tools' names for."""

STAB_AT_ROOT = "give it to the first discipline of the device, whose lengths its children see, too"


DEEPEST = 32
"""Disciplines one below the other. Linux looks no deeper than 8 for loops; what walks trees calls itself for each."""


def chain(text: str, rows: Sequence[Row]) -> Algorithm:
    """Reads a discipline with what is below it, and the size table in front of it."""
    table, words = size_table(text.split())
    stages = [each.split() for each in " ".join(words).split("|")]
    check_depth(len(stages))
    found: Algorithm | None = None
    for each in reversed(stages):
        found = stage(each, rows, found)
    assert found is not None
    return found if table is None else structs.replace(found, stab=table)


def check_depth(disciplines: int) -> None:
    """Refuses a tree with too many disciplines one below the other."""
    if disciplines > DEEPEST:
        raise WordError(
            f"{disciplines} disciplines are one below the other, and {DEEPEST} may be",
            "a list puts disciplines in series: [htb rate 10mbit, fq_codel]",
        )


def stage(words: list[str], rows: Sequence[Row], child: Algorithm | None) -> Algorithm:
    """Reads one discipline, which is above `child`."""
    if not words:
        raise WordError("one side of `|` is empty", "write the shaper before the bar and its child after it")
    if words[0] == KEYWORD:
        raise WordError("`stab` is below another discipline", STAB_AT_ROOT)
    row = row_named(words[0], rows, "queue discipline")
    options = own_options(words[1:], row, child, rows)
    return over(row, options, child, rows)


def options_before_bar(words: Sequence[str], table: tc.Table, rows: Sequence[Row]) -> dict[str, int]:
    """Reads options; where the name of a discipline stands among them, the bar before it was forgotten."""
    try:
        return tc.options(words, table)
    except WordError as error:
        below = next((row.name for row in rows if error.message.startswith(f"`{row.name}` is not an option")), None)
        if below is None:
            raise
        raise WordError(
            error.message, f"a discipline below another stands behind a bar: {table.kind} | {below}"
        ) from None


def own_options(words: Sequence[str], row: Row, child: Algorithm | None, rows: Sequence[Row]) -> dict[str, int]:
    """Reads the options of a discipline without classes."""
    table = discipline_table(row, row.parameters)
    options = options_before_bar(words, table, rows)
    above = qdiscs.of(row.name).above_classes
    # `htb default 10` alone is a discipline whose classes are not made yet: it passes everything, as in a kernel.
    if child is None and above and set(options) <= set(above):
        return options
    check_required(table, options)
    return options


def over(row: Row, options: dict[str, int], child: Algorithm | None, rows: Sequence[Row]) -> Algorithm:
    """A discipline above `child`, of which every band has one."""
    if child is None:
        return Algorithm(row.name, options)
    each = copies(row, options)
    if each:
        return Algorithm(row.name, options, classes=tuple(Class(minor, 0, {}, child) for minor in range(1, each + 1)))
    if qdiscs.of(row.name).takes == "packets of filters":
        return Algorithm(row.name, options, classes=(Class(1, 0, {}, child),), filters=(Filter("all", None, 1),))
    if not row.classful:
        holders = ", ".join(other.name for other in rows if other.classful or other.classes is not None) or "none"
        raise WordError(f"`{row.name}` cannot have a child", f"these can: {holders}")
    return Algorithm(row.name, options, child)


def copies(row: Row, options: dict[str, int]) -> int:
    """The number of bands or queues that each get a copy of the child; 0 for other disciplines."""
    parameter = row.parameter(qdiscs.of(row.name).classes_by)
    return 0 if parameter is None else options.get(parameter.name, parameter.default or 0)


def row_named(kind: str, rows: Sequence[Row], noun: str) -> Row:
    """The algorithm of that name."""
    for row in rows:
        if row.name == kind:
            return row
    hint = NOT_MODELLED.get(kind.lower()) or nearest_hint(kind, [row.name for row in rows])
    raise WordError(f"`{shown(kind)}` is not a {noun}", hint)


def discipline_table(row: Row, parameters: Sequence[Parameter]) -> tc.Table:
    """The options of a discipline or of its classes."""
    return tc.Table(row.name, parameters, qdiscs.of(row.name).grammar)


def options_of(words: Sequence[str], table: tc.Table) -> dict[str, int]:
    """Reads the options behind the name of an algorithm."""
    options = tc.options(words, table)
    check_required(table, options)
    return options


def check_required(table: tc.Table, options: dict[str, int]) -> None:
    """Refuses options without one that is required."""
    for parameter in table.parameters:
        if parameter.required and parameter.name not in options:
            hint = f"{parameter.meaning}: {table.kind} {parameter.name} {sample(parameter)}"
            raise WordError(f"`{parameter.name}` of `{table.kind}` is missing", hint)


def sample(parameter: Parameter) -> str:
    """A value of a parameter, for messages."""
    return _SAMPLES.get(parameter.unit, "1")
