"""What a scenario refers to by index must be there: anybody may have written the JSON that it is read from."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from tailback.resolved.scenario import Scenario
from tailback.resolved.traffic import Flow


class Reference(Struct, frozen=True):
    """Some indices at one place."""

    key: str
    """Where they are, for messages: `links[0].ends`."""
    indices: Sequence[int]
    what: str
    """What they number."""
    there: int
    """How many there are."""


def wrong(scenario: Scenario) -> str | None:
    """What a scenario refers to and does not have, for a message; None if there is nothing."""
    for each in _all(scenario):
        for index in each.indices:
            if not 0 <= index < each.there:
                return f"`{each.key}` names {each.what} {index}, and there are {each.there}"
    return None


def _all(scenario: Scenario) -> Iterator[Reference]:
    hosts = len(scenario.hosts)
    links = len(scenario.links) + len(scenario.radios)
    for place, link in enumerate(scenario.links):
        yield Reference(f"links[{place}].ends", link.ends, "host", hosts)
        traces = [trace for trace in link.trace if trace is not None]
        yield Reference(f"links[{place}].trace", traces, "trace", len(scenario.traces))
        yield Reference(f"links[{place}].schedule", [change.end for change in link.schedule], "end", 2)
    for place, route in enumerate(scenario.routes):
        yield Reference(f"routes[{place}]", (route.host, route.to), "host", hosts)
        yield Reference(f"routes[{place}]", (route.link,), "link", links)
    for place, cell in enumerate(scenario.cells):
        members = (cell.access_point, *(station.host for station in cell.stations))
        yield Reference(f"cells[{place}]", members, "host", hosts)
        yield Reference(f"cells[{place}].hidden", [host for pair in cell.hidden for host in pair], "host", hosts)
    for place, attached in enumerate(scenario.qdiscs):
        yield Reference(f"qdiscs[{place}]", (attached.host,), "host", hosts)
        yield Reference(f"qdiscs[{place}]", (attached.link,), "link", links)
    yield from (
        Reference(f"programs[{place}]", (program.host,), "host", hosts)
        for place, program in enumerate(scenario.programs)
    )
    yield Reference("record.pcap", scenario.record.pcap, "host", hosts)
    yield from _of_traffic(scenario.flows, hosts)


def _of_traffic(flows: Sequence[Flow], hosts: int) -> Iterator[Reference]:
    """Of a hundred thousand flows only those that are wrong get a name."""
    for place, flow in enumerate(flows):
        if not (0 <= flow.source < hosts and 0 <= flow.target < hosts):
            yield Reference(f"traffic[{place}]", (flow.source, flow.target), "host", hosts)
