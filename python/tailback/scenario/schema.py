"""The keys of an experiment file, as pydantic models: types, units and descriptions of every key.

The models hold values in base units (ns, bit/s, bytes); what spans several keys is checked in `check.py`.
The JSON Schema for editors is made from the same models (`json_schema`). An unknown key is an error everywhere.
"""

from __future__ import annotations

import re
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

from tailback.scenario import defaults, repeat, tsq, units, wifi, words
from tailback.scenario.errors import WordError, nearest_hint
from tailback.scenario.paths import canonical
from tailback.scenario.registry import Registry
from tailback.scenario.units import shown
from tailback.scenario.words import Algorithm

NAME_HINT = "begin with a letter, then letters, digits, `_`, `-` or `.`: client, h2, upload-a"
KERNEL_HINT = "give the name it was built with: tailback kernel list"
OFFLOADS_HINT = "write off (in TCP), gso (below the qdisc) or on (in the device)"
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


def kernel(word: object) -> str:
    """A name of a kernel, or the first digits of its digest."""
    text = word if isinstance(word, str) else ""
    if not re.fullmatch(_KERNEL, text):
        raise WordError(f"`{shown(word)}` is not the name of a kernel", KERNEL_HINT)
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


def socket_size(word: object) -> int:
    """What a socket option takes: a size from 1 byte to 1 GiB."""
    size = units.size(word)
    if not 0 < size <= 2**30:
        raise WordError(f"`{shown(word)}` is not the size of a socket's buffer", "write 1b to 1gb, such as 600kb")
    return size


def positive_rate(word: object) -> int:
    """A rate above zero."""
    rate = units.rate(word)
    if rate == 0:
        raise WordError(f"`{shown(word)}` would send nothing", "write a rate above 0, or leave it out")
    return rate


def stack(word: object) -> str:
    """A network stack that is modelled."""
    if word not in defaults.STACKS:
        raise WordError(f"`{shown(word)}` is not a network stack here", nearest_hint(str(word), defaults.STACKS))
    return str(word)


def offloads(word: object) -> str:
    """Where data is cut into segments."""
    if word not in defaults.OFFLOADS_KNOWN:
        raise WordError(f"`{shown(word)}` is not a setting of offloads", OFFLOADS_HINT)
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


def _read_drivers(word: object, info: ValidationInfo) -> wifi.Drivers:
    registry: Registry = (info.context or {})["registry"]
    try:
        return wifi.drivers(word, registry.drivers, defaults.DRIVER)
    except WordError as error:
        raise _custom(error) from None


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
_KERNEL = r"[A-Za-z0-9][A-Za-z0-9_.+-]*"
_TSQ = r"(1|2|4|8|16|32)ms|off|[0-9.]+[kmgKMG]?[bB]|[0-9]+p"
_TIME_SCHEMA = {"type": "string", "pattern": f"^(?:{_TIME}|.*{_VARIABLE}.*)$", "examples": ["5ms", "50us", "30s"]}

