"""Where a capture was made, per flow: at the sender of its data, at the receiver, or between them.

A host sends with a TTL of 64, 128 or 255, and each router takes one off. Packets whose TTL is whole come from the host
of the capture or from its own network. Where no router tells, times do: at the sender, the ACK of a segment comes late
and the answer to an ACK at once; at the receiver it is the other way round.
"""

import enum
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from tailback.analysis import acks
from tailback.analysis.acks import Samples
from tailback.analysis.conversations import ICMP, Conversations, Ints

WHOLE_TTL = np.array([64, 128, 255])

NEAR = 0.2
"""The share of the round trip that the side of the capture may take."""
SOON_MS = 1.5
"""A sender answers an ACK with data within this time; time stamps have steps of a millisecond."""

Floats = npt.NDArray[np.float64]


class Tap(enum.StrEnum):
    """The place of a capture on the path of a flow's data."""

    SENDER = "at the sender"
    RECEIVER = "at the receiver"
    MIDDLE = "between the ends"
    UNKNOWN = "unknown"


@dataclass(frozen=True, eq=False)
class Positions:
    """The place of the capture for each direction, with its ground."""

    taps: list[Tap]
    grounds: list[str]

    def where(self, tap: Tap) -> Ints:
        """The directions for which the capture is there."""
        return np.flatnonzero(np.array([each is tap for each in self.taps], dtype=bool))


def forwarding(count: int) -> Positions:
    """The place for all directions, if the host of the capture passes packets on."""
    return Positions([Tap.MIDDLE] * count, ["the packets are on two interfaces"] * count)


def positions(packets: Conversations, trips: Samples) -> Positions:
    """Where the capture was made, for each direction."""
    away = hops(_largest(packets.columns["ttl"], packets.code, len(packets)))
    beyond, behind = _quick(trips, len(packets)), _answers(packets, trips)
    taps, grounds = [], []
    for each, other in enumerate(packets.back.tolist()):
        theirs = int(away[other]) if other >= 0 else -1
        tap, ground = _place(int(away[each]), theirs, float(beyond[each]), float(behind[each]))
        taps.append(tap)
        grounds.append(ground)
    return Positions(taps, grounds)


def _quick(samples: Samples, count: int) -> Floats:
    """The first quartile of the times of each direction in ms; infinite without any."""
    found = np.full(count, np.inf)
    if len(samples.rows):
        quartiles = pd.Series(samples.values / 1e6).groupby(samples.directions).quantile(0.25)
        found[quartiles.index.to_numpy()] = quartiles.to_numpy()
    return found


def _answers(packets: Conversations, trips: Samples) -> Floats:
    """How long the sender of each direction takes from an ACK to data, in ms; seen from the place of the capture.

    By the time stamps that the data echoes; else by the ACK of what comes back, such as a SYN/ACK.
    """
    echoed = _quick(acks.answers(packets), len(packets))
    opposite = np.append(_quick(trips, len(packets)), np.inf)[packets.back]
    return np.where(np.isfinite(echoed), echoed, opposite)


def hops(ttl: Ints) -> Ints:
    """Routers behind a packet with this TTL; −1 if it is not known."""
    places = np.searchsorted(WHOLE_TTL, ttl)
    return np.where(ttl > 0, WHOLE_TTL[np.minimum(places, len(WHOLE_TTL) - 1)] - ttl, -1)


def _largest(values: Ints, code: Ints, count: int) -> Ints:
    found = np.zeros(count, dtype=np.int64)
    np.maximum.at(found, code, values)
    return found


def _place(own: int, theirs: int, beyond: float, behind: float) -> tuple[Tap, str]:
    """`beyond` is the time from data to its ACK, `behind` that of the sender from an ACK to data."""
    times = [
        f"{what} {ms:.3g} ms" for what, ms in (("data to ACK", beyond), ("ACK to data", behind)) if np.isfinite(ms)
    ]
    by_hops = _by_hops(own, theirs)
    if by_hops is None:
        return _by_times(beyond, behind), "; ".join(["no router between", *times])
    ground = f"its data has passed {_routers(own)}, its ACKs {_routers(theirs)}; {'; '.join(times)}".rstrip("; ")
    # The TTL is whole on all of the sender's network; a radio of it, for instance, would lie before the capture.
    near = behind <= max(SOON_MS, NEAR * (beyond + behind)) or not np.isfinite(behind)
    return (Tap.MIDDLE if by_hops is Tap.SENDER and not near else by_hops), ground


