"""The samples of sockets over time, for means and percentiles."""

from tailback.analysis.sockets import at_intervals
from tailback.analysis.table import Columns, Table
from tailback.results.run import RunResult

COLUMNS = ("t", "flow", "rtt", "snd_cwnd")
"""What is read: all readers ask for the same, so that the columns of a file are checked once."""


def over_time(run: RunResult) -> Table:
    """The RTT (µs) and cwnd of the sending sockets at the ends of intervals. With `measure.tcp_info: ack` the table
    also has a sample for each ACK, of which most arrive while flows are fast: a mean of all would be one over packets.
    """
    record, sampled = run.record, run.columns("tcp_info", COLUMNS)
    if record.tcp_info != "ack":
        return Table.of(sampled)
    tables: dict[str, Columns] = {"tcp_info": sampled}
    if run.has("events"):
        tables["events"] = run.columns("events", ("t", "what", "flow"))
    return at_intervals(tables, [flow.name for flow in run.scenario.tcp], record.interval_ns)