Rate = Annotated[int, _read(units.rate), _text(_RATE, "100mbit", "1gbit")]
Size = Annotated[int, _read(units.size), _text(_SIZE, "64kb", "10mb")]
SocketSize = Annotated[int, _read(socket_size), _text(_SIZE, "32kb", "600kb")]
PositiveRate = Annotated[int, _read(positive_rate), _text(_RATE, "100mbit", "100gbit")]
Time = Annotated[int, _read(units.time), WithJsonSchema(_TIME_SCHEMA)]
Span = Annotated[int, _read(units.span), WithJsonSchema(_TIME_SCHEMA)]
Delay = Annotated[
    list[int],
    _read(delays),
    WithJsonSchema({"anyOf": [_TIME_SCHEMA, {"type": "array", "items": _TIME_SCHEMA, "minItems": 2, "maxItems": 2}]}),
]
Name = Annotated[str, _read(name), _text(_WORD, "client", "upload")]
KernelName = Annotated[str, _read(kernel), _text(_KERNEL, "stock", "mine")]
Arrow = Annotated[Direction, _read(direction), _text(rf"{_WORD} *-> *{_WORD}", "client -> server")]
Stack = Annotated[str, _read(stack), WithJsonSchema({"enum": list(defaults.STACKS)})]
SmallQueue = Annotated[dict[str, Any], _read(tsq.small_queue), _text(_TSQ, "1ms", "off", "64kB", "100p")]
Offloads = Annotated[str, _read(offloads), WithJsonSchema({"enum": list(defaults.OFFLOADS_KNOWN)})]
Repetitions = Annotated[
    repeat.Repeat,
    _read(repeat.repeat),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 1, "maximum": repeat.MOST},
                {"type": "string", "pattern": f"^(until ci95.*|{_VARIABLE})$", "examples": ["until ci95 < 3%"]},
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
            "properties": {"name": {"type": "string", "description": "Its name; `tailback list cc` has them."}},
            "required": ["name"],
            "additionalProperties": {"type": ["integer", "boolean", "string"]},
        },
    ],
    "examples": ["cubic", "bbr", {"name": "cubic", "hystart": 0}],
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
Mcs = Annotated[int | dict[str, int], _read(wifi.mcs), WithJsonSchema(_MCS_SCHEMA)]
Width = Annotated[int, _read(wifi.width), _text(r"(20|40|80|160) *[mM][hH][zZ]", "40MHz")]
Guard = Annotated[int, _read(wifi.guard), _text(r"(400|800|1600|3200) *ns", "400ns")]
Loss = Annotated[int, _read(wifi.loss), _text(r"[0-9.]+ *%", "1%")]


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
    offloads: Offloads | None = Field(None, description="Segmentation offloads of this host; without it the file's.")


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


class CellHosts(_Keys):
    """Who is in a Wi-Fi cell."""

    ap: Name = Field(description="The access point.", examples=["router"])
    stations: Annotated[list[Name], Field(min_length=1)] = Field(
        description="The stations; each has a link to the access point.", examples=[["client"]]
    )


class Wifi(_Keys):
    """A Wi-Fi cell: an access point and its stations on one channel."""

    wifi: CellHosts = Field(description="The access point and the stations.")
    standard: Literal["802.11n", "802.11ac", "802.11ax"] = Field(description="Format of what is sent: HT, VHT or HE.")
    band: Literal["2.4GHz", "5GHz"] = Field(defaults.BAND, description="Where the channel is.")
    width: Width = Field(description="Width of the channel: 20MHz to 160MHz.")
    streams: Annotated[int, Field(ge=1, le=8), _number(minimum=1, maximum=8)] | None = Field(
        None, description="Spatial streams; the MCS of 802.11n tells them by itself."
    )
    mcs: Mcs = Field(
        description="MCS index, up and down: of 802.11n 0 to 31 (streams counted), else that of one stream; one for "
        "all stations, or one per station: {near: 15, far: 0}."
    )
    guard: Guard = Field(defaults.GUARD, validate_default=True, description="Guard interval.")
    driver: Drivers = Field(
        defaults.DRIVER,
        validate_default=True,
        description="Driver of all radios, `ath9k` or {name: ath9k, slots: 1}, or of each: {ap: ath9k, client: "
        "ath9k_htc}. `tailback list driver` has them, `tailback explain ath9k` what can be set.",
    )
    loss: Loss = Field(defaults.LOSS, validate_default=True, description="Share of MPDUs lost, up and down.")
    rts: bool = Field(defaults.RTS, description="Every PPDU is announced by RTS and CTS.")
    encryption: Literal["open", "ccmp"] = Field(defaults.ENCRYPTION, description="CCMP adds 16 bytes to an MPDU.")


#: Tags of links, as those of traffic below.
LINK_TAGS: dict[str, type[_Keys]] = {"<link>": Link, "<wifi>": Wifi}


def _kind_of_link(entry: object) -> str:
    return "<wifi>" if isinstance(entry, Wifi) or (isinstance(entry, dict) and "wifi" in entry) else "<link>"


