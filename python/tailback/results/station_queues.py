"""What waits in mac80211's queues, which are per station and below no root discipline, so that the table `qdisc` lacks
them: of the simulator, as the table `wifi` has it when a PPDU begins.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tailback.analysis.metrics import Samples
from tailback.analysis.table import Table
from tailback.analysis.window import NANOSECONDS
from tailback.resolved import Scenario
from tailback.results.run import RunResult

SIMULATOR = "sim"
"""The backend whose table `wifi` counts them: below a kernel, it counts what has left them."""


class Waiting(Struct, frozen=True):
    """What waits at a radio for all its stations, at the end of each sampling interval."""

    t: Samples
    """In s."""
    packets: Samples
    """Behind the PPDU before."""
    most: Samples
    """Behind any PPDU since the sample before."""


def radios(run: RunResult) -> list[str]:
    """The devices with queues of mac80211: radios without a root discipline."""
    if not run.scenario.cells:
        return []
    roots = set(Table.of(run.columns("qdisc", ("device",))).words("device").present()) if run.has("qdisc") else set()
    return [device.name for device in run.scenario.devices if device.wire is None and device.name not in roots]


def waiting(run: RunResult) -> dict[str, Waiting]:
    """What waits at each of these radios; empty if the run does not tell."""
    names = radios(run) if run.backend == SIMULATOR and run.has("wifi") else []
    if not names:
        return {}
    ppdus = Table.of(run.columns("wifi", ("t", "from", "to", "queued")))
    interval = run.record.interval_ns
    ends = np.arange(interval, run.scenario.duration_ns + 1, interval, dtype=np.float64)
    return {name: _of_radio(run, name, ppdus, ends) for name in names}


def ends_of(scenario: Scenario, name: str) -> tuple[str, list[str]]:
    """The host of a radio, and all hosts of its cell: the ends of its PPDUs."""
    device, hosts = scenario.device(name), scenario.host_names
    cell = scenario.cells[scenario.cell_of(device) or 0]
    return hosts[device.host], [hosts[host] for host in (cell.access_point, *(each.host for each in cell.stations))]


def _of_radio(run: RunResult, name: str, ppdus: Table, ends: Samples) -> Waiting:
    host, members = ends_of(run.scenario, name)
    its = ppdus.where(ppdus.words("from").among([host]) & ppdus.words("to").among(members))
    order = np.argsort(its.t_ns, kind="stable")
    # What was behind the PPDU before an interval is there at its beginning; before the first PPDU, nothing is.
    queued = np.append(0.0, its.numbers("queued")[order])
    lasts = np.searchsorted(its.t_ns[order], ends, side="right")
    firsts = np.append(0, lasts[:-1])
    most = np.maximum.reduceat(np.append(queued, 0.0), np.stack([firsts, lasts + 1], axis=1).ravel())[::2]
    return Waiting(ends / NANOSECONDS, queued[lasts], most)
