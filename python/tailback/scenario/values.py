"""The types of values in an experiment file: how each is read, and its JSON Schema for editors.

Values are stored in base units (ns, bit/s, bytes).
"""

from __future__ import annotations

import datetime
import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, cast

from msgspec import Struct
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    GetCoreSchemaHandler,
    ValidationInfo,
    WithJsonSchema,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from tailback import resolved
from tailback.algorithms import ETHERNET_MTU, Registry
from tailback.qdiscs import series
from tailback.scenario import arrivals, defaults, expect, own_controls, policers, repeat, traces, tsq, ways, wifi, words
from tailback.scenario.paths import canonical
from tailback.scenario.words import Algorithm
from tailback.tc import units
from tailback.tc.errors import WordError, nearest_hint
from tailback.tc.units import shown

NAME_HINT = "begin with a letter, then letters, digits, `_`, `-` or `.`: client, h2, upload-a"
COLON_HINT = (
    "in YAML's flow style, {…}, a colon needs a space behind it: {client: , router: }, or write one name per line"
)
KERNEL_HINT = "give the name of a kernel in `tailback kernel list`"
OFFLOADS_HINT = "write off (in TCP), gso (below the qdisc) or on (in the device)"
DIRECTION_HINT = "write two hosts and an arrow: client -> server"
_VARIABLE = r"\$\{[A-Za-z_][A-Za-z0-9_]*\}"


class Direction(NamedTuple):
    """A pair of hosts: source and target."""

    source: str
    target: str

    def __str__(self) -> str:
        return f"{self.source} -> {self.target}"


def name(word: object) -> str:
    """Reads the name of a host or a flow."""
    text = word if isinstance(word, str) else ""
    plain = text.replace("_", "a").replace("-", "a").replace(".", "a")
    if not (text[:1].isalpha() and plain.isalnum() and text.isascii() and len(text) <= 60):
        hint = COLON_HINT if text.endswith(":") else NAME_HINT
        raise WordError(f"`{shown(word)}` is not a name", hint)
    return text


def kernel(word: object) -> str:
    """Reads the name of a kernel, or the first digits of its digest."""
    text = word if isinstance(word, str) else ""
    if not re.fullmatch(_KERNEL, text):
        raise WordError(f"`{shown(word)}` is not the name of a kernel", KERNEL_HINT)
    return text


def clock(word: object) -> int:
    """Reads a date, and perhaps a time of UTC, as ns since 1970."""
    hint = "write a date, and a time of UTC if it matters: 2026-11-29, 2026-11-29T12:00:00"
    try:
        when = datetime.datetime.fromisoformat(word if isinstance(word, str) else "")
    except ValueError:
        raise WordError(f"`{shown(word)}` is not a date", hint) from None
    at = when.replace(tzinfo=datetime.UTC) if when.tzinfo is None else when
    if not 2000 <= at.year <= 2100:
        raise WordError(f"`{shown(word)}` is not between the years 2000 and 2100", hint)
    return int(at.timestamp()) * 10**9


def direction(word: object) -> Direction:
    """Reads a direction: `client -> server`."""
    if not isinstance(word, str):
        raise WordError(f"`{shown(word)}` is not a direction", DIRECTION_HINT)
    return _direction(word)


@functools.lru_cache(maxsize=4096)
def _direction(word: str) -> Direction:
    # Cached, because devices are looked up by their directions again and again.
    ends = canonical(word).split(" -> ")
    if len(ends) != 2:
        raise WordError(f"`{shown(word)}` is not a direction", DIRECTION_HINT)
    source, target = (name(end) for end in ends)
    if source == target:
        raise WordError(f"`{shown(word)}` leads from a host to itself", DIRECTION_HINT)
    return Direction(source, target)


def socket_size(word: object) -> int:
    """Reads a buffer size of a socket option: 1 byte to 1 GiB."""
    size = units.size(word)
    if not 0 < size <= 2**30:
        raise WordError(f"`{shown(word)}` is not the size of a socket's buffer", "write 1b to 1gb, such as 600kb")
    return size


def overhead(word: object) -> int:
    """Reads the bytes that a tunnel adds to a packet."""
    size = units.size(word)
    if size > LARGEST_OVERHEAD:
        hint = "write the headers that a tunnel adds: 24b (GRE), 50b (VXLAN), 60b (WireGuard)"
        raise WordError(f"`{shown(word)}` is more than a tunnel adds", hint)
    return size


