"""The resolved scenario: the input of one run (`docs/contracts.md`)."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Generic, Literal, TypeAlias

from msgspec import field
from msgspec.structs import replace
from typing_extensions import TypeVar

from tailback.resolved.devices import Device
from tailback.resolved.fields import Nanoseconds, Part, no_options, written
from tailback.resolved.links import Link, Route, Trace
from tailback.resolved.programs import BroughtFile, Program
from tailback.resolved.qdiscs import AttachedQdisc, Qdisc
from tailback.resolved.traffic import Connection, Control, Flow, Observed, Ping, Tcp, Traffic, Udp
from tailback.resolved.wifi import Cell

Offloads: TypeAlias = Literal["off", "gso", "on"]

Entry_co = TypeVar("Entry_co", bound=Traffic, default=Traffic, covariant=True)
"""The entries of traffic that JSON has: flows, or what was observed."""


class Host(Part, frozen=True, kw_only=True):
    """A host, a router, or the switch of a shared segment."""

    name: str
    stack: str
    sysctl: Mapping[str, int | tuple[int, ...]] = field(default_factory=no_options)
    """Values by full name; buffer sizes have three values."""
    offloads: Offloads = written("off")
    """Old results lack this key; they had no offloads."""
    gro: bool = False
    """It merges consecutive segments that one interrupt hands over."""
    ssthresh: int = 0
    """Initial slow-start threshold of its connections in segments; 0: infinite."""


class Record(Part, frozen=True, kw_only=True):
    """What a run records."""

    interval_ns: Nanoseconds
    tcp_info: Literal["interval", "ack"]
    events: bool
    pcap: tuple[int, ...] = ()
    """Indices of the hosts whose packets are captured."""
    packets_ns: tuple[Nanoseconds, Nanoseconds] | None = None
    """The window in which it is recorded where each packet is."""


class ControlSource(Part, frozen=True, kw_only=True):
    """A congestion control that the user wrote. Its text is part of the run: another text is another run."""

    name: str
    """The name of its file."""
    language: Literal["python", "c", "bpf"]
    sha256: str
    """Digest of the content of its file."""
    text: str


class Scenario(Part, Generic[Entry_co], frozen=True, kw_only=True, dict=True):
    """The input of one run. Hosts, links and traces are referred to by index.

    The scenario of imported results has `Observed` traffic and no hosts, because the network is unknown.
    """

    title: str
    seed: int
    duration_ns: Nanoseconds
    hosts: tuple[Host, ...] = ()
    links: tuple[Link, ...] = written(())
    traces: tuple[Trace, ...] = ()
    routes: tuple[Route, ...] = ()
    cells: tuple[Cell, ...] = ()
    controls: tuple[ControlSource, ...] = ()
    """The controls that the user wrote; flows refer to them by name."""
    endpoints: tuple[BroughtFile, ...] = ()
    """The files of the user with endpoints; traffic refers to them by name."""
    qdiscs: tuple[AttachedQdisc, ...] = written(())
    traffic: tuple[Entry_co, ...]
    record: Record
    programs: tuple[Program, ...] = ()
    clock_ns: Nanoseconds | None = None
    """What CLOCK_REALTIME of a guest shows at its boot, if the file has a `clock`."""
    kernel: str | None = None
    """Name of the kernel, if the file has one."""
    imported: str | None = None
    """Name of the imported file."""

    @property
    def host_names(self) -> list[str]:
        """The names of the hosts, by index."""
        return [host.name for host in self.hosts]

    @property
    def connections(self) -> list[Connection]:
        """All traffic over TCP that kernels run, too: bulk data, requests with their answers, pages."""
        return [entry for entry in self.traffic if isinstance(entry, Connection)]

    @property
    def tcp(self) -> list[Tcp]:
        """The TCP connections that carry bulk data."""
        return [entry for entry in self.traffic if isinstance(entry, Tcp)]

    @property
    def code(self) -> list[str]:
        """The names of the files of the user that running it executes."""
        return [*(each.name for each in self.controls), *(each.name for each in self.endpoints)]

    @property
    def flows(self) -> list[Flow]:
        """All traffic whose ends are known."""
        return [entry for entry in self.traffic if not isinstance(entry, Observed)]

    @property
    def last_stop_ns(self) -> int:
        """When the last flow stops; the end of the run if one of them has no stop. Pings are no flows."""
        flows = (entry for entry in self.traffic if not isinstance(entry, Ping))
        stops = [entry.stop_ns if isinstance(entry, Tcp | Udp) else None for entry in flows]
        return max((self.duration_ns if stop is None else stop for stop in stops), default=self.duration_ns)

    @property
    def radios(self) -> list[tuple[int, int]]:
        """Pairs of access point and station; they are numbered as links after all others."""
        return [(cell.access_point, station.host) for cell in self.cells for station in cell.stations]

    def root(self, host: int, link: int) -> Qdisc | None:
        """The root discipline of a device in the file; `None` if it has none."""
        return self._roots.get((host, self._first_link(host, link)))

    @cached_property
    def devices(self) -> tuple[Device, ...]:
        """All devices: two for each wired link, then one for each radio of the cells."""
        wires = [
            self._device((number, end), link.ends, link) for number, link in enumerate(self.links) for end in (0, 1)
        ]
        return (*wires, *(device for number, _ in enumerate(self.cells) for device in self._radios_of(number)))

    def device(self, name: str) -> Device:
        """The device of this name, `A -> B`; raises `KeyError` if there is none."""
        return {device.name: device for device in self.devices}[name]

    def hops(self, device: Device) -> list[tuple[int, int]]:
        """The links of a device, each with the host at its other end; an access point has one for each station."""
        number = self.cell_of(device)
        if number is None or device.end == 1:
            return [(device.link, device.neighbour)]
        stations = self.cells[number].stations
        return [(link, station.host) for link, station in zip(self._cell_links[number], stations, strict=True)]

    def cell_of(self, device: Device) -> int | None:
        """The index of the cell of a radio; `None` for a wired device."""
        return self._cell_of_link.get(device.link)

    @cached_property
    def _roots(self) -> dict[tuple[int, int], Qdisc]:
        return {(each.host, self._first_link(each.host, each.link)): each.root for each in self.qdiscs}

    @cached_property
    def _cell_links(self) -> tuple[range, ...]:
        """The links of each cell, one for each station."""
        ends = list(accumulate((len(cell.stations) for cell in self.cells), initial=len(self.links)))
        return tuple(range(first, after) for first, after in pairwise(ends))

    @cached_property
    def _cell_of_link(self) -> dict[int, int]:
        """The index of the cell of each link of a cell."""
        return {link: number for number, links in enumerate(self._cell_links) for link in links}

    def _first_link(self, host: int, link: int) -> int:
        """The first link of the device of `host` on `link`; the radio of an access point has several links."""
        number = self._cell_of_link.get(link)
        if number is None or host != self.cells[number].access_point:
            return link
        return self._cell_links[number].start

    def _radios_of(self, number: int) -> Iterator[Device]:
        """The radio of the access point of a cell, then those of its stations."""
        cell, links = self.cells[number], self._cell_links[number]
        ways = [(links.start, 0), *((link, 1) for link in links)]
        for link, end in ways:
            station = cell.stations[link - links.start].host
            yield self._device((link, end), (cell.access_point, station), None, cell.name)

    def _device(
        self, place: tuple[int, int], ends: tuple[int, int], wire: Link | None, cell: str | None = None
    ) -> Device:
        link, end = place
        host, neighbour = ends[end], ends[1 - end]
        trace = None if wire is None else wire.trace[end]
        return Device(
            name=f"{self.hosts[host].name} -> {cell or self.hosts[neighbour].name}",
            host=host,
            neighbour=neighbour,
            link=link,
            end=end,
            wire=wire,
            trace=None if trace is None else self.traces[trace],
            root=self.root(host, link),
        )


def without_controls(scenario: Scenario) -> Scenario:
    """The scenario with Reno in the place of the controls that the user wrote, and without their code."""
    own, reno = {source.name for source in scenario.controls}, Control(name="reno")
    traffic = tuple(
        replace(flow, cc=reno) if isinstance(flow, Connection) and flow.cc.name in own else flow
        for flow in scenario.traffic
    )
    # The kernel is that of the headers of the modules.
    return replace(scenario, traffic=traffic, controls=(), endpoints=(), kernel=None)
