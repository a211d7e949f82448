"""The keys of links and of shared segments."""

from typing import Annotated

from pydantic import Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from tailback.scenario import defaults
from tailback.scenario.values import (
    Corrupt,
    Delay,
    Duplicate,
    Jitter,
    LinkLoss,
    Name,
    Overhead,
    Policers,
    Rates,
    Reorder,
    Rings,
    Section,
    States,
    Switches,
    Time,
    Traces,
    number_schema,
)


class _Impairments(Section):
    """Impairments of a link in the syntax of netem; each is one value for both directions, or [there, back]."""

    loss: LinkLoss = Field([None, None], description="Share of packets lost, or a loss model of netem.")
    jitter: Jitter = Field([None, None], description="Variation of the delay; packets keep their order.")
    duplicate: Duplicate = Field([None, None], description="Share of packets that are duplicated.")
    corrupt: Corrupt = Field(
        [None, None], description="Share of packets that are corrupted, so that their destination drops them."
    )
    reorder: Reorder = Field([None, None], description="Share of packets that skip the delay, overtaking all others.")


class Change(_Impairments):
    """A change of a link during the run; absent values do not change."""

    at: Time = Field(description="Time of the change, since the start of the run.")
    rate: Rates = Field([None, None], description="New rate; a frame that is being sent finishes at the old rate.")
    delay: Delay | None = Field(None, description="New delay, for packets sent from then on.")
    state: States = Field([None, None], description="down: packets sent are lost; up: the link works again.")


def schedule_schema(changes: JsonSchemaValue, files: list[JsonSchemaValue]) -> JsonSchemaValue:
    """The JSON Schema of a schedule: a list of changes, one that repeats, or what else may stand for it."""
    repeated = {
        "type": "object",
        "properties": {
            "every": {"type": "string", "description": "Length of a round.", "examples": ["2s"]},
            "changes": {"anyOf": [changes, *files], "description": "The changes of each round, or a file."},
        },
        "required": ["changes"],
        "additionalProperties": False,
    }
    return {"anyOf": [changes, repeated, *files]}


class _WithShortForms:
    """The JSON Schema of a schedule, which may be written in short."""

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        files: list[JsonSchemaValue] = [
            {"type": "string", "examples": ["path.csv"]},
            {"type": "array", "items": {"type": ["string", "null"]}, "minItems": 2, "maxItems": 2},
        ]
        return schedule_schema(handler(core), files)


Schedule = Annotated[list[Change], _WithShortForms()]

Mtu = Annotated[int, Field(ge=576, le=65535), number_schema(minimum=576, maximum=65535)]


class Link(_Impairments):
    """A full-duplex link between two hosts, with the devices at its ends."""

    ends: Annotated[list[Name], Field(min_length=2, max_length=2)] = Field(
        description="The two hosts it connects.", examples=[["client", "router"]]
    )
    rate: Rates = Field(
        [None, None],
        description="Serialization rate, one or [there, back]; without it serialization takes no time, as on a veth "
        "pair.",
    )
    trace: Traces = Field(
        [None, None],
        description="Instead of a rate: a file of delivery opportunities, one timestamp in ms per line; path relative "
        "to this file; one or [there, back].",
    )
    delay: Delay = Field(
        defaults.DELAY, validate_default=True, description="One-way propagation delay: one time, or [there, back]."
    )
    mtu: Mtu = Field(defaults.MTU, description="Largest IP packet in bytes.")
    overhead: Overhead = Field(
        0, description="Bytes that each packet has on this link in addition, such as the headers of a tunnel: 60b."
    )
    ring: Rings | None = Field(
        None, description="Descriptors of the transmit ring at each end; default: `nic` of the hosts."
    )
    bql: Switches | None = Field(
        None, description="Byte queue limits of the transmit ring: on or off; default: `nic` of the hosts."
    )
    interrupts: Delay | None = Field(
        None,
        description="Shortest time between two receive interrupts at each end; default: `nic` of the hosts.",
    )
    police: Policers = Field(
        [None, None],
        description="Policer where packets arrive: rate 10mbit burst 20kb drops what exceeds, without a queue.",
    )
    schedule: Schedule = Field(
        [], description="Changes during the run, sorted by time; a list that repeats; or a file: t, rate, delay, loss."
    )


class Lan(Section):
    """A shared segment: hosts attached to a store-and-forward switch with a queue per port."""

    lan: Annotated[list[Name], Field(min_length=2)] = Field(
        description="The hosts attached.", examples=[["router", "h4", "h5", "h6"]]
    )
    name: Name | None = Field(None, description="Name of the switch in `qdiscs` and tables; default lanN.")
    rate: Rates = Field([None, None], description="Rate of each port: one, or [to the switch, from the switch].")
    delay: Delay = Field(
        defaults.DELAY,
        validate_default=True,
        description="Delay of each cable: one, or [to the switch, from the switch].",
    )
    mtu: Mtu = Field(defaults.MTU, description="Largest IP packet in bytes.")
