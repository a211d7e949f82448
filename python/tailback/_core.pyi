"""The compiled simulator (`crates/python`)."""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import ClassVar, Literal, NotRequired, TypedDict, final, type_check_only

import pyarrow

__all__ = [
    "Cancelled",
    "ControlFailed",
    "EndpointFailed",
    "EndpointSetup",
    "Flow",
    "Progress",
    "Sample",
    "Steps",
    "Table",
    "TableFile",
    "Unreadable",
    "check",
    "congestion_controls",
    "drill",
    "drivers",
    "engine",
    "qdiscs",
    "resolved_qdisc",
    "row_bytes",
    "run",
    "run_with_endpoints",
    "serve_air",
    "step_all",
    "try_module",
    "version",
    "watch_over_modules",
]

@final
class Table:
    """A table of a run."""

    def __new__(cls, stream: bytes) -> Table:
        """The table of an Arrow IPC stream of one batch, which it keeps. Raises `ValueError` if it is none."""

    @staticmethod
    def of_columns(columns: Sequence[tuple[str, str | None, str, bytes | Sequence[str], bytes | None]]) -> Table:
        """The table of these columns: name, unit, kind, values, and for each cell a byte, 0 if it has no value.
        Values are the bytes of `float64`, `uint64` or `int64`, or a list of strings (`text`)."""

    @staticmethod
    def of_arrow(table: pyarrow.Table) -> Table:
        """A table with the rows, columns and units of an Arrow table; imports pyarrow."""

    def to_arrow(self) -> pyarrow.Table:
        """An Arrow table with the rows, columns and units of this one; imports pyarrow."""

    @property
    def stream(self) -> bytes:
        """As an Arrow IPC stream, with the unit of each column in its field's metadata under `unit`."""

    @property
    def names(self) -> list[str]:
        """The names of its columns, in order."""

    def __eq__(self, other: object) -> bool:
        """Whether both have the same columns, units and cells."""

    @property
    def columns(self) -> list[tuple[str, str, str | None]]:
        """For each column its name, the kind of its values (`float64`, `uint64`, `int64`, `boolean`, `text`, `null`),
        and its unit if it has one."""

    def __len__(self) -> int:
        """How many rows it has."""

    def numbers(self, name: str) -> bytes:
        """A column of numbers as float64, NaN where a value is missing. Raises `KeyError`, or `TypeError` for text."""

    def exact(self, name: str) -> tuple[bytes, bytes | None]:
        """A column of numbers as its kind, and for each cell 1 if it has a value, unless all have. Raises `KeyError`,
        or `TypeError` for text."""

    def words(self, name: str) -> tuple[bytes, list[str]]:
        """A column of text: the place of the word of each row as int64, −1 if it has none; the words in alphabetical
        order. Raises `KeyError`, or `TypeError` for numbers."""

    def to_parquet(self) -> bytes:
        """The bytes of its Parquet file; the same rows give the same bytes."""

@final
class TableFile:
    """A Parquet file whose footer has been read; nothing in it is trusted."""

    def __new__(cls, content: bytes) -> TableFile:
        """Raises `Unreadable`."""

    @property
    def columns(self) -> list[tuple[str, str, Literal["number", "text", "null", "other"], str | None]]:
        """For each column its name, the type of its values, their kind, and its unit if it has one."""

    def __len__(self) -> int:
        """How many rows it says that it has."""

    def read(self, wanted: Sequence[str] | None, most_text: int) -> Table:
        """Its rows, of all columns or of those of `wanted` that it has, if no column of text has more than `most_text`
        bytes. Raises `Unreadable`."""

@type_check_only
class Outcome(TypedDict):
    """What a run gives back."""

    tables: dict[str, Table]
    captures: dict[str, bytes]
    """pcapng by name of the host, of those that `record.pcap` lists."""
    qdiscs: str
    """A JSON array of the disciplines at the end: place, counters, those of the kind (`own`), `parts`."""
    log: NotRequired[Sequence[str]]
    """What kernel modules of the user printed."""
    said: NotRequired[Sequence[str]]
    """What endpoints of the user said."""
    events: NotRequired[Sequence[tuple[str, str, float, str, str]]]
    """Events of endpoints for qlog: flow, end, time in ms, name, data as JSON."""
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