LARGEST_OVERHEAD = 1000


def positive_rate(word: object) -> int:
    """Reads a rate above zero."""
    rate = units.rate(word)
    if rate == 0:
        raise WordError(f"`{shown(word)}` would send nothing", "write a rate above 0, or leave it out")
    return rate


def stack(word: object) -> str:
    """Reads the name of a network stack."""
    if word not in defaults.STACKS:
        raise WordError(f"`{shown(word)}` is not a known network stack", nearest_hint(str(word), defaults.STACKS))
    return str(word)


def offloads(word: object) -> resolved.Offloads:
    """Reads a setting of segmentation offloads."""
    if word not in defaults.OFFLOADS_KNOWN:
        raise WordError(f"`{shown(word)}` is not a setting of offloads", OFFLOADS_HINT)
    return cast(resolved.Offloads, word)


class ReadBy(Struct, frozen=True):
    """A validator that calls `read` and reports its `WordError`.

    It is what `BeforeValidator` is, except that pydantic need not look how many arguments it takes: there are 150.
    """

    read: Callable[[object], Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self._validated, handler(source))

    def _validated(self, word: object) -> Any:
        try:
            return self.read(word)
        except WordError as error:
            raise custom(self._without_quotes(word) or error) from None

    def _without_quotes(self, word: object) -> WordError | None:
        """The error of a number in quotes, if it is right without them."""
        if not isinstance(word, str) or not re.fullmatch(r"\s*[0-9]{1,18}\s*", word):
            return None
        try:
            self.read(int(word))
        except WordError:
            return None
        return WordError(f"`{shown(word)}` is text, and not a number", f"write it without quotes: {word.strip()}")


def _read_discipline(word: object, info: ValidationInfo) -> Algorithm:
    return _algorithm(word, info, "qdiscs")


def _read_control(word: object, info: ValidationInfo) -> Algorithm:
    return _algorithm(word, info, "congestion_controls")


def _read_drivers(word: object, info: ValidationInfo) -> wifi.Drivers:
    registry: Registry = (info.context or {})["registry"]
    try:
        return wifi.drivers(word, registry.drivers, defaults.DRIVER)
    except WordError as error:
        raise custom(error) from None


def _reads_impairment(key: str) -> BeforeValidator:
    def validate(word: object, info: ValidationInfo) -> list[ways.Options | None]:
        registry: Registry = (info.context or {})["registry"]
        try:
            return ways.impairments(word, key, registry.qdiscs)
        except WordError as error:
            raise custom(error) from None

    return BeforeValidator(validate)


def _read_traces(word: object, info: ValidationInfo) -> list[resolved.Trace | None]:
    folder: Path = (info.context or {})["folder"]
    try:
        return ways.each_way_or_none(word, lambda way: traces.trace(way, folder))
    except WordError as error:
        raise custom(error) from None


def _algorithm(word: object, info: ValidationInfo, family: Literal["qdiscs", "congestion_controls"]) -> Algorithm:
    registry: Registry = (info.context or {})["registry"]
    try:
        if family == "qdiscs":
            return _without_conflicts(words.discipline(word, registry.qdiscs), registry)
        return own_controls.read(word, (info.context or {})["folder"], registry.congestion_controls)
    except WordError as error:
        raise custom(error) from None


def _without_conflicts(discipline: Algorithm, registry: Registry) -> Algorithm:
    """The discipline, if its options and those of its children go together; raises `WordError`. No backend can run what
    is refused here: the rules are those of the kernel, which would say no more than *Invalid argument*.
    """
    for child in discipline.children:
        _without_conflicts(child, registry)
    if discipline.kind != series.KIND:
        try:
            registry.resolved_qdisc(discipline.kind, discipline.options, ETHERNET_MTU)
        except ValueError as error:
            hint = f"change or add a value; `tailback explain {discipline.kind}` has all of them"
            raise WordError(str(error), hint) from None
    return discipline


def custom(error: WordError) -> PydanticCustomError:
    """Converts a `WordError` to pydantic's form."""
    return PydanticCustomError("word", "{message}", {"message": error.message, "hint": error.hint})


def text_schema(pattern: str, *examples: str) -> WithJsonSchema:
    """The schema of a string with this pattern, or with a variable."""
    schema = {"type": "string", "pattern": f"^(?:{pattern}|.*{_VARIABLE}.*)$", "examples": list(examples)}
    return WithJsonSchema(schema)


