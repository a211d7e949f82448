"""Metrics of captures, from tables of packets: goodput, retransmissions, pings, one-way delay, passive RTT.

One-way delay: for a packet captured at both ends, the time there minus the time here. It is as accurate as the two
clocks. Passive RTT: synthetic packet pairs [zander2013]. A packet sent from here to there is paired with the next
packet sent from there; RTT = (t_back,here − t_out,here) − (t_back,there − t_out,there). The clocks need not be
synchronised, and processing time at the far host does not count. Each packet is in at most one pair.

Two packets in two files are the same packet if addresses, ports, sequence numbers, length, identification and timestamp
are equal; of several equal ones, the k-th here matches the k-th there.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tailback.analysis import acks
from tailback.analysis.conversations import (
    ICMP,
    TCP,
    UDP,
    Conversations,
    Ints,
    Mask,
    conversations,
    extended,
    with_brackets,
)
from tailback.analysis.table import frame

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ICMP", "TCP", "UDP", "goodput", "one_way_delay", "passive_rtt", "pings", "retransmissions", "unwrapped"]

ECHO_REQUEST, ECHO_REPLY = 8, 0

SAME = (
    "protocol", "source", "target", "sport", "dport", "seq", "ack", "flags", "payload", "identification", "tsval",
)  # fmt: skip

MEGA = 1e6


def goodput(table: "pd.DataFrame", start_ns: int) -> "pd.DataFrame":
    """Bytes that receivers acknowledged for the first time: `t` (s since `start_ns`), `flow` (of the data), `bytes`.
    For UDP, and for TCP whose ACKs the capture does not have: bytes that passed. SYN and FIN do not count.
    """
    packets = conversations(table)
    acked, passed = acks.acknowledged(packets), acks.seen(packets)
    alone = ~packets.tcp | (packets.back < 0)
    kept = alone[passed.directions]
    rows = np.concatenate([acked.rows, passed.rows[kept]])
    flows = [*_names(packets, acked.directions), *_names(packets, passed.directions[kept])]
    values = np.concatenate([acked.values, passed.values[kept]])
    found = frame({"t": (packets.t_ns[rows] - start_ns) / 1e9, "flow": flows, "bytes": values})
    return found.sort_values("t", kind="stable").reset_index(drop=True)


def _names(packets: Conversations, directions: Ints) -> list[str]:
    """The names of directions; a negative one is the opposite of one that the capture has."""
    names = np.array([*packets.names, *(_turned_name(name) for name in reversed(packets.names))], dtype=object)
    return list(names[directions])


def _turned_name(name: str) -> str:
    source, _, target = name.partition(" > ")
    target, _, number = target.partition(" ")
    return f"{target} > {source} {number}".strip()


def retransmissions(table: "pd.DataFrame") -> dict[str, int]:
    """Data segments of each flow that begin below the highest sequence number seen so far. In a capture at the sender
    these are retransmissions; elsewhere they include reordered segments. A flow without data is absent.
    """
    packets = conversations(table)
    again = acks.sent_again(packets)
    counts = np.bincount(again.directions, weights=again.values, minlength=len(packets)).astype(np.int64)
    data = np.bincount(packets.code, weights=packets.is_tcp * packets.columns["payload"], minlength=len(packets))
    return {packets.names[each]: int(counts[each]) for each in np.flatnonzero(data > 0)}


def pings(table: "pd.DataFrame", start_ns: int) -> "pd.DataFrame":
    """Echo requests and their replies: `t` (s, of the request), `ping` (name), `seq`, `rtt_ms` (null if lost)."""
    echoes = table[table["protocol"] == ICMP].astype({"source": str, "target": str})
    asked = echoes[echoes["flags"] == ECHO_REQUEST].drop_duplicates(["source", "target", "sport", "seq"])
    answered = echoes[echoes["flags"] == ECHO_REPLY].drop_duplicates(["source", "target", "sport", "seq"])
    both = asked.merge(
        answered.rename(columns={"source": "target", "target": "source"}), on=["source", "target", "sport", "seq"],
        how="left", suffixes=("", "_back"),
    )  # fmt: skip
    name = "ping " + both["source"] + " > " + both["target"] + " " + both["sport"].astype(str)
    return frame(
        {"t": (both["t_ns"] - start_ns) / 1e9, "ping": name, "seq": both["seq"].astype("int64"),
         "rtt_ms": (both["t_ns_back"] - both["t_ns"]) / MEGA}
    )  # fmt: skip


def one_way_delay(here: "pd.DataFrame", there: "pd.DataFrame") -> "pd.DataFrame":
    """One-way delay in ms of each packet that was captured at two places, from *here*, the first, to *there*: `t_ns`
    (time here), `flow`, `owd_ms`. It is as accurate as the two clocks.
    """
    both = _matched(here, there)
    forward = both[both["t_ns_there"] >= both["t_ns"]]
    delay = (forward["t_ns_there"] - forward["t_ns"]) / MEGA
    return frame({"t_ns": forward["t_ns"], "flow": flow_names(forward), "owd_ms": delay}).reset_index(drop=True)


def least_delays(here: "pd.DataFrame", there: "pd.DataFrame") -> tuple[float, float] | None:
    """The shortest times in ms from *here* to *there*, and back, by the two clocks, of the flow with most packets."""
    both = _matched(here, there)
    if not len(both):
        return None
    flows, apart = flow_names(both), (both["t_ns_there"] - both["t_ns"]) / MEGA
    one = flows.value_counts().index[0]
    medians = apart.groupby(flows).median()
    out, back = apart[flows == one], apart[flow_names(_turned(both)) == one]
    if not len(back):
        return None
    first, second = (out, back) if medians[one] >= back.median() else (back, out)
    return float(first.min()), float((-second).min())


def passive_rtt(here: "pd.DataFrame", there: "pd.DataFrame") -> "pd.DataFrame":
    """Passive RTT in ms between the places of two captures, *here* and *there*: the time from when a packet passes here
    on its way there until the next packet from there passes here, without the time between the two packets there.
    `t_ns` (time here, of the packet back), `flow` (of the packet out), `rtt_ms`.

    Of the two directions of a connection, *out* is the one whose packets take longer by the two clocks. The offset
    between the clocks cancels out.
    """
    both = _matched(here, there)
    both = both.assign(flow=flow_names(both), opposite=flow_names(_turned(both)))
    apart = (both["t_ns_there"] - both["t_ns"]).groupby(both["flow"]).median()
    ends = both.drop_duplicates("flow")
    other = apart.reindex(ends["opposite"]).to_numpy(dtype=np.float64)
    outward = ends.loc[apart.reindex(ends["flow"]).to_numpy(dtype=np.float64) > other, "flow"].tolist()
    ranks = {flow: rank for rank, flow in enumerate(outward)}
    out, back = (both[name].map(ranks) for name in ("flow", "opposite"))
    rank = out.fillna(back).to_numpy(dtype=np.float64)
    kept = ~np.isnan(rank)
    return _pairs(both[kept], rank[kept].astype(np.int64), out.notna().to_numpy()[kept], outward)


def flow_names(table: "pd.DataFrame") -> "pd.Series":
    """The flow of each packet, such as `10.0.0.1:1024 > 10.0.0.3:5201`."""
    ends = [
        table[host].astype(str).map(with_brackets) + ":" + table[port].astype(str)
        for host, port in (("source", "sport"), ("target", "dport"))
    ]
    return ends[0] + " > " + ends[1]


def unwrapped(numbers: Iterable[int]) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """32-bit sequence numbers of one direction, extended to 64 bits across wraps."""
    values = np.fromiter(numbers, dtype=np.int64)
    if not len(values):
        return values
    one = np.zeros(len(values), dtype=np.int64)
    return np.asarray(values[0] + extended(values, one, np.arange(len(values))), dtype=np.int64)


def _pairs(both: "pd.DataFrame", rank: Ints, is_out: Mask, outward: Sequence[str]) -> "pd.DataFrame":
    """Pairs each packet back with the last packet out of its connection that arrived there before; an earlier pair
    keeps its packet. `rank` is the connection of each packet, with its flow in `outward`.
    """
    here, there = both["t_ns"].to_numpy(), both["t_ns_there"].to_numpy()
    # A packet out that arrives there at the same time as one back leaves is before it.
    order = np.lexsort((~is_out, there, rank))
    here, there, rank, is_out = here[order], there[order], rank[order], is_out[order]
    last = np.maximum.accumulate(np.where(is_out, np.arange(len(rank)), -1)) if len(rank) else rank
    back = np.flatnonzero(~is_out & (last >= 0))
    back = back[rank[last[back]] == rank[back]]
    asked = last[back]
    first = np.ones(len(back), dtype=bool)
    first[1:] = asked[1:] != asked[:-1]
    back, asked = back[first], asked[first]
    rtt_ms = ((here[back] - here[asked]) - (there[back] - there[asked])) / MEGA
    flows = np.array([*outward, ""], dtype=object)[rank[back]]
    return frame({"t_ns": here[back], "flow": flows, "rtt_ms": rtt_ms})


def _matched(here: "pd.DataFrame", there: "pd.DataFrame") -> "pd.DataFrame":
    """The packets that are in both files, with `t_ns` (here) and `t_ns_there`."""
    keys = list(SAME)
    plain = [side.astype({"source": str, "target": str}) for side in (here, there)]
    sides = [side.assign(copy=side.groupby(keys, sort=False).cumcount()) for side in plain]
    return sides[0].merge(sides[1], on=[*keys, "copy"], suffixes=("", "_there"))


def _turned(table: "pd.DataFrame") -> "pd.DataFrame":
    """The packets with source and destination swapped."""
    turns = {"source": "target", "target": "source", "sport": "dport", "dport": "sport"}
    return table.rename(columns=turns)
