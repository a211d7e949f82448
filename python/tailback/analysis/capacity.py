"""How much all flows together can receive, by the rates of the links on their ways."""

from collections.abc import Mapping, Sequence

from tailback.analysis.metrics import MEGA
from tailback.resolved import Flow, Page, Ping, Request, Scenario, Video
from tailback.resolved.devices import Device, rates_of
from tailback.resolved.paths import Paths


def most_mbps(scenario: Scenario, directions: Mapping[str, str], way: str | None = None) -> float | None:
    """The largest goodput in Mbit/s of all flows, or of those in one direction: the sum of the rates of the narrowest
    device of each flow, where flows with the same one bring that rate once. `None` if nothing with a known rate limits
    some flow, as above Wi-Fi alone.
    """
    flows = [each for each in scenario.flows if not isinstance(each, Ping)]
    flows = [each for each in flows if way is None or directions.get(each.name, way) == way]
    if not scenario.hosts or not flows:
        return None
    paths = Paths(scenario)
    narrowest = {_narrowest(_way(paths, flow)) for flow in flows}
    if None in narrowest:
        return None
    return sum(each[1] for each in narrowest if each is not None) / MEGA


def _way(paths: Paths, flow: Flow) -> Sequence[Device] | None:
    """The devices on the way of the data; answers go back to the host that asks."""
    back = isinstance(flow, Request | Page | Video)
    return paths.way(flow.target, flow.source) if back else paths.way(flow.source, flow.target)


def _narrowest(way: Sequence[Device] | None) -> tuple[str, int] | None:
    """The name and the rate in bit/s of the device with the smallest largest rate."""
    known = [(most, device.name) for device in way or () if (most := _largest(device)) is not None]
    return None if not known else (min(known)[1], min(known)[0])


def _largest(device: Device) -> int | None:
    """The largest rate of a device during a run; `None` if it has none, or follows a trace."""
    if device.trace is not None:
        return None
    rates = [rate for _, rate in rates_of(device)]
    return None if None in rates else max(rate for rate in rates if rate is not None)
