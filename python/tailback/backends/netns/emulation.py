"""Checks whether the processors kept up with the emulated network.

In real time, late timers and busy processors distort the results. Therefore the following quantities are sampled every
half second of a run, as fractions of the time since the previous sample:

    running   the busiest thread of the agent, as it sends or receives         /proc/PID/task/*/schedstat, 1st number
    waiting   the longest wait of such a thread for a processor                /proc/PID/task/*/schedstat, 2nd number
    softirq   the processor with most soft and hard interrupts: forwarding, disciplines, timers         /proc/stat
    stolen    the processor of which the hypervisor took most                                           /proc/stat

In addition, the agent measures every 5 ms how late its timer is (`crates/agent/src/lateness.rs`). The time of ksoftirqd
counts as softirq. The value of a run is its 90th percentile over the samples with traffic, but at least one sample must
exceed it, so that a single sample cannot invalidate a run. `late` is the fraction of timers that were late by more than
a millisecond, the time of one small queue. A run with a value above its limit is CPU-bound.

Other processes matter only if they take a processor from the run, which `waiting` includes.
[linux-6.12 Documentation/scheduler/sched-stats.rst, proc_stat(5)]
"""

import contextlib
import itertools
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

PERIOD_NS = 500_000_000
"""Interval of samples: fifty ticks of /proc/stat, whose unit is 10 ms."""

LATE_NS = 1_000_000
ACTIVE = 0.01
"""CPU use below which a sample counts as without traffic (only pings)."""

TENTH = 10
SOFTIRQ = (5, 6)
STOLEN = 7
TICKS = 8
"""Numbers of a line of /proc/stat: user (including guests), nice, system, idle, iowait, irq, softirq, steal."""


@dataclass(frozen=True)
class Reading:
    """The counters at one time."""

    at_ns: int
    threads: Mapping[str, tuple[int, int]]
    """Time running and time waiting in ns, by thread."""
    processors: Mapping[str, Sequence[int]]
    """Ticks of /proc/stat, by processor."""


@dataclass(frozen=True)
class Shares:
    """The monitored quantities: of a sample, of a run, or the limits of a run."""

    running: float
    waiting: float
    softirq: float
    stolen: float
    late: float


LIMITS = Shares(running=0.9, waiting=0.05, softirq=0.9, stolen=0.05, late=0.01)

WORDS = {
    "running": "a thread of the traffic was busy {} of the time",
    "waiting": "a thread of the traffic waited for a processor {} of the time",
    "softirq": "a processor spent {} of its time on packets and interrupts",
    "stolen": "the hypervisor took {} of a processor's time away",
    "late": "{} of the timers were late by more than 1 ms",
}


class Sampler:
    """The samples of one process; called often, it takes a sample when one is due."""

    def __init__(self) -> None:
        self.readings: list[Reading] = []

    def __call__(self, process: int) -> None:
        """Reads the counters of `process` if a period has passed."""
        now_ns = time.monotonic_ns()
        if not self.readings or now_ns - self.readings[-1].at_ns >= PERIOD_NS:
            self.readings.append(read(process, now_ns))


def read(process: int, at_ns: int, proc: Path = Path("/proc")) -> Reading:
    """The current counters."""
    lines = [line.split() for line in (proc / "stat").read_text(encoding="ascii").splitlines()]
    processors = {
        words[0]: [int(word) for word in words[1 : TICKS + 1]]
        for words in lines
        if words[0].startswith("cpu") and words[0] != "cpu"
    }
    threads: dict[str, tuple[int, int]] = {}
    for each in _family(process, proc):
        threads |= _threads(proc / each / "task")
    return Reading(at_ns, threads, processors)


def _family(process: int, proc: Path) -> list[str]:
    """The process and all that descend from it: the agent, and programs of the user."""
    found = [str(process)]
    for each in found:
        for file in (proc / each / "task").glob("[0-9]*/children"):
            with contextlib.suppress(OSError):
                found.extend(file.read_text(encoding="ascii").split())
    return found


def _threads(tasks: Path) -> dict[str, tuple[int, int]]:
    found = {}
    for task in tasks.glob("[0-9]*"):
        try:
            ran, waited, _ = (task / "schedstat").read_text(encoding="ascii").split()
        except (OSError, ValueError):
            # The thread has just ended.
            continue
        found[task.name] = (int(ran), int(waited))
    return found


def shares(readings: Sequence[Reading], late_ns: Sequence[int]) -> Shares:
    """The quantities of a whole run."""
    pairs = list(itertools.pairwise(readings))
    active = [pair for pair in pairs if _ran(*pair) >= ACTIVE] or pairs
    looks = [(*_of_threads(*pair), *_of_processors(*pair)) for pair in active]
    running, waiting, softirq, stolen = (_reached([look[place] for look in looks]) for place in range(4))
    late = sum(each > LATE_NS for each in late_ns) / max(len(late_ns), 1)
    return Shares(running, waiting, softirq, stolen, late)


def verdict(found: Shares, limits: Shares = LIMITS) -> str | None:
    """Why a run is not valid; `None` if it is."""
    over = [
        f"{WORDS[each.name].format(f'{getattr(found, each.name):.1%}')} (limit {getattr(limits, each.name):.0%})"
        for each in fields(Shares)
        if getattr(found, each.name) > getattr(limits, each.name)
    ]
    return "; ".join(over) or None


def as_cost(found: Shares) -> dict[str, float]:
    """The quantities as part of the cost of a run."""
    return {f"cpu_{name}": value for name, value in asdict(found).items()}


def _ran(before: Reading, after: Reading) -> float:
    """The CPU use of all threads, in processors."""
    return sum(ran for ran, _ in _passed(before, after)) / (after.at_ns - before.at_ns)


def _of_threads(before: Reading, after: Reading) -> tuple[float, float]:
    length = after.at_ns - before.at_ns
    passed = _passed(before, after)
    return _largest(ran for ran, _ in passed) / length, _largest(waited for _, waited in passed) / length


def _passed(before: Reading, after: Reading) -> list[tuple[int, int]]:
    """The time running and the time waiting of each thread between two readings; those of new threads start at 0."""
    found = []
    for name, (ran, waited) in after.threads.items():
        ran_before, waited_before = before.threads.get(name, (0, 0))
        found.append((ran - ran_before, waited - waited_before))
    return found


def _of_processors(before: Reading, after: Reading) -> tuple[float, float]:
    looks = []
    for name, ticks in after.processors.items():
        passed = [late - early for late, early in zip(ticks, before.processors.get(name, ticks), strict=True)]
        whole = max(sum(passed), 1)
        looks.append((sum(passed[place] for place in SOFTIRQ) / whole, passed[STOLEN] / whole))
    return max(softirq for softirq, _ in looks), max(stolen for _, stolen in looks)


def _largest(values: Iterable[int]) -> int:
    return max(values, default=0)


def _reached(values: Sequence[float]) -> float:
    """The value that a tenth of the samples, and at least one, exceed; 0 without samples."""
    if not values:
        return 0.0
    ordered = sorted(values, reverse=True)
    return ordered[min(max(len(ordered) // TENTH, 1), len(ordered) - 1)]
