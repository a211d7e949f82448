"""Nothing of a TEACUP configuration is dropped without its line, and what is imported is what TEACUP would set up."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tailback
from tailback import scenario
from tailback.formats import NotReadable, import_teacup
from tailback.formats.teacup import NotEvaluated, convert
from tailback.formats.teacup.importing import LABORATORY, READ
from tailback.formats.teacup.notes import Effect
from tailback.resolved import to_json

SMALL = """
TPCONF_router = ['r']
TPCONF_hosts = ['a', 'b', 'c', 'd']
TPCONF_host_internal_ip = {'r': ['172.16.10.1', '172.16.11.1'], 'a': ['172.16.10.2'], 'b': ['172.16.11.2'],
                           'c': ['172.16.10.3'], 'd': ['172.16.11.3']}
TPCONF_router_queues = [
    ('1', " source='172.16.10.0/24', dest='172.16.11.0/24', delay=5, rate='8mbit', queue_disc=V_aqm, queue_size=50 "),
    ('2', " source='172.16.11.0/24', dest='172.16.10.0/24', delay=5, rate='8mbit', queue_disc=V_aqm, queue_size=50 "),
]
TPCONF_traffic_gens = [
    ('0.0', '1', " start_iperf, client='a', server='b', port=5000, duration=V_duration "),
    ('0.5', '2', " start_iperf, client='c', server='d', port=5001, duration=V_duration "),
]
TPCONF_duration = 2
TPCONF_variable_defaults = {'V_aqm': 'pfifo', 'V_duration': TPCONF_duration}
"""
QUEUES = re.compile(r"TPCONF_router_queues = \[.*?\n\]\n", re.DOTALL)
TRAFFIC = re.compile(r"TPCONF_traffic_gens = \[.*?\n\]\n", re.DOTALL)


def with_traffic(*words: str) -> str:
    entries = "".join(f"    ('0.0', '{number}', {each!r}),\n" for number, each in enumerate(words, 1))
    return TRAFFIC.sub(f"TPCONF_traffic_gens = [\n{entries}]\n", SMALL)


def with_queues(*words: str) -> str:
    entries = "".join(f"    ('{number}', {each!r}),\n" for number, each in enumerate(words, 1))
    return QUEUES.sub(f"TPCONF_router_queues = [\n{entries}]\n", SMALL)


def runs(text: str, folder: Path) -> Any:
    """The first run of the imported experiment."""
    (folder / "c.py").write_text(text)
    (experiment, _), _ = import_teacup(folder / "c.py", folder / "out")
    return tailback.run(experiment, out=folder / "results").runs[0]


ENDS = "client='a', server='b', duration=2"
WORKINGS = {"port": "5000", "check": "'0'", "wait": "'1'", "kill": "'0'", "local_dir": "'x'", "remote_dir": "'x'",
            "file_prefix": "'x'", "counter": "'9'"}  # fmt: skip

ARGUMENTS: dict[str, tuple[str, dict[str, str]]] = {
    "start_iperf": (ENDS, {
        **WORKINGS, "congestion_algo": "'htcp'", "mss": "500", "buf_size": "100000", "proto": "'udp'", "rate": "'2M'",
        "extra_params_client": "'-P 2'", "extra_params_server": "'-D'", "condition": "1 - 1",
    }),
    "start_ping": ("client='a', dest='b', duration=2", {
        "check": "'0'", "wait": "'1'", "local_dir": "'x'", "rate": "5", "extra_params": "'-s 200'",
    }),
    "start_nttcp": (ENDS, {
        **WORKINGS, "interval": "20", "psize": "172", "buf_size": "1000", "extra_params_client": "'-x'",
        "extra_params_server": "'-x'",
    }),
    "start_httperf_dash": ("client='a', server='b', duration=2, rate=500, cycle=1", {
        **WORKINGS, "prefetch": "2.0", "prefetch_timeout": "2.0", "with_timeout": "'1'", "extra_params": "'-x'",
    }),
    "start_dash_streaming_dashjs": ("client='a', serv='b', duration=2", {
        "serv_port": "80", "chunk_size": "2", "mpd": "'x.mpd'", "browser": "'firefox'", "player_path": "'x'",
        "rate": "'1'",
    }),
    "start_httperf_incast": ("client='a', servers='b:80, d:80', duration=2, period=1, response_size=8", {
        "burst_size": "3", "extra_params": "'-x'",
    }),
    "start_httperf_incast_n": ("client='a', servers='b, d', duration=2, period=1, response_size=8", {
        "num_responders": "1", "server_port_start": "80", "config_dir": "'x'", "config_in": "'x'", "docroot": "'x'",
        "sizes": "'8'", "burst_size": "2", "extra_params": "'-x'",
    }),
}  # fmt: skip
"""Each task that makes traffic: what it needs, and its other arguments with a value that is not the default."""


@pytest.mark.parametrize(("task", "name"), [(task, name) for task, (_, others) in ARGUMENTS.items() for name in others])
def test_each_argument_of_a_generator_changes_its_traffic_or_has_a_line(task: str, name: str) -> None:
    needed, others = ARGUMENTS[task]
    beside = " start_ping, client='c', dest='d', duration=2 "
    plain = convert(with_traffic(f" {task}, {needed} ", beside))
    given = convert(with_traffic(f" {task}, {needed}, {name}={others[name]} ", beside))
    told = any(f"`{name}`" in note.what for note in given.notes)
    assert plain.experiment["traffic"] != given.experiment["traffic"] or told
    assert not any(f"`{name}`" in note.what and note.effect is Effect.LOST for note in plain.notes)


@pytest.mark.parametrize("task", ["start_httperf", "start_fps_game", "start_custom_traffic", "start_no_such"])
def test_a_task_without_counterpart_is_left_out_with_its_reason(task: str) -> None:
    found = convert(with_traffic(f" {task}, {ENDS} ", f" start_iperf, {ENDS} "))
    assert len(found.experiment["traffic"]) == 1
    (line,) = (note for note in found.notes if f"`{task}`" in note.what)
    assert line.effect is Effect.LOST
    assert line.what.startswith("generator 1, ")
    with pytest.raises(NotReadable, match=f"none of its traffic can be imported: generator 1, `{task}`"):
        convert(with_traffic(f" {task}, {ENDS} "))


@pytest.mark.parametrize(
    "name", sorted(LABORATORY | {"TPCONF_host_linkspeed", "TPCONF_of_a_later_version", "env.shell"})
)
def test_each_variable_that_changes_no_result_is_named_with_its_line(name: str) -> None:
    found = convert(f"{name} = 'of the laboratory'\n{SMALL}")
    assert any(f"`{name}`" in note.what and ("(1)" in note.what or note.line == 1) for note in found.notes)


def test_variables_that_are_read_have_no_line_of_their_own() -> None:
    told = " ".join(note.what for note in convert(SMALL).notes)
    assert not [name for name in READ if f"`{name}`" in told]


def test_commands_and_sysctls_of_hosts_have_a_line_each() -> None:
    extra = """
