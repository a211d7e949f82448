"""A sysctl is one row of the simulator: what CONTRIBUTING.md says of a new one, done with a toy."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

import pytest

from tailback import _core
from tailback.cli import listings, topics
from tailback.scenario import sysctl
from tailback.tc.errors import WordError

TOY: _core.Sysctl = {
    "name": "net.ipv4.tcp_toy",
    "unit": "ms",
    "default": "7",
    "meaning": "what a toy is for",
    "least": 2,
    "most": 9,
    "count": 1,
    "since": (6, 6),
    "newer": (8, (6, 12)),
}


@pytest.fixture
def with_toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    rows = [*_core.sysctls(), TOY]
    with monkeypatch.context() as patch:
        patch.setattr(_core, "sysctls", lambda: rows)
        importlib.reload(sysctl)
        yield
    importlib.reload(sysctl)


@pytest.mark.usefixtures("with_toy")
def test_a_new_row_is_listed_explained_read_and_bounded() -> None:
    assert ("net.ipv4.tcp_toy", "7: what a toy is for") in listings._sysctls()
    assert [each.text for each in topics._sysctl("toy")] == ["what a toy is for\nUnit: ms. Default: 7."]
    assert sysctl.sysctl("net.ipv4.tcp_toy", "5") == 5
    with pytest.raises(WordError) as refused:
        sysctl.sysctl("net.ipv4.tcp_toy", 10)
    assert "between 2 and 9, such as 7" in str(refused.value.hint)
    sysctl.check_stack("net.ipv4.tcp_toy", "linux-6.6")
    with pytest.raises(WordError, match=r"Linux 6\.6 introduced it"):
        sysctl.check_stack("net.ipv4.tcp_toy", "linux-5.10")
    sysctl.check_stack("net.ipv4.tcp_toy", "linux-6.6", 7)
    with pytest.raises(WordError, match=r"has no `net.ipv4.tcp_toy: 8`: Linux 6\.12 introduced it"):
        sysctl.check_stack("net.ipv4.tcp_toy", "linux-6.6", 8)
