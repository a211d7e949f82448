"""The same dumbbell in ns-3 and in the simulator: processor time, and instructions by callgrind, per TCP data segment.

    python -m performance.beside_ns3 [FOLDER] > conformance/results/ns3.md

It needs `c++`, `valgrind`, and Linux on x86-64, for which ns-3 comes as a wheel with its headers. That wheel, 300 MB,
is installed into FOLDER, or into a folder that is removed again; nothing of it becomes part of Tailback.
"""

import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from performance import count
from tailback import scenario
from tailback.resolved import to_json

HERE = Path(__file__).parent / "ns3"
VERSION = "3.44.post0"
RELEASE = ".".join(VERSION.split(".")[:2])
LIBRARIES = ("core", "network", "internet", "applications", "point-to-point", "traffic-control")
TIMES = 2
"""How often each simulator runs: processor time moves with the machine."""

FLOWS, WARMUP_S = 4, 5
COUNTED_S = 1
"""The simulated time of which instructions are counted, some fifty times slower than by itself."""


@dataclass(frozen=True)
class Measured:
    """One simulator: its own results, and what they cost."""

    goodput_mbps: float
    rtt_ms: float
    segments: int
    cpu_s: float
    """Of the fastest run."""
    per_segment: float
    """Instructions per TCP data segment sent."""


def installed(folder: Path) -> Path:
    """The program of ns-3, built in `folder`."""
    root, program = folder / "ns3", folder / "dumbbell"
    if not root.exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
        subprocess.run([*pip, str(folder), f"ns3=={VERSION}"], check=True)
    libraries = root / "lib64"
    links = [f"-lns{RELEASE}-{name}" for name in LIBRARIES]
    words = ["c++", "-O2", "-std=c++20", f"-I{root / 'include'}", str(HERE / "dumbbell.cc")]
    subprocess.run([*words, "-o", str(program), f"-L{libraries}", f"-Wl,-rpath,{libraries}", *links], check=True)
    return program


def of_ns3(program: Path, seconds: float) -> Measured:
    """Runs the dumbbell in ns-3."""
    words = [str(program), str(FLOWS), str(seconds), str(WARMUP_S)]
    spent, found = [], dict[str, Any]()
    for _ in range(TIMES):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        found = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
        spent.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
    instructions, segments = _instructions([str(program), str(FLOWS), str(COUNTED_S), "0.5"])
    return Measured(found["goodput_mbps"], found["rtt_ms"], found["segments"], min(spent), instructions / segments)


def _instructions(words: list[str]) -> tuple[int, int]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind.out"
        flags = ["--tool=callgrind", f"--callgrind-out-file={out}", "--collect-atstart=no"]
        valgrind = ["valgrind", *flags, "--toggle-collect=ns3::Simulator::Run()", *words]
        done = subprocess.run(valgrind, capture_output=True, text=True, check=True)
        totals = next(line for line in out.read_text().splitlines() if line.startswith("totals:"))
    return int(totals.split()[1]), json.loads(done.stdout)["segments"]


def of_tailback() -> Measured:
    """Runs the dumbbell in the simulator."""
    import tailback

    experiment = scenario.load(HERE / "dumbbell.yaml")
    resolved = to_json(experiment.runs()[0].scenario)
    runs = [count.spend(count.extension(), resolved) for _ in range(TIMES)]
    counted = count.count(count.extension(), {**resolved, "duration_ns": COUNTED_S * 1_000_000_000})
    with tempfile.TemporaryDirectory() as folder:
        found = tailback.run(experiment, out=Path(folder) / "out")
        summary: Mapping[str, Any] = found.runs[0].summary
        rtts = found.runs[0].tcp_info["rtt"].dropna() / 1e3
    goodput = float(summary["goodput_mbps"]["total"])
    return Measured(goodput, median(rtts), runs[0].segments, min(run.cpu_s for run in runs), counted.per_segment)


def table(ours: Measured, theirs: Measured, seconds: float) -> str:
    """The comparison as a page."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True, check=True
    ).stdout
    rows = [
        ("goodput, Mbit/s", f"{ours.goodput_mbps:.1f}", f"{theirs.goodput_mbps:.1f}", ""),
        ("median RTT, ms", f"{ours.rtt_ms:.1f}", f"{theirs.rtt_ms:.1f}", ""),
        ("TCP data segments sent", f"{ours.segments:,}", f"{theirs.segments:,}", ""),
        ("processor time, s", f"{ours.cpu_s:.2f}", f"{theirs.cpu_s:.1f}", f"{theirs.cpu_s / ours.cpu_s:.0f}"),
        (
            "instructions per segment",
            f"{ours.per_segment:,.0f}",
            f"{theirs.per_segment:,.0f}",
            f"{theirs.per_segment / ours.per_segment:.0f}",
        ),
    ]
    lines = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    return (
        "# Beside ns-3\n\n"
        f"*Made by `python -m performance.beside_ns3` at commit `{commit.strip()}`.*\n\n"
        f"Four CUBIC flows, 100 Mbit/s, FQ-CoDel, RTT 20.5 ms, {seconds:.0f} s: "
        "[dumbbell.yaml](../../performance/ns3/dumbbell.yaml) in the simulator, "
        f"[dumbbell.cc](../../performance/ns3/dumbbell.cc) in ns-3 {RELEASE}, in the release profile of its "
        f"wheel. Processor time is that of the fastest of {TIMES} runs, and includes what each writes down: the "
        "simulator its tables, ns-3 the RTTs. "
        "Instructions are those of the first second, by callgrind.\n\n"
        f"| | Tailback | ns-3 | ratio |\n|---|---|---|---|\n{lines}"
    )


def main() -> None:
    """Measures both and prints the page."""
    seconds = scenario.load(HERE / "dumbbell.yaml").runs()[0].scenario.duration_ns / 1e9
    with tempfile.TemporaryDirectory() as temporary:
        program = installed(Path(sys.argv[1] if sys.argv[1:] else temporary))
        theirs = of_ns3(program, seconds)
    print(table(of_tailback(), theirs, seconds), end="")


if __name__ == "__main__":
    main()
