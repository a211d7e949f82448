"""Web pages: a browser loads the objects of a page over some connections, once or at an interval."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from msgspec.structs import replace
from pydantic import Field, WithJsonSchema

from tailback import resolved
from tailback.resolved.pages import SHAPES, PageObject
from tailback.scenario import arrivals, defaults
from tailback.scenario.network import Problem
from tailback.scenario.paths import Loc
from tailback.scenario.traffic import dialog
from tailback.scenario.traffic.kind import File, Flow, Kind, Resolved
from tailback.scenario.traffic.tcp import PLAIN_SOCKET
from tailback.scenario.values import (
    Arrow,
    CodePoint,
    Control,
    Name,
    Section,
    Size,
    Span,
    Time,
    number_schema,
    read_in_folder,
)
from tailback.scenario.words import Algorithm
from tailback.tc.errors import WordError
from tailback.tc.units import shown

EXPLAINED = """\
{page: client -> server, shape: desktop, http: 2, every: 10s}

The browser asks for the first object at `start`, and for each other one when the object that names it has arrived.
`http: 2` takes one connection for all objects, `http: 1` up to `connections`, each with one object at a time. With
`every`, the page is loaded again at this interval over new connections. `summary.json` has the page load times and the
byte index, which approximates the speed index by bytes.

shape:
  desktop, mobile, inner   the median home page of October 2024 on a desktop computer and on a telephone, and the median
                           page of a desktop site behind its home page, by the Web Almanac
  file page.txt            the bytes of an object and the line that names it (0 for the first) on each line"""

SHAPE_HINT = f"write {', '.join(SHAPES)}, or file page.txt"
FILE_HINT = "each line is a size in bytes and the line of the object that names it, 0 for the first: 5000 1"
MOST_OBJECTS = 5000
MOST_LOADS = 1000


def _shape(word: object, folder: Path = Path()) -> tuple[PageObject, ...]:
    """Reads the name of a shape, or `file page.txt`."""
    match str(word).split():
        case [name] if name in SHAPES:
            return SHAPES[name].objects
        case ["file", name]:
            return tuple(_objects_of(name, folder))
    raise WordError(f"`{shown(word)}` is not the shape of a page", SHAPE_HINT)


def _objects_of(name: str, folder: Path) -> Iterator[PageObject]:
    found = 0
    for number, (size, after) in arrivals.numbers_of(name, folder, FILE_HINT):
        if size < 1 or after != int(after) or not (0 < after <= found or found == after == 0):
            raise WordError(f"line {number} of `{shown(name)}` has no size or follows no line before it", FILE_HINT)
        found += 1
        yield PageObject(bytes=int(size), after=int(after) - 1 if after else None)
    if not 0 < found <= MOST_OBJECTS:
        raise WordError(f"`{shown(name)}` has {found} objects, and a page has 1 to {MOST_OBJECTS}", FILE_HINT)


Shaped = Annotated[
    tuple[PageObject, ...],
    read_in_folder(_shape),
    WithJsonSchema({"type": "string", "examples": [*SHAPES, "file page.txt"]}),
]


class Page(Section):
    """A web page that is loaded once, or at an interval."""

    page: Arrow = Field(description="Browser and server.")
    name: Name = Field("page", description="Name in tables; several loads become NAME.1, NAME.2, ...")
    group: Name | None = Field(
        None, description="The group that it is part of in `run --by group` and `plot -p shares`; default: its name."
    )
    shape: Shaped = Field(defaults.PAGE, validate_default=True, description="Objects of the page: desktop, or a file.")
    http: Literal[1, 2] = Field(defaults.HTTP, description="1: one object per connection at a time; 2: all over one.")
    connections: Annotated[int, Field(ge=1, le=100), number_schema(minimum=1, maximum=100)] = Field(
        defaults.BROWSER_CONNECTIONS, description="With `http: 1`: connections of a load at most."
    )
    size: Size = Field(defaults.REQUEST, validate_default=True, description="Bytes of a request.")
    every: Span | None = Field(None, description="Interval of loads; default: one load.")
    cc: Control | None = Field(None, description="Congestion control of both ends; default: the file's `cc`.")
    dscp: CodePoint = Field(defaults.DSCP, description="Code point of its packets in both directions.")
    start: Time = Field(defaults.START, validate_default=True, description="Time of the first load.")
    stop: Time | None = Field(None, description="No load from this time on; default: the end of the run.")
    jitter: Time = Field(defaults.JITTER, validate_default=True, description="As for `tcp`.")


class Loads(Flow, frozen=True, kw_only=True):
    """Loads of a page, one for each interval."""

    kind: ClassVar[str] = "page"

    stop_ns: int
    every_ns: int | None
    objects: tuple[PageObject, ...]
    connections: int
    multiplexing: resolved.Multiplexing
    size: int
    cc: Algorithm
    tsq: resolved.SmallQueue

    @property
    def times(self) -> range:
        """When loads begin."""
        return range(self.start_ns, self.stop_ns, self.every_ns or max(1, self.stop_ns - self.start_ns))

    @property
    def is_endless(self) -> bool:
        """One flow per load."""
        return self.every_ns is not None

    @property
    def opens(self) -> int:
        """One load, or one per interval."""
        return len(self.names) if self.every_ns is None else len(self.times)

    def opened(self, seed: int) -> Iterator[tuple[str, Flow]]:
        """NAME, or NAME.1, NAME.2, ... with an interval."""
        if self.every_ns is None:
            yield from super().opened(seed)
            return
        for number, at_ns in enumerate(self.times, start=1):
            yield f"{self.names[0]}.{number}", replace(self, start_ns=at_ns)


def _flow(entry: Page, loc: Loc, file: File) -> Loads:
    return Loads(
        loc=loc,
        names=(entry.name,),
        group=entry.group,
        direction=entry.page,
        start_ns=entry.start,
        stop_ns=file.duration if entry.stop is None else entry.stop,
        jitter_ns=entry.jitter,
        dscp=entry.dscp,
        every_ns=entry.every,
        objects=entry.shape,
        connections=entry.connections if entry.http == 1 else 1,
        multiplexing="one" if entry.http == 1 else "all",
        size=entry.size,
        cc=entry.cc or file.control(entry.page.source),
        tsq=file.small_queue(entry.page),
    )


def _resolved(flow: Loads, at: Resolved) -> resolved.Page:
    return resolved.Page(
        name=at.name, source=at.source, target=at.target, start_ns=at.start_ns, size=flow.size, objects=flow.objects,
        connections=flow.connections, multiplexing=flow.multiplexing,
        cc=flow.cc.control,
        tsq=flow.tsq, socket=PLAIN_SOCKET, dscp=flow.dscp,
    )  # fmt: skip


def _problems(flow: Loads, _most: int) -> Iterator[Problem]:
    yield from dialog.empty_request(flow, flow.size)
    if len(flow.times) > MOST_LOADS:
        what = f"the page is loaded {len(flow.times):,} times, and an entry may load it {MOST_LOADS:,} times"
        yield Problem((*flow.loc, "every"), what, "give a longer interval or an earlier `stop`")
    yield from dialog.own_control(flow, flow.cc)


ROW = Kind(
    "page",
    keys=Page,
    flow=_flow,
    resolved=_resolved,
    problems=_problems,
    packets="there",
    carries="data",
    data_goes="back",
)
