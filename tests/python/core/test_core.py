"""The compiled simulator through its interface: text in, Arrow streams out."""

from __future__ import annotations

import copy
import json
import re
import threading
from typing import Any, get_args

import pyarrow as pa
import pytest

from tailback import _core
from tailback.backends.sim import Sim
from tailback.tc.rows import Unit

SECOND = 1_000_000_000


def pinged(duration_s: int = 2) -> dict[str, Any]:
    """A ping every 10 ms over a delay of 5 ms; none is sent in the last second."""
    return {
        "title": "ping over a cable",
        "seed": 1,
        "duration_ns": duration_s * SECOND,
        "hosts": [{"name": name, "stack": "linux-6.12", "sysctl": {}} for name in ("client", "server")],
        "links": [
            {
                "ends": [0, 1],
                "rate_bps": 1_000_000_000,
                "delay_ns": [2_000_000, 3_000_000],
                "mtu": 1500,
                "ring": 256,
                "bql": True,
            }
        ],
        "qdiscs": [],
        "traffic": [
            {
                "kind": "ping",
                "name": "ping",
                "from": 0,
                "to": 1,
                "start_ns": 0,
                "stop_ns": (duration_s - 1) * SECOND,
                "interval_ns": 10_000_000,
                "size": 64,
            }
        ],
        "record": {"interval_ns": 100_000_000, "tcp_info": "interval", "events": True},
    }


def run(scenario: dict[str, Any], progress: _core.Progress | None = None) -> _core.Outcome:
    return _core.run(json.dumps(scenario), progress)


def table(outcome: _core.Outcome, name: str) -> pa.Table:
    return outcome["tables"][name].to_arrow()


def test_a_ping_takes_the_delay_of_both_ways_and_its_own_serialization() -> None:
    pings = table(run(pinged()), "ping").to_pandas()
    # 98 bytes of Ethernet frame, twice, at 1 Gbit/s are less than 3 µs.
    assert len(pings) == 100
    assert pings["rtt_ms"].between(5.0, 5.003).all()


def test_every_table_is_there_and_every_column_has_a_unit() -> None:
    outcome = run(pinged())
    assert set(outcome["tables"]) == {"flows", "tcp_info", "ping", "qdisc", "sojourns", "events"}
    for name in outcome["tables"]:
        schema = table(outcome, name).schema
        assert all(b"unit" in field.metadata for field in schema)
        assert schema.field("t").metadata[b"unit"] == b"s"


def test_the_cost_counts_events_and_segments() -> None:
    cost = run(pinged())["cost"]
    assert cost["sim_s"] == 2.0
    assert cost["packets"] == 200
    assert cost["segments"] == 0
    assert cost["events"] >= cost["packets"]
    assert 0 < cost["cpu_s"] <= cost["wall_s"] + 0.1


def test_the_same_scenario_gives_the_same_bytes_in_every_thread() -> None:
    outcomes: list[_core.Outcome] = []
    threads = [threading.Thread(target=lambda: outcomes.append(run(pinged()))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 4
    assert all(outcome["tables"] == outcomes[0]["tables"] for outcome in outcomes)


def test_progress_ends_at_one() -> None:
    progress = _core.Progress()
    assert progress.fraction == 0.0
    run(pinged(), progress)
    assert progress.fraction == 1.0


def test_a_cancelled_run_says_so_and_gives_nothing() -> None:
    progress = _core.Progress()
    progress.cancel()
    with pytest.raises(_core.Cancelled, match="stopped at"):
        run(pinged(), progress)
    assert progress.fraction < 0.1


def test_a_scenario_that_cannot_be_built_names_the_place_and_the_remedy() -> None:
    scenario = pinged()
    scenario["links"][0]["ends"] = [0, 7]
    for refuse in (lambda: _core.check(json.dumps(scenario)), lambda: run(scenario)):
        with pytest.raises(ValueError, match=r"links\[0\]\.ends.*7.*; "):
            refuse()


def test_an_unknown_key_and_broken_json_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown field `rate`"):
        _core.check(json.dumps(pinged() | {"rate": 1}))
    with pytest.raises(ValueError, match="line 1 column 1"):
        _core.check("{")


def test_checking_leaves_a_good_scenario_alone() -> None:
    scenario = pinged()
    before = copy.deepcopy(scenario)
    _core.check(json.dumps(scenario))
    assert scenario == before


@pytest.mark.parametrize("rows", [_core.congestion_controls, _core.qdiscs])
def test_every_algorithm_has_a_summary_a_source_and_parameters_within_their_ranges(rows: Any) -> None:
    for row in rows():
        assert row["name"] and row["summary"] and "[" in row["source"]
        for parameter in row["parameters"]:
            assert parameter["unit"] in get_args(Unit)
            assert parameter["min"] <= parameter["max"]
            if parameter["default"] is not None:
                assert parameter["min"] <= parameter["default"] <= parameter["max"]


def test_every_kind_has_its_flags() -> None:
    classful = {row["name"]: row["classful"] for row in _core.qdiscs()}
    assert classful["htb"] and not classful["pfifo"]
    paced = {row["name"]: row["wants_pacing"] for row in _core.congestion_controls()}
    assert paced["bbr"] and not paced["reno"]


def test_the_engine_has_a_version_made_of_its_sources_and_runs_are_known_by_it() -> None:
    assert re.fullmatch(r"[0-9a-f]{32}", _core.engine())
    assert Sim().fingerprint == _core.engine()
