"""Short flows over an ideal fair queue take as long as under processor sharing.

In an M/G/1 queue with processor sharing the mean slowdown is 1 / (1 - load), whatever the sizes. [kleinrock1976 §4.4]
A few thousand flows are too few for this mean, which varies by several percent from seed to seed. So the flows of the
simulator are compared with processor sharing of the same arrivals and sizes, computed exactly, and this computation
with the formula, over many more arrivals.

Of exponential sizes the sums are compared, which weight a slowdown by its flow's size. The plain mean is 7 % longer at
half load: a flow of a few segments waits for whole packets of others, and for its handshake.
"""

import heapq
import itertools
from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
import pytest

from tailback.backends.sim import Sim
from tailback.scenario import arrivals, loads

Job: TypeAlias = tuple[float, float]
"""When it arrives and its length alone, in s."""

RATE_BPS = 100_000_000
SEGMENT, FRAME = 1448, 1538
"""Data of a segment, and the bytes that its frame takes on the wire."""

BAND_0 = " ".join(["0"] * 16)
"""All packets are in the band that new flows join, so that none waits for the credit of another band."""

FILE = """
links:
  - {ends: [server, client], rate: 100mbit, delay: 1us}
qdiscs:
  server -> client: fq nopacing quantum 1538 initial_quantum 1538 flow_limit 100000 limit 1000000 priomap %s
traffic:
  - {tcp: server -> client, name: short, size: %s, arrivals: poisson %s/s}
duration: 40s
measure: {interval: 10s}
"""


def sharing(jobs: Iterable[Job]) -> list[float]:
    """The time in s that each job takes if all jobs in the system have equal shares of the server."""
    # Each job is done when the service that a permanent job would have got since the start reaches its own value.
    service, now, waiting = 0.0, 0.0, list[tuple[float, int, float]]()
    took: dict[int, float] = {}
    for number, (at, length) in enumerate(itertools.chain(jobs, [(float("inf"), 0.0)])):
        while waiting and now + (waiting[0][0] - service) * len(waiting) <= at:
            now += (waiting[0][0] - service) * len(waiting)
            service, done, began = heapq.heappop(waiting)
            took[done] = now - began
        if waiting:
            service += (at - now) / len(waiting)
        now = at
        heapq.heappush(waiting, (service + length, number, at))
    return [took[number] for number in sorted(took)]


def alone(size: int) -> float:
    """How long a flow of this size takes the whole link, in s."""
    full, rest = divmod(size, SEGMENT)
    return (full * FRAME + (rest + FRAME - SEGMENT if rest else 0)) * 8 / RATE_BPS


@pytest.mark.parametrize("load", [0.5, 0.8])
def test_processor_sharing_has_the_slowdown_of_the_formula(load: float) -> None:
    uniform = arrivals.uniform(f"sharing at {load}")
    gaps = (arrivals.exponential(uniform) for _ in range(400_000))
    jobs = [(at, load * arrivals.exponential(uniform)) for at in itertools.accumulate(gaps)]
    took, lengths = np.array(sharing(jobs)), np.array([length for _, length in jobs])
    assert took.sum() / lengths.sum() == pytest.approx(1 / (1 - load), rel=0.03)


@pytest.mark.parametrize("size", ["exponential 100kb", "100kb"])
@pytest.mark.parametrize(("load", "rate"), [(0.5, 58.8), (0.8, 94.1)])
def test_flows_over_a_fair_queue_take_as_long_as_under_processor_sharing(load: float, rate: float, size: str) -> None:
    (planned,) = loads(FILE % (BAND_0, size, rate)).runs()
    flows = {flow.name: flow for flow in planned.scenario.tcp}
    jobs = {name: (flow.start_ns / 1e9, alone(flow.bytes or 0)) for name, flow in flows.items()}
    assert sum(length for _, length in jobs.values()) / 40 == pytest.approx(load, rel=0.1)
    shared = dict(zip(jobs, sharing(jobs.values()), strict=True))
    sim = Sim()
    events = sim.run(planned.scenario, sim.new_progress()).tables["events"].to_arrow().to_pandas()
    start, end = (events[events["what"] == what].set_index("flow")["t"] for what in ("flow_start", "flow_end"))
    took = (end - start).dropna()
    assert len(took) > 0.95 * len(flows)
    assert took.sum() == pytest.approx(sum(shared[str(name)] for name in took.index), rel=0.03)
