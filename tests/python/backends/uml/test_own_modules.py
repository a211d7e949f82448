"""Kernel modules of the user on a kernel in virtual time: built for it, loaded in the guest, used."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from backends.test_modules import EXPERIMENT, mine, reno, scenario_of
from tailback import scenario
from tailback.backends import RunFailed, RunResult, Unsuitable
from tailback.backends.linux.own_modules import Own, of_machine, own_modules, printed
from tailback.backends.linux.process import Progress
from tailback.backends.uml import Uml, lookout
from tailback.backends.uml.console import Console
from tailback.backends.uml.settings import job_of
from tailback.backends.uml.state import places, warnings_in
from tailback.kernel.headers import find_headers_of
from tailback.kernel.loadable import refusal
from tailback.kernel.messages import Source
from tailback.resolved import Scenario

TWO = ", ".join(
    f"{{tcp: client -> server, name: f{step}, cc: {{module: tcp_mine.c, step: {step}}}, stop: 3s}}" for step in (1, 3)
)


def run(uml: Uml, asked: Scenario) -> RunResult:
    uml.check(asked)
    return uml.run(asked, uml.new_progress())


def two_flows(folder: Path) -> Scenario:
    (folder / "tcp_mine.c").write_text(reno("tcp_sk(sk)->snd_cwnd = 10 * step; return;"))
    (folder / "experiment.yaml").write_text(
        EXPERIMENT.replace("[{tcp: client -> server, name: upload, stop: 3s}]", f"[{TWO}]")
    )
    return scenario.load(folder / "experiment.yaml").runs()[0].scenario


def windows(result: RunResult) -> pa.Table:
    return result.tables["tcp_info"].to_arrow().select(["t", "snd_cwnd", "snd_ssthresh", "pacing_rate", "rtt"])


@pytest.mark.parametrize("name", ["cubic", "yeah"])
def test_a_module_of_the_kernel_gives_the_windows_of_the_built_in_control(uml: Uml, tmp_path: Path, name: str) -> None:
    file = find_headers_of(uml.kernel.manifest).controls / f"tcp_{name}.c"
    loaded = windows(run(uml, scenario_of(tmp_path, f"{{module: {file}}}")))
    built_in = windows(run(uml, scenario_of(tmp_path, name)))
    assert loaded.equals(built_in)
    assert max(built_in["snd_cwnd"].to_pylist()) > 20


def test_flows_with_other_parameters_have_modules_of_their_own(uml: Uml, tmp_path: Path) -> None:
    info = run(uml, two_flows(tmp_path)).tables["tcp_info"].to_arrow().to_pandas()
    last = {
        str(flow): list(rows["snd_cwnd"])[-1] for flow, rows in info[info["t"] < 2.9].groupby("flow", observed=True)
    }
    assert last == {"f1": 10, "f3": 30}


def test_what_a_module_prints_is_in_the_manifest(uml: Uml, tmp_path: Path) -> None:
    found = run(uml, mine(tmp_path, init='pr_info("step is %d\\n", step);', parameters=", step: 5"))
    assert found.notes["module_log"] == ["step is 5"]
    assert "6.12" in found.notes["modules"]["tb0_mine"]["kernel"]


def test_a_module_that_refuses_to_begin_ends_its_run_with_what_it_printed(uml: Uml, tmp_path: Path) -> None:
    asked = mine(tmp_path, init='pr_err("mine: no luck, %d\\n", 7); return -EINVAL;')
    with pytest.raises(RunFailed, match=r"loading /tmp/run/tb0_mine\.ko: Invalid argument.*mine: no luck, 7"):
        run(uml, asked)


def test_a_module_that_crashes_ends_its_run_with_the_panic(uml: Uml, tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match=r"tcp_mine\.c, in its call `cong_avoid`: the kernel panicked"):
        run(uml, mine(tmp_path, avoid="*(volatile int *)(long)(step - 1) = 1;"))


BEYOND = r"it wrote beyond its private area \(icsk_ca_priv of \d+ bytes\), in its call `cong_avoid`"


@pytest.mark.parametrize(
    ("avoid", "said"),
    [
        ("memset(inet_csk_ca(sk), 0, ICSK_CA_PRIV_SIZE + 4 * step);", rf"tcp_mine\.c: {BEYOND}"),
        ("((u32 *)inet_csk_ca(sk))[-2 * step] = 7;", rf"tcp_mine\.c: {BEYOND}"),
        ("tcp_sk(sk)->snd_cwnd = 0; return;", r"tcp_mine\.c: it set cwnd to 0, in its call `cong_avoid`"),
        ("{ void msleep(unsigned int); msleep(10); }", r"tcp_mine\.c, line 10, in mine_avoid: it sleeps, or waits"),
        ("while (READ_ONCE(step)) ;", r"tcp_mine\.c: it did not return within 3 s of CPU time, in its call `cong_av"),
    ],
)
def test_a_module_that_does_what_none_may_ends_its_run_with_the_call(
    uml: Uml, tmp_path: Path, avoid: str, said: str
) -> None:
    asked = mine(tmp_path, avoid=avoid)
    with pytest.raises(RunFailed, match=f"the congestion control failed: {said}"):
        run(uml, asked)


def test_what_the_kernel_warns_of_marks_its_run(uml: Uml, tmp_path: Path) -> None:
    asked = mine(tmp_path, avoid="WARN_ON_ONCE(step);")
    found = run(uml, asked)
    assert found.notes["kernel_warnings"] == ["WARNING at tcp_mine.c, line 10, in mine_avoid"]


def test_a_module_that_prints_for_each_ack_keeps_its_first_line_and_has_all_in_a_file(uml: Uml, tmp_path: Path) -> None:
    told = "x" * 200
    found = run(uml, mine(tmp_path, avoid=f'pr_info("ack %u {told}\\n", ack);', init='pr_info("first\\n");'))
    log, whole = found.notes["module_log"], found.files["module.log"].decode().splitlines()
    assert log[0] == whole[0] == "first"
    assert len(log) == 1001
    assert log[-1] == f"({len(whole) - 1000} more lines in module.log)"
    assert sum(line.startswith("ack ") for line in whole) == len(whole) - 1 > 1500, "more than the ring of the log has"


@pytest.mark.parametrize(
    ("avoid", "said"),
    [
        ("tcp_sk(sk)->no_such_member = 1;", "tcp_mine.c, line 10: 'struct tcp_sock' has no member named"),
        ("step = tcp_of_tomorrow(sk);", "tcp_mine.c, line 10: this kernel declares no function `tcp_of_tomorrow`"),
        ("tcp_send_fin(sk);", "tcp_mine.c, line 10: it needs `tcp_send_fin`"),
    ],
)
def test_what_does_not_compile_is_refused_with_its_line(uml: Uml, tmp_path: Path, avoid: str, said: str) -> None:
    with pytest.raises(Unsuitable) as caught:
        uml.check(mine(tmp_path, avoid=avoid))
    assert said in str(caught.value).replace("‘", "'").replace("’", "'")


def test_each_set_of_parameters_is_loaded_under_a_name_of_its_own(tmp_path: Path) -> None:
    asked = two_flows(tmp_path)
    assert [(own.name, own.words) for own in own_modules(asked)] == [
        ("tb0_mine", ["step=1"]),
        ("tb1_mine", ["step=3"]),
    ]
    job = job_of(asked)
    assert job["setup"][0] == {"kind": "load", "path": "/tmp/run/tb0_mine.ko", "parameters": "step=1"}
    assert [entry["congestion_control"] for entry in job["traffic"]] == ["tb0_mine", "tb1_mine"]


def test_a_long_name_of_a_file_is_cut_to_what_a_kernel_takes(tmp_path: Path) -> None:
    (tmp_path / "tcp_delay-based-control.c").write_text("")
    own = own_modules(scenario_of(tmp_path, "{module: tcp_delay-based-control.c}"))
    assert [each.name for each in own] == ["tb0_delay_based"]


def test_what_modules_print_begins_behind_the_first_that_was_loaded() -> None:
    taints = "<4>[    0.2] tb0_mine: loading out-of-tree module taints kernel."
    log = f"<6>[    0.1] booted\n{taints}\n<6>[    0.3] step is 5\n"
    assert printed(log) == ["step is 5"]
    assert printed("<6>booted\n") == []


def test_a_symbol_that_the_kernel_keeps_to_itself_is_named_with_its_line() -> None:
    source = Source("tcp_mine.c", "int x;\nvoid f(void) { tcp_send_fin(0); }\n")
    stderr = 'ERROR: modpost: "tcp_send_fin" [/tmp/m/tb0_mine.ko] undefined!\n'
    assert "  tcp_mine.c, line 2: it needs `tcp_send_fin`" in str(refusal(source, "Linux 6.12", stderr))


CALLS = """\
bad: scheduling from the idle thread!
Call Trace:
 [<60001e94>] ? schedule_timeout+0x0/0x71
 [<e080a77e>] ? guarded_cong_avoid+0x9e/0xc0 [tb0_mine]
