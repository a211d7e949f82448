"""Options that `tc` of this machine does not know, because the discipline is newer: told over netlink by the agent."""

from __future__ import annotations

import functools
import subprocess

from tailback import _core, qdiscs
from tailback.backends.linux.links import Hop
from tailback.backends.linux.steps import TC, Json
from tailback.resolved import Qdisc

MTU = 1500
"""Nothing that is told depends on it."""


def unknown_in(root: Qdisc) -> frozenset[str]:
    """The kinds in a tree whose options `tc` does not know."""
    late = {node.kind for node in root.tree if node.options and qdiscs.of(node.kind).kernel.encoded is not None}
    return frozenset(kind for kind in late if not knows(kind))


@functools.cache
def knows(kind: str) -> bool:
    """Whether `tc` of this machine, which a guest uses, too, knows the options of a discipline."""
    words = [TC, "qdisc", "add", "dev", "lo", kind, "help"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env={"LC_ALL": "C"})
    return "Unknown qdisc" not in done.stderr


def configure(hop: Hop, handle: int, node: Qdisc) -> Json:
    """The step that gives a discipline its options."""
    encoded = qdiscs.of(node.kind).kernel.encoded
    if encoded is None:
        raise ValueError(f"the options of {node.kind} are told by `tc` alone")
    options = encoded(node.options, _core.resolved_qdisc(node.kind, dict(node.options), MTU))
    place = {"host": hop.host, "device": hop.device, "handle": handle, "discipline": node.kind}
    return {"kind": "configure", **place, "options": list(options)}
