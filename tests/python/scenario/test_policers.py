"""The policer of a link, read in the words of `tc`, as a mapping, or as a whole line."""

from __future__ import annotations

from typing import Any

import pytest

from tailback.backends.linux.job import job_of
from tailback.resolved import Scenario, to_json
from tailback.scenario import loads
from tailback.scenario.policers import policer
from tailback.tc.errors import WordError

SAME = (
    "rate 10mbit burst 20kb",
    "police rate 10mbit burst 20kb conform-exceed drop/ok",
    "rate 10000kbit buffer 20480",
    {"rate": "10mbit", "burst": "20kb"},
    {"rate": "10 mbit", "burst": 20480},
    "tc filter add dev eth0 ingress matchall action police rate 10mbit burst 20kb conform-exceed drop",
    "tc filter add dev eth0 parent ffff: u32 match ip src 0.0.0.0/0 police rate 10mbit burst 20k drop flowid :1",
)


@pytest.mark.parametrize("word", SAME, ids=str)
def test_a_policer_is_what_it_is_in_every_form(word: Any) -> None:
    assert policer(word) == {"rate": 10_000_000, "burst": 20_480}


@pytest.mark.parametrize(
    ("word", "message", "hint"),
    [
        ("10mbit", "`10mbit` is not an option", "rate, burst, mtu, peakrate"),
        ("rate 10mbit", "`burst` of `police` is missing", "bytes of the bucket"),
        ({"burst": "20kb"}, "`rate` of `police` is missing", "rate at which tokens come"),
        ("rate 10mbit burst 20kb peakrate 12mbit", "needs `mtu`", "add `mtu`"),
        ({"rate": "10mbit", "burst": "20kb", "peakrate": "12mbit"}, "needs `mtu`", "add `mtu`"),
        ("rate 10mbit burst 20kb conform-exceed pipe", "followed by `pipe`", "write `drop`"),
        ("rate 10mbit burst 20kb conform-exceed", "followed by nothing", "write `drop`"),
        ("rate 10mbit burst 20kb overhead 24", "`overhead` of `police` is not modelled", "IP packet"),
        ({"rate": "10mbit", "burst": "20kb", "avrate": "1mbit"}, "not an option", "rate estimator"),
        ({"rate": "10mbit", "bursts": "20kb"}, "`bursts` is not an option", "did you mean `burst`"),
        ({"rate": True, "burst": "20kb"}, "not a value of `rate`", "rate 10mbit burst 20kb"),
        ("rate 0bit burst 20kb", "a rate of zero", "above zero"),
        ("", "is not a policer", "rate 10mbit burst 20kb"),
        (10, "is not a policer", "rate 10mbit burst 20kb"),
    ],
)
def test_what_is_no_policer_is_refused_with_what_to_write(word: Any, message: str, hint: str) -> None:
    with pytest.raises(WordError) as refused:
        policer(word)
    assert message in refused.value.message
    assert hint in refused.value.hint


FILE = """
duration: 1s
links:
  - {ends: [a, b], police: [rate 5mbit burst 9kb mtu 3kb peakrate 8mbit, null]KEYS}
traffic:
  - {tcp: a -> b}
"""


def resolved(keys: str = "") -> Scenario:
    return loads(FILE.replace("KEYS", keys)).runs()[0].scenario


def test_each_direction_has_its_own_and_json_lacks_what_is_not_given() -> None:
    link = to_json(resolved())["links"][0]
    assert link["police"] == [{"rate_bps": 5_000_000, "burst": 9216, "mtu": 3072, "peakrate_bps": 8_000_000}, None]
    plain = FILE.replace("police: [rate 5mbit burst 9kb mtu 3kb peakrate 8mbit, null]", "delay: 1ms").replace(
        "KEYS", ""
    )
    assert "police" not in to_json(loads(plain).runs()[0].scenario)["links"][0]


def test_a_kernel_polices_before_what_else_the_link_does_and_its_drops_are_counted() -> None:
    job = job_of(resolved(", loss: 1%"))
    words = [" ".join(step["argv"]) for step in job["setup"] if step["kind"] == "run"]
    (action,) = [line for line in words if "police" in line]
    assert (
        "dev l0 parent ffff: matchall action police rate 5000000bit burst 9216b peakrate 8000000bit mtu 3072b" in action
    )
    assert action.endswith("conform-exceed drop/pipe action mirred egress redirect dev i0")
    policed = {"host": 1, "name": "a -> b", "interface": "l0", "reason": "policed"}
    assert policed in job["lossy"]
    assert {"host": 1, "name": "a -> b", "interface": "i0"} in job["lossy"]
