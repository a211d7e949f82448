"""The keys of an experiment file, as pydantic models: types, units and descriptions of every key.

The models hold values in base units (ns, bit/s, bytes); what spans several keys is checked in `check.py`.
The JSON Schema for editors is made from the same models (`json_schema`). An unknown key is an error everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from tailback.scenario import defaults, tsq, units, words
from tailback.scenario.errors import WordError, nearest_hint
from tailback.scenario.paths import canonical
from tailback.scenario.registry import Registry
from tailback.scenario.units import shown
from tailback.scenario.words import Algorithm

NAME_HINT = "begin with a letter, then letters, digits, `_`, `-` or `.`: client, h2, upload-a"
DIRECTION_HINT = "write two hosts and an arrow: client -> server"
_VARIABLE = r"\$\{[A-Za-z_][A-Za-z0-9_]*\}"


class Direction(NamedTuple):
    """From one host to another."""

    source: str
    target: str

    def __str__(self) -> str:
        return f"{self.source} -> {self.target}"


def name(word: object) -> str:
    """A name of a host or a flow."""
    text = word if isinstance(word, str) else ""
    plain = text.replace("_", "a").replace("-", "a").replace(".", "a")
    if not (text[:1].isalpha() and plain.isalnum() and text.isascii() and len(text) <= 60):
        raise WordError(f"`{shown(word)}` is not a name", NAME_HINT)
    return text


def direction(word: object) -> Direction:
    """`client -> server`."""
    ends = canonical(word).split(" -> ") if isinstance(word, str) else []
    if len(ends) != 2:
        raise WordError(f"`{shown(word)}` is not a direction", DIRECTION_HINT)
    source, target = (name(end) for end in ends)
    if source == target:
        raise WordError(f"`{shown(word)}` leads from a host to itself", DIRECTION_HINT)
    return Direction(source, target)


def delays(word: object) -> list[int]:
    """One delay for both ways, or `[there, back]`."""
    if not isinstance(word, list):
        return [units.time(word)] * 2
    if len(word) != 2:
        raise WordError(f"a list of {len(word)} is not a delay", "write one time, or two: [there, back]")
    return [units.time(way) for way in word]


def stack(word: object) -> str:
    """A network stack that is modelled."""
    if word not in defaults.STACKS:
        raise WordError(f"`{shown(word)}` is not a network stack here", nearest_hint(str(word), defaults.STACKS))
    return str(word)


def _read(read: Callable[[object], Any]) -> BeforeValidator:
    def validate(word: object) -> Any:
        try:
            return read(word)
        except WordError as error:
            raise _custom(error) from None

    return BeforeValidator(validate)


def _read_discipline(word: object, info: ValidationInfo) -> Algorithm:
    return _algorithm(word, info, "qdiscs")


def _read_control(word: object, info: ValidationInfo) -> Algorithm:
    return _algorithm(word, info, "congestion_controls")


def _algorithm(word: object, info: ValidationInfo, family: Literal["qdiscs", "congestion_controls"]) -> Algorithm:
    registry: Registry = (info.context or {})["registry"]
    try:
        if family == "qdiscs":
            return words.discipline(word, registry.qdiscs)
        return words.control(word, registry.congestion_controls)
    except WordError as error:
        raise _custom(error) from None


def _custom(error: WordError) -> PydanticCustomError:
    return PydanticCustomError("word", "{message}", {"message": error.message, "hint": error.hint})


def _text(pattern: str, *examples: str) -> WithJsonSchema:
    schema = {"type": "string", "pattern": f"^(?:{pattern}|.*{_VARIABLE}.*)$", "examples": list(examples)}
    return WithJsonSchema(schema)


def _number(**bounds: int) -> WithJsonSchema:
    whole = {"type": "integer", **bounds}
    return WithJsonSchema({"anyOf": [whole, {"type": "string", "pattern": f"^{_VARIABLE}$"}]})


_RATE = r"[0-9.]+ *([kmgtKMGT]i?)?([bB][iI][tT]|[bB][pP][sS])"
_SIZE = r"[0-9.]+ *[kmgKMG]?[bB]?([iI][tT])?"
_TIME = r"[0-9.]+ *([nmuNMU]?[sS]([eE][cC][sS]?)?)"
_WORD = r"[A-Za-z][A-Za-z0-9_.-]*"
_TSQ = r"(1|2|4|8|16|32)ms|off|[0-9.]+[kmgKMG]?[bB]|[0-9]+p"
_TIME_SCHEMA = {"type": "string", "pattern": f"^(?:{_TIME}|.*{_VARIABLE}.*)$", "examples": ["5ms", "50us", "30s"]}

Rate = Annotated[int, _read(units.rate), _text(_RATE, "100mbit", "1gbit")]
Size = Annotated[int, _read(units.size), _text(_SIZE, "64kb", "10mb")]
Time = Annotated[int, _read(units.time), WithJsonSchema(_TIME_SCHEMA)]
Span = Annotated[int, _read(units.span), WithJsonSchema(_TIME_SCHEMA)]
Delay = Annotated[
    list[int],
    _read(delays),
    WithJsonSchema({"anyOf": [_TIME_SCHEMA, {"type": "array", "items": _TIME_SCHEMA, "minItems": 2, "maxItems": 2}]}),
]
Name = Annotated[str, _read(name), _text(_WORD, "client", "upload")]
Arrow = Annotated[Direction, _read(direction), _text(rf"{_WORD} *-> *{_WORD}", "client -> server")]
Stack = Annotated[str, _read(stack), WithJsonSchema({"enum": list(defaults.STACKS)})]
SmallQueue = Annotated[dict[str, Any], _read(tsq.small_queue), _text(_TSQ, "1ms", "off", "64kB", "100p")]
_DISCIPLINE_SCHEMA = {
    "anyOf": [
        {"type": "string", "examples": ["htb rate 100mbit | pfifo_fast"]},
        {"type": "array", "items": {"type": "string"}, "minItems": 1},
    ],
}
Discipline = Annotated[Algorithm, BeforeValidator(_read_discipline), WithJsonSchema(_DISCIPLINE_SCHEMA)]
Control = Annotated[Algorithm, BeforeValidator(_read_control), _text(".+", "cubic", "bbr")]


class _Keys(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, arbitrary_types_allowed=True)


class Host(_Keys):
    """A host or a router."""

    stack: Stack = Field(defaults.STACK, description="Network stack modelled.")
    sysctl: dict[str, int | str | list[int]] = Field(
        default_factory=dict,
        description="Sysctls by full name; tcp_rmem and tcp_wmem take three numbers.",
        examples=[{"net.ipv4.tcp_pacing_ca_ratio": 120}],
    )
    tsq: SmallQueue | None = Field(None, description="TCP Small Queues setting of the flows this host sends.")


def _bare_host(entry: object) -> object:
    return {} if entry is None else entry


HostEntry = Annotated[Host, BeforeValidator(_bare_host, json_schema_input_type=Host | None)]


class Link(_Keys):
    """A full-duplex link between two hosts, with the devices at its ends."""

    ends: Annotated[list[Name], Field(min_length=2, max_length=2)] = Field(
        description="The two hosts it joins.", examples=[["client", "router"]]
    )
    rate: Rate | None = Field(
        None, description="Serialization rate both ways; without it packets are handed over at once, as by a veth pair."
    )
    delay: Delay = Field(
        defaults.DELAY, validate_default=True, description="Propagation delay one way: one time, or [there, back]."
    )
    mtu: Annotated[int, Field(ge=576, le=65535), _number(minimum=576, maximum=65535)] = Field(
        defaults.MTU, description="Longest IP packet in bytes."
    )
    ring: Annotated[int, Field(ge=1, le=65536), _number(minimum=1, maximum=65536)] = Field(
        defaults.RING, description="Descriptors of the transmit ring at each end."
    )
    bql: bool = Field(defaults.BQL, description="Byte queue limits bound what is in the ring.")


class Tcp(_Keys):
    """Bulk data over one or more TCP connections."""

    tcp: Arrow = Field(description="Sender and receiver.")
    name: Name | None = Field(
        None,
        description="Name in tables; several flows become NAME.1, NAME.2, ... Without it: upload (from the first host "
        "of the file), download (to it), otherwise A-B.",
    )
    flows: Annotated[int, Field(ge=1, le=100_000), _number(minimum=1, maximum=100_000)] = Field(
        defaults.FLOWS, description="Number of connections."
    )
    cc: Control | None = Field(None, description="Congestion control of the sender; without it the file's `cc`.")
    tsq: SmallQueue | None = Field(None, description="TCP Small Queues setting; without it the host's or the file's.")
    start: Time = Field(defaults.START, validate_default=True, description="When it connects.")
    stop: Time | None = Field(None, description="When it closes; without it and `bytes`, the end of the run.")
    bytes: Size | None = Field(None, description="How much each connection sends; it ends when that is acknowledged.")
    jitter: Time = Field(
        defaults.JITTER,
        validate_default=True,
        description="Each connection starts later by a random time below this, drawn from the seed and its name.",
    )


class Ping(_Keys):
    """ICMP echo requests at a fixed interval."""

    ping: Arrow = Field(description="Host that asks and host that answers.")
    name: Name = Field("ping", description="Name in tables.")
    interval: Span = Field(defaults.PING_INTERVAL, validate_default=True, description="From one request to the next.")
    size: Size = Field(defaults.PING_SIZE, validate_default=True, description="ICMP bytes, its 8-byte header included.")
    start: Time = Field(defaults.START, validate_default=True, description="The first request.")
    stop: Time | None = Field(None, description="No request at or after this; without it the end of the run.")
    jitter: Time = Field(
        defaults.JITTER, validate_default=True, description="It starts later by a random time below this."
    )


PresetName = Literal["tcp_upload", "tcp_nup", "tcp_download", "tcp_ndown", "tcp_bidirectional", "ping"]


class Preset(_Keys):
    """A test by Flent's name: its TCP flows between two hosts, and a ping over the whole run."""

    preset: PresetName = Field(description="Flent's name of the test.")
    hosts: Annotated[list[Name], Field(min_length=2, max_length=2)] = Field(
        description="The host that runs the test and its peer; uploads go from the first to the second.",
        examples=[["client", "server"]],
    )
    flows: Annotated[int, Field(ge=1, le=100_000), _number(minimum=1, maximum=100_000)] = Field(
        defaults.FLOWS, description="Connections of tcp_nup and tcp_ndown."
    )
    cc: Control | None = Field(None, description="Congestion control of the senders.")
    tsq: SmallQueue | None = Field(None, description="TCP Small Queues setting of the flows.")
    start: Time = Field(defaults.START, validate_default=True, description="When the TCP flows connect.")
    stop: Time | None = Field(None, description="When the TCP flows close.")
    jitter: Time = Field(defaults.JITTER, validate_default=True, description="As for `tcp`.")
    interval: Span = Field(defaults.PING_INTERVAL, validate_default=True, description="Interval of the ping.")


