"""The keys of `traffic`: presets, and the union of all kinds of traffic."""

import functools
import operator
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from tailback.scenario import defaults, traffic
from tailback.scenario.schema.unions import OneOf
from tailback.scenario.traffic.program import Program
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
from tailback.tc.errors import WordError, nearest_hint

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
    name: Name | None = Field(
        None,
        description="Name in tables: its flows are NAME.upload.1, NAME.ping and so on. Default: the flows' own names; "
        "if another entry has one of them, the name of the test.",
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


PRESET = "preset"
PROGRAM = "program"

APART: Mapping[str, type[Section]] = {PROGRAM: Program, PRESET: Preset}
"""Entries that are no kinds of traffic, by their keys."""


def traffic_tags() -> dict[str, type[Section]]:
    """Tags of the union. They begin with `<`, which distinguishes them from keys in the path of an error."""
    return {_tag(word): _model(word) for word in _words()}


def _words() -> list[str]:
    """The keys of which an entry has one."""
    return [*traffic.KINDS, *APART]


def _model(word: str) -> type[Section]:
    return APART[word] if word in APART else traffic.KINDS[word].keys


def _tag(word: str) -> str:
    return f"<{word}>"


def _tag_of_model(model: type[Section]) -> str:
    apart = next((word for word, known in APART.items() if issubclass(model, known)), None)
    row = traffic.with_keys(model)
    return _tag(apart or (PRESET if row is None else row.kind))


def _kind_of(entry: object) -> type[Section]:
    """The registered kind of traffic of an entry, or the preset."""
    if isinstance(entry, Section):
        return type(entry)
    words = _words()
    found = [word for word in words if isinstance(entry, dict) and word in entry]
    if len(found) != 1:
        raise custom(_no_kind(entry, words))
    return _model(found[0])


def _no_kind(entry: object, words: list[str]) -> WordError:
    """The error of an entry that has none of the `words`, or several. A key that names two ends and is nearly one of
    them is a slip.
    """
    keys: Mapping[object, object] = entry if isinstance(entry, dict) else {}
    if not keys.keys() & set(words):
        for key, value in keys.items():
            close = nearest_hint(str(key), words) if "->" in str(value) else ""
            if close.startswith("did you mean"):
                return WordError(f"`{key}` is not a kind of traffic", close)
    *first, last = words
    hint = f"give it exactly one of the keys {', '.join(first)} and {last}: {{tcp: client -> server}}"
    return WordError("is not one kind of traffic", hint)


def _tag_of(entry: object) -> str:
    return _tag_of_model(_kind_of(entry))


def any_traffic() -> Any:
    """The type of an entry: a registered kind of traffic, or a preset."""
    tagged: list[Any] = [Annotated[model, Tag(tag)] for tag, model in traffic_tags().items()]
    return Annotated[
        functools.reduce(operator.or_, tagged), Discriminator(lambda entry: _tag_of_model(_kind_of(entry)))
    ]


Traffic = Annotated[Section, OneOf(_kind_of, _tag_of_model, any_traffic)]
