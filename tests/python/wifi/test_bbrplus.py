"""BBR+ with a factor of one is BBR, whatever the stack."""

from __future__ import annotations

import pytest

from tailback import scenario
from tailback.backends.sim import Sim
from tailback.scenario import stacks

TEXT = """
hosts: {{client: {{stack: {stack}}}, router: {{stack: linux-5.4}}, server: {{stack: linux-5.4}}}}
links:
  - {{wifi: {{ap: router, stations: [client]}}, standard: 802.11n, width: 40MHz, mcs: 15, driver: ath9k}}
  - {{ends: [router, server], rate: 1gbit, delay: 100us}}
traffic: [{{tcp: client -> server, name: upload, start: 0s, stop: 1s}}]
duration: 1s
cc: {cc}
tsq: 1ms
"""


def tables(stack: str, cc: str) -> dict[str, bytes]:
    """The tables of a run, as bytes."""
    sim = Sim()
    (run,) = scenario.loads(TEXT.format(stack=stack, cc=cc)).runs()
    found = sim.run(run.scenario, sim.new_progress()).tables
    return {name: table.to_arrow().to_pandas().to_csv().encode() for name, table in found.items()}


@pytest.mark.parametrize("stack", [stack.name for stack in stacks.stacks()])
def test_bbrplus_with_a_factor_of_one_is_bbr_on_every_stack(stack: str) -> None:
    assert tables(stack, "bbrplus pacing_scale 100") == tables(stack, "bbr")