AnyLink = Annotated[
    Annotated[Link, Tag("<link>")] | Annotated[Wifi, Tag("<wifi>")],
    Discriminator(_kind_of_link),
]


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
    max_pacing_rate: PositiveRate | None = Field(
        None, description="SO_MAX_PACING_RATE of the sender: TCP spaces packets of any control, at most at this rate."
    )
    sndbuf: SocketSize | None = Field(
        None, description="SO_SNDBUF of the sender: the buffer is twice this, as in Linux, and does not grow."
    )
    rcvbuf: SocketSize | None = Field(
        None, description="SO_RCVBUF of the receiver: the buffer is twice this, as in Linux, and does not grow."
    )
    rcvlowat: SocketSize = Field(
        defaults.RCVLOWAT, description="SO_RCVLOWAT of the receiver: it is woken for no less than this."
    )
    notsent_lowat: SocketSize | None = Field(
        None, description="TCP_NOTSENT_LOWAT of the sender: it writes only while less than this is unsent."
    )
    mss: Annotated[int, Field(ge=88, le=32_767), _number(minimum=88, maximum=32_767)] | None = Field(
        None, description="TCP_MAXSEG of the sender: bytes of a segment at most, 12 of timestamps included."
    )
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
    pcap: list[Name] = Field([], description="Hosts whose devices are captured, each in a pcapng file in the run.")
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
    links: Annotated[list[AnyLink], Field(min_length=1)] = Field(
        description="Links and Wi-Fi cells; together they form a tree."
    )
    qdiscs: dict[str, Discipline] = Field(
        default_factory=dict,
        description="Root queue discipline by device. `A -> B` is the device of A on its link to B; `|` puts a child "
        "under a shaper. Devices not named have pfifo_fast if their link has a rate, or their driver wants "
        "one, else none.",
        examples=[{"client -> router": "htb rate 100mbit | fq_codel limit 1000"}],
    )
    traffic: Annotated[list[Traffic], Field(min_length=1)] = Field(description="Flows and pings.")
    duration: Span = Field(description="Simulated length of a run.")
    cc: Control = Field(defaults.CC, validate_default=True, description="Congestion control of flows without one.")
    tsq: SmallQueue = Field(
        defaults.TSQ,
        validate_default=True,
        description="TCP Small Queues setting of flows and hosts without one. "
        "Without it a flow whose first link is Wi-Fi has 8ms, as mac80211 wants it.",
    )
    kernel: KernelName | None = Field(
        None,
        description="The kernel that runs it on `--backend uml`, by its name in `tailback kernel list`; without it "
        "`stock`. The simulator has none, and refuses.",
        examples=["mine"],
    )
    offloads: Offloads = Field(
        defaults.OFFLOADS,
        description="Where data is cut into segments on hosts without a setting: off = in TCP, gso = below the queue "
        "discipline, on = in the device.",
    )
    measure: Measure = Field(default_factory=lambda: Measure.model_validate({}), description="Sampling and summary.")
    vary: Annotated[Any, WithJsonSchema(_VARY_SCHEMA)] = Field(
        None,
        description="Axes of a grid; the runs are their cross product. `KEY: [values]` or `KEY: {LABEL: value}` sets a "
        "key or a variable, `NAME: {LABEL: {keys}}` sets several keys at once.",
    )
    repeat: Repetitions = Field(
        defaults.REPEAT,
        validate_default=True,
        description="Repetitions of each configuration: a number, or until 95 % intervals are narrow enough.",
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
    model = _model_at(loc)
    return () if model is None else tuple(model.model_fields)


_MODELS: dict[tuple[str | int, ...], type[_Keys]] = {
    (): Keys,
    ("hosts",): Host,
    ("links",): Link,
    ("measure",): Measure,
}


def _model_at(loc: tuple[str | int, ...]) -> type[_Keys] | None:
    match loc:
        case ("traffic" | "links", _, str() as tag):
            return (LINK_TAGS | TRAFFIC_TAGS).get(tag)
        case ("links", _, "<wifi>", "wifi"):
            return CellHosts
        case ("hosts" | "links", _) | ("measure",) | ():
            return _MODELS[loc[:1]]
    return None
