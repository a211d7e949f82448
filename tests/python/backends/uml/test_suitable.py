"""Settings that a kernel does not support are refused by name before anything starts."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tailback.backends import Unsuitable
from tailback.backends.uml import Uml, suitable
from tailback.backends.uml.instance import Machine
from tailback.kernel.cache import Kernel, Manifest
from tailback.resolved import of_json

ATH9K = {"name": "ath9k", "options": {}}
HT = {"format": "ht", "width": 40, "streams": 2, "mcs": 7, "guard_ns": 400}
UDP = {"kind": "udp", "name": "flood", "from": 0, "to": 2, "start_ns": 0, "stop_ns": 1, "rate_bps": 8, "size": 1,
       "sndbuf": None}  # fmt: skip
ECHO = {"kind": "ping", "name": "udp-ping", "from": 0, "to": 2, "start_ns": 0, "stop_ns": 1, "interval_ns": 1,
        "size": 19, "protocol": "udp"}  # fmt: skip
Make = Callable[..., dict[str, Any]]


def cell(station: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """The client, a station of the router."""
    plain = {"host": 0, "mode": HT, "rate": "fixed", "loss_ppm": 0, "driver": ATH9K}
    stations = [plain | (station or {})]
    base = {"access_point": 1, "stations": stations, "band": "5GHz", "rts": False, "mpdu_overhead": 38, "driver": ATH9K}
    return base | changes


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    (tmp_path / "config").write_text("CONFIG_TCP_CONG_CUBIC=y\nCONFIG_NET_SCH_HTB=y\n")
    return Kernel(tmp_path, Manifest("stock", "d", "6.12.1", "linux-source-6.12", "gcc", "2026", 1.0))


def changed(make: Make, change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    scenario = make()
    change(scenario)
    return scenario


@pytest.mark.parametrize("stack", ["linux-6.12", "linux-5.10", "linux-5.10.262"])
def test_a_kernel_runs_stacks_of_its_series(stack: str, scenario: Make, kernel: Kernel) -> None:
    theirs = replace(kernel, manifest=replace(kernel.manifest, version="5.10.262"))
    suitable.check(of_json(changed(scenario, lambda s: s["hosts"][0].update(stack=stack))), theirs)


def test_what_a_kernel_can_run_is_not_refused(scenario: Make, kernel: Kernel) -> None:
    suitable.check(of_json(scenario()), kernel)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda s: s["hosts"][0].update(stack="linux-5.10"), "host `client` has the stack `linux-5.10`"),
        (lambda s: s["hosts"][0].update(ssthresh=40), "host `client` has a slow-start threshold"),
        (lambda s: s["hosts"][0].update(gro=True), "host `client` merges what it receives"),
        (lambda s: s["links"][0].update(interrupt_ns=[50_000, 0]), "host `client` mitigates interrupts"),
        (lambda s: s["traffic"][0]["cc"].update(name="bbr"), "does not have the congestion control `bbr`"),
        (lambda s: s["qdiscs"][0]["root"]["child"].update(kind="fq_codel"), "discipline `fq_codel`"),
        (lambda s: s["traffic"][0].update(tsq={"kind": "off"}), "flows differ in `tsq`"),
        (
            lambda s: s["traffic"][0].update(tsq={"kind": "time", "shift": 9, "time_ns": 3_000_000}),
            "has a `tsq` of 3 ms, which no pacing shift gives\n  hint: use `tsq: 2ms` or `tsq: 4ms`",
        ),
        (lambda s: s["traffic"][0]["cc"].update(options={"beta": 700}), "`cubic` has different options"),
        (lambda s: s["links"].append(s["links"][0]), "client and router are connected by two links"),
        (
            lambda s: (
                s["links"][0].update(trace=[0, None]),
                s.update(traces=[{"sha256": "0" * 64, "stamps_ms": [1, 2]}]),
            ),
            "which no discipline of this kernel supports",
        ),
        (lambda s: s["traffic"][0].update(ip=6), "the kernel `stock` does not have IPv6"),
        (lambda s: s["links"][0].update(rate_bps=5_000_000), "the shaper of client -> router is faster"),
        (lambda s: s.update(cells=[cell()]), "a kernel cannot do this: the kernel `stock` has no radios"),
        (lambda s: s["record"].update(tcp_info="ack"), "a kernel cannot do this: `tcp_info` after each ACK"),
        (lambda s: s["traffic"].append(UDP), "the datagrams of `flood` are too short"),
        (lambda s: s["traffic"].append(ECHO), "the requests of `udp-ping` are too short"),
    ],
)
def test_what_a_kernel_cannot_run_is_named(
    change: Callable[[dict[str, Any]], object], said: str, scenario: Make, kernel: Kernel
) -> None:
    with pytest.raises(Unsuitable, match="hint: ") as refused:
        suitable.check(of_json(changed(scenario, change)), kernel)
    assert said in str(refused.value)


def test_a_link_that_is_too_short_for_ipv6_is_named(scenario: Make, kernel: Kernel) -> None:
    given = scenario()
    given["traffic"][0].update(ip=6)
    given["links"][1].update(mtu=576)
    with pytest.raises(
        Unsuitable, match=r"a kernel cannot do this: .* the link router - server has an MTU of 576 bytes"
    ):
        suitable.check(of_json(given), kernel)


def test_a_class_without_a_parent_is_no_faster_than_its_rate_whatever_its_ceiling(
    scenario: Make, kernel: Kernel
) -> None:
    given = scenario()
    given["links"][0].update(rate_bps=20_000_000)
    options = {"rate": 10_000_000, "ceil": 50_000_000}
    given["qdiscs"][0]["root"] = {
        "kind": "htb",
        "options": {},
        "classes": [{"minor": 1, "parent": 0, "options": options}],
    }
    suitable.check(of_json(given), kernel)
    options["rate"] = 30_000_000
    with pytest.raises(Unsuitable, match=r"the shaper of client -> router is faster than its link \(30000000"):
        suitable.check(of_json(given), kernel)


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (
            [cell({"mode": {**HT, "format": "he", "guard_ns": 800}, "rate": "minstrel"})],
            "rate control of mac80211 beyond 802.11ac and 80 MHz (`client`)",
        ),
        (
            [cell({"mode": {**HT, "format": "vht", "width": 160}, "rate": "minstrel"})],
            "rate control of mac80211 beyond 802.11ac and 80 MHz (`client`)",
        ),
        (
            [cell(driver={"name": "ath9k_htc", "options": {}})],
            "`ath9k_htc` has a qdisc; above every driver of Linux 6.12",
        ),
        ([cell(driver={"name": "ath10k", "options": {"airtime": 8_000_000}})], "`airtime` of a driver"),
        ([cell(driver={"name": "ath9k", "options": {"limit": 64}})], "`limit` of a driver"),
        ([cell(), cell({"host": 2}, channel="other")], "cells on several channels"),
        ([cell()], "flows of `client` differ in `tsq`"),
    ],
)
def test_a_part_of_wifi_that_is_not_there_yet_is_named(
    cells: list[dict[str, Any]], said: str, scenario: Make, kernel: Kernel
) -> None:
    with (kernel.folder / "config").open("a") as config:
        config.write("CONFIG_TAILBACK_WIFI=y\n")
    given = scenario(cells=cells)
    given["traffic"][0].update(tsq={"kind": "time", "shift": 8})
    with pytest.raises(Unsuitable, match="hint: ") as refused:
        suitable.check(of_json(given), kernel)
    assert said in str(refused.value)


def test_results_of_a_kernel_with_radios_depend_on_the_simulator_of_their_air(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fingerprint(config: str) -> str:
        (tmp_path / "config").write_text(config)
        (tmp_path / "linux").write_bytes(b"the same")
        kernel = Kernel(tmp_path, Manifest("wifi", "d", "6.12.1", "linux-source-6.12", "gcc", "2026", 1.0))
        return Uml(kernel, Machine(kernel.binary, kernel.binary), chosen=True).fingerprint

    before = [fingerprint("CONFIG_TAILBACK_WIFI=y\n"), fingerprint("")]
    monkeypatch.setattr("tailback._core.engine", lambda: "another")
    after = [fingerprint("CONFIG_TAILBACK_WIFI=y\n"), fingerprint("")]
    assert before[0] != after[0]
    assert before[1] == after[1]
