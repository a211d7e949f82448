"""How much all flows together can receive: no interval of a goodput reaches beyond what the links carry."""

from collections.abc import Sequence

from tailback.analysis.metrics import MEGA
from tailback.resolved import Flow, Page, Ping, Request, Video
from tailback.resolved.devices import Device, rates_of
from tailback.resolved.paths import Paths
from tailback.results import RunFolder


def most_mbps(runs: Sequence[RunFolder], way: str | None = None) -> float | None:
    """The largest goodput in Mbit/s of all flows of a run, or of those in one direction; `None` if nothing with a known
    rate limits some flow, as above Wi-Fi alone.
    """
    found = [_of_run(run, way) for run in runs]
    known = [most for most in found if most is not None]
    return max(known) if known and len(known) == len(found) else None


def _of_run(run: RunFolder, way: str | None) -> float | None:
    """The sum of the rates of the narrowest device of each flow; flows with the same one bring that rate once."""
    scenario, directions = run.scenario, run.manifest["measure"]["directions"]
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


def bounded(ends: tuple[float, float], mean: float, most: float | None) -> tuple[float, float]:
    """An interval that ends at the largest possible value. What a link carries in one bin may be read in the next, so
    the mean of a bin may lie beyond; the interval contains it."""
    return ends if most is None else (ends[0], min(ends[1], max(most, mean)))
