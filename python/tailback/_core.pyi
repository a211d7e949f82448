"""The compiled simulator (`crates/python`)."""

from collections.abc import Mapping, Sequence
from typing import Literal, NotRequired, TypedDict, final, type_check_only

__all__ = [
    "Cancelled",
    "Progress",
    "check",
    "congestion_controls",
    "drill",
    "drivers",
    "engine",
    "qdiscs",
    "resolved_qdisc",
    "row_bytes",
    "run",
    "version",
]

@type_check_only
class Outcome(TypedDict):
    """What a run gives back."""

    tables: dict[str, bytes]
    """Arrow IPC streams by name; units are in the field metadata under `unit`."""
    captures: dict[str, bytes]
    """pcapng by name of the host, of those that `record.pcap` lists."""
    qdiscs: str
    """A JSON array of the disciplines at the end: place, counters, those of the kind (`own`), `parts`."""
    cost: dict[str, float]
    """What the run took: `wall_s`, `cpu_s` of its thread, `sim_s`, `events`, `packets` (hand-overs to a device) and
    `segments` (TCP data segments sent, retransmissions included)."""

@type_check_only
class Parameter(TypedDict):
    """One settable number of an algorithm."""

    name: str
    unit: Literal["number", "packets", "bytes", "time", "rate", "flag", "percent", "fraction", "gain", "choice"]
    default: int | None
    """None where it is derived from others or has to be given, as `meaning` says."""
    least: int
    most: int
    meaning: str
    words: NotRequired[Sequence[str]]
    """Of a choice: the words that the numbers from 0 on stand for."""

@type_check_only
class Algorithm(TypedDict):
    """A row of a registry."""

    name: str
    summary: str
    source: str
    """The head of its file: the idea, its formulas, its sources, its deviations."""
    parameters: list[Parameter]

@type_check_only
class CongestionControl(Algorithm):
    """A congestion control."""

    wants_pacing: bool
    """It asks TCP to pace by itself."""
    sndbuf_factor: int
    """How many windows the send buffer holds."""

@type_check_only
class Qdisc(Algorithm):
    """A queue discipline."""

    classful: bool
    """It holds a child."""
    class_parameters: list[Parameter] | None
    """What may be set for each of its classes; None if it has none."""

class Cancelled(Exception):
    """The run ended early because it was asked to."""

@final
class Progress:
    """How far a run in another thread is, and whether it should go on."""

    def __new__(cls, memory_limit: int | None = None) -> Progress:
        """`memory_limit`: bytes that the rows and packets of the run may take; without it all there are."""

    @property
    def fraction(self) -> float:
        """Share of the simulated time that has passed, 0 to 1."""

    def cancel(self) -> None:
        """Asks the run to end; it raises `Cancelled` within some thousands of events."""

def run(scenario_json: str, progress: Progress | None) -> Outcome:
    """Runs a resolved scenario (`docs/contracts.md`) with the interpreter's lock released.

    Raises ValueError if it cannot become a world, Cancelled if `progress` was told to cancel, MemoryError if it
    holds more than its `progress` allows, and RuntimeError if the simulator breaks an invariant of its own.
    """

def check(scenario_json: str) -> None:
    """Builds the world of a resolved scenario without running it; raises ValueError if that cannot be done."""

@type_check_only
class Drilled(TypedDict):
    """What came of a packetdrill script."""

    verdict: Literal["passed", "failed", "unsupported", "malformed"]
    findings: list[tuple[int, str]]
    """Line and message."""
    snippets: list[tuple[int, str, dict[str, int]]]
    """Line, code and variables of each `%{ }%` that was reached; they are not evaluated yet."""
    events: int
    """How many events were carried out."""

def drill(text: str, tolerance_usecs: int | None, stack: str | None) -> Drilled:
    """Runs a packetdrill script over the TCP machines. Raises ValueError for an unknown stack."""

def congestion_controls() -> list[CongestionControl]:
    """The congestion controls there are."""

def qdiscs() -> list[Qdisc]:
    """The queue disciplines there are."""

def row_bytes() -> dict[str, int]:
    """Memory that a row of each table takes while a run is simulated."""

def drivers() -> list[Algorithm]:
    """The Wi-Fi drivers there are."""

@type_check_only
class Stack(TypedDict):
    """A network stack: what it has in every field in which stacks differ."""

    name: str
    values: dict[str, str]

def stacks() -> list[Stack]:
    """The network stacks there are."""

def stack_differences() -> str:
    """`references/stacks.toml`: what those fields are, since when and to what effect."""

def resolved_qdisc(kind: str, options: Mapping[str, int], mtu: int) -> dict[str, int]:
    """What a discipline is set to on a device of that MTU, defaults filled in; ValueError if it cannot be."""

def version() -> str:
    """Version of the simulator."""

def engine() -> str:
    """Digest of the simulator's sources: what was compiled of the same ones gives the same tables."""
