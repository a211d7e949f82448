"""Which flows the numbers of a table are of, if not of all: TCP RTT and windows are sampled of the flows of `tcp`
entries, and not of the connections of requests, pages and videos, which may be most of the traffic. Retransmissions are
of all. Jain's index leaves out flows that have a size or no data at times. Loss and delay of datagrams are those of the
worst flow.
"""

from collections.abc import Iterable, Sequence

from tailback.analysis.metric import Column, Summary
from tailback.analysis.registry import of_key

SOCKETS = "tcp_info"
"""The table of sockets."""

OF_OTHERS = "exchanges"
"""The table of what the other connections have sent."""

MOST_NAMED = 3


def remarks(summaries: Iterable[Summary], columns: Sequence[Column]) -> list[str]:
    """What is to be said below a table with these columns."""
    runs = list(summaries)
    return [text for text in (of_some(runs, columns), _without_sizes(runs, columns), *_of_one(runs, columns)) if text]


def _without_sizes(summaries: Iterable[Summary], columns: Sequence[Column]) -> str:
    """Whose flows Jain's index leaves out; empty if it is of all."""
    titles = [column.title for column in columns if column.key == "jain"]
    left = dict.fromkeys(name for summary in summaries for name in summary.get("jain_without", ()))
    return f"{titles[0]} is of the flows that always have data, not of {_named(list(left))}" if titles and left else ""


def _of_one(summaries: Sequence[Summary], columns: Sequence[Column]) -> list[str]:
    """Which columns are of one of several flows, directions or devices, and of which."""
    groups: dict[str, list[str]] = {}
    for column in columns:
        parts = (summary.get(column.key.partition(".")[0], {}) for summary in summaries)
        if column.of and any(len(each) > 1 for each in parts):
            groups.setdefault(column.of, []).append(column.title)
    return [f"{_listed(titles)} {'is' if len(titles) == 1 else 'are'} of {of}" for of, titles in groups.items()]


def of_some(summaries: Iterable[Summary], columns: Sequence[Column]) -> str:
    """Which flows the columns about sockets are of; empty if they are of all flows over TCP, or if there are none."""
    titles = [column.title for column in columns if _is_of_sockets(column)]
    sampled: dict[str, None] = {}
    others: dict[str, None] = {}
    for summary in summaries:
        sockets, datagrams = summary.get("cwnd_segments", {}), summary.get("udp_loss", {})
        sampled |= dict.fromkeys(map(_entry, sockets))
        flows = summary.get("goodput_mbps", {}).get("flows", {})
        others |= dict.fromkeys(_entry(flow) for flow in flows if flow not in sockets and flow not in datagrams)
    # An entry may have flows that have not begun.
    rest = [name for name in others if name not in sampled]
    if not (titles and sampled and rest):
        return ""
    verb = "is" if len(titles) == 1 else "are"
    return f"{_listed(titles)} {verb} of {_named(list(sampled))} alone, without the connections of {_named(rest)}"


def _is_of_sockets(column: Column) -> bool:
    metric = of_key(column.key)
    return (
        metric is not None and SOCKETS in metric.tables and OF_OTHERS not in metric.tables and metric.rank != "outcome"
    )


def _entry(flow: str) -> str:
    """`page` for `page.3.1`."""
    return flow.partition(".")[0]


def _named(names: Sequence[str]) -> str:
    more = [f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []
    return _listed([*names[:MOST_NAMED], *more])


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