class ControlFailed(Exception):
    """A congestion control of the user raised an exception, which is the cause of this one."""

class EndpointFailed(Exception):
    """An endpoint of the user raised an exception, which is the cause of this one."""

class Unreadable(Exception):
    """A Parquet file whose rows cannot be read: why in a word, what it is about, and how much."""

class Cancelled(Exception):
    """The run ended early because it was asked to."""

@final
class Progress:
    """How far a run in another thread is, and whether it should go on."""

    def __new__(cls, memory_limit: int | None = None) -> Progress:
        """`memory_limit`: bytes that the rows and packets of the run may take; without it all there are."""

    fraction: float
    """Share of the simulated time that has passed, 0 to 1; to be set for a run in another process."""
    @property
    def cancelled(self) -> bool:
        """The run was asked to end."""
    @property
    def memory_limit(self) -> int | None:
        """As given."""

    def cancel(self) -> None:
        """Asks the run to end; it raises `Cancelled` within some thousands of events."""

class Sample:
    """What a control of the user learns from one ACK."""

    acked: int
    """Segments newly acknowledged or SACKed."""
    rtt: float | None
    """RTT in seconds; `None` if the ACK gave none."""
    losses: int
    """Segments marked lost by this ACK. This and all below: only in `cong_control`."""
    delivery_rate: float | None
    """In bit/s; `None` if the sample is not valid."""
    prior_in_flight: int
    """Segments in flight before this ACK."""
    app_limited: bool
    """The application, not the network, limited the delivery rate."""

@final
class EndpointSetup:
    """What an endpoint in Python is told, and the services that it may call."""

    @property
    def end(self) -> Literal["from", "to"]:
        """The host that it is at."""
    @property
    def flow(self) -> str:
        """The name of the flow."""
    @property
    def max_datagram(self) -> int:
        """The most bytes of a datagram on this path."""
    @property
    def start(self) -> float:
        """When it begins, in seconds since the start of the run."""
    @property
    def until(self) -> float:
        """The end of the run."""
    @property
    def random(self) -> Random:
        """Random numbers whose seed follows from that of the run, the flow and the end."""
    def log(self, line: str) -> None:
        """A line for `endpoint.log`."""
    def event(self, name: str, data: Mapping[str, object] | str) -> None:
        """An event for the qlog of this end; its data is a dict, or the text of a JSON object."""

class Flow:
    """A flow as a control of the user sees it. It may set `cwnd`, `ssthresh` and `pacing_rate`."""

    cwnd: float
    """Congestion window in segments, to read and set; the sender uses whole segments and keeps the fraction."""
    ssthresh: float
    """Slow-start threshold in segments, to read and set; 2147483647 before any loss."""
    pacing_rate: float
    """In bit/s, to read and set; infinite if there is none."""
    @property
    def now(self) -> float:
        """Time in seconds since the run began."""
    @property
    def mss(self) -> int:
        """Payload bytes of a full segment."""
    @property
    def in_slow_start(self) -> bool:
        """cwnd is below ssthresh."""
    @property
    def prior_cwnd(self) -> int:
        """cwnd before the last reduction."""
    @property
    def cwnd_limited(self) -> bool:
        """cwnd, not the application, limited the flow in the last window. Linux's controls grow only then."""
    @property
    def srtt(self) -> float | None:
        """Smoothed RTT in seconds; `None` before the first sample."""
    @property
    def min_rtt(self) -> float | None:
        """Minimum RTT of the last five minutes in seconds; `None` before the first sample."""
    @property
    def in_flight(self) -> int:
        """Segments in the network."""
    @property
    def packets_out(self) -> int:
        """Segments sent and not cumulatively acknowledged."""
    @property
    def delivered(self) -> int:
        """Segments delivered since the start."""
    @property
    def delivered_ce(self) -> int:
        """Of them, segments whose ACK carried ECE."""
    @property
    def lost(self) -> int:
        """Segments marked lost since the start."""
    @property
    def snd_una(self) -> int:
        """First byte that is not acknowledged, counted from the start."""
    @property
    def snd_nxt(self) -> int:
        """Next new byte to send."""
    @property
    def ca_state(self) -> Literal["open", "disorder", "cwr", "recovery", "loss"]:
        """State of loss recovery: `open`, `disorder`, `cwr`, `recovery` or `loss`."""
    @property
    def ecn_ok(self) -> bool:
        """ECN was negotiated."""
    @property
    def random(self) -> Random:
        """A `random.Random` of this flow. Its seed follows from that of the run; use it for all random numbers."""

