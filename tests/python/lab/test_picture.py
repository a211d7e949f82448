"""What the page draws of a setting."""

import re
from pathlib import Path

import pytest

from lab.serving import TEXT
from sampled_experiments import finished
from tailback import scenario, sweep
from tailback.analysis.sockets import held_in_bins
from tailback.lab.picture import picture

STRIPS = (Path(__file__).parents[3] / "web" / "src" / "held.ts").read_text("utf-8")

UNANSWERED = """\
links:
  - {ends: [client, server], rate: 10mbit, delay: 5ms, schedule: [{at: 0s, state: down}]}
traffic:
  - {tcp: client -> server, name: unanswered}
duration: 2s
measure: {warmup: 0s}
"""


def test_a_flow_that_is_never_answered_is_held_by_the_handshake() -> None:
    _, results = sweep.simulate(scenario.loads(UNANSWERED), 1, sweep.Silent())
    held = picture(results)["held"]
    assert held["flows"]["unanswered"]["shares"].keys() == {"handshake"}


def test_every_cause_that_holds_a_sender_has_a_name_on_the_page() -> None:
    (causes,) = re.findall(r"CAUSES.* = \{\n(.*?)\n\};", STRIPS, re.DOTALL)
    (found,) = held_in_bins(finished(UNANSWERED).tables["tcp_info"], 1_000_000_000).values()
    assert found.shares.keys() == set(re.findall(r"^  (\w+):", causes, re.MULTILINE))


def test_a_bin_of_a_curve_is_dated_at_its_middle() -> None:
    _, results = sweep.simulate(scenario.loads(TEXT, ["cc=cubic", "buffer=50"]), 2, sweep.Silent())
    found = picture(results)
    for curve in found["curves"].values():
        assert (curve["t"][0] / found["bin"]) % 1 == pytest.approx(0.5)
    goodput = found["curves"]["goodput"]["t"]
    assert goodput[0] == pytest.approx(found["bin"] / 2)
    assert goodput[-1] == pytest.approx(found["duration"] - found["bin"] / 2)
