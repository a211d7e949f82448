"""Radios of a resolved scenario: each is one device, whichever of its links a discipline is attached to."""

from msgspec.structs import replace

from tailback.backends.qdisc_stats import of_simulator
from tailback.resolved import Scenario, of_json, to_json
from tailback.scenario import loads

TWO_CELLS = """\
links:
  - {wifi: {ap: access, stations: [one, two]}, standard: 802.11n, width: 20MHz, mcs: 7}
  - {wifi: {ap: two, stations: [three]}, standard: 802.11n, width: 20MHz, mcs: 7, name: mesh}
  - {ends: [access, server], rate: 1gbit}
qdiscs: {access -> air1: fq_codel limit 77}
traffic: [{tcp: server -> three}]
duration: 2s
"""


def scenario(link: int = 1) -> Scenario:
    """The scenario with a discipline attached to one of its links."""
    found = loads(TWO_CELLS).runs()[0].scenario
    return replace(found, qdiscs=(replace(found.qdiscs[0], link=link),))


def test_each_radio_is_one_device_after_those_of_the_wires() -> None:
    assert [device.name for device in scenario().devices] == [
        "access -> server",
        "server -> access",
        "access -> air1",
        "one -> air1",
        "two -> air1",
        "two -> mesh",
        "three -> mesh",
    ]


def test_any_link_of_a_radio_names_its_device() -> None:
    for link in (1, 2):
        root = scenario(link).device("access -> air1").root
        assert root is not None
        assert root.options == {"limit": 77}
    assert scenario().device("two -> mesh").root is None


def test_the_default_name_of_a_cell_is_not_written() -> None:
    alone = TWO_CELLS.replace("name: mesh", "name: air")
    document = to_json(loads(alone).runs()[0].scenario)
    assert ["name" in cell for cell in document["cells"]] == [True, False]
    assert [cell.name for cell in of_json(document).cells] == ["air1", "air"]


def test_what_a_radio_is_set_to_is_found_under_its_name() -> None:
    counted = dict.fromkeys(("bytes", "packets", "drops", "overlimits", "requeues", "backlog", "qlen"), 0)
    row = {"dev": "access -> air1", "kind": "fq_codel", "handle": "1:", "root": True, **counted, "own": {}, "parts": []}
    (found,) = of_simulator(scenario(link=2), [row])
    assert found["options"]["limit"] == 77
