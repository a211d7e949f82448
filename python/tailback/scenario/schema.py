"""The keys of an experiment file, as pydantic models: types, units and descriptions of every key.

The models hold values in base units (ns, bit/s, bytes); what spans several keys is checked in `check.py`.
The JSON Schema for editors is made from the same models (`json_schema`). An unknown key is an error everywhere.
"""

from __future__ import annotations

import functools
import operator
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Discriminator, Field, GetCoreSchemaHandler, Tag, WithJsonSchema
from pydantic_core import CoreSchema

from tailback.scenario import defaults, traffic
from tailback.scenario.values import (
    _WORD,
    Beacons,
    Control,
    Corrupt,
    Delay,
    Discipline,
    Distance,
    Drivers,
    Duplicate,
    EdcaBySide,
    Guard,
    Jitter,
    KernelName,
    LinkLoss,
    Loss,
    Mcs,
    Name,
    Offloads,
    PositiveRate,
    RateControl,
    Rates,
    Reorder,
    Repetitions,
    Ring,
    Rings,
    Section,
    SmallQueue,
    Snr,
    Span,
    Stack,
    States,
    Streams,
    Switch,
    Switches,
    Time,
    Traces,
    Width,
    direction,
    number_schema,
    read_by,
    text_schema,
)


class Nic(Section):
    """Network cards of a host."""

    ring: Ring = Field(defaults.RING, description="Descriptors of the transmit ring (ethtool -G DEV tx N).")
    bql: Switch = Field(defaults.BQL, description="Byte queue limits of the transmit ring: on or off.")


class Host(Section):
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


class _Impairments(Section):
    """What a link does to packets beside taking time, in netem's words; each [there, back], or one for both."""

    loss: LinkLoss = Field([None, None], description="Share of packets lost, or a model of loss as netem has it.")
    jitter: Jitter = Field([None, None], description="Spread of the delay; packets keep their order.")
    duplicate: Duplicate = Field([None, None], description="Share of packets that are duplicated.")
    corrupt: Corrupt = Field(
        [None, None], description="Share of packets that are corrupted: their destination drops them."
    )
    reorder: Reorder = Field([None, None], description="Share of packets that skip the delay, overtaking all others.")


class Change(_Impairments):
    """A change of a link at a time; absent values do not change."""

    at: Time = Field(description="Time of the change, since the start of the run.")
    rate: Rates = Field([None, None], description="Rate from then on; the frame on the wire finishes at the old rate.")
    delay: Delay | None = Field(None, description="Delay of packets that leave from then on.")
    state: States = Field([None, None], description="down: packets that leave are lost; up: the link works again.")


Mtu = Annotated[int, Field(ge=576, le=65535), number_schema(minimum=576, maximum=65535)]


class Link(_Impairments):
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
        None, description="Descriptors of the transmit ring at each end; default as in `nic` of the hosts."
    )
    bql: Switches | None = Field(
        None, description="Byte queue limits of the transmit ring: on or off; default as in `nic` of the hosts."
    )
    schedule: list[Change] = Field([], description="Changes during the run, ordered by time.")


class Lan(Section):
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


class CellHosts(Section):
    """Who is in a Wi-Fi cell."""

    ap: Name = Field(description="The access point.", examples=["router"])
    stations: Annotated[list[Name], Field(min_length=1)] = Field(
        description="The stations, which reach each other through the access point.", examples=[["client"]]
    )


