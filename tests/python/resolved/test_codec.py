"""The resolved scenario and its JSON: a round trip keeps the bytes, and unknown keys are errors."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tailback import resolved
from tailback.resolved import Fits, Observed, Scenario, ScenarioUnreadable, Tcp, of_json, to_json, to_text
from tailback.scenario import load

HOSTS = [{"name": "a", "stack": "linux-6.12", "sysctl": {}, "offloads": "off"},
         {"name": "b", "stack": "linux-6.12", "sysctl": {"net.ipv4.tcp_wmem": [4096, 16384, 4194304]},
          "offloads": "on"}]  # fmt: skip
LINK = {"ends": [0, 1], "rate_bps": 10_000_000, "delay_ns": [1000, 2000], "mtu": 1500, "ring": [256, 128], "bql": True}
RECORD = {"interval_ns": 100_000_000, "tcp_info": "interval", "events": True}
TCP = {
    "kind": "tcp", "name": "upload", "from": 0, "to": 1, "start_ns": 0, "stop_ns": None, "bytes": 1000,
    "cc": {"name": "cubic", "options": {}}, "tsq": {"kind": "time", "shift": 10},
    "socket": {"max_pacing_rate_bps": None, "sndbuf": None, "rcvbuf": None, "rcvlowat": 1, "notsent_lowat": None,
               "mss": None},
}  # fmt: skip


def document(**changed: Any) -> dict[str, Any]:
    whole = {"title": "t", "seed": 1, "duration_ns": 10**9, "hosts": HOSTS, "links": [LINK], "qdiscs": [],
             "traffic": [TCP], "record": RECORD}  # fmt: skip
    return {**whole, **changed}


TREE = {
    "kind": "htb", "options": {},
    "classes": [{"minor": 1, "parent": 0, "options": {"rate": 100}, "child": {"kind": "pfifo", "options": {}}}],
    "filters": [{"fits": {"traffic": "upload"}, "class": 1}, {"fits": {"from": 0}, "class": 1},
                {"fits": {"dscp": 46}, "class": 1}, {"fits": "all", "class": 1}],
}  # fmt: skip
SCHEDULE = [{"at_ns": 5, "end": 0, "rate_bps": 7}, {"at_ns": 6, "end": 1, "delay_ns": 9, "up": False, "netem": {}}]
PING = {"kind": "ping", "name": "ping", "from": 0, "to": 1, "start_ns": 0, "stop_ns": 5, "interval_ns": 2, "size": 64}
UDP = {"kind": "udp", "name": "udp", "from": 0, "to": 1, "start_ns": 0, "stop_ns": 5, "rate_bps": 2, "size": 64,
       "sndbuf": None}  # fmt: skip


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"links": [{**LINK, "rate_bps": [1, None], "trace": [None, 0], "netem": [{"loss": 5}, {}],
                    "schedule": SCHEDULE}],
         "traces": [{"sha256": "00", "stamps_ms": [0, 5, 10]}]},
        {"routes": [{"host": 0, "to": 1, "link": 0}], "kernel": "mine"},
        {"qdiscs": [{"host": 0, "link": 0, "root": TREE}]},
        {"traffic": [TCP | {"ip": 6, "dscp": 46}, UDP | {"dscp": 1}, PING | {"protocol": "udp"}]},
        {"record": {**RECORD, "pcap": [0, 1], "packets_ns": [0, 1]}},
    ],
)  # fmt: skip
def test_a_scenario_is_written_as_it_was_read(changed: dict[str, Any]) -> None:
    whole = document(**changed)
    assert to_json(of_json(whole)) == whole


def test_keys_are_written_in_one_order() -> None:
    whole = document(kernel="mine", links=[{**LINK, "schedule": SCHEDULE}], traffic=[TCP, UDP, PING])
    first, second = (json.dumps(to_json(of_json(each))) for each in (whole, dict(reversed(list(whole.items())))))
    assert first == second
    assert list(json.loads(first))[:4] == ["title", "seed", "duration_ns", "hosts"]


def test_one_value_applies_to_both_ends() -> None:
    (link,) = of_json(document()).links
    assert (link.rate_bps, link.ring, link.bql) == ((10_000_000, 10_000_000), (256, 128), (True, True))


def test_absent_keys_have_their_defaults_in_python() -> None:
    found = of_json(document(qdiscs=[{"host": 0, "link": 0, "root": TREE}]))
    (flow,) = found.tcp
    assert (flow.ip, flow.dscp, found.links[0].netem, found.record.pcap) == (4, 0, ({}, {}), ())
    assert [each.fits for each in found.qdiscs[0].root.filters] == [
        Fits(traffic="upload"), Fits(source=0), Fits(dscp=46), "all",
    ]  # fmt: skip


def test_results_of_before_there_were_offloads_had_none() -> None:
    old = [{key: value for key, value in host.items() if key != "offloads"} for host in HOSTS]
    assert of_json(document(hosts=old)).hosts[1].offloads == "off"


def test_an_unknown_key_is_an_error_that_says_where() -> None:
    with pytest.raises(ScenarioUnreadable, match=r"unknown field `colour` - at `\$\.traffic\[0\]`"):
        of_json(document(traffic=[TCP | {"colour": 1}]))
    with pytest.raises(ScenarioUnreadable, match="`duration_ns`"):
        of_json({key: value for key, value in document().items() if key != "duration_ns"})


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ([], "Expected `object`, got `array`"),
        (document(links=3), r"Expected `array`, got `int` - at `\$\.links`"),
        (document(links=[3]), r"Expected `object`, got `int` - at `\$\.links\[0\]`"),
        (document(links=[{**LINK, "ring": [1, 2, 3]}]), r"`array` of length 2, got 3 - at `\$\.links\[0\]\.ring`"),
        (document(traffic=[TCP | {"kind": "quic"}]), r"Invalid value 'quic' - at `\$\.traffic\[0\]\.kind`"),
        (document(record={**RECORD, "events": "yes"}), r"Expected `bool`, got `str` - at `\$\.record\.events`"),
    ],
)
def test_what_is_no_scenario_is_an_error_that_says_where(written: Any, message: str) -> None:
    with pytest.raises(ScenarioUnreadable, match=message):
        of_json(written)


@pytest.mark.parametrize("fits", [{}, {"from": 0, "to": 1}, "some"])
def test_a_filter_fits_one_thing_or_all(fits: Any) -> None:
    root = {"kind": "htb", "options": {}, "filters": [{"fits": fits, "class": 1}]}
    with pytest.raises(ScenarioUnreadable, match=r"\$\.qdiscs\[0\]\.root\.filters\[0\]\.fits"):
        of_json(document(qdiscs=[{"host": 0, "link": 0, "root": root}]))


def test_the_kind_of_traffic_is_the_one_in_its_json() -> None:
    assert [flow.kind for flow in resolved.FLOWS] == [flow.__struct_config__.tag for flow in resolved.FLOWS]


def test_a_scenario_of_another_process_has_the_same_json() -> None:
    """The words are other objects than the defaults; the numbers and empty values are the same."""
    whole = document(qdiscs=[{"host": 0, "link": 0, "root": TREE}], traffic=[TCP, UDP, PING], controls=[])
    scenario = of_json(whole)
    found = pickle.loads(pickle.dumps(scenario))
    assert found == scenario
    assert json.dumps(to_json(found)) == json.dumps(to_json(scenario))


CONTROL = {"name": "mine", "language": "python", "sha256": "00", "text": "# \u00e9\u2028\n\t\x7f\x01"}


@pytest.mark.parametrize(
    "changed",
    [
        {"traffic": [TCP, UDP, PING], "title": 'é \u2028 \\ " \x01'},
        {"controls": [CONTROL],
         "traffic": [{**TCP, "cc": {"name": "mine", "options": {}, "parameters": {"b": 1e-05, "a": 1e22, "c": 0.5}}}]},
    ],
)  # fmt: skip
def test_the_text_of_a_scenario_is_that_of_its_json_as_python_writes_it(changed: dict[str, Any]) -> None:
    whole = document(**changed)
    words = {"ensure_ascii": False, "separators": (",", ":")}
    assert to_text(of_json(whole)).decode() == json.dumps(to_json(of_json(whole)), **words)  # type: ignore[arg-type]
    assert to_text(of_json(whole), "alphabetical").decode() == json.dumps(whole, sort_keys=True, **words)  # type: ignore[arg-type]


def test_a_changed_copy_is_another_scenario() -> None:
    scenario = of_json(document())
    changed = replace(scenario, links=(replace(scenario.links[0], ring=(64, 64), interrupt_ns=(0, 0)),))
    assert to_json(changed) == document(links=[{**LINK, "ring": 64}])
    assert to_json(scenario) == document()
    with pytest.raises(AttributeError):
        scenario.seed = 2  # type: ignore[misc]


def test_imported_results_have_traffic_and_no_network() -> None:
    whole = {"title": "t", "seed": 0, "duration_ns": 5, "traffic": [
        {"kind": "tcp", "name": "u", "way": "up", "cc": {"name": "cubic"}}, {"kind": "ping", "name": "p"},
    ], "record": RECORD, "imported": "x.flent.gz"}  # fmt: skip
    found = of_json(whole)
    assert to_json(found) == whole
    assert found.traffic[1] == Observed(kind="ping", name="p")
    assert (found.tcp, found.devices) == ([], ())


def test_a_scenario_built_in_python_equals_one_read_from_json() -> None:
    flow = of_json(document()).tcp[0]
    assert isinstance(flow, Tcp)
    made = Scenario(
        title="t", seed=1, duration_ns=10**9, hosts=of_json(document()).hosts, links=of_json(document()).links,
        traffic=(flow,), record=resolved.Record(interval_ns=100_000_000, tcp_info="interval", events=True),
    )  # fmt: skip
    assert to_json(made) == document()


@pytest.mark.parametrize("name", ["demo", "cellular", "changing-path", "wifi-hidden", "wifi-rrul"])
def test_every_run_of_an_experiment_keeps_its_bytes(name: str) -> None:
    runs = load(Path(__file__).parents[3] / "experiments" / f"{name}.yaml").runs()
    for run in runs[:: max(len(runs) // 10, 1)]:
        text = json.dumps(to_json(run.scenario))
        assert json.dumps(to_json(of_json(json.loads(text)))) == text
