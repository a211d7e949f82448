"""Requests and answers: a client asks, reads the answer, pauses, and asks again over the same TCP connection."""

from collections.abc import Iterator
from typing import Annotated, ClassVar

from msgspec import Struct
from msgspec.structs import replace
from pydantic import Field, WithJsonSchema

from tailback import resolved
from tailback.scenario import arrivals, defaults
from tailback.scenario.network import Problem
from tailback.scenario.paths import Loc
from tailback.scenario.traffic import dialog
from tailback.scenario.traffic.kind import File, Flow, Kind, Resolved, numbered
from tailback.scenario.traffic.tcp import PLAIN_SOCKET
from tailback.scenario.values import (
    Arrow,
    CodePoint,
    Control,
    Name,
    ReadBy,
    Section,
    Size,
    Sizes,
    Span,
    Time,
    number_schema,
)
from tailback.scenario.words import Algorithm
from tailback.tc import units
from tailback.tc.errors import WordError
from tailback.tc.units import shown

EXPLAINED = """\
{request: client -> server, size: 300b, answer: 50kb, think: exponential 1s, connections: 6}

Each connection opens at `start` and stays open. Again and again, the client sends a request of `size`, the server sends
an `answer`, and the client waits for `think` after the last byte. `summary.json` has the latency of requests.

With `barrier: NAME`, all connections with that name ask together: a round begins when the last answer of the round
before has arrived, and `think` has passed. `{request: client -> server1..8, answer: 32kb, barrier: round}` is incast.

With `every: 200ms`, a connection opens at this interval, asks once, and closes. `summary.json` then has `rpm`, the
round trips per minute of the IETF's draft on responsiveness; {preset: responsiveness} has such probes beside load.

answer: a size or a distribution, as `size` of connections that arrive: `tailback explain size`
think:  0s, 1s, or exponential 1s"""

MOST_PROBES = 10_000
"""Connections of an entry with `every`."""

LATEST_NS = 2**62
"""A client that asks once does so whenever its connection opens."""

DRAWN = 1000
"""Answers and pauses that are drawn for a connection; it then begins again with the first."""


class Pauses(Struct, frozen=True):
    """Pauses of this mean length, all equal or exponential."""

    mean_ns: int
    exponential: bool = False

    def draw(self, stream: str) -> tuple[int, ...]:
        """Pauses of one connection from the stream SEED/NAME/think."""
        if not self.exponential:
            return (self.mean_ns,)
        uniform = arrivals.uniform(stream)
        return tuple(round(self.mean_ns * arrivals.exponential(uniform)) for _ in range(DRAWN))


def _pauses(word: object) -> Pauses:
    """Reads `1s` or `exponential 1s`."""
    match str(word).split():
        case ["exponential", mean]:
            return Pauses(units.span(mean), exponential=True)
        case [first, *_] if first[:1].isalpha():
            raise WordError(f"`{shown(word)}` is not a pause", "write 0s, 1s or exponential 1s")
    return Pauses(units.time(word))


Think = Annotated[
    Pauses, ReadBy(_pauses), WithJsonSchema({"type": "string", "examples": ["0s", "1s", "exponential 1s"]})
]


class Request(Section):
    """Requests and answers over connections that stay open."""

    request: Arrow = Field(description="Client and server.")
    name: Name = Field("request", description="Name in tables; several connections become NAME.1, NAME.2, ...")
    group: Name | None = Field(
        None, description="The group that it is part of in `run --by group` and `plot -p shares`; default: its name."
    )
    connections: Annotated[int, Field(ge=1, le=10_000), number_schema(minimum=1, maximum=10_000)] = Field(
        defaults.FLOWS, description="Number of connections, each with one request at a time."
    )
    size: Size = Field(defaults.REQUEST, validate_default=True, description="Bytes of a request.")
    answer: Sizes = Field(description="Bytes of an answer, one number or a distribution.")
    think: Think = Field(
        defaults.THINK,
        validate_default=True,
        description="Pause from an answer to the next request: 1s, or exponential 1s.",
    )
    every: Span | None = Field(
        None, description="A connection opens at this interval, asks once and closes, instead of staying open."
    )
    barrier: Name | None = Field(
        None,
        description="Connections with the same name ask together, when all of them have their answers.",
        examples=["round"],
    )
    cc: Control | None = Field(None, description="Congestion control of both ends; default: the file's `cc`.")
    dscp: CodePoint = Field(defaults.DSCP, description="Code point of its packets in both directions.")
    start: Time = Field(defaults.START, validate_default=True, description="Time of connect().")
    stop: Time | None = Field(None, description="No requests from this time on; default: the end of the run.")
    jitter: Time = Field(defaults.JITTER, validate_default=True, description="As for `tcp`.")


