"""Video in segments (DASH): a player that fills a buffer and chooses a bitrate for each segment."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tailback import resolved
from tailback.scenario import defaults
from tailback.scenario.network import Problem
from tailback.scenario.paths import Loc
from tailback.scenario.traffic import dialog
from tailback.scenario.traffic.kind import File, Flow, Kind, Resolved
from tailback.scenario.traffic.tcp import PLAIN_SOCKET
from tailback.scenario.values import Arrow, CodePoint, Control, Name, PositiveRate, Section, Size, Span, Time
from tailback.scenario.words import Algorithm
from tailback.tc import units

EXPLAINED = """\
{video: client -> server, rule: bola, ladder: [350kbit, 600kbit, 1mbit, 2mbit, 3mbit], segment: 4s, buffer: 30s}

The player asks for one segment after the other over one connection, each on the rung of the ladder that the rule
chooses, while its buffer has room. It plays when the buffer has `startup`. `summary.json` has the startup delay,
stalls, mean bitrate, switches and a QoE of each video (Yin et al., 2015).

rule:
  rate     the highest bitrate below the harmonic mean of the throughputs of the last five segments (Yin et al., 2015)
  bola     by the buffer alone: the rung with the largest (V (ln(S/S1) + 5) - Q) / S (Spiteri et al., 2016)
  hybrid   rate while the buffer has less than 10 s, then bola (Spiteri et al., 2018)

The default ladder, segment and buffer are those of Yin et al."""


class Video(Section):
    """A video that a player fetches in segments."""

    video: Arrow = Field(description="Player and server.")
    name: Name = Field("video", description="Name in tables.")
    group: Name | None = Field(
        None, description="The group that it is part of in `run --by group` and `plot -p shares`; default: its name."
    )
    rule: Literal["rate", "bola", "hybrid"] = Field(defaults.VIDEO_RULE, description="How the player adapts.")
    ladder: Annotated[list[PositiveRate], Field(min_length=1, max_length=100)] = Field(
        list(defaults.LADDER), validate_default=True, description="Bitrates, growing."
    )
    segment: Span = Field(defaults.VIDEO_SEGMENT, validate_default=True, description="Length of a segment.")
    buffer: Span = Field(defaults.VIDEO_BUFFER, validate_default=True, description="Largest buffer of the player.")
    startup: Span | None = Field(None, description="Buffer with which it plays; default: one segment.")
    size: Size = Field(defaults.REQUEST, validate_default=True, description="Bytes of a request.")
    cc: Control | None = Field(None, description="Congestion control of both ends; default: the file's `cc`.")
    dscp: CodePoint = Field(defaults.DSCP, description="Code point of its packets in both directions.")
    start: Time = Field(defaults.START, validate_default=True, description="Time of connect().")
    stop: Time | None = Field(None, description="No request from this time on; default: the end of the run.")
    jitter: Time = Field(defaults.JITTER, validate_default=True, description="As for `tcp`.")


class Played(Flow, frozen=True, kw_only=True):
    """A video and its player; times in ns, bitrates in bit/s."""

    kind: ClassVar[str] = "video"

    stop_ns: int
    rule: resolved.VideoRule
    ladder: tuple[int, ...]
    segment_ns: int
    buffer_ns: int
    startup_ns: int
    size: int
    cc: Algorithm
    tsq: resolved.SmallQueue


def _flow(entry: Video, loc: Loc, file: File) -> Played:
    return Played(
        loc=loc,
        names=(entry.name,),
        group=entry.group,
        direction=entry.video,
        start_ns=entry.start,
        stop_ns=file.duration if entry.stop is None else entry.stop,
        jitter_ns=entry.jitter,
        dscp=entry.dscp,
        rule=entry.rule,
        ladder=tuple(entry.ladder),
        segment_ns=entry.segment,
        buffer_ns=entry.buffer,
        startup_ns=entry.segment if entry.startup is None else entry.startup,
        size=entry.size,
        cc=entry.cc or file.control(entry.video.source),
        tsq=file.small_queue(entry.video),
    )


def _resolved(flow: Played, at: Resolved) -> resolved.Video:
    return resolved.Video(
        name=at.name, source=at.source, target=at.target, start_ns=at.start_ns, stop_ns=flow.stop_ns, size=flow.size,
        ladder_bps=flow.ladder, segment_ns=flow.segment_ns, buffer_ns=flow.buffer_ns, startup_ns=flow.startup_ns,
        rule=flow.rule, cc=flow.cc.control,
        tsq=flow.tsq, socket=PLAIN_SOCKET, dscp=flow.dscp,
    )  # fmt: skip


def _problems(flow: Played, _most: int) -> Iterator[Problem]:
    if list(flow.ladder) != sorted(set(flow.ladder)):
        yield Problem((*flow.loc, "ladder"), "the bitrates do not grow", "write the lowest first, each once")
    yield from dialog.empty_request(flow, flow.size)
    if flow.buffer_ns < 2 * flow.segment_ns:
        hint = f"write at least {units.time_word(2 * flow.segment_ns)}"
        yield Problem((*flow.loc, "buffer"), "the buffer has no room for two segments", hint)
    elif flow.startup_ns > flow.buffer_ns - flow.segment_ns:
        hint = "write at most `buffer` without a segment"
        yield Problem((*flow.loc, "startup"), "the buffer never gets so long", hint)
    yield from dialog.own_control(flow, flow.cc)


ROW = Kind(
    "video",
    keys=Video,
    flow=_flow,
    resolved=_resolved,
    problems=_problems,
    packets="there",
    carries="data",
    data_goes="back",
)
