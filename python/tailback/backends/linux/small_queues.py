"""TCP Small Queues as parameters of our kernel (`tcp_output.small_queue_*`, `kernel/README.md`); others have none."""

from tailback.resolved import SmallQueue

UNCAPPED = 1 << 40
"""A limit in bytes that has no effect."""


def small_queue(tsq: SmallQueue) -> dict[str, int]:
    """Values of our kernel's `tcp_output.small_queue_*`; empty for a time, which is set per socket."""
    match tsq:
        case SmallQueue(kind="off"):
            return {"shift": 0, "bytes": UNCAPPED}
        case SmallQueue(kind="check", shift=int(shift)):
            return {"shift": shift}
        case SmallQueue(kind="bytes", bytes=int(count)):
            return {"shift": 0, "bytes": count}
        case SmallQueue(kind="packets", packets=int(count)):
            return {"packets": count}
    return {}