TPCONF_host_init_custom_cmds = {'a': ['echo 1', 'sysctl x=V_y']}
TPCONF_host_TCP_algo_params = {'a': {'cdg': ['net.inet.tcp.cc.cdg.alpha_inc = 0', 'x = 1']}}
"""
    what = [note.what for note in convert(SMALL + extra).notes if note.effect is Effect.LOST]
    assert what == [
        "`echo 1` of a is not run", "`sysctl x=V_y` of a is not run",
        "`net.inet.tcp.cc.cdg.alpha_inc = 0` of a with cdg is not set", "`x = 1` of a with cdg is not set",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kernel", "stack", "told"),
    [
        ("3.9.8-desktop-web10g", "linux-3.10", "oldest"),
        ("3.10.18", "linux-3.10", ""),
        ("3.17.4-vanilla-web10g", "linux-3.10", "not newer is `linux-3.10`"),
        ("4.15.0", "linux-4.14", "not newer is `linux-4.14`"),
        ("5.4.0-lts", "linux-5.4", ""),
        ("7.1", "linux-6.12", "not newer is `linux-6.12`"),
        ("running", None, "not in the file"),
    ],
)
def test_hosts_have_the_stack_of_the_kernel_that_the_file_names(kernel: str, stack: str | None, told: str) -> None:
    found = convert(f"{SMALL}\nTPCONF_linux_kern_hosts = '{kernel}'\n")
    assert {each.get("stack") for name, each in found.experiment["hosts"].items() if name != "r"} == {stack}
    what = [note.what for note in found.notes if note.effect is Effect.CHANGED]
    assert (len(what) == 1 and told in what[0]) if told else not what


@pytest.mark.parametrize(
    ("kernel", "words", "times_ms"),
    [
        ("'3.10.18'", "pie generation 2013", (20, 30)),
        ("'3.17.4-vanilla-10000hz'", "pie generation linux-3.14", (20, 30)),
        ("'running'", "pie generation 2013", (20, 30)),
        ("'5.4'", "pie dq_rate_estimator", (15, 15)),
        ("'5.10'", "pie", (15, 15)),
    ],
)
def test_pie_is_that_of_the_routers_kernel(kernel: str, words: str, times_ms: tuple[int, int], tmp_path: Path) -> None:
    text = SMALL.replace("'V_aqm': 'pfifo'", "'V_aqm': 'pie'") + f"TPCONF_linux_kern_router = {kernel}\n"
    (tmp_path / "c.py").write_text(text)
    (experiment, _), _ = import_teacup(tmp_path / "c.py", tmp_path)
    assert f"| {words} limit 50" in experiment.read_text()
    resolved = to_json(scenario.load(experiment).runs()[0].scenario)
    shaper = resolved["qdiscs"][0]["root"]["classes"][0]["child"]
    options = shaper["child"]["options"]
    if "target" in options:
        assert (options["target"], options["tupdate"]) == tuple(each * 1_000_000 for each in times_ms)
    else:
        assert (times_ms == (20, 30)) == ("generation" in options)


@pytest.mark.parametrize(
    ("system", "algorithm", "expected", "noted"),
    [
        ("FreeBSD", "newreno", "newreno", False), ("FreeBSD", "default", "newreno", False),
        ("FreeBSD", "cubic", "cubic", True), ("FreeBSD", "hd", "reno", True), ("Linux", "newreno", "reno", False),
        ("Linux", "default", "cubic", False), ("CYGWIN", "compound", "reno", True),
        ("Darwin", "newreno", "newreno", False),
    ],
)  # fmt: skip
def test_a_control_is_that_of_the_senders_system(system: str, algorithm: str, expected: str, noted: bool) -> None:
    text = f"{SMALL}\nTPCONF_host_os = {{'a': '{system}', 'r': 'Linux'}}\nTPCONF_TCP_algos = ['{algorithm}']\n"
    text = text.replace("'V_aqm': 'pfifo'", f"'V_aqm': 'pfifo', 'V_tcp_cc_algo': '{algorithm}'")
    found = convert(text)
    assert found.experiment["traffic"][0]["cc"] == expected
    assert found.experiment["hosts"]["a"].get("stack") == ("freebsd-9" if system == "FreeBSD" else None)
    assert noted == any("stands for it" in note.what for note in found.notes)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("buf_size=1228800", {"sndbuf": "1228800b", "rcvbuf": "1228800b"}),
        ("buf_size=9999999", {"sndbuf": "2097152b", "rcvbuf": "2097152b"}),
        ("buf_size='64k', mss=500", {"sndbuf": "65536b", "rcvbuf": "65536b", "mss": 500}),
        ("extra_params_client='-w 100k -P 3 -Z vegas', extra_params_server='-w 50k'",
         {"sndbuf": "102400b", "rcvbuf": "51200b", "flows": 3, "cc": "vegas"}),
    ],
)  # fmt: skip
def test_socket_options_of_iperf_are_those_of_the_flow(words: str, expected: dict[str, Any], tmp_path: Path) -> None:
    text = with_traffic(f" start_iperf, {ENDS}, {words} ")
    flow = convert(text).experiment["traffic"][0]
    assert {name: flow[name] for name in expected} == expected
    (tmp_path / "c.py").write_text(text)
    (experiment, _), _ = import_teacup(tmp_path / "c.py", tmp_path)
    assert scenario.load(experiment).runs()


def test_flows_attached_to_a_queue_share_it_and_have_delays_of_their_own(tmp_path: Path) -> None:
    there = "rate='4mbit', queue_disc='pfifo', queue_size=50"
    text = with_queues(
        f" source='172.16.10.2', dest='172.16.11.2', delay=5, {there} ",
        f" source='172.16.11.2', dest='172.16.10.2', delay=5, {there} ",
        " source='172.16.10.3', dest='172.16.11.3', delay=60, attach_to_queue='1' ",
        " source='172.16.11.3', dest='172.16.10.3', delay=60, attach_to_queue='2' ",
    )
    found = convert(text)
    assert found.experiment["qdiscs"]["r -> lan2"] == [
        "htb rate 4mbit | pfifo limit 50",
        "htb\nclass 1 rate 1gbit | netem delay 5ms limit 1000\nclass 2 rate 1gbit | netem delay 60ms limit 1000\n"
        "filter flow iperf-1 flowid 1\nfilter flow iperf-2 flowid 2",
    ]
    run = runs(text, tmp_path)
    rtt = run.tcp_info[run.tcp_info["rtt"] > 0].groupby("flow")["min_rtt"].min() / 1000
    assert rtt["iperf-1"] == pytest.approx(13, abs=3)
    assert rtt["iperf-2"] - rtt["iperf-1"] == pytest.approx(110, abs=3)
    # Both share 4 Mbit/s.
    assert run.summary["goodput_mbps"]["total"] < 4.1


def test_traffic_that_no_queue_matches_is_neither_limited_nor_delayed(tmp_path: Path) -> None:
    text = with_queues(" source='172.16.10.2', dest='172.16.11.2', delay=5, rate='4mbit', queue_size=50, bidir='1' ")
    run = runs(text, tmp_path)
    assert run.summary["goodput_mbps"]["flows"]["iperf-1"] < 4.1
    assert run.summary["goodput_mbps"]["flows"]["iperf-2"] > 100


def test_the_last_queue_that_matches_counts() -> None:
    text = with_queues(
        " source='172.16.10.0/24', dest='172.16.11.0/24', rate='4mbit' ",
        " source='0.0.0.0/0', dest='0.0.0.0/0', rate='2mbit' ",
    )
    found = convert(text)
    assert found.experiment["qdiscs"] == {
        "r -> lan1": "htb rate 2mbit | pfifo limit 1000", "r -> lan2": "htb rate 2mbit | pfifo limit 1000",
    }  # fmt: skip
    assert any("passes queue 1 of r" in note.what for note in found.notes)


def test_the_order_of_the_stages_is_teacups_or_that_of_its_report(tmp_path: Path) -> None:
    (tmp_path / "c.py").write_text(SMALL)
    orders = []
    for delay_first in (False, True):
        (experiment, _), notes = import_teacup(tmp_path / "c.py", tmp_path, delay_first=delay_first)
        stages = to_json(scenario.load(experiment).runs()[0].scenario)["qdiscs"][0]["root"]["classes"]
        orders.append([stage["child"]["kind"] for stage in stages])
        assert sum("order of the stages" in note for note in notes) == 1
    assert orders == [["htb", "netem"], ["netem", "htb"]]


def test_two_routers_with_queues_of_one_number_have_their_own_values(tmp_path: Path) -> None:
    text = """