class Wifi(Section):
    """A Wi-Fi cell: an access point and its stations on one channel."""

    wifi: CellHosts = Field(description="The access point and the stations.")
    name: Name | None = Field(
        None,
        description="Name of the cell in `qdiscs` and tables: `router -> air` is the radio of router. Default air; of "
        "several cells air1, air2 and so on.",
    )
    standard: Literal["802.11n", "802.11ac", "802.11ax"] = Field(description="Frame format: HT, VHT or HE.")
    band: Literal["2.4GHz", "5GHz"] = Field(defaults.BAND, description="Frequency band of the channel.")
    width: Width = Field(description="Width of the channel: 20MHz to 160MHz.")
    streams: Streams = Field(
        defaults.STREAMS,
        validate_default=True,
        description="Spatial streams, one number or one per station; the MCS of 802.11n determines them.",
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
LINK_TAGS: dict[str, type[Section]] = {"<link>": Link, "<lan>": Lan, "<wifi>": Wifi}


def _kind_of_link(entry: object) -> str:
    if isinstance(entry, Section):
        return next(tag for tag, model in LINK_TAGS.items() if isinstance(entry, model))
    special = (tag for tag in ("<wifi>", "<lan>") if isinstance(entry, dict) and tag.strip("<>") in entry)
    return next(special, "<link>")


AnyLink = Annotated[
    Annotated[Link, Tag("<link>")] | Annotated[Lan, Tag("<lan>")] | Annotated[Wifi, Tag("<wifi>")],
    Discriminator(_kind_of_link),
]


RouteKey = Annotated[
    str, read_by(lambda word: str(direction(word))), text_schema(rf"{_WORD} *-> *{_WORD}", "client -> server")
]


def _read_via(word: object) -> object:
    return [word] if isinstance(word, str) else word


Via = Annotated[
    Annotated[list[Name], Field(min_length=1)], BeforeValidator(_read_via, json_schema_input_type=str | list[str])
]


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


class Preset(Section):
    """A test by Flent's name: its flows between two hosts, and its pings over the whole run."""

    preset: PresetName = Field(description="Flent's name of the test.")
    hosts: Annotated[list[Name], Field(min_length=2, max_length=2)] = Field(
        description="The host that runs the test and its peer; uploads go from the first to the second.",
        examples=[["client", "server"]],
    )
    flows: Annotated[int, Field(ge=1, le=100_000), number_schema(minimum=1, maximum=100_000)] = Field(
        defaults.FLOWS, description="Connections of tcp_nup and tcp_ndown."
    )
    rate: PositiveRate | None = Field(None, description="Rate at which udp_flood sends.")
    cc: Control | None = Field(None, description="Congestion control of the senders.")
    tsq: SmallQueue | None = Field(None, description="TCP Small Queues setting of the flows.")
    start: Time = Field(defaults.START, validate_default=True, description="When the flows begin.")
    stop: Time | None = Field(None, description="When the flows end.")
    jitter: Time = Field(defaults.JITTER, validate_default=True, description="As for `tcp`.")
    interval: Span = Field(defaults.PING_INTERVAL, validate_default=True, description="Interval of the pings.")


class Measure(Section):
    """What is sampled, and over which time the summary is computed."""

    warmup: Time = Field(
        defaults.WARMUP, validate_default=True, description="Time to leave out after the start of the first flow."
    )
    window: Annotated[list[Time], Field(min_length=2, max_length=2)] | None = Field(
        None,
        description="From and to, in time of the run. Without it: from the start of the first flow and the warm-up on, "
        "to the last stop.",
        examples=[["10s", "35s"]],
    )
    interval: Span = Field(defaults.INTERVAL, validate_default=True, description="Sampling interval of the tables.")
    pcap: list[Name] = Field([], description="Hosts whose devices are captured, each in a pcapng file in the run.")
    tcp_info: Literal["interval", "ack"] = Field(
        "interval", description="Sample tcp_info every interval, or also after every ACK."
    )


def traffic_tags() -> dict[str, type[Section]]:
    """Tags of the union; they begin with `<` so that they can be told from keys in the path of an error."""
    return {**{f"<{row.kind}>": row.keys for row in traffic.KINDS.values()}, "<preset>": Preset}


def _kind_of_traffic(entry: object) -> str | None:
    if isinstance(entry, Section):
        return next(tag for tag, model in traffic_tags().items() if isinstance(entry, model))
    kinds = [tag for tag in traffic_tags() if isinstance(entry, dict) and tag.strip("<>") in entry]
    return kinds[0] if len(kinds) == 1 else None


def any_traffic() -> Any:
    """The type of an entry: one of the kinds there are, or a preset."""
    tagged: list[Any] = [Annotated[model, Tag(tag)] for tag, model in traffic_tags().items()]
    *first, last = (tag.strip("<>") for tag in traffic_tags())
    hint = f"give it exactly one of the keys {', '.join(first)} and {last}: {{tcp: client -> server}}"
    return Annotated[
        functools.reduce(operator.or_, tagged),
        Discriminator(
            _kind_of_traffic,
            custom_error_type="word",
            custom_error_message="{message}",
            custom_error_context={"message": "is not one kind of traffic", "hint": hint},
        ),
    ]


class _OneOfTheKinds:
    """Asks for the kinds there are when the model is built."""

    def __get_pydantic_core_schema__(self, _source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return handler.generate_schema(any_traffic())


Traffic = Annotated[Section, _OneOfTheKinds()]


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


class Keys(Section):
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
        description="Links, shared segments and Wi-Fi cells; together they connect all hosts."
    )
    routes: dict[RouteKey, Via] = Field(
        default_factory=dict,
        description="Routes that are not the shortest: the hosts in between, in order. One direction each.",
        examples=[{"client -> server": ["r1", "r2"]}],
    )
    qdiscs: dict[str, Discipline] = Field(
        default_factory=dict,
        description="Root queue discipline by device. `A -> B` is the device of A on its link to B, `A -> air` its "
        "radio in a Wi-Fi cell; `|` puts a child under a shaper. Devices not named have pfifo_fast if their link has a "
        "rate, or their driver wants one, else none.",
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
    seed: Annotated[int, Field(ge=0, le=2**62), number_schema(minimum=0, maximum=2**62)] = Field(
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


_MODELS: dict[tuple[str | int, ...], type[Section]] = {
    (): Keys,
    ("hosts",): Host,
    ("links",): Link,
    ("measure",): Measure,
}


def _model_at(loc: tuple[str | int, ...]) -> type[Section] | None:
    match loc:
        case ("traffic" | "links", _, str() as tag):
            return (LINK_TAGS | traffic_tags()).get(tag)
        case ("links", _, "<wifi>", "wifi"):
            return CellHosts
        case ("hosts", _, "nic"):
            return Nic
        case ("links", _, *_, "schedule", int()):
            return Change
        case ("hosts" | "links", _) | ("measure",) | ():
            return _MODELS[loc[:1]]
    return None
