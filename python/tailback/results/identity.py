"""The identity of a run: the name of its folder, and a digest that is equal for runs with the same data."""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from tailback.resolved import Scenario, to_text

HASH_LENGTH = 8
"""Hexadecimal digits of the scenario's digest in a folder name."""

LONGEST_LABEL = 120
"""Maximum number of characters of axis values in a folder name; ext4 and NTFS allow 255 in total."""


class RunPlan(Struct, frozen=True):
    """A planned run."""

    name: str
    axes: Mapping[str, str]
    repetition: int
    seed: int
    scenario: Scenario
    fingerprint: str
    """Identifies the build of the backend; differs if the same scenario might give different tables."""
    window_ns: tuple[int, int]
    directions: Mapping[str, str]
    """`up` or `down` by name of the flow; other flows are absent."""
    groups: Mapping[str, str] = field(default_factory=dict)
    """The group of each flow whose entry names one."""

    @property
    def measure(self) -> dict[str, Any]:
        """The input of the summary."""
        groups = {"groups": dict(self.groups)} if self.groups else {}
        return {"window_ns": list(self.window_ns), "directions": dict(self.directions), **groups}

    def identity(self, backend: str) -> str:
        """Digest of everything that tables and summary depend on."""
        parts = {"measure": self.measure, "axes": dict(self.axes), "backend": backend, "fingerprint": self.fingerprint}
        # `scenario` is the last of these keys, and its text is made without the objects of Python.
        found = hashlib.sha256(_compact(parts)[:-1] + b',"scenario":')
        found.update(scenario_text(self.scenario))
        found.update(b"}")
        return found.hexdigest()


def digest(document: Any) -> str:
    """SHA-256 of a JSON document, independent of key order."""
    return hashlib.sha256(_compact(document)).hexdigest()


def scenario_text(scenario: Scenario) -> bytes:
    """The text of a scenario that `digest` reads of its JSON document."""
    return to_text(scenario, "alphabetical")


def _compact(document: Any) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def run_name(axes: Mapping[str, str], repetition: int, scenario: Scenario) -> str:
    """The name of a run: axis values, repetition, digits of the scenario's digest (`L10M-cubic-r1-3f2a9c01`)."""
    label = "-".join(_plain(value) for value in axes.values())[:LONGEST_LABEL]
    parts = [label] if label else []
    return "-".join([*parts, f"r{repetition}", hashlib.sha256(scenario_text(scenario)).hexdigest()[:HASH_LENGTH]])


def _plain(value: str) -> str:
    """`value` in characters that need no quoting in a shell and are allowed on all file systems."""
    plain = re.sub(r"[^A-Za-z0-9._+]+", "_", value).strip("_")
    # A leading dot would hide the folder.
    return plain.lstrip(".") or "_"
