"""The disciplines at the end of a run in the form of `tc -s -j qdisc show`, the same for every backend.

A kernel reports it (`linux/qdisc_stats.py`). The simulator reports counters, levels and parts; the options come from
the scenario and are converted to the form of `tc` by the rows of `tailback.qdiscs`.
                                     [iproute2 q_*.c print_opt, compared by `python -m conformance.tc`]

Differences from `tc`: `dev` is the name of the device in tables (`router -> server`), the classes of a discipline are
in `classes` with the names of `tc -s class show`, and disciplines in series have the kind `series`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from tailback import _core, qdiscs
from tailback.resolved import Qdisc, Scenario
from tailback.tc.options import WHOLE

Json: TypeAlias = dict[str, Any]
Resolved: TypeAlias = Mapping[str, int]

ETHERNET_MTU = 1500


def of_simulator(scenario: Scenario, rows: Sequence[Mapping[str, Any]]) -> list[Json]:
    """The disciplines that `_core.run` reports, completed with the options of the scenario."""
    specs: dict[tuple[str, str], Qdisc] = {}
    devices = {device.name: device for device in scenario.devices}
    found = []
    for row in rows:
        device = devices[row["dev"]]
        spec = device.root if "root" in row else specs.get((device.name, row["parent"]))
        if spec is not None:
            specs |= {(device.name, f"{row['handle']}{minor:x}"): child for minor, child in spec.children}
        found.append(_entry(row, spec, ETHERNET_MTU if device.wire is None else device.wire.mtu))
    return found


def _entry(row: Mapping[str, Any], spec: Qdisc | None, mtu: int) -> Json:
    kind, own, parts = row["kind"], dict(row["own"]), row["parts"]
    resolved = _resolved(kind, spec, mtu)
    place = {name: row[name] for name in ("dev", "kind", "handle", "root", "parent") if name in row}
    counted = {name: row[name] for name in COUNTERS}
    shape = qdiscs.of(kind).shown
    shown = qdiscs.shown(kind, resolved, {} if spec is None else spec.options)
    shown |= {name: own.pop(name) for name in shape.among_options if name in own}
    # Probabilities from 0 to 1, as in `tc`.
    counters = {name: value / WHOLE if name in shape.shares else value for name, value in own.items()}
    return {**place, "options": shown, **counted, **counters, **({shape.parts: parts} if parts else {})}


def _resolved(kind: str, spec: Qdisc | None, mtu: int) -> Resolved:
    given = dict(spec.options) if spec is not None and spec.kind == kind else {}
    try:
        return dict(_core.resolved_qdisc(kind, given, mtu))
    except ValueError:
        # A discipline with classes, or in series, has no defaults to fill in.
        return given


COUNTERS = ("bytes", "packets", "drops", "overlimits", "requeues", "backlog", "qlen")
"""The counters of all disciplines."""
