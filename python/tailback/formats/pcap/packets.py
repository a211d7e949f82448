"""The packets of a capture as a table: TCP, UDP and ICMP echo over IPv4 and IPv6. Other frames are counted.

A packet that was captured twice (on two interfaces of a router) has two rows.
"""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd

from tailback.formats.errors import NotReadable
from tailback.formats.pcap.decode import TYPES, Decoder
from tailback.formats.pcap.frames import frames

BATCH = 65_536
"""Frames that are decoded at a time."""

COLUMNS = tuple(TYPES)


@dataclass(frozen=True)
class Packets:
    """The packets of a capture, sorted by time."""

    table: pd.DataFrame
    """The columns `COLUMNS`; for a ping, the ports are its identifier, seq its number, flags its ICMP type. Hosts are
    categories.
    """
    others: Mapping[str, int]
    """The number of other frames, by what they are."""

    @property
    def left_out(self) -> int:
        """The number of other frames."""
        return sum(self.others.values())


def packets(path: Path) -> Packets:
    """The packets in the file at `path`; raises `NotReadable`."""
    decoder = Decoder()
    found = frames(path)
    parts = [decoder.columns(batch) for batch in iter(lambda: list(islice(found, BATCH)), [])]
    joined = {name: np.concatenate([part[name] for part in parts]) for name in COLUMNS} if parts else {}
    if not joined or not len(joined["t_ns"]):
        others = ", ".join(f"{count} {what}" for what, count in decoder.left_out.items()) or "it has no frames"
        raise NotReadable(f"`{path}` has no TCP, UDP or ping over IP\n  hint: {others}")
    hosts = [str(ipaddress.ip_address(each)) for each in decoder.addresses]
    table = pd.DataFrame(
        {
            name: pd.Categorical.from_codes(values, hosts) if name in ("source", "target") else values  # type: ignore[call-overload]
            for name, values in joined.items()
        }
    )
    t_ns = table["t_ns"].to_numpy()
    if (t_ns[1:] < t_ns[:-1]).any():
        table = table.iloc[np.argsort(t_ns, kind="stable")].reset_index(drop=True)
    return Packets(table, decoder.left_out)