class Measure(_Keys):
    """What is sampled, and over which time the summary is taken."""

    warmup: Time = Field(
        defaults.WARMUP, validate_default=True, description="Cut off after the start of the first flow."
    )
    window: Annotated[list[Time], Field(min_length=2, max_length=2)] | None = Field(
        None,
        description="From and to, in time of the run. Without it: from the start of the first flow and the warm-up on, "
        "to the last stop.",
        examples=[["10s", "35s"]],
    )
    interval: Span = Field(defaults.INTERVAL, validate_default=True, description="Between two samples of a table.")
    tcp_info: Literal["interval", "ack"] = Field(
        "interval", description="Sample tcp_info every interval, or also after every ACK."
    )


#: Tags of the union; they begin with `<` so that they can be told from keys in the path of an error.
TRAFFIC_TAGS: dict[str, type[_Keys]] = {"<tcp>": Tcp, "<ping>": Ping, "<preset>": Preset}


def _kind_of_traffic(entry: object) -> str | None:
    if isinstance(entry, _Keys):
        return next(tag for tag, model in TRAFFIC_TAGS.items() if isinstance(entry, model))
    kinds = [tag for tag in TRAFFIC_TAGS if isinstance(entry, dict) and tag.strip("<>") in entry]
    return kinds[0] if len(kinds) == 1 else None


