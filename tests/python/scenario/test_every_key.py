"""What people type wrongly, at every key of the schema: each is refused with its key and a remedy, or has a meaning.

The keys are those of the JSON Schema, so that a new one is tried as well. A wrong word stands at all keys of a mapping
at once, because each of them must have an error of its own.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tailback.scenario import ScenarioError, loads
from tailback.scenario.schema.keys import json_schema

SCHEMA = json_schema()
LINK = {"ends": ["client", "server"], "rate": "10mbit", "delay": "5ms"}
TCP = {"tcp": "client -> server"}
CELL = {"wifi": {"ap": "router", "stations": ["client"]}, "standard": "802.11n", "width": "20MHz", "mcs": 7}


def experiment(**keys: Any) -> dict[str, Any]:
    return {"links": [LINK], "traffic": [TCP], "duration": "10s", **keys}


def traffic(entry: dict[str, Any]) -> tuple[dict[str, Any], tuple[Any, ...]]:
    return experiment(traffic=[entry]), ("traffic", 0)


def links(entry: dict[str, Any]) -> tuple[dict[str, Any], tuple[Any, ...]]:
    return experiment(links=[entry]), ("links", 0)


ENDPOINT = Path(__file__).parents[3] / "examples" / "transports" / "python" / "aimd.py"

PLACES: Mapping[str, tuple[dict[str, Any], tuple[Any, ...]]] = {
    "Keys": (experiment(), ()),
    "Host": (experiment(hosts={"client": {}}), ("hosts", "client")),
    "Nic": (experiment(hosts={"client": {"nic": {}}}), ("hosts", "client", "nic")),
    "Measure": (experiment(measure={}), ("measure",)),
    "Link": links(LINK),
    "Lan": links({"lan": ["client", "server"], "rate": "10mbit"}),
    "Wifi": (experiment(links=[CELL, {"ends": ["router", "server"], "rate": "10mbit"}]), ("links", 0)),
    "CellHosts": (experiment(links=[CELL, {"ends": ["router", "server"], "rate": "10mbit"}]), ("links", 0, "wifi")),
    "Change": (experiment(links=[{**LINK, "schedule": [{"at": "1s", "rate": "5mbit"}]}]), ("links", 0, "schedule", 0)),
    "SignalChange": (
        experiment(links=[{**CELL, "schedule": [{"at": "1s", "snr": "5dB"}]}, {"ends": ["router", "server"]}]),
        ("links", 0, "schedule", 0),
    ),
    "Dumbbell": links({"dumbbell": 1, "rate": "10mbit"}),
    "ParkingLot": links({"parking_lot": 2, "rate": "10mbit"}),
    "Star": links({"star": 2, "rate": "10mbit"}),
    "Tcp": traffic(TCP),
    "Udp": traffic({"udp": "client -> server", "rate": "1mbit"}),
    "Ping": traffic({"ping": "client -> server"}),
    "Call": traffic({"call": "client -> server"}),
    "Game": traffic({"game": "client -> server"}),
    "Page": traffic({"page": "client -> server"}),
    "Request": traffic({"request": "client -> server", "answer": "10kb"}),
    "Video": traffic({"video": "client -> server"}),
    "Program": traffic({"program": "client", "run": "ls"}),
    "Endpoint": traffic({"endpoint": str(ENDPOINT), "from": "client", "to": "server"}),
    "Preset": traffic({"preset": "rrul", "hosts": ["client", "server"]}),
}
"""An experiment with each mapping of the schema, and where it stands."""

WRONG = ["5 parsecs", "-5ms", "-1mbit", "9" * 30 + "s", "9" * 30, "５ms", "٥mbit", "²", "1,5ms", "1_000ms", "0x10",
         "5ms 5ms", "1.5.5mbit", "1/0", "5ms\n5ms", "", -5, 1.5, True, float("nan"), float("inf"), 10**30, [],
         {"a": {"b": 1}}, None]  # fmt: skip

TELLS = frozenset(
    ("tcp", "udp", "ping", "call", "game", "page", "request", "video", "endpoint", "program", "preset", "wifi", "lan",
     "ends", "dumbbell", "parking_lot", "star")
)  # fmt: skip
"""Keys that tell what an entry is. With a wrong word it may be nothing, and then no other key is looked at."""

FREE = frozenset(("title", "name", "group", "kernel", "channel", "let", "vary", "hosts", "routes", "qdiscs", "expect",
                  "sysctl", "nic", "measure", "edca", "access", "pcap", "packets", "schedule", "hidden", "environment",
                  "run", "input", "user", "files"))  # fmt: skip
"""Keys of names, which may be such words, and of mappings and lists, which may be empty."""


def keys_of(name: str) -> list[str]:
    found = SCHEMA if name == "Keys" else SCHEMA["$defs"][name]
    return [key for key in found["properties"] if key not in TELLS | FREE]


def refused(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """The keys that are refused with their message: all at once, and alone those that have no error then."""
    whole, at = PLACES[name]
    keys = keys_of(name)
    told = dict(_errors(whole, at, dict.fromkeys(keys, value)))
    for key in keys:
        if key not in told:
            told |= _errors(whole, at, {key: value})
    yield from told.items()


def _errors(whole: Mapping[str, Any], at: tuple[Any, ...], values: Mapping[str, Any]) -> dict[str, str]:
    made: Any = copy.deepcopy(whole)
    part = made
    for step in at:
        part = part[step]
    part.update(values)
    try:
        loads(yaml.safe_dump(made, allow_unicode=True))
    except ScenarioError as error:
        return {key: str(each) for each in error.findings for key in values if _is_of(each.path, key)}
    return {}


def _is_of(place: str, key: str) -> bool:
    return key in place.replace("[", ".").split(".")


def test_every_mapping_of_the_schema_is_tried() -> None:
    assert set(PLACES) == {"Keys", *SCHEMA["$defs"]}


@pytest.mark.parametrize("value", WRONG, ids=lambda value: repr(value)[:12])
def test_a_wrong_word_at_any_key_is_refused_with_a_remedy(value: Any) -> None:
    told = {f"{name}.{key}": text for name in PLACES for key, text in refused(name, value)}
    assert len(told) > 30
    for place, text in told.items():
        assert "hint: " in text, place
        assert not any(word in text for word in ("Traceback", "Input should", "type=", "pydantic", "msgspec")), text
        assert "\n" not in text.partition("\n  hint: ")[0], text


NONSENSE = ("5 parsecs", "²", "0x10", "1.5.5mbit", "1/0", "５ms", "٥mbit", "")


@pytest.mark.parametrize("value", NONSENSE)
def test_nonsense_has_a_meaning_nowhere(value: str) -> None:
    taken = [f"{name}.{key}" for name in PLACES for key in set(keys_of(name)) - dict(refused(name, value)).keys()]
    assert taken == []
