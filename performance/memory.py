"""The memory that flows add to a run.

    python -m performance.memory                 # a flow with a window of ten segments
    python -m performance.memory 10000 100000    # runs in which so many short flows arrive

All flows begin at once, and the run ends before the first ACK of data: each has ten segments on the way. The difference
between many flows and fewer leaves out what a run takes without flows. Both need more memory than this program, whose
peak the kernel counts as that of the programs that it starts.
"""

import sys

from performance.cases import Case
from performance.count import Runner, extension, program, spend

FEWER, MANY = 10_000, 20_000


def windows_of_ten(flows: int) -> Case:
    """Uploads over links that neither delay nor drop the first windows; no row is recorded before the end."""
    return Case(
        f"{flows} flows with windows of ten segments",
        f"""
links:
  - {{ends: [client, router], rate: 100gbit, delay: 25ms}}
  - {{ends: [router, server], rate: 100gbit, delay: 25ms}}
qdiscs: {{client -> router: pfifo limit 400000, router -> server: pfifo limit 400000}}
traffic: [{{tcp: client -> server, flows: {flows}}}]
cc: cubic
duration: 190ms
measure: {{warmup: 0s, interval: 190ms}}
""",
    )


def kib_per_flow(runner: Runner) -> float:
    """KiB of peak memory."""
    few, many = (spend(runner, windows_of_ten(flows).resolved()).peak_mib for flows in (FEWER, MANY))
    return (many - few) * 1024 / (MANY - FEWER)


PER_ENTRY = 100_000


def short_flows(flows: int) -> Case:
    """About so many downloads of 10 kB, 500 per second."""
    entries = -(-flows // PER_ENTRY)
    arrivals = "".join(
        f"  - {{tcp: server -> client, name: short{number}, size: 10kb, arrivals: poisson {500 / entries:.3f}/s}}\n"
        for number in range(entries)
    )
    return Case(
        f"{flows} short flows",
        f"""
links:
  - {{ends: [client, router], rate: 1gbit, delay: 1ms}}
  - {{ends: [router, server], rate: 100mbit, delay: 10ms}}
traffic:
{arrivals}
duration: {flows * 0.995 / 500:.0f}s
measure: {{interval: 1s}}
""",
    )


def main() -> None:
    """Prints the memory of one flow, or of runs with the numbers of short flows that are given."""
    if not sys.argv[1:]:
        print(f"{kib_per_flow(program()):.2f} KiB per flow")
    for flows in map(int, sys.argv[1:]):
        scenario = short_flows(flows).resolved()
        spent = spend(extension(), scenario)
        per_segment = spent.cpu_s / spent.segments * 1e6
        print(f"{len(scenario['traffic']):,} flows: {spent.peak_mib:.0f} MiB, {per_segment:.2f} µs per segment")


if __name__ == "__main__":
    main()