def number_schema(**bounds: int) -> WithJsonSchema:
    """The schema of a whole number within bounds, or of a variable."""
    whole = {"type": "integer", **bounds}
    return WithJsonSchema({"anyOf": [whole, {"type": "string", "pattern": f"^{_VARIABLE}$"}]})


_RATE = r"[0-9.]+ *([kmgtKMGT]i?)?([bB][iI][tT]|[bB][pP][sS])"
_SIZE = r"[0-9.]+ *[kmgKMG]?[bB]?([iI][tT])?"
_TIME = r"[0-9.]+ *([nmuNMU]?[sS]([eE][cC][sS]?)?)"
_WORD = r"[A-Za-z][A-Za-z0-9_.-]*"
_KERNEL = r"[A-Za-z0-9][A-Za-z0-9_.+-]*"
_TSQ = rf"((check|time) +)?({_TIME}|shift +[0-9]+)|off|[0-9.]+[kmgKMG]?[bB]|[0-9]+p"
_TIME_SCHEMA = {"type": "string", "pattern": f"^(?:{_TIME}|.*{_VARIABLE}.*)$", "examples": ["5ms", "50us", "30s"]}

Rate = Annotated[int, ReadBy(units.rate), text_schema(_RATE, "100mbit", "1gbit")]
Overhead = Annotated[int, ReadBy(overhead), text_schema(_SIZE, "60b")]
Size = Annotated[int, ReadBy(units.size), text_schema(_SIZE, "64kb", "10mb")]


def read_in_folder(read: Callable[[object, Path], Any]) -> BeforeValidator:
    """A validator of values that may name a file of the experiment's folder."""

    def validate(word: object, info: ValidationInfo) -> Any:
        try:
            return read(word, (info.context or {}).get("folder", Path()))
        except WordError as error:
            raise custom(error) from None

    return BeforeValidator(validate)


Sizes = Annotated[
    arrivals.Sizes,
    read_in_folder(arrivals.size),
    WithJsonSchema(
        {"type": "string", "examples": ["100kb", "exponential 100kb", "pareto 100kb shape 1.3", "websearch"]}
    ),
]
Arrivals = Annotated[
    arrivals.Arrivals,
    read_in_folder(arrivals.arrivals),
    WithJsonSchema(
        {
            "type": "string",
            "examples": ["poisson 20/s", "periodic 10/s", "onoff 20/s on 1s off 2s", "poisson 60% of router -> client"],
        }
    ),
]
SocketSize = Annotated[int, ReadBy(socket_size), text_schema(_SIZE, "32kb", "600kb")]
PositiveRate = Annotated[int, ReadBy(positive_rate), text_schema(_RATE, "100mbit", "100gbit")]
Time = Annotated[int, ReadBy(units.time), WithJsonSchema(_TIME_SCHEMA)]
Span = Annotated[int, ReadBy(units.span), WithJsonSchema(_TIME_SCHEMA)]


def each_way_schema(one: dict[str, Any], *, may_lack: bool = False) -> WithJsonSchema:
    """The schema of one value, or of `[there, back]`."""
    way = {"anyOf": [one, {"type": "null"}]} if may_lack else one
    return WithJsonSchema({"anyOf": [one, {"type": "array", "items": way, "minItems": 2, "maxItems": 2}]})


def words_schema(*examples: str) -> WithJsonSchema:
    """The schema of a string for both directions, or for each."""
    return each_way_schema({"type": "string", "examples": list(examples)}, may_lack=True)


_RATE_SCHEMA = {"type": "string", "pattern": f"^(?:{_RATE}|.*{_VARIABLE}.*)$", "examples": ["100mbit", "1gbit"]}
_RING_SCHEMA = {"type": "integer", "minimum": 1, "maximum": 65536}
_SWITCH_SCHEMA = {"enum": ["on", "off", True, False]}