TPCONF_router = ['r1', 'r2']
TPCONF_hosts = ['a', 'b', 'c', 'd']
TPCONF_host_internal_ip = {'r1': ['172.16.10.1', '172.16.11.1'], 'r2': ['172.16.12.1', '172.16.13.1'],
    'a': ['172.16.10.2'], 'b': ['172.16.11.2'], 'c': ['172.16.12.2'], 'd': ['172.16.13.2']}
one = [('1', " source='172.16.10.0/24', dest='172.16.11.0/24', rate=V_rate, delay=5 ")]
two = [('1', " source='172.16.12.0/24', dest='172.16.13.0/24', rate=V_other, delay=5 ")]
TPCONF_router_queues = {}
TPCONF_router_queues['r1'] = one
TPCONF_router_queues['r2'] = two
TPCONF_traffic_gens = [('0.0', '1', " start_iperf, client='a', server='b', duration=2 ")]
TPCONF_traffic_gens += [('0.0', '2', " start_iperf, client='c', server='d', duration=2 ")]
TPCONF_parameter_list = {'rates': (['V_rate', 'V_other'], ['x', 'y'], [('2mbit', '4mbit')], {})}
TPCONF_vary_parameters = ['rates']
"""
    found = convert(text)
    assert any("no test network connects r1 with r2" in note.what for note in found.notes)
    run = runs(text, tmp_path)
    assert run.summary["goodput_mbps"]["flows"]["iperf-1"] == pytest.approx(1.9, abs=0.2)
    assert run.summary["goodput_mbps"]["flows"]["iperf-2"] == pytest.approx(3.8, abs=0.4)


@pytest.mark.parametrize(
    ("words", "metric"),
    [
        (
            " start_httperf_incast, client='a', servers='b:80, d:80', duration=2, period=0.5, response_size=8 ",
            "request_ms",
        ),
        (" start_httperf_dash, client='a', server='b', duration=4, rate=500, cycle=1, prefetch=2.0 ", "video"),
        (" start_dash_streaming_dashjs, client='a', serv='b', chunk_size='2', mpd='x', duration=4 ", "video"),
        (" start_nttcp, client='a', server='b', interval=20, psize=172, duration=2 ", "udp_loss"),
    ],
)
def test_other_traffic_runs(words: str, metric: str, tmp_path: Path) -> None:
    assert metric in runs(with_traffic(words), tmp_path).summary


def test_a_duration_may_be_an_axis() -> None:
    varied = """
