"""What senders say of themselves, for figures over time: the sockets of TCP, and endpoints of the user beside them."""

import pandas as pd

from tailback.results import RunResult

DATAGRAM = 1200.0
"""Bytes of a full datagram of an endpoint that does not say: the least of QUIC. [rfc9000 §14]"""

COLUMNS = ["flow", "t", "snd_cwnd", "rtt"]


def samples(run: RunResult) -> pd.DataFrame:
    """Rows of flow, t (s), snd_cwnd (segments; datagrams of an endpoint) and rtt (µs)."""
    parts = [run.tcp_info[COLUMNS]] if run.has("tcp_info") else []
    if run.has("endpoints"):
        parts.append(_of_endpoints(run.table("endpoints")))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=COLUMNS)


def _of_endpoints(table: pd.DataFrame) -> pd.DataFrame:
    known = table[(table["end"] == "from") & (table["cwnd_bytes"].notna() | table["rtt"].notna())]
    windows = known["cwnd_bytes"].astype(float) / known["datagram_bytes"].astype(float).fillna(DATAGRAM)
    return pd.DataFrame({"flow": known["flow"], "t": known["t"], "snd_cwnd": windows, "rtt": known["rtt"]})
