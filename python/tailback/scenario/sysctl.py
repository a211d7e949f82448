"""The sysctls of a host, with their units and meanings in Linux 6.12, or in the Linux that introduced them.

The list is that of the simulator (`crates/tcp/src/sysctl.rs`). Other sysctls are refused, because they would
have no effect. Values are numbers without units, as in `sysctl -w`.
[linux-6.12 Documentation/networking/ip-sysctl.rst]
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from tailback.on_demand import by_name
from tailback.scenario.defaults import STACKS
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

    @property
    def since(self) -> str:
        """The version of Linux that introduced it; empty if all stacks have it."""
        return _SINCE.get(self.name, "")


_SINCE: Mapping[str, str] = {
    "net.ipv4.tcp_pacing_ca_ratio": "4.3",
    "net.ipv4.tcp_pacing_ss_ratio": "4.3",
    "net.ipv4.tcp_no_ssthresh_metrics_save": "5.6",
    "net.core.txrehash": "5.18",
    "net.ipv4.tcp_recovery": "4.4",
    "net.ipv4.tcp_max_reordering": "3.19",
    "net.ipv4.tcp_rto_min_us": "6.11",
    "net.ipv4.tcp_rto_max_ms": "6.15",
    "net.ipv4.tcp_syn_linear_timeouts": "6.5",
    "net.ipv4.tcp_pingpong_thresh": "6.7",
    "net.ipv4.tcp_comp_sack_rtt_percent": "6.19",
    "net.ipv4.tcp_rcvbuf_low_rtt": "6.19",
    "net.ipv4.tcp_min_rtt_wlen": "4.4",
    "net.ipv4.tcp_comp_sack_nr": "4.18",
    "net.ipv4.tcp_comp_sack_delay_ns": "4.18",
    "net.ipv4.tcp_comp_sack_slack_ns": "5.8",
    "net.ipv4.tcp_shrink_window": "6.1",
    "net.ipv4.tcp_notsent_lowat": "3.12",
    "net.ipv4.tcp_autocorking": "3.14",
    "net.ipv4.tcp_min_tso_segs": "3.12",
    "net.ipv4.tcp_tso_rtt_log": "5.18",
    "net.ipv4.tcp_invalid_ratelimit": "4.0",
}
"""The version of Linux that introduced a sysctl, where a stack may be older. [references/stacks.toml]"""

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
        "0, as in Linux: a host saves a connection's RTT, reordering and (before 5.6) ssthresh for later connections",
    ),
    Sysctl(
        "net.ipv4.tcp_no_ssthresh_metrics_save", "flag", "1",
        "0: a host saves ssthresh since 5.6, too, if tcp_no_metrics_save is 0",
    ),
    Sysctl(
        "net.core.txrehash", "flag", "1",
        "a timeout draws another hash of the socket, and its packets go to another queue",
    ),
    Sysctl("net.ipv4.tcp_sack", "flag", "1", "selective acknowledgements, if both ends have them"),
    Sysctl("net.ipv4.tcp_dsack", "flag", "1", "data that arrives twice is reported"),
    Sysctl("net.ipv4.tcp_timestamps", "0–2", "1", "time stamps, if both ends have them: 0 off, 1 and 2 on", max=2),
    Sysctl("net.ipv4.tcp_window_scaling", "flag", "1", "windows above 64 KiB, if both ends have them"),
    Sysctl(
        "net.ipv4.tcp_recovery", "bits", "1",
        "1: RACK detects losses; 2 more: its window does not grow with DSACKs; 4 more: it ignores the number of SACKs",
        min=1, max=7,
    ),
    Sysctl("net.ipv4.tcp_early_retrans", "0–4", "3", "tail loss probes: 3 and 4 on, others off", max=4),
    Sysctl("net.ipv4.tcp_frto", "0–2", "2", "F-RTO undoes spurious timeouts: 0 off, 1 and 2 on", max=2),
    Sysctl("net.ipv4.tcp_reordering", "segments", "3", "degree of reordering assumed at first", 1, 1000),
    Sysctl("net.ipv4.tcp_max_reordering", "segments", "300", "largest degree of reordering", 1, 100_000),
    Sysctl(
        "net.ipv4.tcp_rto_min_us", "µs", "200000", "least retransmission timeout above the RTT",
        1, 120_000_000,
    ),
    Sysctl("net.ipv4.tcp_rto_max_ms", "ms", "120000", "greatest retransmission timeout", 1000, 120_000),
    Sysctl("net.ipv4.tcp_min_rtt_wlen", "s", "300", "time for which a minimum RTT is remembered", max=86_400),
    Sysctl("net.ipv4.tcp_retries2", "timeouts", "15", "timeouts after which a connection is aborted", 1, 255),
    Sysctl("net.ipv4.tcp_syn_retries", "SYNs", "6", "SYNs sent again, after the linear ones", 1, 127),
    Sysctl("net.ipv4.tcp_syn_linear_timeouts", "SYNs", "4", "SYN timeouts that are not doubled", max=127),
    Sysctl(
        "net.ipv4.tcp_pingpong_thresh", "answers", "1",
        "answers within the delay of an ACK that make a connection interactive", 1, 255,
    ),
    Sysctl("net.ipv4.tcp_synack_retries", "SYN-ACKs", "5", "SYN-ACKs sent again", max=255),
    Sysctl(
        "net.ipv4.tcp_thin_linear_timeouts", "flag", "0",
        "the first six timeouts of a flow with fewer than four segments in flight are not doubled",
    ),
    Sysctl("net.ipv4.tcp_comp_sack_nr", "ACKs", "44", "duplicate ACKs that become one, at most", max=255),
    Sysctl(
        "net.ipv4.tcp_comp_sack_rtt_percent", "%", "33", "delay of duplicate ACKs in % of the RTT", 1, 1000,
    ),
    Sysctl(
        "net.ipv4.tcp_comp_sack_delay_ns", "ns", "1000000", "delay of duplicate ACKs, at most", max=1_000_000_000
    ),
    Sysctl(
        "net.ipv4.tcp_comp_sack_slack_ns", "ns", "100000", "how much later their timer may fire", max=1_000_000_000
    ),
    Sysctl(
        "net.ipv4.tcp_moderate_rcvbuf", "flag", "1", "the receive buffer grows with what the application reads"
    ),
    Sysctl(
        "net.ipv4.tcp_rcvbuf_low_rtt", "µs", "1000", "RTT below which the receive buffer grows less", max=_LARGE,
    ),
    Sysctl("net.ipv4.tcp_shrink_window", "flag", "0", "a window may shrink if memory is short"),
    Sysctl(
        "net.ipv4.tcp_notsent_lowat", "B", "4294967295",
        "unsent bytes up to which an application may write, without the socket option", max=2**32 - 1,
    ),
    Sysctl("net.ipv4.tcp_autocorking", "flag", "1", "a short write waits for a transmit completion"),
    Sysctl(
        "net.ipv4.tcp_tso_win_divisor", "share", "3", "the share of the window for which an skb is not deferred",
        max=_LARGE,
    ),
    Sysctl("net.ipv4.tcp_min_tso_segs", "segments", "2", "least number of segments of an skb", 1, 255),
    Sysctl(
        "net.ipv4.tcp_tso_rtt_log", "log2 µs", "9",
        "skbs are larger at a minimum RTT below 2 to this power of µs; 0: they do not depend on it",
        max=31,
    ),
    Sysctl(
        "net.ipv4.tcp_mtu_probing", "0–2", "0", "search for the path MTU: 0 never, 1 after a black hole, 2 always",
        max=2,
    ),
    Sysctl("net.ipv4.tcp_base_mss", "B", "1024", "size of segments with which that search begins", 48, 32_767),
    Sysctl(
        "net.ipv4.tcp_invalid_ratelimit", "ms", "500", "least time between ACKs of unacceptable segments", max=_LARGE
    ),
)  # fmt: skip

_LINUX = "linux-"

_BY_NAME = by_name(SYSCTLS)

# Sysctls for which experiments have keys of their own.
_ELSEWHERE = {
    "net.ipv4.tcp_congestion_control": "write `cc`, for the experiment or an entry of `traffic`",
    "net.core.default_qdisc": "write `qdiscs`, for each device",
    "net.core.rmem_max": "not needed: `rcvbuf` of an entry of `traffic` is not limited by it",
    "net.core.wmem_max": "not needed: `sndbuf` of an entry of `traffic` is not limited by it",
}


def sysctl(name: str, value: object) -> int | tuple[int, ...]:
    """Reads the value of a sysctl: an integer, or three for a buffer."""
    row = _BY_NAME.get(name)
    if row is None:
        hint = _ELSEWHERE.get(name) or nearest_hint(name, list(_BY_NAME))
        raise WordError(f"`{shown(name)}` is not a known sysctl", hint)
    numbers = [_number(word, row) for word in _words(value)]
    if len(numbers) != row.count:
        raise _refusal(value, row)
    if numbers != sorted(numbers):
        raise WordError(f"`{shown(value)}` is not in ascending order", f"write `{row.default}`, for example")
    return tuple(numbers) if row.count > 1 else numbers[0]


def check_stack(name: str, stack: str) -> None:
    """Refuses a sysctl that is newer than the stack of its host."""
    row = _BY_NAME[name]
    if _lacks(row, stack):
        introduced = f"Linux {row.since} introduced it" if stack.startswith(_LINUX) else "it is one of Linux"
        known = [each for each in STACKS if not _lacks(row, each)]
        hint = f"remove it, or give the host a stack that has it: {', '.join(known)}"
        raise WordError(f"the stack `{stack}` has no `{name}`: {introduced}", hint)


def _lacks(row: Sysctl, stack: str) -> bool:
    if not stack.startswith(_LINUX):
        # FreeBSD has the settings of its time under other names; what a later Linux introduced it has not.
        return bool(row.since)
    return bool(row.since) and _version(row.since) > _version(stack.removeprefix(_LINUX))


def _version(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


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
