"""The algorithms of the simulator: queue disciplines, congestion controls and Wi-Fi drivers, with their parameters.

The rows come from the Rust core, one per algorithm file, so that a new algorithm needs no change here. The default
values are in the core, too: a scenario contains only the options that the file gives.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

from tailback.tc.rows import Row, rows


class Registry(Protocol):
    """A registry of algorithms."""

    @property
    def qdiscs(self) -> Sequence[Row]:
        """Queue disciplines."""

    @property
    def congestion_controls(self) -> Sequence[Row]:
        """Congestion controls."""

    @property
    def drivers(self) -> Sequence[Row]:
        """Wi-Fi drivers."""

    def resolved_qdisc(self, kind: str, given: Mapping[str, int], mtu: int) -> dict[str, int]:
        """All options of a discipline on a device with this MTU; raises `ValueError` if they conflict."""


class CoreRegistry:
    """The registry of the compiled simulator, `tailback._core`."""

    @cached_property
    def qdiscs(self) -> tuple[Row, ...]:
        return rows(_core().qdiscs())

    def named(self, name: str) -> Row | None:
        """The algorithm with this name, if any."""
        everything = (*self.congestion_controls, *self.drivers, *self.qdiscs)
        return next((row for row in everything if row.name == name), None)

    @cached_property
    def congestion_controls(self) -> tuple[Row, ...]:
        return rows(_core().congestion_controls())

    def resolved_qdisc(self, kind: str, given: Mapping[str, int], mtu: int) -> dict[str, int]:
        """All options of a discipline on a device with this MTU; raises `ValueError` if they conflict."""
        resolved: dict[str, int] = _core().resolved_qdisc(kind, dict(given), mtu)
        return resolved

    @cached_property
    def drivers(self) -> tuple[Row, ...]:
        return rows(_core().drivers())


#: The MTU for which options are resolved if there is no device.
ETHERNET_MTU = 1500


def _core() -> Any:
    return importlib.import_module("tailback._core")