Traffic = Annotated[
    Annotated[Tcp, Tag("<tcp>")] | Annotated[Ping, Tag("<ping>")] | Annotated[Preset, Tag("<preset>")],
    Discriminator(
        _kind_of_traffic,
        custom_error_type="word",
        custom_error_message="{message}",
        custom_error_context={
            "message": "is not one kind of traffic",
            "hint": "give it exactly one of the keys tcp, ping and preset: {tcp: client -> server}",
        },
    ),
]


_LET_SCHEMA = {
    "type": "object",
    "additionalProperties": {"type": ["string", "number", "boolean"]},
    "examples": [{"qdisc": "pfifo_fast"}],
}
_VARY_SCHEMA = {
    "type": "object",
    "additionalProperties": {
        "anyOf": [{"type": "array", "minItems": 1}, {"type": "object", "minProperties": 1}],
    },
    "examples": [{"cc": ["cubic", "bbr"]}],
}


class Keys(_Keys):
    """One TCP experiment in Linux's words."""

    model_config = ConfigDict(title="Tailback experiment")

    title: str | None = Field(None, description="What the experiment is about; without it the name of the file.")
    let: Annotated[Any, WithJsonSchema(_LET_SCHEMA)] = Field(
        None, description="Variables: `${NAME}` in any value is replaced by the variable's value."
    )
    hosts: dict[Name, HostEntry] | None = Field(
        None, description="Hosts by name; without it the hosts that the links name."
    )
    links: Annotated[list[Link], Field(min_length=1)] = Field(description="Links; together they form a tree.")
    qdiscs: dict[str, Discipline] = Field(
        default_factory=dict,
        description="Root queue discipline by device. `A -> B` is the device of A on its link to B; `|` puts a child "
        "under a shaper. Devices not named have pfifo_fast if their link has a rate, else none.",
        examples=[{"client -> router": "htb rate 100mbit | fq_codel limit 1000"}],
    )
    traffic: Annotated[list[Traffic], Field(min_length=1)] = Field(description="Flows and pings.")
    duration: Span = Field(description="Simulated length of a run.")
    cc: Control = Field(defaults.CC, validate_default=True, description="Congestion control of flows without one.")
    tsq: SmallQueue = Field(
        defaults.TSQ, validate_default=True, description="TCP Small Queues setting of flows and hosts without one."
    )
    measure: Measure = Field(default_factory=lambda: Measure.model_validate({}), description="Sampling and summary.")
    vary: Annotated[Any, WithJsonSchema(_VARY_SCHEMA)] = Field(
        None,
        description="Axes of a grid; the runs are their cross product. `KEY: [values]` or `KEY: {LABEL: value}` sets a "
        "key or a variable, `NAME: {LABEL: {keys}}` sets several keys at once.",
    )
    repeat: Annotated[int, Field(ge=1, le=10_000), _number(minimum=1, maximum=10_000)] = Field(
        defaults.REPEAT, description="Repetitions of each configuration."
    )
    seed: Annotated[int, Field(ge=0, le=2**62), _number(minimum=0, maximum=2**62)] = Field(
        defaults.SEED, description="Seed of the first repetition; repetition r has seed + r - 1 in every configuration."
    )


def json_schema() -> dict[str, Any]:
    """The JSON Schema of an experiment file (2020-12), for editors."""
    schema = Keys.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def keys_at(loc: tuple[str | int, ...]) -> tuple[str, ...]:
    """The keys known at a place of the file, given by a path in which pydantic's tags still stand."""
    match loc:
        case ():
            return tuple(Keys.model_fields)
        case ("hosts", _):
            return tuple(Host.model_fields)
        case ("links", _):
            return tuple(Link.model_fields)
        case ("measure",):
            return tuple(Measure.model_fields)
        case ("traffic", _, str() as tag) if tag in TRAFFIC_TAGS:
            return tuple(TRAFFIC_TAGS[tag].model_fields)
    return ()
