"""The way of packets through the wired network of a resolved scenario, and the shortest time that it allows a flow."""

from msgspec import Struct

from tailback.resolved.devices import Device, rate_of
from tailback.resolved.scenario import Scenario


class Path(Struct, frozen=True):
    """A path there and back without other traffic."""

    round_trip_ns: int
    """The delays of its links."""
    rate_bps: int | None
    """The smallest rate on the way there; `None` if nothing limits it."""

    def least_ns(self, size: int) -> float:
        """The shortest time from `connect()` to the last acknowledgement: a round trip for the handshake, and one for
        the data, whose `size` bytes leave at the rate of the path.
        """
        data = 0.0 if self.rate_bps is None else size * 8e9 / self.rate_bps
        return 2 * self.round_trip_ns + data


class Paths:
    """The paths of a scenario."""

    def __init__(self, scenario: Scenario) -> None:
        self._routes = {(route.host, route.to): route.link for route in scenario.routes}
        self._devices: dict[int, list[Device]] = {}
        self._into: dict[int, list[Device]] = {}
        for device in scenario.devices:
            self._devices.setdefault(device.host, []).append(device)
            self._into.setdefault(device.neighbour, []).append(device)
        self._found: dict[tuple[int, int], Path | None] = {}

    def between(self, source: int, target: int) -> Path | None:
        """The path between two hosts; `None` if there is none or it has a radio."""
        ends = (source, target)
        if ends not in self._found:
            self._found[ends] = self._path(source, target)
        return self._found[ends]

    def _path(self, source: int, target: int) -> Path | None:
        there, back = self._way(source, target), self._way(target, source)
        if there is None or back is None:
            return None
        wires = [(device.wire, device.end) for device in (*there, *back)]
        if any(wire is None for wire, _ in wires):
            return None
        delays = sum(wire.delay_ns[end] or 0 for wire, end in wires if wire is not None)
        rates = [rate for device in there if (rate := rate_of(device)) is not None]
        return Path(delays, min(rates, default=None))

    def _way(self, source: int, target: int) -> list[Device] | None:
        """The devices on the way: by the routes of the file, else the shortest."""
        steps = self._steps(target)
        way: list[Device] = []
        here = source
        while here != target:
            given = self._routes.get((here, target))
            device = next((each for each in self._devices[here] if each.link == given), None) or steps.get(here)
            if device is None or len(way) > len(self._devices):
                return None
            way.append(device)
            here = device.neighbour
        return way

    def _steps(self, target: int) -> dict[int, Device]:
        """The first device from each host on a shortest path to `target`."""
        steps: dict[int, Device] = {}
        frontier = [target]
        while frontier:
            there = frontier.pop(0)
            for device in self._into.get(there, []):
                if device.host != target and device.host not in steps:
                    steps[device.host] = device
                    frontier.append(device.host)
        return steps
