"""All metrics there are: where a summary has them, their unit, the function that is their definition.

`docs/metrics.md` is made of this list (`as_markdown`); a test holds the two together.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tailback.analysis import metrics, passive, queues, rates, sharing, udp, warmup, wifi


@dataclass(frozen=True)
class Described:
    """A metric in words."""

    name: str
    """As users call it."""
    key: str | None
    """Its key in `summary.json`; `None` if it is a series that only a function gives."""
    unit: str
    tables: tuple[str, ...]
    """The tables it is made of."""
    function: Callable[..., Any]

    @property
    def definition(self) -> str:
        """The docstring of its function."""
        return " ".join((inspect.getdoc(self.function) or "").split())

    @property
    def source(self) -> str:
        """Where its definition is from: what the head of its module says."""
        module = inspect.getdoc(inspect.getmodule(self.function)) or ""
        keys = re.findall(r"\[[a-z][^][`]*\]", module)
        return " ".join(dict.fromkeys(keys))

    @property
    def place(self) -> str:
        """`analysis.metrics.goodput`."""
        return f"{self.function.__module__.removeprefix('tailback.')}.{self.function.__name__}"


DESCRIBED: Mapping[str, Described] = {
    row.name: row
    for row in (
        Described("goodput", "goodput_mbps", "Mbit/s", ("flows",), metrics.goodput),
        Described("goodput over time", None, "Mbit/s", ("flows",), metrics.throughput_bins),
        Described("sliding throughput", None, "Mbit/s", ("flows",), rates.sliding_throughput),
        Described("ping", "ping_ms", "ms", ("ping",), metrics.ping_samples),
        Described("ping by name", "pings_ms", "ms", ("ping",), metrics.ping_samples_by_name),
        Described("TCP RTT", "tcp_rtt_ms", "ms", ("tcp_info",), metrics.tcp_rtt_samples),
        Described("congestion window", "cwnd_segments", "segments", ("tcp_info",), metrics.cwnd_samples),
        Described("pacing rate", "pacing_rate_mbps", "Mbit/s", ("tcp_info",), rates.pacing_rate_samples),
        Described("delivery rate", "delivery_rate_mbps", "Mbit/s", ("tcp_info",), rates.delivery_rate_samples),
        Described("Jain's index", "jain", "", ("flows",), metrics.jain_index),
        Described("Jain's index over time", None, "", ("flows",), sharing.jain_over_time),
        Described("convergence time", "convergence_s", "s", ("flows",), sharing.convergence_times),
        Described("flow completion time", "flow_completion_s", "s", ("events",), sharing.completion_times),
        Described("power", "power_mbps_per_ms", "Mbit/s per ms", ("flows", "tcp_info"), rates.power),
        Described("retransmits", "retransmits", "segments", ("tcp_info",), metrics.retransmits),
        Described("recoveries", "recoveries", "", ("events",), metrics.recoveries),
        Described("drops", "drops", "packets", ("events",), metrics.drops),
        Described("marks", "marks", "packets", ("events",), metrics.marks),
        Described("marks by reason", "marks_by", "packets", ("events",), metrics.marks_by_reason),
        Described("sojourn time", "sojourn_ms", "ms", ("qdisc",), queues.sojourn_samples),
        Described("utilisation", "utilisation", "", ("qdisc",), queues.utilisation),
        Described("passive RTT", "passive_rtt_ms", "ms", ("passive_rtt",), passive.passive_rtt),
        Described("one-way delay", "one_way_delay_ms", "ms", ("one_way_delay",), passive.one_way_delay),
        Described("goodput of captures", None, "B", ("flows",), passive.goodput),
        Described("retransmissions of captures", None, "segments", ("flows",), passive.retransmissions),
        Described("UDP loss", "udp_loss", "", ("udp",), udp.udp_loss),
        Described("UDP one-way delay", "udp_delay_ms", "ms", ("udp",), udp.udp_delay_samples),
        Described("MPDUs per PPDU", "ampdu_mpdus", "MPDUs", ("wifi",), wifi.ampdu_samples),
        Described("airtime share", "airtime_share", "", ("wifi",), wifi.airtime_share),
        Described("steady from", "steady_from_s", "s", ("flows", "tcp_info"), warmup.steady_from),
    )
}

HEAD = """# Metrics

This page defines every metric that Tailback computes, with its unit and source. `make metrics` writes it from the
docstrings in [python/tailback/analysis](../python/tailback/analysis).

Metrics cover the measurement window ([experiment-file.md](experiment-file.md)). In `summary.json`, a metric with many
samples is `{n, mean, min, p1, p5, p10, p25, p50, p75, p90, p95, p99, max}`; percentiles interpolate linearly between
order statistics. `tcp_rtt_up_ms` and `tcp_rtt_down_ms` cover one direction; `goodput_mbps` has `total`, `up`, `down`
and each of the `flows`. Unknown values are absent, never 0. Keys in brackets refer to
[references/sources.toml](../references/sources.toml).
"""


def as_markdown() -> str:
    """The page `docs/metrics.md`."""
    return HEAD + "".join(map(_section, DESCRIBED.values()))


def _section(row: Described) -> str:
    where = f"`{row.key}` in `summary.json`" if row.key else "a table"
    facts = [where, f"unit: {row.unit or 'none'}", f"from: {', '.join(f'`{table}`' for table in row.tables)}"]
    code = f"`tailback.{row.place}`"
    heading = row.name[0].upper() + row.name[1:]
    return f"\n## {heading}\n\n{' · '.join([*facts, code])}\n\n{row.definition}\n\nSource: {row.source}\n"


def main() -> None:
    """Prints the page."""
    print(as_markdown(), end="")


if __name__ == "__main__":
    main()
