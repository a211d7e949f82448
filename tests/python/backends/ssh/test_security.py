"""Neither the content of a file nor a machine at an address can run commands or obtain secrets."""

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.ssh.conftest import SCRIPT, SMALL, Lab, is_free, octet_of, resolved
from properties import cases
from tailback import testbed
from tailback.backends.ssh import Ssh, run
from tailback.backends.ssh.connection import Agent, HostFailed, command_words, local_agent, ssh_words
from tailback.backends.ssh.facts import Facts
from tailback.backends.ssh.layout import Layout
from tailback.backends.ssh.plan import Step, plan_of
from tailback.backends.ssh.session import Session
from tailback.kernel import build_agent
from tailback.limits import trust
from tailback.scenario import ScenarioError
from tailback.testbed import Machine
from tailback.testbed.schema import Access
from waiting import ended, until

HOSTILE = ["-oProxyCommand=touch X", "a;touch X", "$(touch X)", "`touch X`", "a b", "a\nb", "a'b", '"', "|x", "&", ""]
FILE = "hosts: {a: {address: 192.0.2.1, interfaces: {b: eth1}}, b: {address: 192.0.2.2, interfaces: {a: eth1}}}"


def machine(**keys: object) -> Machine:
    return Machine.model_construct(**dict.fromkeys(Machine.model_fields) | {"address": "h"} | keys)


@pytest.mark.parametrize("word", HOSTILE)
@pytest.mark.parametrize("key", ["address", "user", "jump", "device"])
def test_a_hostile_word_is_refused_where_it_would_become_an_argument(key: str, word: str) -> None:
    own = {"address": "192.0.2.1", "user": "root", "jump": "gate", "device": "eth1", key: word}
    quoted = {name: "'" + value.replace("'", "''").replace("\n", "\n\n") + "'" for name, value in own.items()}
    text = (
        f"hosts:\n  a:\n    address: {quoted['address']}\n    user: {quoted['user']}\n    jump: {quoted['jump']}\n"
        f"    interfaces: {{b: {{device: {quoted['device']}}}}}\n"
    )
    with pytest.raises(ScenarioError, match=r"\n  hint: ") as refused:
        testbed.loads(text)
    assert key in str(refused.value)


@pytest.mark.parametrize(
    "setting",
    [
        "qdiscs.router -> lan2=htb rate 10mbit; touch X",
        "qdiscs.router -> lan2=$(touch X)",
        "qdiscs.router -> lan2=pfifo limit 5 | `touch X`",
        "traffic[0].name=$(touch X)",
        "traffic[0].cc=cubic; touch X",
        "hosts.h1.sysctl={net.ipv4.tcp_ecn: $(touch X)}",
        "hosts.h1.sysctl={../../tmp/X: 1}",
        "links[0].name=-oProxyCommand=x",
    ],
)
def test_a_hostile_word_of_an_experiment_is_refused_before_any_connection(setting: str) -> None:
    with pytest.raises(ScenarioError, match=r"\n  hint: "):
        resolved(setting, text=SMALL)


@pytest.mark.parametrize("key", ["password", "passphrase"])
def test_a_password_is_refused_everywhere(key: str) -> None:
    with pytest.raises(ScenarioError, match="hint: passwords are not supported"):
        testbed.loads(FILE.replace("address: 192.0.2.1", f"address: 192.0.2.1, {key}: geheim"))


def test_what_goes_to_the_login_shell_is_quoted_word_by_word() -> None:
    words = command_words(machine(sudo=True), Agent(b"agent"), ["serve", "15; touch X"])
    assert words[-3:-1] == ["--", "h"]
    remote = shlex.split(words[-1])
    assert remote[:2] == ["sh", "-c"]
    assert remote[3:] == ["sh", Agent(b"agent").digest, "5", "sudo", "serve", "15; touch X"]


