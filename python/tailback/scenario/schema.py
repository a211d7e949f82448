"""The keys of an experiment file, as pydantic models: types, units and descriptions of every key.

The models hold values in base units (ns, bit/s, bytes); what spans several keys is checked in `check.py`.
The JSON Schema for editors is made from the same models (`json_schema`). An unknown key is an error everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, cast

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

from tailback import resolved
from tailback.scenario import defaults, repeat, traces, tsq, ways, wifi, words
from tailback.scenario.paths import canonical
from tailback.scenario.registry import Registry
from tailback.scenario.words import Algorithm
from tailback.tc import units
from tailback.tc.errors import WordError, nearest_hint
from tailback.tc.units import shown

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


def offloads(word: object) -> resolved.Offloads:
    """Where data is cut into segments."""
    if word not in defaults.OFFLOADS_KNOWN:
        raise WordError(f"`{shown(word)}` is not a setting of offloads", OFFLOADS_HINT)
    return cast(resolved.Offloads, word)


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


def _reads_treatment(key: str) -> BeforeValidator:
    def validate(word: object, info: ValidationInfo) -> list[ways.Options | None]:
        registry: Registry = (info.context or {})["registry"]
        try:
            return ways.treatments(word, key, registry.qdiscs)
        except WordError as error:
            raise _custom(error) from None

    return BeforeValidator(validate)


def _read_traces(word: object, info: ValidationInfo) -> list[resolved.Trace | None]:
    folder: Path = (info.context or {})["folder"]
    try:
        return ways.each_way_or_none(word, lambda way: traces.trace(way, folder))
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


def _each_way(one: dict[str, Any], *, may_lack: bool = False) -> WithJsonSchema:
    """One value, or `[there, back]`."""
    way = {"anyOf": [one, {"type": "null"}]} if may_lack else one
    return WithJsonSchema({"anyOf": [one, {"type": "array", "items": way, "minItems": 2, "maxItems": 2}]})


def _words_schema(*examples: str) -> WithJsonSchema:
    return _each_way({"type": "string", "examples": list(examples)}, may_lack=True)


_RATE_SCHEMA = {"type": "string", "pattern": f"^(?:{_RATE}|.*{_VARIABLE}.*)$", "examples": ["100mbit", "1gbit"]}
_RING_SCHEMA = {"type": "integer", "minimum": 1, "maximum": 65536}
_SWITCH_SCHEMA = {"enum": ["on", "off", True, False]}

Delay = Annotated[list[int], _read(ways.delays), _each_way(_TIME_SCHEMA)]
Rates = Annotated[list[int | None], _read(ways.rates), _each_way(_RATE_SCHEMA, may_lack=True)]
Ring = Annotated[int, _read(ways.ring), WithJsonSchema(_RING_SCHEMA)]
Rings = Annotated[list[int], _read(ways.rings), _each_way(_RING_SCHEMA)]
Switch = Annotated[bool, _read(ways.switch), WithJsonSchema(_SWITCH_SCHEMA)]
Switches = Annotated[list[bool], _read(ways.switches), _each_way(_SWITCH_SCHEMA)]
States = Annotated[list[str | None], _read(ways.states), _each_way({"enum": ["up", "down"]}, may_lack=True)]
Traces = Annotated[list[resolved.Trace | None], BeforeValidator(_read_traces), _words_schema("uplink.trace")]
Jitter = Annotated[list[ways.Options | None], _reads_treatment("jitter"), _words_schema("2ms", "2ms 25%")]
LinkLoss = Annotated[list[ways.Options | None], _reads_treatment("loss"), _words_schema("1%", "gemodel 1% 10%")]
Duplicate = Annotated[list[ways.Options | None], _reads_treatment("duplicate"), _words_schema("0.1%")]
Corrupt = Annotated[list[ways.Options | None], _reads_treatment("corrupt"), _words_schema("0.1%")]
Reorder = Annotated[list[ways.Options | None], _reads_treatment("reorder"), _words_schema("25% 50%")]
Name = Annotated[str, _read(name), _text(_WORD, "client", "upload")]
KernelName = Annotated[str, _read(kernel), _text(_KERNEL, "stock", "mine")]
Arrow = Annotated[Direction, _read(direction), _text(rf"{_WORD} *-> *{_WORD}", "client -> server")]
CodePoint = Annotated[
    int,
    _read(words.code_point),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": 63},
                {"type": "string", "pattern": f"^(?:{_WORD}|[0-9]+|{_VARIABLE})$", "examples": ["EF", "CS1", "BE"]},
            ]
        }
    ),
]
Stack = Annotated[str, _read(stack), WithJsonSchema({"enum": list(defaults.STACKS)})]
SmallQueue = Annotated[resolved.SmallQueue, _read(tsq.small_queue), _text(_TSQ, "1ms", "off", "64kB", "100p")]
Offloads = Annotated[resolved.Offloads, _read(offloads), WithJsonSchema({"enum": list(defaults.OFFLOADS_KNOWN)})]
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
            "properties": {"name": {"type": "string", "description": "Its name; `tailback list cc` lists them."}},
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
_EDCA_SCHEMA = {"anyOf": [{"enum": ["station", "hostapd"]}, {"type": "object"}]}


def _by_station(one: dict[str, Any]) -> WithJsonSchema:
    return WithJsonSchema({"anyOf": [one, {"type": "object", "additionalProperties": one}]})


_SNR_TEXT = {"type": "string", "examples": ["25dB"]}
_DISTANCE_TEXT = {"type": "string", "examples": ["10m"]}
_STREAMS_NUMBER = {"type": "integer", "minimum": 1, "maximum": 8}
Loss = Annotated[
    wifi.ByStation[int], _read(wifi.by_station(wifi.loss, 0)), _by_station({"type": "string", "examples": ["1%"]})
]
Streams = Annotated[
    wifi.ByStation[int | None], _read(wifi.by_station(wifi.streams, None)), _by_station(_STREAMS_NUMBER)
]
RateControl = Annotated[
    wifi.ByStation[str],
    _read(wifi.by_station(wifi.rate, defaults.RATE_CONTROL)),
    _by_station({"enum": ["fixed", "minstrel"]}),
]
Snr = Annotated[wifi.ByStation[float | None], _read(wifi.by_station(wifi.snr, None)), _by_station(_SNR_TEXT)]
Distance = Annotated[
    wifi.ByStation[float | None], _read(wifi.by_station(wifi.distance, None)), _by_station(_DISTANCE_TEXT)
]
Beacons = Annotated[int | None, _read(wifi.beacons), _text(_RATE, "6mbit")]
EdcaBySide = Annotated[dict[str, tuple[resolved.Edca, ...]], _read(wifi.edca_by_side), WithJsonSchema(_EDCA_SCHEMA)]


class _Keys(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, arbitrary_types_allowed=True)


class Nic(_Keys):
    """Network cards of a host."""

    ring: Ring = Field(defaults.RING, description="Descriptors of the transmit ring (ethtool -G DEV tx N).")
    bql: Switch = Field(defaults.BQL, description="Byte queue limits bound what is in the ring: on or off.")


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
    nic: Nic = Field(
        default_factory=lambda: Nic.model_validate({}),
        description="Its network cards, unless a link sets its own values.",
    )


def _bare_host(entry: object) -> object:
    return {} if entry is None else entry


HostEntry = Annotated[Host, BeforeValidator(_bare_host, json_schema_input_type=Host | None)]


class _Treatment(_Keys):
    """What a link does to packets beside taking time, in netem's words; each [there, back], or one for both."""

    loss: LinkLoss = Field([None, None], description="Share of packets lost, or a model of loss as netem has it.")
    jitter: Jitter = Field([None, None], description="Spread of the delay; it keeps the order of packets.")
    duplicate: Duplicate = Field([None, None], description="Share of packets that are duplicated.")
    corrupt: Corrupt = Field(
        [None, None], description="Share of packets that are corrupted: their destination drops them."
    )
    reorder: Reorder = Field([None, None], description="Share of packets that skip the delay, overtaking all others.")