def _by_hops(own: int, theirs: int) -> Tap | None:
    if own == 0 and theirs > 0:
        return Tap.SENDER
    if own > 0 and theirs == 0:
        return Tap.RECEIVER
    return Tap.MIDDLE if own > 0 and theirs > 0 else None


def _routers(count: int) -> str:
    return "no router" if count == 0 else "1 router" if count == 1 else f"{count} routers"


def _by_times(beyond: float, behind: float) -> Tap:
    if not (np.isfinite(beyond) and np.isfinite(behind)):
        return Tap.UNKNOWN
    share = behind / max(beyond + behind, 1e-6)
    if share < NEAR:
        return Tap.SENDER
    return Tap.RECEIVER if share > 1 - NEAR else Tap.MIDDLE


def one_tap(table: pd.DataFrame) -> pd.DataFrame:
    """Each direction as one interface has it, of a capture of several: the one that has most of its connection.

    Linux's cooked capture, version 1, does not name interfaces; the lowest bit of `tap` tells packets in from out.
    """
    if not (table["tap"].to_numpy() != table["tap"].iloc[0]).any():
        return table
    sides = _sides(table)
    keys = pd.DataFrame({
        "connection": sides.groupby(["protocol", "low", "high"], sort=False).ngroup(),
        "way": sides["way"],
        "interface": table["tap"].to_numpy() >> 1,
        "side": table["tap"].to_numpy() & 1,
    })  # fmt: skip
    kept = _most(keys, ["connection", "way"], "interface", prefer=["connection"])
    within = keys[kept]
    kept[np.flatnonzero(kept)] = _most(within, ["connection", "way"], "side", prefer=["connection", "way"])
    return table[kept].reset_index(drop=True)


def _sides(table: pd.DataFrame) -> pd.DataFrame:
    """The two ends of each packet, the lower one first, and which of them sent it."""
    source = table["source"].cat.codes.to_numpy().astype(np.int64) << 16
    target = table["target"].cat.codes.to_numpy().astype(np.int64) << 16
    ported = table["protocol"].to_numpy() != ICMP
    source = source + np.where(ported, table["sport"].to_numpy(), 0)
    target = target + np.where(ported, table["dport"].to_numpy(), 0)
    return pd.DataFrame({
        "protocol": table["protocol"], "low": np.minimum(source, target), "high": np.maximum(source, target),
        "way": source > target,
    })  # fmt: skip


def _most(
    keys: pd.DataFrame, per: list[str], what: str, prefer: list[str]
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """The rows whose `what` has most packets of their group `prefer`, or of `per` where that has none there."""
    rows = keys.assign(row=np.arange(len(keys)))
    whole = rows.groupby([*prefer, what], sort=False)["row"].agg(["size", "min"]).reset_index()
    own = keys.groupby([*per, what], sort=False).size().rename("own").reset_index()
    counted = own.merge(whole, on=[*prefer, what])
    # Of equals the one that has the first packet.
    best = counted.sort_values(["size", "min"], ascending=[False, True], kind="stable").drop_duplicates(per)
    chosen = keys.merge(best[[*per, what]].rename(columns={what: "chosen"}), on=per, how="left")
    return np.asarray(chosen["chosen"].to_numpy() == keys[what].to_numpy(), dtype=bool)


def pings_seen_whole(table: pd.DataFrame) -> dict[str, Tap]:
    """Where the capture was made on the path of each ping, by the addresses of the asking and the asked host."""
    echoes = table[table["protocol"].to_numpy() == ICMP]
    found: dict[str, Tap] = {}
    if not len(echoes):
        return found
    asked = echoes[echoes["flags"] == 8].groupby(["source", "target"], observed=True)["ttl"].max()
    answered = echoes[echoes["flags"] == 0].groupby(["source", "target"], observed=True)["ttl"].max()
    for ends, ttl in asked.items():
        source, target = map(str, ends)
        back = answered.get((target, source), 0)
        own, theirs = (int(hops(np.array([int(each)]))[0]) for each in (ttl, back))
        found[f"{source} > {target}"] = _by_hops(own, theirs) or Tap.UNKNOWN
    return found
