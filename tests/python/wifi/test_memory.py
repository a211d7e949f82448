"""How many packets mac80211's queues above a radio hold: their memory depends on the standard of the cell."""

import pytest

from tailback.backends.sim import Sim
from tailback.scenario import loads

FLOOD = """\
links:
  - wifi: {{ap: router, stations: [client]}}
    standard: {standard}
    width: 20MHz
    streams: 1
    mcs: 0
    driver: {driver}
  - {{ends: [router, server], rate: 1gbit}}
traffic:
  - {{udp: server -> client, rate: 200mbit}}
duration: 1s
measure: {{warmup: 0s}}
"""
TRUESIZE = 2304


@pytest.mark.parametrize(
    ("standard", "driver", "memory"),
    [
        ("802.11n", "generic", 4 << 20),
        ("802.11n", "mt76", 16 << 20),
        ("802.11ac", "generic", 16 << 20),
        ("802.11ac", "{name: generic, memory_limit: 2000000}", 2_000_000),
    ],
)
def test_the_queues_of_a_radio_of_802_11ac_have_16_mib(standard: str, driver: str, memory: int) -> None:
    sim = Sim()
    scenario = loads(FLOOD.format(standard=standard, driver=driver)).runs()[0].scenario
    tables = sim.run(scenario, sim.new_progress()).tables
    sent = 200e6 / 8 / 1472
    on_air = tables["wifi"].to_arrow().to_pandas()["received"].sum()
    events = tables["events"].to_arrow().to_pandas()
    dropped = (events["what"] == "drop").sum()
    # Beside what is below the queues, and a batch of 32.
    assert sent - on_air - dropped == pytest.approx(memory / TRUESIZE, rel=0.02, abs=64)