class Change(_Treatment):
    """What changes on a link at an instant; what is not named stays."""

    at: Time = Field(description="When, in time of the run.")
    rate: Rates = Field([None, None], description="Rate from then on; the frame on the wire keeps its own.")
    delay: Delay | None = Field(None, description="Delay of packets that leave from then on.")
    state: States = Field([None, None], description="down: packets that leave are lost; up: they get through again.")


Mtu = Annotated[int, Field(ge=576, le=65535), _number(minimum=576, maximum=65535)]


class Link(_Treatment):
    """A full-duplex link between two hosts, with the devices at its ends."""

    ends: Annotated[list[Name], Field(min_length=2, max_length=2)] = Field(
        description="The two hosts it connects.", examples=[["client", "router"]]
    )
    rate: Rates = Field(
        [None, None],
        description="Serialization rate, one or [there, back]; without it packets are handed over at once, as by a "
        "veth pair.",
    )
    trace: Traces = Field(
        [None, None],
        description="Instead of a rate: a file of delivery opportunities, one millisecond stamp per line, beside this "
        "one; one or [there, back].",
    )
    delay: Delay = Field(
        defaults.DELAY, validate_default=True, description="Propagation delay one way: one time, or [there, back]."
    )
    mtu: Mtu = Field(defaults.MTU, description="Longest IP packet in bytes.")
    ring: Rings | None = Field(
        None, description="Descriptors of the transmit ring at each end; without it as `nic` of the hosts says."
    )
    bql: Switches | None = Field(
        None, description="Byte queue limits bound what is in the ring: on or off; without it as `nic` of the hosts."
    )
    schedule: list[Change] = Field([], description="Changes during the run, ordered by time.")