@pytest.mark.parametrize("word", HOSTILE)
def test_a_plan_shows_each_step_as_a_shell_would_take_it(word: str, tmp_path: Path) -> None:
    typed = Step("h", "the device", argv=("tc", "qdisc", "replace", "dev", word, "root"), undo=("ip", word))
    assert shlex.split(typed.words) == ["tc", "qdisc", "replace", "dev", word, "root"]
    assert shlex.split(typed.undo_words) == ["ip", word]
    sysctl = Step("h", "a setting", path="/proc/sys/net/ipv4/tcp_wmem", value=word)
    assert shlex.split(sysctl.words) == ["sysctl", "-w", f"net.ipv4.tcp_wmem={word}"]
    # A shell would only write the value into this file.
    file = tmp_path / f"x {word}".replace("/", "_")
    written = Step("h", "a file", path=str(file), value=f" {word}")
    subprocess.run(["sh", "-c", written.words], check=True, cwd=tmp_path)
    assert file.read_text() == f" {word}\n"
    assert list(tmp_path.iterdir()) == [file]


def test_a_file_name_cannot_become_another_option_of_ssh(tmp_path: Path) -> None:
    if shutil.which("ssh") is None:
        # Then none of this can run either.
        return
    path = f'{tmp_path}/-o %h%q 100% a" b; $(touch X) ProxyCommand touch X'
    words = ssh_words(machine(known_hosts=path, key=path, config="/dev/null"))
    done = subprocess.run([words[0], "-G", *words[1:]], capture_output=True, text=True, check=True)
    said = done.stdout.splitlines()
    assert "stricthostkeychecking true" in said or "stricthostkeychecking yes" in said
    assert not any(line.startswith("proxycommand") for line in said)
    assert f"userknownhostsfile {path}" in said
    # As it was given: `ssh` replaces `%%` by `%` when it reads the key.
    assert f"identityfile {path.replace('%', '%%')}" in said
    assert "forwardagent no" in said
    assert "batchmode yes" in said


@pytest.mark.parametrize("path", ["a\nb", "a\rb", "\x1b[2J", "a\0b", "${HOME}/key", ""])
@pytest.mark.parametrize("key", ["key", "known_hosts", "config"])
def test_a_path_that_ssh_or_a_terminal_would_take_for_more_is_refused(key: str, path: str) -> None:
    problem = r"(is not the name of a file|contains the control character U\+00\w\w)\n  hint: "
    with pytest.raises(ScenarioError, match=problem):
        testbed.loads(FILE.replace("address: 192.0.2.1", f"address: 192.0.2.1, {key}: {json.dumps(path)}"))


ANYTHING = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=20), st.sampled_from(HOSTILE)),
    lambda below: st.one_of(
        st.lists(below, max_size=3),
        st.dictionaries(
            st.sampled_from(["hosts", "ssh", "a", "b", "address", "interfaces", "device", "user", "links", "silence"]),
            below,
            max_size=4,
        ),
    ),
    max_leaves=12,
)


@settings(max_examples=cases(80))
@given(ANYTHING)
def test_any_testbed_file_is_read_or_refused_with_place_and_remedy(content: object) -> None:
    try:
        found = testbed.loads(json.dumps(content))
    except ScenarioError as refused:
        assert all(finding.hint and finding.where.file == "testbed" for finding in refused.findings)
        return
    assert all(ssh_words(each)[-2] == "--" for each in found.machines.values())


@pytest.mark.parametrize("key", ["<hosts", "[hosts", "<machine>", "[key]"])
def test_a_key_that_looks_like_a_mark_of_pydantic_is_named(key: str) -> None:
    with pytest.raises(ScenarioError, match=re.escape(f"there is no key `{key}` here")):
        testbed.loads(json.dumps({key: 1, "hosts": {"a": {"address": "192.0.2.1", "interfaces": {"b": "eth1"}}}}))
    with pytest.raises(ScenarioError, match=re.escape(f"there is no key `{key}` here")):
        machine = {"address": "192.0.2.1", "interfaces": {"b": "eth1"}, key: 1}
        testbed.loads(json.dumps({"hosts": {"a": machine}}))


