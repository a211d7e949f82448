"""Applications that have no data at times: what they become, what they send, and what is refused."""

from pathlib import Path
from typing import Any

import pytest

import tailback
from tailback.scenario import ScenarioError, loads

FILE = """\
links:
  - {ends: [client, server], rate: 100mbit, delay: 10ms}
traffic:
%s
duration: 10s
"""


def text(*entries: str) -> str:
    return FILE % "\n".join(f"  - {entry}" for entry in entries)


def run(folder: Path, *entries: str) -> Any:
    file = folder / "writes.yaml"
    file.write_text(text(*entries), encoding="utf-8")
    (found,) = tailback.run(file, out=folder / "out").runs
    return found


def test_a_rate_is_written_each_10_ms_and_bulk_data_has_no_writes(scenario: Any) -> None:
    limited, bulk = scenario(text("{tcp: client -> server, rate: 5mbit}", "{tcp: server -> client}"))["traffic"]
    assert limited["writes"] == {"message": 6250, "rate_bps": 5_000_000}
    assert "writes" not in bulk


def test_a_fast_rate_is_written_128_kib_at_a_time(scenario: Any) -> None:
    (flow,) = scenario(text("{tcp: client -> server, rate: 1gbit, on: 1s, off: 2s}"))["traffic"]
    second = 10**9
    assert flow["writes"] == {"message": 131_072, "rate_bps": 10**9, "on_ns": second, "off_ns": 2 * second}


def test_a_flow_has_the_rate_of_its_application(tmp_path: Path) -> None:
    found = run(tmp_path, "{tcp: client -> server, rate: 5mbit}")
    assert found.summary["goodput_mbps"]["total"] == pytest.approx(5, rel=0.005)


def test_a_flow_with_pauses_sends_while_it_is_on_and_then_as_much_as_it_can(tmp_path: Path) -> None:
    found = run(tmp_path, "{tcp: client -> server, on: 1s, off: 1s}")
    table = found.table("flows")
    # From the handshake on; what the socket took at the end of a second is sent within some ten milliseconds.
    seconds = (table["t"] - 0.02 - 0.15).astype(int) % 2
    sent = table.groupby(seconds)["bytes"].sum()
    assert sent[0] > 50e6 / 8 * 4
    assert sent[1] < 0.1 * sent[0]


def test_what_waits_while_the_socket_is_full_is_sent_later(tmp_path: Path) -> None:
    # 150 Mbit/s for a second are what the link carries in 1.6 s.
    found = run(tmp_path, "{tcp: client -> server, rate: 150mbit, on: 1s, off: 1s}")
    assert found.summary["goodput_mbps"]["total"] == pytest.approx(75, rel=0.1)


def test_an_index_of_fairness_leaves_out_an_application_that_has_no_data_at_times(tmp_path: Path) -> None:
    flows = ["{tcp: client -> server, name: bulk, flows: 2}", "{tcp: client -> server, name: meter, rate: 1mbit}"]
    found = run(tmp_path, *flows).summary
    assert found["jain"] > 0.9
    assert found["jain_without"] == ["meter"]


def test_applications_alike_are_compared(tmp_path: Path) -> None:
    found = run(tmp_path, "{tcp: client -> server, name: meter, flows: 3, rate: 60mbit}").summary
    assert 0.5 < found["jain"] <= 1
    assert "jain_without" not in found


@pytest.mark.parametrize(
    ("keys", "key", "hint"),
    [
        ("on: 1s", "on", "add `off: 1s`"),
        ("off: 1s", "off", "add `on: 1s`"),
        ("on: 0s, off: 1s", "on", "give a time"),
        ("write: 1kb", "write", "add `rate: 5mbit`"),
        ("rate: 1mbit, write: 0b", "write", "give a size"),
        ("rate: 5", "rate", "5mbit"),
    ],
)
def test_what_makes_no_sense_is_refused_at_its_key(keys: str, key: str, hint: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        loads(text(f"{{tcp: client -> server, {keys}}}"))
    assert f"{key}" in str(refused.value)
    assert hint in str(refused.value)
