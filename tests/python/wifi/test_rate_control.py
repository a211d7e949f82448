"""Which modes rate control chooses among, as docs/wifi.md and the schema say."""

import pandas as pd

from tailback.backends.sim import Sim
from tailback.scenario import loads

EXPERIMENT = """
links:
  - {{wifi: {{ap: router, stations: [client]}}, standard: 802.11n, width: 40MHz, mcs: {mcs}, rate: minstrel, snr: 40dB}}
  - {{ends: [router, server], rate: 1gbit, delay: 1ms}}
traffic: [{{tcp: client -> server}}]
duration: 500ms
measure: {{warmup: 0s}}
"""


def air(mcs: int) -> pd.DataFrame:
    """The PPDUs of a cell with rate control, from an index of 802.11n."""
    sim = Sim()
    scenario = loads(EXPERIMENT.format(mcs=mcs)).runs()[0].scenario
    table: pd.DataFrame = sim.run(scenario, sim.new_progress()).tables["wifi"].to_arrow().to_pandas()
    return table


def test_minstrel_chooses_among_all_mcs_of_up_to_the_given_streams() -> None:
    lowest, highest, of_two_streams = air(0), air(7), air(15)
    assert lowest.equals(highest)
    assert of_two_streams["mpdus"].sum() > 1.3 * highest["mpdus"].sum()