@settings(max_examples=cases(80))
@given(start=st.integers(0, 100), length=st.integers(0, 9), scrap=st.text(max_size=9))
def test_a_mangled_testbed_file_is_read_or_refused(start: int, length: int, scrap: str) -> None:
    try:
        testbed.loads(FILE[:start] + scrap + FILE[start + length :])
    except ScenarioError as refused:
        assert all(finding.hint for finding in refused.findings)


def test_a_host_key_that_is_not_known_is_refused_with_the_remedy(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "none").write_text("")
    text = lab.testbed.read_text().replace(str(lab.folder / "known_hosts"), str(tmp_path / "none"))
    found = testbed.loads(text)
    with pytest.raises(HostFailed, match=r"(?s)host `h1`, connecting: .*verif.*\n  hint: its key is not known"):
        Session("h1", found.machines["h1"], Agent(b"never sent"), 15)


def test_a_key_that_is_not_taken_is_refused_with_the_remedy(lab: Lab, tmp_path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "key")], check=True)
    found = testbed.loads(lab.testbed.read_text().replace(str(lab.folder / "key,"), str(tmp_path / "key,")))
    with pytest.raises(HostFailed, match=r"(?s)host `h1`, connecting: .*Permission denied.*\n  hint: give it your key"):
        Session("h1", found.machines["h1"], Agent(b"never sent"), 15)


def test_a_machine_without_input_restores_itself(lab: Lab) -> None:
    """The agent's timer for silence: the connection stays open and no input arrives."""
    words = ["ip", "netns", "exec", f"{lab.prefix}-h6", str(build_agent()), "serve", "1"]
    before = lab.within("h6", "sysctl", "net.ipv4.tcp_no_metrics_save")
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as agent:
        assert agent.stdin is not None
        assert agent.stdout is not None
        path = "/proc/sys/net/ipv4/tcp_no_metrics_save"
        agent.stdin.write(f'{{"id": 1, "do": "set", "path": "{path}", "value": "1"}}\n'.encode())
        agent.stdin.flush()
        assert agent.stdout.readline() == b'{"id":1,"ok":"0"}\n'
        assert lab.within("h6", "sysctl", "net.ipv4.tcp_no_metrics_save") != before
        assert ended(agent) == 1
    until(lambda: lab.within("h6", "sysctl", "net.ipv4.tcp_no_metrics_save") == before)


def test_the_agent_listens_at_the_test_address_only(ssh: Ssh, lab: Lab, facts: Mapping[str, Facts]) -> None:
    """`crates/agent/src/app/sockets.rs` tests that a receiver accepts only the token of the run."""
    given = resolved("duration=2s", text=SMALL)
    job = dict(plan_of(Layout(given, ssh.testbed, facts), "geheim").job)
    job["traffic"] = [told for told in job["traffic"] if told["traffic"]["kind"] != "ping"]
    names = given.host_names
    with run.sessions({"h4": ssh.testbed.machines["h4"]}, ssh.testbed, local_agent(build_agent())) as opened:
        before = set(lab.within("h4", "ss", "-lntuH").split())
        opened["h4"].ask("opening sockets", "prepare", job=job, me=names.index("h4"))
        new = set(lab.within("h4", "ss", "-lntuH").split()) - before
        assert [word for word in new if ":" in word] == ["10.1.2.14:5001"]


def test_a_second_lab_with_the_addresses_of_another_is_refused_with_the_remedy(lab: Lab, tmp_path: Path) -> None:
    taken = octet_of(lab.prefix)
    assert not is_free(taken)
    other = next(prefix for number in range(10_000) if octet_of(prefix := f"u{number}") == taken)
    words = [str(SCRIPT), "up", str(tmp_path / "lab"), other]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"is in use by {lab.prefix}m: give another PREFIX" in done.stderr


