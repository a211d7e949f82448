"""Options that the machine's `tc` does not know reach the kernel over netlink."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tailback import _core, qdiscs
from tailback.backends.linux import job, late_options
from tailback.backends.linux.disciplines import attach_tree
from tailback.backends.linux.links import Hop
from tailback.backends.linux.trees import NOTHING
from tailback.resolved import Qdisc, of_json
from tailback.scenario import CoreRegistry, words
from tc_options import drawn

QDISCS = CoreRegistry().qdiscs
LATE = [kind for kind, row in qdiscs.KINDS.items() if row.kernel.encoded is not None]
HOP = Hop(0, 0, 0, 1)


def told(kind: str, options: Mapping[str, int]) -> dict[str, Any]:
    """What the kernel would show of options that it was told."""
    step = late_options.configure(HOP, 1 << 16, Qdisc(kind=kind, options=dict(options)))
    decoded = qdiscs.of(kind).kernel.decoded
    assert decoded is not None
    shown, _ = decoded(bytes(step["options"]), b"")
    return dict(shown)


@pytest.mark.parametrize("kind", LATE)
def test_a_kernel_is_told_the_options_that_were_given_and_no_others(kind: str) -> None:
    steered = 0
    for text in [*drawn(kind, 40), "dualpi2 max_rtt 80ms", "dualpi2 classic_protection 25 alpha 0.5 min_qlen_step 7"]:
        found = words.discipline(text, QDISCS)
        shown, given = told(kind, found.options), dict(found.options)
        if given.pop("max_rtt", None):
            steered += 1
            resolved = _core.resolved_qdisc(kind, dict(found.options), 1500)
            given |= {name: resolved[name] for name in ("target", "tupdate", "alpha", "beta")}
        for name, value in given.items():
            times = ("target", "tupdate", "step_thresh")
            unit = 1000 if name in times else 256 if name in ("alpha", "beta") else 1
            # A flag that is off is not shown.
            assert shown.pop(name, 0) == (value // unit if name in times else value / unit), (text, name)
        assert shown == {}, text
    assert steered == 1


@pytest.mark.parametrize("known", [True, False])
def test_tc_adds_the_discipline_and_the_agent_configures_what_tc_does_not_know(
    monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    monkeypatch.setattr(late_options, "knows", lambda _kind: known)
    child = Qdisc(kind="dualpi2", options={"limit": 100})
    root = Qdisc(kind="htb", options={"rate": 10**7}, child=child)
    steps = list(attach_tree(HOP, root, NOTHING, 0, late_options.unknown_in(root)))
    [added] = [step["argv"] for step in steps if step["kind"] == "run" and "dualpi2" in step["argv"]]
    assert added[-1] == ("100" if known else "dualpi2")
    assert [(step["handle"], step["discipline"]) for step in steps if step["kind"] == "configure"] == (
        [] if known else [(2 << 16, "dualpi2")]
    )
    assert steps[-1]["kind"] == ("run" if known else "configure"), "it is configured when it is there"


def test_a_discipline_without_options_needs_nothing_of_the_kind(
    monkeypatch: pytest.MonkeyPatch, scenario: Callable[..., Any]
) -> None:
    monkeypatch.setattr(late_options, "knows", lambda _kind: False)
    assert late_options.unknown_in(Qdisc(kind="dualpi2")) == frozenset()
    assert late_options.unknown_in(Qdisc(kind="fq_codel", options={"limit": 100})) == frozenset()
    assert all(step["kind"] != "configure" for step in job.job_of(of_json(scenario()))["setup"])
