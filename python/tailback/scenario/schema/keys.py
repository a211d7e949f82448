"""The keys of an experiment file: the whole file, and those of its sections that are small."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Discriminator, Field, Tag, WithJsonSchema

from tailback.scenario import defaults
from tailback.scenario.schema.hosts import Host, HostEntry, Nic
from tailback.scenario.schema.links import Change, Lan, Link
from tailback.scenario.schema.traffic import Traffic, traffic_tags
from tailback.scenario.schema.unions import OneOf
from tailback.scenario.schema.wifi import CellHosts, SignalChange, Wifi
from tailback.scenario.shapes import MOST, SHAPES
from tailback.scenario.values import (
    _WORD,
    ClockTime,
    Condition,
    Control,
    Discipline,
    KernelName,
    Name,
    Offloads,
    ReadBy,
    Repetitions,
    Section,
    SmallQueue,
    Span,
    Time,
    direction,
    number_schema,
    text_schema,
)

#: Tags of the union of links (see `traffic_tags`).
LINK_TAGS: dict[str, type[Section]] = {"<link>": Link, "<lan>": Lan, "<wifi>": Wifi}


def _tag_of(entry: object) -> str:
    if isinstance(entry, Section):
        return _tag_of_model(type(entry))
    special = (tag for tag in ("<wifi>", "<lan>") if isinstance(entry, dict) and tag.strip("<>") in entry)
    return next(special, "<link>")


def _tag_of_model(model: type[Section]) -> str:
    return next(tag for tag, known in LINK_TAGS.items() if issubclass(model, known))


def _any_link() -> Any:
    """The type of an entry of `links`."""
    tagged = Annotated[Link, Tag("<link>")] | Annotated[Lan, Tag("<lan>")] | Annotated[Wifi, Tag("<wifi>")]
    return Annotated[tagged, Discriminator(_tag_of)]


AnyLink = Annotated[Link | Lan | Wifi, OneOf(lambda entry: LINK_TAGS[_tag_of(entry)], _tag_of_model, _any_link)]


RouteKey = Annotated[
    str, ReadBy(lambda word: str(direction(word))), text_schema(rf"{_WORD} *-> *{_WORD}", "client -> server")
]


def _read_via(word: object) -> object:
    return [word] if isinstance(word, str) else word


Via = Annotated[
    Annotated[list[Name], Field(min_length=1)], BeforeValidator(_read_via, json_schema_input_type=str | list[str])
]


class Measure(Section):
    """Sampling, and the measurement window of the summary."""

    warmup: Time = Field(
        defaults.WARMUP, validate_default=True, description="Time to leave out after the start of the first flow."
    )
    window: Annotated[list[Time], Field(min_length=2, max_length=2)] | None = Field(
        None,
        description="Measurement window [from, to], in time of the run. Default: from the start of the first flow plus "
        "the warm-up to the last stop.",
        examples=[["10s", "35s"]],
    )
    interval: Span = Field(defaults.INTERVAL, validate_default=True, description="Sampling interval of the tables.")
    pcap: list[Name] = Field([], description="Hosts whose packets are captured, one pcapng file per host and run.")
    packets: Annotated[list[Time], Field(min_length=2, max_length=2)] | None = Field(
        None,
        description="Window [from, to] in which it is recorded where each packet is; each has a row for each device. "
        "Only on the simulator.",
        examples=[["10s", "10.2s"]],
    )
    tcp_info: Literal["interval", "ack"] = Field(
        "interval", description="Sample tcp_info every interval, or also after every ACK."
    )


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
    """A TCP experiment."""

    model_config = ConfigDict(title="Tailback experiment")

    title: str | None = Field(None, description="Title of the experiment; default: the name of the file.")
    let: Annotated[Any, WithJsonSchema(_LET_SCHEMA)] = Field(
        None, description="Variables: `${NAME}` in any value is replaced by the variable's value."
    )
    hosts: dict[Name, HostEntry] | None = Field(
        None, description="Hosts by name; default: the hosts that the links name."
    )
    links: Annotated[list[AnyLink], Field(min_length=1)] = Field(
        description="Links, shared segments and Wi-Fi cells; together they connect all hosts."
    )
    routes: dict[RouteKey, Via] = Field(
        default_factory=dict,
        description="Routes other than the shortest: the hosts in between, in order, for one direction.",
        examples=[{"client -> server": ["r1", "r2"]}],
    )
    qdiscs: dict[str, Discipline] = Field(
        default_factory=dict,
        description="Root queue discipline by device. `A -> B` is the device of A on its link to B, `A -> air` its "
        "radio in a Wi-Fi cell; `|` attaches a child to a shaper. Default: pfifo_fast on links with a rate and on "
        "radios whose driver needs a root discipline, else none.",
        examples=[{"client -> router": "htb rate 100mbit | fq_codel limit 1000"}],
    )
    traffic: Annotated[list[Traffic], Field(min_length=1)] = Field(description="Flows and pings.")
    duration: Span = Field(description="Duration of a run.")
    cc: Control = Field(defaults.CC, validate_default=True, description="Congestion control of flows that set none.")
    tsq: SmallQueue = Field(
        defaults.TSQ,
        validate_default=True,
        description="TCP Small Queues setting of flows and hosts that set none. Default on Wi-Fi (first link of the "
        "flow): 8ms, as set by mac80211.",
    )
    kernel: KernelName | None = Field(
        None,
        description="Kernel for `--backend uml`, by its name in `tailback kernel list`; default: `stock`. The "
        "simulator "
        "refuses it.",
        examples=["mine"],
    )
    clock: ClockTime | None = Field(
        None,
        description="Date, and time of UTC, that the clock of a guest of `--backend uml` shows at its boot, for "
        "programs that ask for it; default: 2023-11-14T22:13:20, the same on each day, so that runs repeat.",
        examples=["2026-11-29"],
    )
    offloads: Offloads = Field(
        defaults.OFFLOADS,
        description="Where data is segmented, on hosts that do not set it: off = in TCP, gso = below the queue "
        "discipline, on = in the device.",
    )
    measure: Measure = Field(default_factory=lambda: Measure.model_validate({}), description="Sampling and summary.")
    expect: dict[str, Condition] = Field(
        default_factory=dict,
        description="Conditions on the results of each configuration, by metric: `run` prints a verdict on each, and "
        "has status 1 if one does not hold.",
    )
    vary: Annotated[Any, WithJsonSchema(_VARY_SCHEMA)] = Field(
        None,
        description="Axes of a grid, whose cross product is run. `KEY: [values]` or `KEY: {LABEL: value}` varies a key "
        "or a variable; `NAME: {LABEL: {keys}}` varies several keys together.",
    )
    repeat: Repetitions = Field(
        defaults.REPEAT,
        validate_default=True,
        description="Repetitions of each configuration: a number, or `until` the 95 % intervals are narrow enough.",
    )
    seed: Annotated[int, Field(ge=0, le=2**62), number_schema(minimum=0, maximum=2**62)] = Field(
        defaults.SEED, description="Seed of the first repetition; repetition r has seed + r - 1 in every configuration."
    )


def json_schema() -> dict[str, Any]:
    """The JSON Schema of an experiment file (2020-12), for editors."""
    schema = Keys.model_json_schema()
    _add_shapes(schema)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _add_shapes(schema: dict[str, Any]) -> None:
    """Adds the short forms of links, which are expanded before the models see them."""
    link = schema["$defs"]["Link"]
    cable = {key: field for key, field in link["properties"].items() if key != "ends"}
    for name, shape in SHAPES.items():
        number = {"type": "integer", "minimum": 1, "maximum": MOST, "description": f"Number of {shape.counts}."}
        access = {"access": {**_ACCESS, "properties": cable}} if shape.has_access else {}
        title = "".join(word.capitalize() for word in name.split("_"))
        schema["$defs"][title] = {
            **link, "title": title, "description": shape.text, "required": [name],
            "properties": {name: number, **access, **cable},
        }  # fmt: skip
        schema["properties"]["links"]["items"]["oneOf"].append({"$ref": f"#/$defs/{title}"})


_ACCESS = {
    "type": "object",
    "additionalProperties": False,
    "description": "Keys of the links of the hosts; default: neither rate nor delay.",
}


def keys_at(loc: tuple[str | int, ...]) -> tuple[str, ...]:
    """The known keys at a location of the file, given as a path that still contains pydantic's tags."""
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
        case ("links", _, *tags, "schedule", int()):
            return SignalChange if "<wifi>" in tags else Change
        case ("hosts" | "links", _) | ("measure",) | ():
            return _MODELS[loc[:1]]
    return None