EXECUTING = [
    "ProxyCommand touch X", "proxycommand=touch X", '"ProxyCommand" touch X', "\tProxyCommand touch X",
    'Match exec "touch X"', 'Match all ex"ec" "touch X"', "PermitLocalCommand yes", "LocalCommand touch X",
    "KnownHostsCommand /bin/touch X", "Include other", "PKCS11Provider ./x.so", "SecurityKeyProvider ./x.so",
    "XAuthLocation ./x", "ProxyUseFdpass yes", "RemoteCommand touch X", "Host *\n  ProxyCommand touch X",
    "HostName `touch X`", "User $(touch X)", "ProxyJump -oProxyCommand=x", "ProxyJump a;touch", "SendEnv *",
    "StrictHostKeyChecking no", "IdentityAgent x", "SmartcardDevice x.so", "Hostname a\x0cProxyCommand touch X",
    "ControlPath x", "Tunnel yes", "CanonicalizeHostname yes", "ProxyCommand", "\u00a0ProxyCommand x",
]  # fmt: skip


def with_config(folder: Path, text: str, place: str = "ssh") -> str:
    (folder / "config").write_text(text)
    return f"ssh: {{config: {folder}/config}}\n{FILE}" if place == "ssh" else FILE.replace(
        "192.0.2.1,", f"192.0.2.1, config: {folder}/config,"
    )  # fmt: skip


@pytest.mark.parametrize("place", ["ssh", "host"])
@pytest.mark.parametrize("line", EXECUTING)
def test_a_configuration_of_ssh_that_may_execute_something_needs_trust(tmp_path: Path, line: str, place: str) -> None:
    text = with_config(tmp_path, f"# a comment\nUser root\n{line}\n", place)
    said = r"config: line [34] of `.*` may execute .*\n  hint: read it, and add --trust"
    with pytest.raises(ScenarioError, match=said):
        testbed.loads(text)
    with trust.trusting(True):
        assert testbed.loads(text).machines["a"].config == f"{tmp_path}/config"


def test_a_configuration_that_says_where_machines_are_needs_none(tmp_path: Path) -> None:
    lines = (
        "# lab\nHost lab-* !lab-9\n  HostName 192.0.2.7\n  user = root\n  Port 2222\n  IdentityFile ~/.ssh/id_lab\n"
        '  IdentityFile "~/my keys/id"\n  ProxyJump me@gate:22,other\n  UserKnownHostsFile /tmp/known\n'
        "  StrictHostKeyChecking yes\n\n  ServerAliveInterval 5\n"
    )
    assert testbed.loads(with_config(tmp_path, lines)).machines["a"].config


def test_the_users_own_configuration_is_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "config").write_text("ProxyCommand nc %h %p\n")
    assert testbed.loads(f"ssh: {{config: ~/.ssh/config}}\n{FILE}").machines["a"].config == "~/.ssh/config"


@pytest.mark.parametrize("make", ["fifo", "folder", "link", "missing"])
def test_a_configuration_that_is_no_file_is_refused(tmp_path: Path, make: str) -> None:
    path = tmp_path / "config"
    if make == "fifo":
        os.mkfifo(path)
    elif make == "folder":
        path.mkdir()
    elif make == "link":
        path.symlink_to("/dev/zero")
    with pytest.raises(ScenarioError, match="cannot be read"):
        testbed.loads(f"ssh: {{config: {path}}}\n{FILE}")


@pytest.mark.parametrize("word", ["-x", "--help", "-oProxyCommand=touch X", "a\nb", "a\x00b", "a\rb"])
@pytest.mark.parametrize("key", sorted({*Access.model_fields, *Machine.model_fields} - {"sudo", "port", "interfaces"}))
def test_no_word_of_a_testbed_file_begins_an_option_or_a_line(key: str, word: str) -> None:
    own = {"address": "192.0.2.1", key: word}
    text = f"hosts: {{a: {{{', '.join(f'{name}: {json.dumps(value)}' for name, value in own.items())}, "
    with pytest.raises(ScenarioError):
        testbed.loads(text + "interfaces: {b: eth1}}, b: switch}")