class Requests(Flow, frozen=True, kw_only=True):
    """Connections with requests; `answers` and `pauses_ns` are drawn for each from the seed and its name.

    With `every_ns`, a connection opens at this interval and asks once.
    """

    kind: ClassVar[str] = "request"

    stop_ns: int
    size: int
    answer: arrivals.Sizes
    think: Pauses
    cc: Algorithm
    tsq: resolved.SmallQueue
    every_ns: int | None = None
    barrier: str | None = None
    count: int | None = None
    answers: tuple[int, ...] = ()
    pauses_ns: tuple[int, ...] = ()

    @property
    def is_endless(self) -> bool:
        """One flow per probe."""
        return self.every_ns is not None

    @property
    def opens(self) -> int:
        """The connections, or one probe per interval."""
        return len(self.names) if self.every_ns is None else len(self.times)

    def opened(self, seed: int) -> Iterator[tuple[str, Flow]]:
        """The connections with their answers and pauses."""
        if self.every_ns is not None:
            yield from self._probes(seed)
            return
        for name in self.names:
            uniform = arrivals.uniform(f"{seed}/{name}/answers")
            count = 1 if self.answer.kind == "constant" else DRAWN
            answers = tuple(self.answer.draw(uniform) for _ in range(count))
            yield name, replace(self, answers=answers, pauses_ns=self.think.draw(f"{seed}/{name}/think"))

    @property
    def times(self) -> range:
        """When connections open that ask once."""
        return range(self.start_ns, self.stop_ns, self.every_ns or max(1, self.stop_ns - self.start_ns))

    def _probes(self, seed: int) -> Iterator[tuple[str, Flow]]:
        """NAME.1, NAME.2, ..., each with one answer."""
        uniform = arrivals.uniform(f"{seed}/{self.names[0]}/answers")
        for number, at_ns in enumerate(self.times, start=1):
            one = replace(self, start_ns=at_ns, count=1, answers=(self.answer.draw(uniform),), pauses_ns=(0,))
            yield f"{self.names[0]}.{number}", replace(one, stop_ns=LATEST_NS)


def _flow(entry: Request, loc: Loc, file: File) -> Requests:
    return Requests(
        loc=loc,
        names=numbered(entry.name, entry.connections),
        direction=entry.request,
        group=entry.group,
        start_ns=entry.start,
        stop_ns=file.duration if entry.stop is None else entry.stop,
        jitter_ns=entry.jitter,
        dscp=entry.dscp,
        size=entry.size,
        answer=entry.answer,
        think=entry.think,
        every_ns=entry.every,
        barrier=entry.barrier,
        cc=entry.cc or file.control(entry.request.source),
        tsq=file.small_queue(entry.request),
    )


def _resolved(flow: Requests, at: Resolved) -> resolved.Request:
    return resolved.Request(
        name=at.name, source=at.source, target=at.target, start_ns=at.start_ns, stop_ns=flow.stop_ns, size=flow.size,
        answers=flow.answers, pauses_ns=flow.pauses_ns, count=flow.count,
        barrier=flow.barrier,
        cc=flow.cc.control,
        tsq=flow.tsq, socket=PLAIN_SOCKET, dscp=flow.dscp,
    )  # fmt: skip


def _problems(flow: Requests, _most: int) -> Iterator[Problem]:
    yield from dialog.empty_request(flow, flow.size)
    if flow.every_ns is not None:
        yield from _opening(flow)
    yield from dialog.own_control(flow, flow.cc)


def _opening(flow: Requests) -> Iterator[Problem]:
    """The errors of connections that open at an interval."""
    if len(flow.names) > 1:
        hint = "remove one of the two"
        yield Problem((*flow.loc, "connections"), "`connections` stay open, and those of `every` ask once", hint)
    if flow.think.mean_ns:
        hint = "remove `think`, or `every`"
        yield Problem((*flow.loc, "think"), "a connection that asks once does not pause", hint)
    if flow.barrier is not None:
        hint = "remove `barrier`, or `every`"
        yield Problem((*flow.loc, "barrier"), "a connection that asks once does not wait for others", hint)
    if len(flow.times) > MOST_PROBES:
        what = f"{len(flow.times):,} connections open, and an entry may have {MOST_PROBES:,}"
        yield Problem((*flow.loc, "every"), what, "give a longer interval or an earlier `stop`")


ROW = Kind(
    "request",
    keys=Request,
    flow=_flow,
    resolved=_resolved,
    problems=_problems,
    packets="there",
    carries="data",
    data_goes="back",
)