"""


def console_of(tmp_path: Path, text: str) -> Console:
    own = Own("tb0_mine", Source("tcp_mine.c", ""), {})
    (tmp_path / "console").write_text(text)
    return Console(tmp_path / "console", {"tb0_mine": own}, {"tb0_mine": tmp_path / "tb0_mine.ko"})


def test_a_callback_that_sleeps_is_named_by_its_call_where_no_line_is_known(tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match=r"tcp_mine\.c, in its call `cong_avoid`: it sleeps"):
        console_of(tmp_path, CALLS).look()


def test_a_message_that_comes_in_two_parts_is_found(tmp_path: Path) -> None:
    said = "tailback: tb0_mine: cong_avoid: it set cwnd to 0\n"
    console = console_of(tmp_path, said[:20])
    console.look()
    (tmp_path / "console").write_text(said)
    with pytest.raises(RunFailed, match="it set cwnd to 0, in its call `cong_avoid`"):
        console.look()


def test_the_places_of_warnings_are_read_in_the_forms_of_old_and_new_kernels() -> None:
    old = "WARNING: CPU: 0 PID: 0 at net/ipv4/tcp_input.c:3456 tcp_ack+0x12/0x34"
    new = "WARNING: net/ipv4/tcp_input.c:3456 at tcp_ack+0x12/0x34, CPU#0: swapper/0"
    assert places([old, new]) == ["WARNING at net/ipv4/tcp_input.c, line 3456, in tcp_ack"]
    assert places(["<3>BUG: Bad page state in process agent"]) == ["BUG: Bad page state in process agent"]


def test_a_kernel_that_is_not_tainted_by_a_fault_has_no_warnings(tmp_path: Path) -> None:
    (tmp_path / "console").write_text("WARNING: CPU: 0 PID: 0 at a.c:1 f+0x1/0x2\n")
    for flags, wrong in (("4096", []), ("4608", ["WARNING at a.c, line 1, in f"])):
        (tmp_path / "tainted").write_text(f"{flags}\n")
        assert warnings_in(tmp_path) == wrong


def test_time_that_stands_still_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "console").write_text("")
    clock = iter(range(100))
    progress = Progress()
    watched = lookout.Lookout(Console(tmp_path / "console", {}, {}), progress, 10**10, lambda: float(next(clock)))
    progress.fraction = 0.13
    for _ in range(20):
        watched.look(0)
    [notice] = progress.take_notices()
    assert notice == "virtual time has not moved for 5 s of the guest's own time, at 1.3 s of the run"


def test_the_log_of_a_machine_is_read_from_the_last_time_the_modules_were_loaded() -> None:
    own = Own("tb0_mine", Source("tcp_mine.c", ""), {})
    failed = "<3>[   7.1] tailback: tb0_mine: cong_avoid: it set cwnd to 0\n"
    loaded = "<6>[   8.0] tailback: tb0_mine: registered\n"
    assert of_machine(f"{failed}{loaded}<6>[    8.1] step is 5\n", [own]) == ["step is 5"]
    with pytest.raises(RunFailed, match=r"tcp_mine\.c: it set cwnd to 0, in its call `cong_avoid`"):
        of_machine(loaded + failed, [own])
    assert of_machine("another line\n", []) == []
