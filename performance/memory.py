"""The memory that a flow with a window of ten segments adds to a run: `python -m performance.memory`.

All flows begin at once, and the run ends before the first ACK of data: each has ten segments on the way. The difference
between many flows and fewer leaves out what a run takes without flows. Both need more memory than this program, whose
peak the kernel counts as that of the programs that it starts.
"""

from performance.cases import Case
from performance.count import Runner, program, spend

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


if __name__ == "__main__":
    print(f"{kib_per_flow(program()):.2f} KiB per flow")
