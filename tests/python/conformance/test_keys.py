"""Which keys of the experiment file a conformance run has on a kernel, and which none has, with the reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tailback import scenario
from tailback.backends.linux import suitable
from tailback.scenario.traffic.endpoint import Endpoint
from tailback.scenario.traffic.program import Program

FOLDER = Path(__file__).parents[3] / "experiments" / "conformance"
KEYS = FOLDER / "keys.yaml"

UNTOUCHED = {
    "Link.ring": "a veth has no ring",
    "Link.bql": "a veth has no byte queue limits",
    "Nic.ring": "likewise",
    "Nic.bql": "likewise",
    "Host.nic": "likewise",
    "Link.interrupts": "a veth hands over each packet at once",
    "Nic.interrupts": "likewise",
    "Host.gro": "likewise",
    "Host.ssthresh": "Tailback does not ask a kernel for this yet",
    "Host.stack": "must be the version of the kernel",
    "Measure.pcap": "tests/python/backends/uml/test_captures.py compares packet by packet",
    "Link.overhead": "Tailback does not ask a kernel for this yet",
    "Request.barrier": "Tailback does not ask a kernel for this yet",
    "Measure.packets": "a kernel is not seen from inside",
    "Keys.expect": "conditions on the results, the same for every backend",
    "Keys.clock": "the simulator refuses it",
    **dict.fromkeys(
        (f"Endpoint.{field.alias or key}" for key, field in Endpoint.model_fields.items()),
        "kernels refuse a library; tests/python/backends/test_endpoints.py runs some",
    ),
    **dict.fromkeys(
        (f"Program.{key}" for key in Program.model_fields),
        "the simulator refuses programs; tests/python/backends/uml/test_programs.py runs them",
    ),
    **dict.fromkeys(
        ["Tcp.rate", "Tcp.write", "Tcp.on", "Tcp.off", "Link.police"],
        "no kernel run is stored; tests/python/search and test_policers look at the simulator",
    ),
    "Udp.adapt": "tests/python/backends/uml/test_runs.py compares what media send",
    "Keys.kernel": "only backends of kernels have it, so that there is nothing to compare",
    **dict.fromkeys(
        ["Tcp.group", "Udp.group", "Request.group", "Page.group"], "parts of tables and figures, not of runs"
    ),
    **dict.fromkeys(
        [
            *(
                "Video.video",
                "Video.name",
                "Video.group",
                "Video.rule",
                "Video.ladder",
                "Video.segment",
                "Video.buffer",
            ),
            *("Video.startup", "Video.size", "Video.cc", "Video.dscp", "Video.start", "Video.stop", "Video.jitter"),
        ],
        "tests/python/backends/uml/test_runs.py compares what videos show",
    ),
}
"""The keys that no conformance run has. Wi-Fi is compared with recorded runs (`conformance.wifi`)."""

NOT_FOR_KERNELS = ("Wifi", "CellHosts", "SignalChange")

EXPANDED = ("Dumbbell", "ParkingLot", "Star")
"""Short forms, which are plain links when a backend gets them."""

KINDS = {
    "links": {"lan": "Lan", "wifi": "Wifi", "ends": "Link"},
    "traffic": {
        "tcp": "Tcp",
        "udp": "Udp",
        "ping": "Ping",
        "call": "Call",
        "request": "Request",
        "page": "Page",
        "video": "Video",
        "game": "Game",
        "preset": "Preset",
        "endpoint": "Endpoint",
    },
}
"""The section of an entry, by the key that it must have."""


def sections() -> dict[str, set[str]]:
    """The keys of the schema, by section."""
    schema = scenario.json_schema()
    found = {name: set(each.get("properties", {})) for name, each in schema["$defs"].items()}
    return {"Keys": set(schema["properties"]), **{name: keys for name, keys in found.items() if keys}}


def touched(document: Mapping[str, Any]) -> Iterator[str]:
    """The keys of a file or of a patch of it, as `Section.key`."""
    for path, value in document.items():
        key, _, below = path.partition(".")
        key = key.partition("[")[0]
        yield f"Keys.{key}"
        if key in KINDS and not below and isinstance(value, list):
            for entry in value:
                yield from _of_entry(key, entry)
        elif key == "hosts" and isinstance(value, Mapping):
            for host in value.values():
                yield from (f"Host.{name}" for name in host or {})
        elif key == "measure" and isinstance(value, Mapping):
            yield from (f"Measure.{name}" for name in value)
        elif key == "vary":
            for axis, values in value.items():
                yield f"Keys.{axis}"
                patches = values.values() if isinstance(values, Mapping) else ()
                for patch in patches:
                    yield from touched(patch) if isinstance(patch, Mapping) else ()
        assert not below or key in ("links", "traffic"), path


def _of_entry(key: str, entry: Mapping[str, Any]) -> Iterator[str]:
    section = next(section for name, section in KINDS[key].items() if name in entry)
    yield from (f"{section}.{name}" for name in entry)
    changes = "SignalChange" if section == "Wifi" else "Change"
    for change in entry.get("schedule", ()):
        yield from (f"{changes}.{name}" for name in change)


def all_touched() -> set[str]:
    files = sorted(FOLDER.glob("*.yaml"))
    return {key for file in files for key in touched(yaml.safe_load(file.read_text(encoding="utf-8")))}


def test_every_key_that_a_kernel_can_take_is_in_a_conformance_run() -> None:
    known = {
        f"{name}.{key}"
        for name, keys in sections().items()
        if name not in (*NOT_FOR_KERNELS, *EXPANDED)
        for key in keys
    }
    missing = known - all_touched()
    assert missing == set(UNTOUCHED)


def cases() -> list[str]:
    return list(yaml.safe_load(KEYS.read_text(encoding="utf-8"))["vary"]["case"])


@pytest.mark.parametrize("case", cases())
def test_a_kernel_can_run_each_case(case: str) -> None:
    (run,) = scenario.load(KEYS, [f"case={case}"]).runs()
    assert list(suitable.findings(run.scenario)) == []
