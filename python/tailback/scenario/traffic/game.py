"""Games: the client sends its moves and the server the state of the game, each at its tick rate over UDP."""

from collections.abc import Iterator
from typing import Annotated

from msgspec.structs import replace
from pydantic import Field, WithJsonSchema

from tailback import resolved
from tailback.resolved.codecs import GAME
from tailback.scenario import defaults
from tailback.scenario.network import Problem
from tailback.scenario.paths import Loc
from tailback.scenario.traffic import udp
from tailback.scenario.traffic.call import Streams, reverse, streams
from tailback.scenario.traffic.kind import File, Kind
from tailback.scenario.traffic.udp import Datagrams
from tailback.scenario.values import Arrow, CodePoint, Name, ReadBy, Section, Size, Time
from tailback.tc import units
from tailback.tc.errors import WordError
from tailback.tc.units import shown

EXPLAINED = """\
{game: player -> server, tick: 20/s, up: 40b, down: 130b}

The player sends `up` bytes and the server `down` bytes at each tick, from `start` to `stop`. The directions are
NAME.there and NAME.back. `summary.json` has loss, delay and jitter.

The default sizes and the server's tick are those of Counter-Strike in a published trace (Feng et al., 2002)."""

TICK_HINT = "write a number per second from 1 to 1000: 64/s"


def _tick(word: object) -> int:
    """Reads ticks per second."""
    number, slash, unit = str(word).replace(" ", "").partition("/")
    if not (number.isdecimal() and (slash, unit) == ("/", "s") and 1 <= int(number) <= 1000):
        raise WordError(f"`{shown(word)}` is not a tick rate", units.hint_of_unit(word, "/s", TICK_HINT))
    return int(number)


Tick = Annotated[int, ReadBy(_tick), WithJsonSchema({"type": "string", "examples": ["20/s", "64/s", "128/s"]})]


class Game(Section):
    """A game over a network: moves up, the state of the game down."""

    game: Arrow = Field(description="Player and server.")
    name: Name = Field("game", description="Name in tables: the directions are NAME.there and NAME.back.")
    tick: Tick = Field(defaults.TICK, validate_default=True, description="Datagrams per second in each direction.")
    up: Size = Field(defaults.MOVES, validate_default=True, description="Bytes of data in a datagram of the player.")
    down: Size = Field(defaults.WORLD, validate_default=True, description="Bytes of data in a datagram of the server.")
    dscp: CodePoint = Field(defaults.DSCP, description="Code point of its packets.")
    start: Time = Field(defaults.START, validate_default=True, description="Time of the first datagram.")
    stop: Time | None = Field(None, description="No datagrams from this time on; default: the end of the run.")
    jitter: Time = Field(defaults.JITTER, validate_default=True, description="As for `tcp`.")


def _flow(entry: Game, loc: Loc, file: File) -> Streams:
    there = Datagrams(
        loc=loc,
        names=(f"{entry.name}.there",),
        direction=entry.game,
        start_ns=entry.start,
        stop_ns=file.duration if entry.stop is None else entry.stop,
        jitter_ns=entry.jitter,
        rate_bps=entry.up * 8 * entry.tick,
        size=entry.up,
        sndbuf=None,
        dscp=entry.dscp,
        media=resolved.Media(codec=GAME),
    )
    back = replace(
        there,
        names=(f"{entry.name}.back",),
        direction=reverse(entry.game),
        rate_bps=entry.down * 8 * entry.tick,
        size=entry.down,
    )
    return streams(there, back)


def _problems(flow: Streams, max_payload: int) -> Iterator[Problem]:
    for key, each in (("up", flow.there), ("down", flow.back)):
        for wrong in udp.ROW.problems(each, max_payload):
            yield wrong._replace(loc=(*flow.loc, key))


ROW = Kind(
    "game",
    keys=Game,
    flow=_flow,
    resolved=udp.ROW.resolved,
    problems=_problems,
    packets="there and back",
    carries="data",
    opens_as=udp.ROW.kind,
)
