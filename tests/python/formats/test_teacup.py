"""TEACUP's configurations are read without being executed, whatever they contain."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from properties import cases
from tailback import scenario, testbed
from tailback.cli.app import app
from tailback.formats import NotReadable, import_teacup
from tailback.formats.teacup import convert
from tailback.formats.teacup.evaluate import NotEvaluated, expression, read
from tailback.limits import WEIGHT_MAX
from tailback.resolved import to_json

CONFIG = Path(__file__).parents[2] / "data" / "teacup" / "config.py"


@pytest.fixture(scope="module")
def text() -> str:
    return CONFIG.read_text()


def test_a_configuration_becomes_an_experiment_that_runs(tmp_path: Path) -> None:
    (experiment, _), notes = import_teacup(CONFIG, tmp_path)
    loaded = scenario.load(experiment)
    assert loaded.axes == {
        "tcpalgos": ["newreno", "cubic"],
        "delays": ["10", "100"],
        "aqms": ["pfifo", "codel", "fq_codel"],
    }
    assert len(loaded.runs()) == 24
    last = loaded.runs()[-1]
    assert last.axes == {"tcpalgos": "cubic", "delays": "100", "aqms": "fq_codel"}
    names = [host["name"] for host in to_json(last.scenario)["hosts"]]
    queues = {(names[each["host"]], each["link"]): each["root"] for each in to_json(last.scenario)["qdiscs"]}
    assert len(queues) == 2
    # The rate with its queue comes first, then the delay, as TEACUP builds it.
    shaper, delay = (stage["child"] for stage in next(iter(queues.values()))["classes"])
    assert (shaper["kind"], shaper["options"]) == ("htb", {"rate": 10_000_000})
    assert (shaper["child"]["kind"], shaper["child"]["options"]) == ("fq_codel", {"limit": 180})
    assert (delay["kind"], delay["options"]["delay"]) == ("netem", 100_000_000)
    flows = [entry for entry in to_json(last.scenario)["traffic"] if entry["kind"] == "tcp"]
    assert [(flow["start_ns"] // 10**9, flow["stop_ns"] // 10**9) for flow in flows] == [(5, 65), (25, 85), (45, 105)]
    assert {flow["cc"]["name"] for flow in flows} == {"cubic"}
    assert to_json(last.scenario)["hosts"][1]["stack"] == "freebsd-9"
    assert to_json(last.scenario)["hosts"][0]["sysctl"]["net.ipv4.tcp_wmem"] == [4096, 65535, 4194304]
    assert notes == [
        f"not imported: {CONFIG}:7: the password was not taken over: use a key",
        f"not imported: {CONFIG}:10: `execfile('common.py')` is not evaluated: `common.py` is not beside it: "
        "No such file or directory",
        f"imported differently: {CONFIG}:1: the kernel of Linux hosts is not in the file: they have Tailback's newest; "
        "`stack` of a host sets it",
        f"note: {CONFIG}:36: order of the stages: the rate and its queue, then delay and loss; CAIA's report 140630A "
        "describes the other order, which `--delay-first` imports",
        f"no effect: {CONFIG}:50: generators 1, 2, 3, `start_iperf`: `port`: Tailback chooses its ports",
        f"no effect: {CONFIG}:50: generator 5, `start_http_server`: a server needs no set-up here",
        f"no effect: {CONFIG}:8: of the laboratory: `env.shell` (8), `TPCONF_script_path` (13), "
        "`sys.path.append(TPCONF_script_path)` (14), `TPCONF_debug_level` (15), `now` (33), `TPCONF_test_id` (34)",
    ]


def test_its_hosts_become_a_testbed_by_their_addresses_and_without_the_password(tmp_path: Path) -> None:
    (experiment, file), _ = import_teacup(CONFIG, tmp_path)
    found = testbed.load(file)
    assert found.switches == {"lan1", "lan2"}
    router = found.machines["newtcprt3"]
    assert (router.address, router.user) == ("newtcprt3", "root")
    assert {name: each.address for name, each in router.interfaces.items()} == {
        "lan1": "172.16.10.1/24", "lan2": "172.16.11.1/24",
    }  # fmt: skip
    assert "rootpw" not in file.read_text() + experiment.read_text()


def test_the_command_says_what_was_left_out(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["import", "teacup", str(CONFIG), "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert f"not imported: {CONFIG}:10: `execfile('common.py')` is not evaluated" in done.output.replace("\n", "")
    assert "no effect: " in done.output
    assert "by hand" not in done.output


@pytest.mark.parametrize(
    ("change", "queue"),
    [
        (("queue_size=V_bsize", "queue_size='bdp', rtt=100"), "limit 208"),
        (("queue_disc=V_aqm", "queue_disc='fifo'"), "| pfifo limit 180"),
        (("delay=V_delay", "delay=2*V_delay"), "delay ${q1_delay}"),
        (("loss=V_loss", "loss=0.01"), "loss 1%"),
        (("queue_size=V_bsize ", "queue_size=V_bsize, queue_disc_params='target 5ms' "), "limit 180 target 5ms"),
    ],
)
def test_queues_are_what_teacup_would_build(change: tuple[str, str], queue: str, text: str) -> None:
    found = convert(text.replace(*change)).experiment
    assert queue in " ".join(found["qdiscs"]["newtcprt3 -> lan2"])
    if "2*V_delay" in change[1]:
        assert found["vary"]["delays"]["100"]["let"]["q1_delay"] == "200ms"


@pytest.mark.parametrize(("rate", "expected"), [("rate='10M', ", "10mbit"), ("", "1mbit"), ("rate='64k', ", "64kbit")])
def test_udp_has_the_rate_that_iperf_would_send_at(rate: str, expected: str, text: str) -> None:
    found = convert(text.replace("port=5001, ", f"port=5001, proto='udp', {rate}")).experiment
    udp = next(entry for entry in found["traffic"] if "udp" in entry)
    assert udp == {
        "udp": "newtcp28 -> newtcp21", "name": "iperf-2", "rate": expected, "size": "1470b",
        "start": "25s", "stop": "85s",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("word", "control", "noted"),
    [
        ("host1", "htcp", False),
        ("host9", "cubic", False),
        # Digits for `str.isdigit`, but not numbers: `int` refuses the first one.
        ("host²", "reno", True),
        ("host" + "1" * 5000, "reno", True),
    ],
)
def test_a_control_chosen_by_host_is_found_by_a_plain_number(word: str, control: str, noted: bool, text: str) -> None:
    by_host = "TPCONF_host_TCP_algos = {'newtcp27': ['cubic', 'htcp']}\n"
    found = convert(text.replace("'newreno', 'cubic', ", f"'newreno', '{word}', ") + by_host)
    _, by_name = found.experiment["vary"]["tcpalgos"].values()
    assert by_name["let"]["cc_newtcp27"] == control
    assert any("is not Linux's" in note.what for note in found.notes) == noted


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("__import__('os').system('touch NAME')", "is not evaluated"),
        ("TPCONF_hosts = __import__('os').popen('touch NAME').read()", "`TPCONF_hosts` is not known"),
        ("x = [y for y in ().__class__.__bases__]", "`x` is not known"),
        ("x = (lambda: open('NAME', 'w'))()", "`x` is not known"),
        ("x = 'a' * 10 ** 10", "`x` is not known"),
        ("x = 'a' * 999999999", "is not worked out"),
        ("x = '%999999999d' % 1", "is not worked out"),
        ("x = range(10000000000)", "is not worked out"),
        ("x = '%s' * 49999 % (('a' * 50000,) * 49999)", "is not worked out"),
        (f"x = {'(' * 60}1{',)' * 60}; y = {{x: 1}}", "is not worked out"),
        ("x = 1; " + "x = (x, x); " * 60 + "y = {x: 1}", "is not worked out"),
        ("x = map(str, ['a' * 50000] * 9)", "is not worked out"),
        ("x = 0777", "is not read"),
        ("print `x`", "is not"),
        ("exec 'import os'", "is not"),
        ("for x in range(3): open('NAME', 'w')", "is not evaluated"),
    ],
)
def test_no_code_is_executed_and_no_value_grows_without_limit(line: str, what: str, text: str, tmp_path: Path) -> None:
    target = tmp_path / "executed"
    module = read(f"{line.replace('NAME', str(target))}\n{text}")
    assert any(what in note.what and note.line == 1 for note in module.notes), module.notes
    assert not target.exists()
    assert module.values["TPCONF_runs"] == 2


def test_the_work_of_evaluating_a_file_is_limited() -> None:
    module = read("x = [1] * 40000\n" + "y = x + x\n" * 40 + "z = 1\n")
    assert [note.what for note in module.notes][-1] == "`z` is not known: so long a computation is not worked out"


def test_the_last_line_needs_no_newline() -> None:
    assert read("TPCONF_runs = 2").values == {"TPCONF_runs": 2}


def test_a_file_that_is_not_a_configuration_is_refused_with_a_remedy(tmp_path: Path) -> None:
    for content in ("", "TPCONF_hosts = ['a']\n", "\0\0", "((((" * 5000, "x = " + "[" * 3000):
        (tmp_path / "c.py").write_text(content)
        with pytest.raises(NotReadable, match=r"c\.py`: .*\n  hint: "):
            import_teacup(tmp_path / "c.py", tmp_path)
    with pytest.raises(NotReadable, match=r"cannot be read.*\n  hint: "):
        import_teacup(tmp_path / "none.py", tmp_path)


@pytest.mark.parametrize(
    ("was", "written", "told"),
    [
        ("TPCONF_ECN = ['0', ]", "TPCONF_ECN = ['²']", "`²` is no value for `ecn`"),
        ("TPCONF_ECN = ['0', ]", "TPCONF_ECN = ['3']", "`3` is no value for `ecn`"),
        ("TPCONF_delays = [10, 100]", "TPCONF_delays = [10, '1²']", "`1²` is no value for `q"),
        ("'10mbit'), ]", "'1٣mbit'), ]", "`1٣mbit` is no value for `q"),
    ],
)
def test_a_value_that_linux_would_not_take_is_refused_with_its_line(
    was: str, written: str, told: str, text: str, tmp_path: Path
) -> None:
    assert was in text
    (tmp_path / "c.py").write_text(text.replace(was, written))
    with pytest.raises(NotReadable) as refused:
        import_teacup(tmp_path / "c.py", tmp_path)
    line = text[: text.index(was)].count("\n") + 1
    assert f"c.py`: line {line}: {told}" in str(refused.value)


def test_an_expression_is_bounded() -> None:
    assert expression("2 * [1, 'a']", {}) == [1, "a", 1, "a"]
    for text in (f"[0] * {WEIGHT_MAX + 1}", "1e999", "str([[0] * 9] * 9)", "'a'.join(['b'] * 99999) + 'c' * 99999"):
        with pytest.raises(NotEvaluated):
            expression(text, {})


WORDS = st.sampled_from(
    ["TPCONF_hosts", "TPCONF_router", "TPCONF_host_internal_ip", "TPCONF_router_queues", "TPCONF_traffic_gens",
     "TPCONF_parameter_list", "TPCONF_vary_parameters", "TPCONF_duration", "TPCONF_runs", "TPCONF_variable_defaults",
     "TPCONF_host_os", "TPCONF_ECN", "V_delay", "V_tcp_cc_algo", "V_ecn"]
)  # fmt: skip
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-(10**9), 10**9), st.floats(), st.text(max_size=12),
    st.sampled_from(["172.16.10.60", "newtcp20", "10mbit", " start_iperf, client='newtcp27', server='newtcp20'",
                     " source='172.16.10.0/24', dest='172.16.11.0/24', rate=V_up_rate", "$(touch x)", "; rm -rf /"]),
)  # fmt: skip
VALUES = st.recursive(
    LEAVES,
    lambda below: st.one_of(
        st.lists(below, max_size=4), st.lists(below, max_size=4).map(tuple), st.dictionaries(st.text(max_size=8), below)
    ),
    max_leaves=8,
)


@settings(max_examples=cases(50))
@given(name=WORDS, value=VALUES)
def test_a_configuration_with_any_value_is_imported_or_refused(name: str, value: Any, text: str) -> None:
    try:
        found = convert(f"{text}\n{name} = {value!r}\n")
    except NotReadable as refused:
        assert "\n  hint: " in str(refused)
        return
    assert found.experiment["traffic"]


@settings(max_examples=cases(50))
@given(start=st.integers(0, 4000), length=st.integers(1, 60), scrap=st.text(max_size=20))
def test_a_mangled_configuration_is_imported_or_refused(start: int, length: int, scrap: str, text: str) -> None:
    try:
        found = convert(text[:start] + scrap + text[start + length :])
    except NotReadable:
        return
    assert found.testbed["hosts"]
