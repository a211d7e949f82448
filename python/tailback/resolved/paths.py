"""The way of packets through the network of a resolved scenario, and the shortest time that it allows a flow."""

from collections import deque
from typing import NamedTuple

from msgspec import Struct

from tailback.resolved.devices import Device, rate_of
from tailback.resolved.scenario import Scenario


class Path(Struct, frozen=True):
    """A path there and back without other traffic."""

    round_trip_ns: int
    """The delays of its links at the start of the run."""
    rate_bps: int | None
    """The smallest rate on the way there at the start of the run; `None` if nothing limits it."""

    def least_ns(self, size: int) -> float:
        """The shortest time from `connect()` to the last acknowledgement: a round trip for the handshake, and one for
        the data, whose `size` bytes leave at the rate of the path.
        """
        data = 0.0 if self.rate_bps is None else size * 8e9 / self.rate_bps
        return 2 * self.round_trip_ns + data


class Hop(NamedTuple):
    """One hop of a packet: the device that sends it, the link, and the host that receives it."""

    device: Device
    link: int
    neighbour: int


class Paths:
    """The paths of a scenario."""

    def __init__(self, scenario: Scenario) -> None:
        self._routes = {(route.host, route.to): route.link for route in scenario.routes}
        self._from: dict[int, list[Hop]] = {}
        self._into: dict[int, list[Hop]] = {}
        for device in scenario.devices:
            for link, neighbour in scenario.hops(device):
                hop = Hop(device, link, neighbour)
                self._from.setdefault(device.host, []).append(hop)
                self._into.setdefault(neighbour, []).append(hop)
        self._towards: dict[int, dict[int, Hop]] = {}
        self._found: dict[tuple[int, int], Path | None] = {}

    def between(self, source: int, target: int) -> Path | None:
        """The path between two hosts; `None` if there is none or it has a radio."""
        ends = (source, target)
        if ends not in self._found:
            self._found[ends] = self._path(source, target)
        return self._found[ends]

    def way(self, source: int, target: int) -> list[Device] | None:
        """The devices on the way: by the routes of the file, else the shortest. `None` if there is no way."""
        steps = self._steps(target)
        way: list[Device] = []
        here = source
        while here != target:
            given = self._routes.get((here, target))
            hop = next((each for each in self._from[here] if each.link == given), None) or steps.get(here)
            if hop is None or len(way) > len(self._from):
                return None
            way.append(hop.device)
            here = hop.neighbour
        return way

    def _path(self, source: int, target: int) -> Path | None:
        there, back = self.way(source, target), self.way(target, source)
        if there is None or back is None:
            return None
        wires = [(device.wire, device.end) for device in (*there, *back)]
        if any(wire is None for wire, _ in wires):
            return None
        delays = sum(wire.delay_at_start(end) for wire, end in wires if wire is not None)
        rates = [rate for device in there if (rate := rate_of(device)) is not None]
        return Path(delays, min(rates, default=None))

    def _steps(self, target: int) -> dict[int, Hop]:
        """The first hop from each host on a shortest path to `target`."""
        if target not in self._towards:
            self._towards[target] = self._search(target)
        return self._towards[target]

    def _search(self, target: int) -> dict[int, Hop]:
        steps: dict[int, Hop] = {}
        frontier = deque([target])
        while frontier:
            for hop in self._into.get(frontier.popleft(), []):
                if hop.device.host != target and hop.device.host not in steps:
                    steps[hop.device.host] = hop
                    frontier.append(hop.device.host)
        return steps
