"""The sysctls of a host, with their units and meanings in Linux 6.12.

The list is that of the simulator (`crates/world/src/build/sysctl.rs`). Other sysctls are refused, because they would
have no effect. Values are numbers without units, as in `sysctl -w`.
[linux-6.12 Documentation/networking/ip-sysctl.rst]
"""

from __future__ import annotations

from msgspec import Struct

from tailback.tc.errors import WordError, nearest_hint
from tailback.tc.units import shown, whole


class Sysctl(Struct, frozen=True):
    """One sysctl: `count` numbers from `min` to `max`. `default` is Linux's, but for `tcp_no_metrics_save`, which
    hosts of an experiment have at 1; for messages and listings."""

    name: str
    unit: str
    default: str
    meaning: str
    min: int = 0
    max: int = 1
    count: int = 1


_LARGE = 2**31 - 1

SYSCTLS: tuple[Sysctl, ...] = (
    Sysctl("net.ipv4.tcp_pacing_ca_ratio", "%", "120", "pacing rate in % of cwnd/srtt in avoidance", 1, 1000),
    Sysctl("net.ipv4.tcp_pacing_ss_ratio", "%", "200", "pacing rate in % of cwnd/srtt in slow start", 1, 1000),
    Sysctl(
        "net.ipv4.tcp_limit_output_bytes", "B", "1048576", "maximum bytes of one socket below TCP", min=1, max=_LARGE
    ),
    Sysctl(
        "net.ipv4.tcp_rmem", "B", "4096 131072 6291456", "receive buffer: minimum, initial, maximum",
        min=1, max=_LARGE, count=3,
    ),
    Sysctl(
        "net.ipv4.tcp_wmem", "B", "4096 16384 4194304", "send buffer: minimum, initial, maximum",
        min=1, max=_LARGE, count=3,
    ),
    Sysctl("net.ipv4.tcp_ecn", "0–2", "2", "ECN: 0 off, 1 request and accept it, 2 accept it", min=0, max=2),
    Sysctl("net.ipv4.tcp_slow_start_after_idle", "flag", "1", "cwnd decays after an idle time of one RTO"),
    Sysctl(
        "net.ipv4.tcp_no_metrics_save", "flag", "1",
        "0, as in Linux: a connection leaves RTT, reordering and, before 5.6, ssthresh to later ones to the same host",
    ),
    Sysctl(
        "net.ipv4.tcp_no_ssthresh_metrics_save", "flag", "1",
        "0: it leaves ssthresh since 5.6, too, if tcp_no_metrics_save is 0",
    ),
    Sysctl(
        "net.core.txrehash", "flag", "1",
        "a timeout draws another hash of the socket, and its packets go to another queue",
    ),
)  # fmt: skip

_BY_NAME = {row.name: row for row in SYSCTLS}


def sysctl(name: str, value: object) -> int | tuple[int, ...]:
    """Reads the value of a sysctl: an integer, or three for a buffer."""
    row = _BY_NAME.get(name)
    if row is None:
        raise WordError(f"`{shown(name)}` is not a known sysctl", nearest_hint(name, list(_BY_NAME)))
    numbers = [_number(word, row) for word in _words(value)]
    if len(numbers) != row.count:
        raise _refusal(value, row)
    if numbers != sorted(numbers):
        raise WordError(f"`{shown(value)}` is not in ascending order", f"write `{row.default}`, for example")
    return tuple(numbers) if row.count > 1 else numbers[0]


def _words(value: object) -> list[object]:
    if isinstance(value, str):
        return list(value.split())
    return list(value) if isinstance(value, list) else [value]


def _number(word: object, row: Sysctl) -> int:
    number = whole(word)
    word = word if number is None else number
    if isinstance(word, bool) or not isinstance(word, int) or not row.min <= word <= row.max:
        raise _refusal(word, row)
    return word


def _refusal(value: object, row: Sysctl) -> WordError:
    what = "one whole number" if row.count == 1 else f"{row.count} whole numbers"
    message = f"`{shown(value)}` is not a value of `{row.name}`"
    return WordError(message, f"it takes {what} between {row.min} and {row.max}, such as {row.default}")
