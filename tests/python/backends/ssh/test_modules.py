"""The commands that build, load and unload a module of the user on the machines of a testbed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tailback import scenario, testbed
from tailback.backends.ssh import modules
from tailback.backends.ssh.facts import Facts
from tailback.backends.ssh.layout import Layout

TESTBED = """\
hosts:
  client: {address: 192.0.2.1, interfaces: {server: eth1}}
  server: {address: 192.0.2.2, interfaces: {client: eth1}}
"""

EXPERIMENT = """\
links: [{ends: [client, server]}]
traffic: [{tcp: client -> server, name: upload, stop: 3s, cc: {module: tcp_mine.c, beta: 512}}]
duration: 4s
"""

FACTS = Facts(
    host="client", management="192.0.2.1", release="6.1.0-9", devices={}, routes=(), sysctls={}, modules=frozenset(),
    loadable=True, controls=frozenset({"reno"}), programs=frozenset({"make", "gcc"}), free_kb=None, has_headers=True,
)  # fmt: skip


def layout(folder: Path, facts: Facts = FACTS) -> Layout:
    (folder / "tcp_mine.c").write_text("int mine;\n")
    (folder / "experiment.yaml").write_text(EXPERIMENT)
    (folder / "testbed.yaml").write_text(TESTBED)
    asked = scenario.load(folder / "experiment.yaml").runs()[0].scenario
    of_both = {name: replace(facts, host=name) for name in ("client", "server")}
    return Layout(asked, testbed.load(str(folder / "testbed.yaml")), of_both)


def test_both_ends_build_load_and_unload_the_module(tmp_path: Path) -> None:
    found = list(modules.commands(layout(tmp_path)))
    assert [each.host for each in found] == ["client"] * 6 + ["server"] * 6
    place = "/var/tmp/tailback-modules/tb0_mine"
    first, *written, built, loaded = found[:6]
    assert (first.argv, first.undo) == (("mkdir", "-p", place), ("rm", "-rf", place))
    assert [each.argv for each in written] == [
        ("tee", f"{place}/tcp_mine.c"),
        ("tee", f"{place}/tailback_register.c"),
        ("tee", f"{place}/Makefile"),
    ]
    assert written[0].stdin == "int mine;\n"
    assert 'TAILBACK_NAME=\\"tb0_mine\\"' in written[2].stdin
    assert built.argv == ("make", "-C", "/lib/modules/6.1.0-9/build", f"M={place}", "modules")
    assert loaded.argv == ("insmod", f"{place}/tb0_mine.ko", "beta=512")
    assert loaded.undo is not None
    assert "rmmod tb0_mine" in loaded.undo[-1]


def test_what_a_machine_lacks_to_build_it_is_named_with_the_remedy(tmp_path: Path) -> None:
    lacking = replace(FACTS, has_headers=False, programs=frozenset({"make"}))
    assert list(modules.problems(layout(tmp_path, lacking)))[:2] == [
        (
            "client",
            "the headers of its kernel are not there (/lib/modules/6.1.0-9/build)",
            "apt-get install linux-headers-6.1.0-9",
        ),
        ("client", "gcc is not there, to build a module", "apt-get install gcc"),
    ]
    closed = replace(FACTS, loadable=False)
    assert [what for _, what, _ in modules.problems(layout(tmp_path, closed))] == ["its kernel loads no modules"] * 2