def run(scenario_json: str, progress: Progress | None, controls: Callable[[str, str], object] | None = None) -> Outcome:
    """Runs a resolved scenario (`docs/contracts.md`) with the interpreter's lock released.

    `controls` builds the controls of the user from the name of a file and parameters as JSON.

    Raises ValueError if it cannot become a world, ControlFailed if a control of the user raised an exception, Cancelled
    if `progress` was told to cancel, MemoryError if it holds more than its `progress` allows, and RuntimeError if the
    simulator breaks an invariant of its own.
    """

def run_with_endpoints(
    scenario_json: str,
    progress: Progress,
    controls: Callable[[str, str], object] | None,
    endpoints: Callable[[str, str, EndpointSetup], object],
) -> Outcome:
    """As `run`, of a scenario whose traffic has endpoints of the user; a library may crash the process.

    `endpoints` makes one from the name of a file, options as JSON and a setup: the path of a library, or an object.

    Raises EndpointFailed if an object of the user raised an exception, and ValueError for what else an endpoint does
    wrong.
    """

@final
class Steps:
    """A run in steps, in which one TCP flow has the window and the pacing rate that are set."""

    OBSERVED: ClassVar[Sequence[str]]
    """The names of the numbers of an observation."""

    def __new__(cls, scenario_json: str, flow: str) -> Steps:
        """The run of a scenario in which `flow` has a control of the language `steered`. Raises ValueError."""
    def step(self, cwnd: float, pacing_bps: float, interval_ns: int) -> bytes:
        """Sets the window in segments and the pacing rate (0: none) from the next ACK on, and lets the time pass; gives
        an observation as float64."""
    @property
    def is_over(self) -> bool:
        """Whether the run has reached its end."""
    @property
    def now(self) -> float:
        """Time in seconds since the run began."""

def step_all(runs: Sequence[Steps], actions: Sequence[tuple[float, float]], interval_ns: int, threads: int) -> bytes:
    """Steps each run by its action, window and pacing rate, on so many threads; gives their observations in order."""

def try_module(path: str, parameters: Sequence[tuple[str, str]]) -> None:
    """Loads a compiled kernel module into this process, which may crash; raises ValueError if it is refused."""

def serve_air(scenario_json: str, socket: str) -> list[Table]:
    """The air of a resolved scenario for the one driver that connects to the Unix socket, until it leaves; returns the
    table `wifi` and its drops in the form of `events`. Raises ValueError if the scenario has no such air, RuntimeError
    if the connection fails."""

def watch_over_modules() -> None:
    """From now on a crash in a kernel module ends the process with a report on standard error."""

def check(scenario_json: str, controls: Callable[[str, str], object] | None = None) -> None:
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

@type_check_only
class Sysctl(TypedDict):
    """A sysctl of a host: `count` numbers from `least` to `most`. `since`: the Linux that introduced it; `None` if all
    stacks have it. `newer`: the least of the values that a later Linux introduced, and which."""

    name: str
    unit: str
    default: str
    meaning: str
    least: int
    most: int
    count: int
    since: tuple[int, int] | None
    newer: tuple[int, tuple[int, int]] | None

def sysctls() -> list[Sysctl]:
    """The sysctls there are."""

def stack_differences() -> str:
    """`references/stacks.toml`: what those fields are, since when and to what effect."""

def resolved_qdisc(kind: str, options: Mapping[str, int], mtu: int) -> dict[str, int]:
    """What a discipline is set to on a device of that MTU, defaults filled in; ValueError if it cannot be."""

def version() -> str:
    """Version of the simulator."""

def engine() -> str:
    """Digest of the simulator's sources: what was compiled of the same ones gives the same tables."""
