"""Links of an experiment file, end to end: the simulator runs everything that the file accepts."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from properties import cases
from tailback import _core
from tailback.resolved import to_json
from tailback.scenario import loads

FILE = """\
links:
  - {{ends: [client, router], rate: 1gbit}}
  - {{ends: [router, server], delay: 10ms, {keys}}}
traffic:
  - {{tcp: client -> server, name: upload}}
  - {{ping: client -> server, interval: 50ms}}
duration: 2s
"""

PERCENT = st.floats(0, 20).map(lambda share: f"{share:.3f}%")
TREATMENTS = {
    "loss": st.one_of(
        PERCENT,
        st.tuples(PERCENT, PERCENT).map(" ".join),
        st.tuples(PERCENT, PERCENT).map(lambda shares: f"gemodel {shares[0]} {shares[1]}"),
    ),
    "jitter": st.tuples(
        st.integers(0, 10).map("{}ms".format),
        PERCENT,
        st.sampled_from(["", "distribution normal", "distribution pareto"]),
    ).map(" ".join),
    "duplicate": PERCENT,
    "corrupt": PERCENT,
    "reorder": PERCENT,
}


def each_way(value: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    return st.one_of(value, st.lists(st.one_of(st.none(), value), min_size=2, max_size=2))


TREATED = {key: each_way(value) for key, value in TREATMENTS.items()}
RATE = st.integers(1, 50).map("{}mbit".format)
CHANGES = st.fixed_dictionaries(
    {"at": st.integers(0, 1999).map("{}ms".format), "rate": each_way(RATE)},
    optional={
        "delay": st.integers(0, 30).map("{}ms".format),
        "state": each_way(st.sampled_from(["up", "down"])),
        **{key: value for key, value in TREATED.items() if key != "reorder"},
    },
)
LINKS = st.fixed_dictionaries(
    {"rate": RATE},
    optional={
        **TREATED,
        "police": each_way(
            st.tuples(st.integers(1, 50), st.integers(1, 90)).map(lambda each: f"rate {each[0]}mbit burst {each[1]}kb")
        ),
        "overhead": st.integers(0, 100).map("{}b".format),
        "ring": st.integers(1, 300),
        "bql": st.sampled_from(["on", "off", ["on", "off"]]),
        "schedule": st.lists(CHANGES, max_size=4).map(
            lambda found: sorted(found, key=lambda each: int(each["at"][:-2]))
        ),
    },
)


def ran(keys: str) -> dict[str, Any]:
    scenario = to_json(loads(FILE.format(keys=keys)).runs()[0].scenario)
    found: dict[str, Any] = _core.run(json.dumps(scenario), _core.Progress())["tables"]
    return found


def keeps_a_delay_to_skip(link: dict[str, Any]) -> bool:
    """The file refuses a change that takes the delay away from a link that reorders."""
    return "reorder" not in link or all(change.get("delay") != "0ms" for change in link.get("schedule", []))


@settings(max_examples=cases(30))
@given(LINKS.filter(keeps_a_delay_to_skip))
def test_every_link_that_the_file_takes_runs_and_repeats(link: dict[str, Any]) -> None:
    keys = json.dumps(link)[1:-1]
    assert ran(keys) == ran(keys)


def test_losses_are_reported_by_device_and_reason() -> None:
    tables = ran("rate: 20mbit, loss: [2%, null], corrupt: [null, 2%], schedule: [{at: 1500ms, state: [null, down]}]")
    events = tables["events"].to_arrow().to_pandas()
    drops = events[events["what"] == "drop"]
    found = {(str(where), str(reason)) for where, reason in zip(drops["where"], drops["reason"], strict=True)}
    assert found == {("router -> server", "random_loss"), ("client", "corrupted"), ("server -> router", "link_down")}


def test_what_exceeds_a_policer_is_a_drop_of_the_sending_device_and_the_rest_gets_no_more_than_its_rate() -> None:
    tables = ran("rate: 20mbit, police: [rate 4mbit burst 15kb, null]")
    events = tables["events"].to_arrow().to_pandas()
    drops = events[events["what"] == "drop"]
    assert {(str(where), str(reason)) for where, reason in zip(drops["where"], drops["reason"], strict=True)} == {
        ("router -> server", "policed")
    }
    flows = tables["flows"].to_arrow().to_pandas()
    assert 0 < flows["bytes"].sum() <= 4e6 / 8 * flows["t"].max() + 15_360


def test_what_changes_on_a_link_is_an_event_of_its_device() -> None:
    tables = ran(
        "rate: 20mbit, schedule: [{at: 1s, rate: [5mbit, null]}, {at: 1500ms, delay: 5ms, state: [null, down]}]"
    )
    events = tables["events"].to_arrow().to_pandas()
    changes = events[events["what"] == "link"]
    rows = zip(changes["t"], changes["where"].astype(str), changes["reason"].astype(str), changes["value"], strict=True)
    there, back = "router -> server", "server -> router"
    expected = [
        (1.0, there, "rate", 5e6),
        (1.5, there, "delay", 0.005),
        (1.5, back, "delay", 0.005),
        (1.5, back, "down"),
    ]
    assert [row if row[2] != "down" else row[:3] for row in rows] == expected
