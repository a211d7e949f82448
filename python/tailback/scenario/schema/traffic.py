"""The keys of `traffic`: presets, and the union of all kinds of traffic."""

import functools
import operator
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from tailback.scenario import defaults, traffic
from tailback.scenario.schema.unions import OneOf
from tailback.scenario.values import (
    Control,
    Name,
    PositiveRate,
    Section,
    SmallQueue,
    Span,
    Time,
    custom,
    number_schema,
)
from tailback.tc.errors import WordError

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
    "tcp_1up",
    "tcp_2up",
    "tcp_4up",
    "tcp_6up",
    "tcp_8up",
    "tcp_12up",
    "tcp_1down",
    "tcp_2down",
    "tcp_4down",
    "tcp_6down",
    "tcp_8down",
    "tcp_12down",
    "voip",
    "voip-1up",
    "voip-rrul",
    "rrul_voip",
    "http",
    "http-1up",
    "http-1down",
    "http-rrul",
    "responsiveness",
]


class Preset(Section):
    """A test of Flent, by its name, or `responsiveness`: flows between two hosts, and pings during the whole run."""

    preset: PresetName = Field(description="Name of the test; Flent's, but for responsiveness.")
    hosts: Annotated[list[Name], Field(min_length=2, max_length=2)] = Field(
        description="The host that runs the test and its peer; uploads go from the first to the second.",
        examples=[["client", "server"]],
    )
    flows: Annotated[int, Field(ge=1, le=100_000), number_schema(minimum=1, maximum=100_000)] = Field(
        defaults.FLOWS,
        description="Connections of tcp_nup and tcp_ndown; of responsiveness, each way: one more per second.",
    )
    rate: PositiveRate | None = Field(None, description="Rate of udp_flood.")
    cc: Control | None = Field(None, description="Congestion control of the senders.")
    tsq: SmallQueue | None = Field(None, description="TCP Small Queues setting of the flows.")
    start: Time = Field(defaults.START, validate_default=True, description="Start of the flows.")
    stop: Time | None = Field(None, description="End of the flows; default: the end of the run.")
    jitter: Time = Field(defaults.JITTER, validate_default=True, description="As for `tcp`.")
    interval: Span = Field(defaults.PING_INTERVAL, validate_default=True, description="Interval of the pings.")


def traffic_tags() -> dict[str, type[Section]]:
    """Tags of the union. They begin with `<`, which distinguishes them from keys in the path of an error."""
    return {**{f"<{row.kind}>": row.keys for row in traffic.KINDS.values()}, "<preset>": Preset}


def _tag_of(entry: object) -> str | None:
    if isinstance(entry, Section):
        return _tag_of_model(type(entry))
    kinds = [tag for tag in traffic_tags() if isinstance(entry, dict) and tag.strip("<>") in entry]
    return kinds[0] if len(kinds) == 1 else None


def _tag_of_model(model: type[Section]) -> str:
    return next(tag for tag, known in traffic_tags().items() if issubclass(model, known))


def _kind_of(entry: object) -> type[Section]:
    """The registered kind of traffic of an entry, or the preset."""
    tags = traffic_tags()
    tag = _tag_of(entry)
    if tag is None:
        *first, last = (each.strip("<>") for each in tags)
        hint = f"give it exactly one of the keys {', '.join(first)} and {last}: {{tcp: client -> server}}"
        raise custom(WordError("is not one kind of traffic", hint))
    return tags[tag]


def any_traffic() -> Any:
    """The type of an entry: a registered kind of traffic, or a preset."""
    tagged: list[Any] = [Annotated[model, Tag(tag)] for tag, model in traffic_tags().items()]
    return Annotated[functools.reduce(operator.or_, tagged), Discriminator(_tag_of)]


Traffic = Annotated[Section, OneOf(_kind_of, _tag_of_model, any_traffic)]
