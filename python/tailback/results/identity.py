"""The identity of a run: the name of its folder, and the digest that tells whether two runs must give the same data."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tailback.resolved import Scenario, to_json

HASH_LENGTH = 8
"""Hexadecimal digits of the scenario's digest in a folder name."""

LONGEST_LABEL = 120
"""Characters of axis values in a folder name; ext4 and NTFS end at 255 with hash and suffixes."""


@dataclass(frozen=True)
class RunPlan:
    """A planned run: everything that this package must know about it."""

    name: str
    axes: Mapping[str, str]
    repetition: int
    seed: int
    scenario: Scenario
    fingerprint: str
    """Of what runs it: changes whenever the same scenario might give other tables."""
    window_ns: tuple[int, int]
    directions: Mapping[str, str]
    """`up` or `down` by flow; a flow that is neither is absent."""

    @property
    def measure(self) -> dict[str, Any]:
        """The input of the summary."""
        return {"window_ns": list(self.window_ns), "directions": dict(self.directions)}

    def identity(self, backend: str) -> str:
        """Digest of all that tables and summary depend on."""
        parts = {"scenario": to_json(self.scenario), "measure": self.measure, "axes": dict(self.axes)}
        return digest({**parts, "backend": backend, "fingerprint": self.fingerprint})


def digest(document: Any) -> str:
    """SHA-256 of a JSON document, independent of key order."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def run_name(axes: Mapping[str, str], repetition: int, scenario: Scenario) -> str:
    """`L10M-cubic-1ms-r1-3f2a9c01`: the axis values, the repetition, the head of the scenario's digest."""
    label = "-".join(_plain(value) for value in axes.values())[:LONGEST_LABEL]
    parts = [label] if label else []
    return "-".join([*parts, f"r{repetition}", digest(to_json(scenario))[:HASH_LENGTH]])


def _plain(value: str) -> str:
    """`value` in characters that need no quoting in a shell and exist on every file system."""
    plain = re.sub(r"[^A-Za-z0-9._+]+", "_", value).strip("_")
    # A leading dot would hide the folder.
    return plain.lstrip(".") or "_"