class Lan(_Keys):
    """A shared segment: hosts attached to a switch, which stores packets and forwards them by a queue per port."""

    lan: Annotated[list[Name], Field(min_length=2)] = Field(
        description="The hosts attached.", examples=[["router", "h4", "h5", "h6"]]
    )
    name: Name | None = Field(None, description="Name of the switch in `qdiscs` and tables; default lanN.")
    rate: Rates = Field([None, None], description="Rate of each port, one or [to the switch, from it].")
    delay: Delay = Field(
        defaults.DELAY, validate_default=True, description="Delay of each cable, one or [to the switch, from it]."
    )
    mtu: Mtu = Field(defaults.MTU, description="Longest IP packet in bytes.")


class CellHosts(_Keys):
    """Who is in a Wi-Fi cell."""

    ap: Name = Field(description="The access point.", examples=["router"])
    stations: Annotated[list[Name], Field(min_length=1)] = Field(
        description="The stations; each has a link to the access point.", examples=[["client"]]
    )


class Wifi(_Keys):
    """A Wi-Fi cell: an access point and its stations on one channel."""

    wifi: CellHosts = Field(description="The access point and the stations.")
    standard: Literal["802.11n", "802.11ac", "802.11ax"] = Field(description="Frame format: HT, VHT or HE.")
    band: Literal["2.4GHz", "5GHz"] = Field(defaults.BAND, description="Where the channel is.")
    width: Width = Field(description="Width of the channel: 20MHz to 160MHz.")
    streams: Streams = Field(
        defaults.STREAMS,
        validate_default=True,
        description="Spatial streams, one number or one per station; the MCS of 802.11n tells them by itself.",
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
    rate: RateControl = Field(
        defaults.RATE_CONTROL,
        validate_default=True,
        description="Rate control: `fixed` keeps the MCS given, `minstrel` uses it as the highest; or one per station.",
    )
    loss: Loss = Field(
        defaults.LOSS, validate_default=True, description="Share of MPDUs lost, up and down; or one per station."
    )
    snr: Snr = Field(
        defaults.SNR,
        validate_default=True,
        description="Signal over noise, 25dB, by which MPDUs are lost in each mode; or one per station.",
    )
    distance: Distance = Field(
        defaults.DISTANCE,
        validate_default=True,
        description="Distance to the access point, 10m, which gives the signal over noise; or one per station.",
    )
    channel: Name | None = Field(None, description="Cells with the same name share the channel.")
    hidden: list[Annotated[list[Name], Field(min_length=2, max_length=2)]] = Field(
        default_factory=list,
        description="Pairs of hosts on this channel that do not hear each other.",
        examples=[[["near", "far"]]],
    )
    beacons: Beacons = Field(None, description="Rate at which the access point sends beacons; without it none.")
    edca: EdcaBySide = Field(
        default_factory=dict,
        description="Contention: `hostapd` for what it sets for an access point, or by category, {be: {cwmax: 63}}; "
        "{ap: hostapd} for one side.",
    )
    rts: bool = Field(defaults.RTS, description="RTS and CTS precede every PPDU.")
    encryption: Literal["open", "ccmp"] = Field(defaults.ENCRYPTION, description="CCMP adds 16 bytes to an MPDU.")


#: Tags of links, as those of traffic below.
LINK_TAGS: dict[str, type[_Keys]] = {"<link>": Link, "<lan>": Lan, "<wifi>": Wifi}


def _kind_of_link(entry: object) -> str:
    if isinstance(entry, _Keys):
        return next(tag for tag, model in LINK_TAGS.items() if isinstance(entry, model))
    special = (tag for tag in ("<wifi>", "<lan>") if isinstance(entry, dict) and tag.strip("<>") in entry)
    return next(special, "<link>")


AnyLink = Annotated[
    Annotated[Link, Tag("<link>")] | Annotated[Lan, Tag("<lan>")] | Annotated[Wifi, Tag("<wifi>")],
    Discriminator(_kind_of_link),
]


RouteKey = Annotated[str, _read(lambda word: str(direction(word))), _text(rf"{_WORD} *-> *{_WORD}", "client -> server")]


def _read_via(word: object) -> object:
    return [word] if isinstance(word, str) else word


Via = Annotated[
    Annotated[list[Name], Field(min_length=1)], BeforeValidator(_read_via, json_schema_input_type=str | list[str])
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
    dscp: CodePoint = Field(
        defaults.DSCP, description="Code point of its packets, both ways: EF, CS1, AF41 or a number."
    )
    ip: Literal[4, 6] = Field(
        defaults.IP, description="Version of IP: a header of 6 is 20 bytes longer, and a segment so much shorter."
    )
    start: Time = Field(defaults.START, validate_default=True, description="When it connects.")
    stop: Time | None = Field(None, description="When it closes; without it and `bytes`, the end of the run.")
    bytes: Size | None = Field(
        None, description="Bytes that each connection sends; it ends when they are acknowledged."
    )
    jitter: Time = Field(
        defaults.JITTER,
        validate_default=True,
        description="Each connection starts later by a random time below this, drawn from the seed and its name.",
    )


class Udp(_Keys):
    """Datagrams offered at a rate: UDP flooding, or a call."""

    udp: Arrow = Field(description="Sender and receiver.")
    name: Name | None = Field(
        None,
        description="Name in tables; several flows become NAME.1, NAME.2, ... Without it: udp, for A -> B udp-A-B.",
    )
    flows: Annotated[int, Field(ge=1, le=100_000), _number(minimum=1, maximum=100_000)] = Field(
        defaults.FLOWS, description="Number of flows, each at this rate."
    )
    rate: PositiveRate = Field(description="Data offered by each flow, without headers.")
    size: Size = Field(defaults.DATAGRAM, validate_default=True, description="Bytes of data in a datagram.")
    sndbuf: SocketSize | None = Field(
        None, description="SO_SNDBUF of the sender: the buffer is twice this, and a full one holds the sender back."
    )
    dscp: CodePoint = Field(defaults.DSCP, description="Code point of its packets.")
    start: Time = Field(defaults.START, validate_default=True, description="The first datagram.")
    stop: Time | None = Field(None, description="No datagram at or after this; without it the end of the run.")
    jitter: Time = Field(defaults.JITTER, validate_default=True, description="As for `tcp`.")


class Ping(_Keys):
    """Echo requests at a fixed interval."""

    ping: Arrow = Field(description="Host that asks and host that answers.")
    name: Name = Field("ping", description="Name in tables.")
    interval: Span = Field(defaults.PING_INTERVAL, validate_default=True, description="From one request to the next.")
    size: Size = Field(
        defaults.PING_SIZE, validate_default=True, description="Bytes of ICMP or UDP, the 8 of its header included."
    )
    protocol: Literal["icmp", "udp"] = Field(
        defaults.PING_PROTOCOL, description="icmp as ping, or udp as irtt: datagrams that a server answers."
    )
    dscp: CodePoint = Field(defaults.DSCP, description="Code point of requests and answers.")
    start: Time = Field(defaults.START, validate_default=True, description="The first request.")
    stop: Time | None = Field(None, description="No request at or after this; without it the end of the run.")
    jitter: Time = Field(
        defaults.JITTER, validate_default=True, description="It starts later by a random time below this."
    )


PresetName = Literal[
    "tcp_upload",
    "tcp_nup",
    "tcp_download",
    "tcp_ndown",
    "tcp_bidirectional",
    "rrul",
    "rrul_be",
    "udp_flood",
    "ping",
]


class Preset(_Keys):
    """A test by Flent's name: its flows between two hosts, and its pings over the whole run."""

    preset: PresetName = Field(description="Flent's name of the test.")
    hosts: Annotated[list[Name], Field(min_length=2, max_length=2)] = Field(
        description="The host that runs the test and its peer; uploads go from the first to the second.",
        examples=[["client", "server"]],
    )
    flows: Annotated[int, Field(ge=1, le=100_000), _number(minimum=1, maximum=100_000)] = Field(
        defaults.FLOWS, description="Connections of tcp_nup and tcp_ndown."
    )
    rate: PositiveRate | None = Field(None, description="Data that udp_flood offers.")
    cc: Control | None = Field(None, description="Congestion control of the senders.")
    tsq: SmallQueue | None = Field(None, description="TCP Small Queues setting of the flows.")
    start: Time = Field(defaults.START, validate_default=True, description="When the flows begin.")
    stop: Time | None = Field(None, description="When the flows end.")
    jitter: Time = Field(defaults.JITTER, validate_default=True, description="As for `tcp`.")
    interval: Span = Field(defaults.PING_INTERVAL, validate_default=True, description="Interval of the pings.")


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
TRAFFIC_TAGS: dict[str, type[_Keys]] = {"<tcp>": Tcp, "<udp>": Udp, "<ping>": Ping, "<preset>": Preset}


def _kind_of_traffic(entry: object) -> str | None:
    if isinstance(entry, _Keys):
        return next(tag for tag, model in TRAFFIC_TAGS.items() if isinstance(entry, model))
    kinds = [tag for tag in TRAFFIC_TAGS if isinstance(entry, dict) and tag.strip("<>") in entry]
    return kinds[0] if len(kinds) == 1 else None


Traffic = Annotated[
    Annotated[Tcp, Tag("<tcp>")]
    | Annotated[Udp, Tag("<udp>")]
    | Annotated[Ping, Tag("<ping>")]
    | Annotated[Preset, Tag("<preset>")],
    Discriminator(
        _kind_of_traffic,
        custom_error_type="word",
        custom_error_message="{message}",
        custom_error_context={
            "message": "is not one kind of traffic",
            "hint": "give it exactly one of the keys tcp, udp, ping and preset: {tcp: client -> server}",
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
        description="Links, shared segments and Wi-Fi cells; together they join all hosts."
    )
    routes: dict[RouteKey, Via] = Field(
        default_factory=dict,
        description="Routes that are not the shortest: the hosts in between, in order. One direction each.",
        examples=[{"client -> server": ["r1", "r2"]}],
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
    cc: Control = Field(defaults.CC, validate_default=True, description="Congestion control of flows that name none.")
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
        case ("hosts", _, "nic"):
            return Nic
        case ("links", _, *_, "schedule", int()):
            return Change
        case ("hosts" | "links", _) | ("measure",) | ():
            return _MODELS[loc[:1]]
    return None
