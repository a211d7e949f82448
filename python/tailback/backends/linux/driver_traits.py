"""What a driver profile tells mac80211 about itself. It follows from the options of the profile (`crates/wifi`), so
that a new profile needs nothing here.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from tailback import _core
from tailback.tc.rows import Row, rows


@dataclass(frozen=True)
class DriverTraits:
    """A driver, as mac80211 sees it."""

    fairness: bool
    """The driver reports airtime, which mac80211 then distributes."""
    limits: bool
    """mac80211 limits the airtime of frames in the device (AQL)."""
    chooses: bool
    """The firmware chooses the rates, so that mac80211 does not know the throughput to expect of a station."""

    vht: bool
    """Its radios are of 802.11ac or later, whatever the cell is, so that mac80211 gives more memory to their queues."""


HT_MEMORY = 4 << 20
"""Maximum memory of the packets in mac80211's queues above a radio before 802.11ac. [linux-6.12 tx.c
ieee80211_txq_setup_flows]"""


@functools.cache
def traits() -> Mapping[str, DriverTraits]:
    """The profiles with mac80211's queues, which each driver of Linux 6.12 has."""
    return {row.name: _traits(row) for row in rows(_core.drivers()) if row.parameter("limit") is not None}


def _traits(row: Row) -> DriverTraits:
    defaults = {parameter.name: parameter.default for parameter in row.parameters}
    return DriverTraits(
        fairness=bool(defaults.get("airtime_flags")),
        limits=bool(defaults.get("airtime")),
        chooses="frames" in defaults,
        vht=(defaults["memory_limit"] or 0) > HT_MEMORY,
    )