Delay = Annotated[list[int], ReadBy(ways.delays), each_way_schema(_TIME_SCHEMA)]
Rates = Annotated[list[int | None], ReadBy(ways.rates), each_way_schema(_RATE_SCHEMA, may_lack=True)]
Ring = Annotated[int, ReadBy(ways.ring), WithJsonSchema(_RING_SCHEMA)]
Rings = Annotated[list[int], ReadBy(ways.rings), each_way_schema(_RING_SCHEMA)]
Switch = Annotated[bool, ReadBy(ways.switch), WithJsonSchema(_SWITCH_SCHEMA)]
Switches = Annotated[list[bool], ReadBy(ways.switches), each_way_schema(_SWITCH_SCHEMA)]
States = Annotated[list[str | None], ReadBy(ways.states), each_way_schema({"enum": ["up", "down"]}, may_lack=True)]
Traces = Annotated[list[resolved.Trace | None], BeforeValidator(_read_traces), words_schema("uplink.trace")]
Jitter = Annotated[list[ways.Options | None], _reads_impairment("jitter"), words_schema("2ms", "2ms 25%")]
LinkLoss = Annotated[list[ways.Options | None], _reads_impairment("loss"), words_schema("1%", "gemodel 1% 10%")]
Duplicate = Annotated[list[ways.Options | None], _reads_impairment("duplicate"), words_schema("0.1%")]
Corrupt = Annotated[list[ways.Options | None], _reads_impairment("corrupt"), words_schema("0.1%")]
Policers = Annotated[
    list[ways.Options | None],
    ReadBy(policers.policers),
    each_way_schema(
        {
            "anyOf": [
                {"type": "string", "examples": ["rate 10mbit burst 20kb"]},
                {
                    "type": "object",
                    "properties": {
                        each.name: {"type": ["string", "integer"], "description": each.meaning}
                        for each in policers.PARAMETERS
                    },
                    "required": ["rate", "burst"],
                    "additionalProperties": False,
                },
            ]
        },
        may_lack=True,
    ),
]
Reorder = Annotated[list[ways.Options | None], _reads_impairment("reorder"), words_schema("25% 50%")]
Name = Annotated[str, ReadBy(name), text_schema(_WORD, "client", "upload")]
KernelName = Annotated[str, ReadBy(kernel), text_schema(_KERNEL, "stock", "mine")]
Arrow = Annotated[Direction, ReadBy(direction), text_schema(rf"{_WORD} *-> *{_WORD}", "client -> server")]
CodePoint = Annotated[
    int,
    ReadBy(words.code_point),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": 63},
                {"type": "string", "pattern": f"^(?:{_WORD}|[0-9]+|{_VARIABLE})$", "examples": ["EF", "CS1", "BE"]},
            ]
        }
    ),
]
ClockTime = Annotated[
    int, ReadBy(clock), WithJsonSchema({"type": "string", "examples": ["2026-11-29", "2026-11-29T12:00:00"]})
]
Stack = Annotated[str, ReadBy(stack), WithJsonSchema({"enum": list(defaults.STACKS)})]
SmallQueue = Annotated[
    resolved.SmallQueue,
    ReadBy(tsq.small_queue),
    text_schema(_TSQ, "1ms", "off", "3ms", "64kB", "100p", "check 8ms", "shift 9"),
]
Offloads = Annotated[resolved.Offloads, ReadBy(offloads), WithJsonSchema({"enum": list(defaults.OFFLOADS_KNOWN)})]
Repetitions = Annotated[
    repeat.Repeat,
    ReadBy(repeat.repeat),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 1, "maximum": repeat.MAX},
                {"type": "string", "pattern": f"^(until ci95.*|{_VARIABLE})$", "examples": ["until ci95 < 3%"]},
            ]
        }
    ),
]
_CONDITION_SCHEMA = text_schema(expect.PATTERN.strip("^$"), "< 20ms", "> 0.9").json_schema
Condition = Annotated[
    expect.Condition,
    ReadBy(expect.condition),
    WithJsonSchema(
        {
            "anyOf": [
                _CONDITION_SCHEMA,
                {
                    "type": "object",
                    "properties": {"is": _CONDITION_SCHEMA, "after": _TIME_SCHEMA, "until": _TIME_SCHEMA},
                    "required": ["is"],
                    "additionalProperties": False,
                },
            ]
        }
    ),
]
_DISCIPLINE_SCHEMA = {
    "anyOf": [
        {"type": "string", "examples": ["htb rate 100mbit | pfifo_fast"]},
        {"type": "array", "items": {"type": "string"}, "minItems": 1},
    ],
}
Discipline = Annotated[Algorithm, BeforeValidator(_read_discipline), WithJsonSchema(_DISCIPLINE_SCHEMA)]
_CONTROL_SCHEMA = {
    "anyOf": [
        {"type": "string", "pattern": "^.+$"},
        {
            "type": "object",
            "properties": {"name": {"type": "string", "description": "Its name; `tailback list cc` lists them."}},
            "required": ["name"],
            "additionalProperties": {"type": ["integer", "boolean", "string"]},
        },
        {
            "type": "object",
            "properties": {"python": {"type": "string", "description": "A file of yours: docs/your-own-control.md."}},
            "required": ["python"],
            "additionalProperties": {"type": ["number", "boolean", "string"]},
        },
        {
            "type": "object",
            "properties": {"module": {"type": "string", "description": "A kernel module: docs/your-own-control.md."}},
            "required": ["module"],
            "additionalProperties": {"type": ["number", "boolean", "string"]},
        },
        {
            "type": "object",
            "properties": {"bpf": {"type": "string", "description": "A BPF program: docs/your-own-control.md."}},
            "required": ["bpf"],
            "additionalProperties": False,
        },
    ],
    "examples": ["cubic", "bbr", {"name": "cubic", "hystart": 0}, {"python": "mine.py"}, {"module": "tcp_mine.c"}],
}
Control = Annotated[Algorithm, BeforeValidator(_read_control), WithJsonSchema(_CONTROL_SCHEMA)]