TPCONF_parameter_list = {'durations': (['V_duration'], ['dur'], [2, 6], {})}
TPCONF_vary_parameters = ['durations']
"""
    found = convert(SMALL + varied).experiment
    assert found["traffic"][1]["stop"] == "${iperf_2_duration}"
    assert found["vary"]["durations"]["6"]["let"]["iperf_2_duration"] == "11.5s"
    assert found["duration"] == "16s"


def test_files_beside_it_are_parts_of_the_configuration(tmp_path: Path) -> None:
    head, tail = SMALL.split("TPCONF_router_queues", 1)
    (tmp_path / "nodes.py").write_text(head + "TPCONF_debug_level = 1\n")
    (tmp_path / "c.py").write_text("execfile('nodes.py')\nTPCONF_router_queues" + tail)
    _, notes = import_teacup(tmp_path / "c.py", tmp_path / "out")
    assert any(
        note.startswith(f"no effect: {tmp_path}/nodes.py:6: of the laboratory: `TPCONF_debug_level` (6)")
        for note in notes
    )
    for word, told in (("../c.py", "not in the folder"), ("c.py", "more than 20 files"), ("no.py", "No such file")):
        (tmp_path / "c.py").write_text(f"execfile({word!r})\n{SMALL}")
        _, notes = import_teacup(tmp_path / "c.py", tmp_path / "out")
        assert any(told in note for note in notes)


def test_a_named_pipe_beside_it_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "part.py")
    (tmp_path / "c.py").write_text(f"execfile('part.py')\n{SMALL}")
    _, notes = import_teacup(tmp_path / "c.py", tmp_path / "out")
    assert any("not a regular file" in note for note in notes)


def no_file(name: str) -> str:
    raise NotEvaluated(name)


BROKEN: list[tuple[Callable[[str], str], str]] = [
    (lambda text: text.replace("'b': [", "'x': ["),
     r"`b` has no address in TPCONF_host_internal_ip \(line 4\), which has `x` that no list of hosts has"),
    (lambda text: TRAFFIC.sub("tr = [\n (0, '1', \" start_iperf, \n a \"),\n]\nTPCONF_traffic_gens = tr\n", text),
     r"TPCONF_traffic_gens is not known: line 14: `tr` has no value \(line 10: the text that begins in line 11 has no"),
    (lambda text: text.replace("TPCONF_traffic_gens = [", "TPCONF_traffic_gens = made_by() + ["),
     r"line 10: TPCONF_traffic_gens is not known: line 10: `made_by\(\)`"),
    (lambda text: text.replace("TPCONF_hosts = [", "TPCONF_hosts = open('x') + ["),
     r"name fewer than two hosts; TPCONF_hosts: line 3: `open\('x'\)`"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "told"), BROKEN, ids=range(len(BROKEN)))
def test_what_stands_in_the_way_is_named_with_its_line(change: Callable[[str], str], told: str) -> None:
    with pytest.raises(NotReadable, match=told) as refused:
        convert(change(with_traffic(f" start_iperf, {ENDS} ")) if "b`" in told else change(SMALL), no_file)
    assert "\n  hint: " in str(refused.value)


def test_an_element_without_a_value_does_not_take_the_others_with_it() -> None:
    text = SMALL.replace("{'V_aqm': 'pfifo'", "{'V_other': open('x').read(), 'V_aqm': 'codel'")
    text += "x = ','.join(str(each) for each in [1, 2])\ny = [each * 2 for each in range(3)]\n"
    found = convert(text)
    assert "| codel limit 50" in found.experiment["qdiscs"]["r -> lan2"][0]
    assert any(
        "'V_other' of `TPCONF_variable_defaults`" in note.what.replace("`'", "'").replace("'`", "'")
        for note in found.notes
    )


def test_an_axis_that_varies_nothing_has_a_line() -> None:
    varied = "TPCONF_parameter_list = {'x': (['V_x'], ['x'], [1, 2], {})}\nTPCONF_vary_parameters = ['x']\n"
    found = convert(SMALL + varied)
    assert "vary" not in found.experiment
    assert any("`x` varies nothing" in note.what for note in found.notes)
