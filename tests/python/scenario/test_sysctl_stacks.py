"""A sysctl that is newer than the stack of its host is refused by `check`, with the version that introduced it."""

from __future__ import annotations

from typing import Any

import pytest

from tailback import _core
from tailback.resolved import to_text
from tailback.scenario import loads
from tailback.scenario.defaults import STACKS
from tailback.scenario.errors import ScenarioError
from tailback.scenario.sysctl import SYSCTLS

FILE = "links: [{{ends: [a, b], rate: 10mbit}}]\nhosts: {{a: {{stack: {stack}, sysctl: {{{name}: {value}}}}}, b: }}\n"
FILE += "traffic: [{{tcp: a -> b}}]\nduration: 1s\n"


def refused(stack: str, name: str, value: object) -> str | None:
    try:
        loads(FILE.format(stack=stack, name=name, value=value))
    except ScenarioError as error:
        return str(error)
    return None


@pytest.mark.parametrize(
    ("stack", "name", "since"),
    [
        ("linux-5.4", "net.ipv4.tcp_rto_min_us", "6.11"),
        ("linux-6.6", "net.ipv4.tcp_rto_min_us", "6.11"),
        ("linux-5.10", "net.core.txrehash", "5.18"),
        ("linux-5.4", "net.ipv4.tcp_no_ssthresh_metrics_save", "5.6"),
        ("linux-4.14", "net.ipv4.tcp_comp_sack_nr", "4.18"),
        ("linux-3.10", "net.ipv4.tcp_notsent_lowat", "3.12"),
    ],
)
def test_a_sysctl_that_is_newer_than_the_stack_is_refused_with_its_version(stack: str, name: str, since: str) -> None:
    row = next(row for row in SYSCTLS if row.name == name)
    said = refused(stack, name, row.default)
    assert said is not None
    assert f"the stack `{stack}` has no `{name}`: Linux {since} introduced it" in said
    assert "linux-6.12" in said


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("row", SYSCTLS, ids=lambda row: row.name)
def test_what_check_accepts_the_simulator_accepts(stack: str, row: Any) -> None:
    value = row.default if row.count == 1 else f"[{', '.join(row.default.split())}]"
    if refused(stack, row.name, value) is not None:
        return
    (run,) = loads(FILE.format(stack=stack, name=row.name, value=value)).runs()
    _core.check(to_text(run.scenario).decode())