_DRIVER_SCHEMA = {"anyOf": [{"type": "string"}, {"type": "object"}]}
_MCS_SCHEMA = {
    "anyOf": [
        {"type": "integer", "minimum": 0, "maximum": 31},
        {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0, "maximum": 31}},
        {"type": "string", "pattern": f"^{_VARIABLE}$"},
    ]
}
Drivers = Annotated[wifi.Drivers, BeforeValidator(_read_drivers), WithJsonSchema(_DRIVER_SCHEMA)]
Mcs = Annotated[int | dict[str, int], ReadBy(wifi.mcs), WithJsonSchema(_MCS_SCHEMA)]
Width = Annotated[int, ReadBy(wifi.width), text_schema(r"(20|40|80|160) *[mM][hH][zZ]", "40MHz")]
Guard = Annotated[int, ReadBy(wifi.guard), text_schema(r"(400|800|1600|3200) *ns", "400ns")]
_EDCA_SCHEMA = {"anyOf": [{"enum": ["station", "hostapd"]}, {"type": "object"}]}


def _by_station(one: dict[str, Any]) -> WithJsonSchema:
    return WithJsonSchema({"anyOf": [one, {"type": "object", "additionalProperties": one}]})


_SNR_TEXT = {"type": "string", "examples": ["25dB"]}
_DISTANCE_TEXT = {"type": "string", "examples": ["10m"]}
_STREAMS_NUMBER = {"type": "integer", "minimum": 1, "maximum": 8}
Loss = Annotated[
    wifi.ByStation[int], ReadBy(wifi.by_station(wifi.loss, 0)), _by_station({"type": "string", "examples": ["1%"]})
]
Streams = Annotated[
    wifi.ByStation[int | None], ReadBy(wifi.by_station(wifi.streams, None)), _by_station(_STREAMS_NUMBER)
]
RateControl = Annotated[
    wifi.ByStation[str],
    ReadBy(wifi.by_station(wifi.rate, defaults.RATE_CONTROL)),
    _by_station({"enum": ["fixed", "minstrel"]}),
]
Snr = Annotated[wifi.ByStation[float | None], ReadBy(wifi.by_station(wifi.snr, None)), _by_station(_SNR_TEXT)]
Distance = Annotated[
    wifi.ByStation[float | None], ReadBy(wifi.by_station(wifi.distance, None)), _by_station(_DISTANCE_TEXT)
]
ChangedLoss = Annotated[
    wifi.ByStation[int | None],
    ReadBy(wifi.by_station(wifi.changed_loss, None)),
    _by_station({"type": "string", "examples": ["1%"]}),
]
Beacons = Annotated[int | None, ReadBy(wifi.beacons), text_schema(_RATE, "6mbit")]
EdcaBySide = Annotated[dict[str, tuple[resolved.Edca, ...]], ReadBy(wifi.edca_by_side), WithJsonSchema(_EDCA_SCHEMA)]


class Section(BaseModel):
    """A mapping of an experiment file; an unknown key is an error."""

    # Built at first use: the mappings inside another one are then built as a part of it, and not by themselves too.
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, arbitrary_types_allowed=True, defer_build=True)
