"""Congestion controls in BPF: on the simulator they behave as our controls do, here the kernel checks them."""

from __future__ import annotations

import itertools
import math
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from backends.test_modules import headers, refusal, run, scenario_of
from tailback import scenario, starters
from tailback.backends import RunFailed, RunResult, Unsuitable
from tailback.backends.linux import suitable
from tailback.backends.linux.job import job_of
from tailback.backends.netns import bpf
from tailback.backends.uml import suitable as of_uml
from tailback.kernel.cache import Kernel, Manifest
from tailback.resolved import Scenario

__all__ = ["headers"]

EXAMPLES = Path(__file__).parents[3] / "examples/bpf"

RENO = """\
#include "vmlinux.h"
%s
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char _license[] SEC("license") = "GPL";

extern unsigned long CONFIG_HZ __kconfig;
extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
extern __u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;
%s
SEC("struct_ops/mine_avoid")
void BPF_PROG(mine_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	%s
	tcp_reno_cong_avoid(sk, ack, acked);
}

SEC("struct_ops/mine_ssthresh")
__u32 BPF_PROG(mine_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

SEC("struct_ops/mine_undo")
__u32 BPF_PROG(mine_undo, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops mine = {
	.ssthresh = (void *)mine_ssthresh,
	.cong_avoid = (void *)mine_avoid,
	.undo_cwnd = (void *)mine_undo,
	.name = "bpf_mine",
};
"""

COUNTED = """
struct count { __u64 acks; };

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct count);
} counts SEC(".maps");
"""

COUNTS = """\
struct count *found = bpf_sk_storage_get(&counts, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);

	if (found && ++found->acks % 100 == 0)
		bpf_printk("%llu acks, HZ %lu, seconds %llu, cwnd %u", found->acks, CONFIG_HZ,
			bpf_jiffies64() / CONFIG_HZ, BPF_CORE_READ(tcp_sk(sk), snd_cwnd));
"""

OWN = "static __always_inline struct tcp_sock *tcp_sk(const struct sock *sk) { return (struct tcp_sock *)sk; }\n"


def mine(folder: Path, *, include: str = "", outside: str = "", avoid: str = "") -> Scenario:
    (folder / "mine.bpf.c").write_text(RENO % (include, outside, avoid))
    return scenario_of(folder, "{bpf: mine.bpf.c}")


@pytest.mark.usefixtures("headers")
@pytest.mark.parametrize("include", ["", '#include "bpf_tracing_net.h"'])
def test_a_program_that_is_reno_gives_the_windows_of_reno(tmp_path: Path, include: str) -> None:
    outside = COUNTED + ("" if include else OWN)
    found = run(mine(tmp_path, include=include, outside=outside, avoid=COUNTS))
    ours = run(scenario_of(tmp_path, "reno")).tables["tcp_info"].to_arrow()
    theirs = found.tables["tcp_info"].to_arrow()
    for column in ("t", "snd_cwnd", "snd_ssthresh", "pacing_rate"):
        assert theirs[column].to_pylist() == ours[column].to_pylist()
    said = [re.fullmatch(r"(\d+) acks, HZ 1000, seconds ([0-3]), cwnd \d+", line) for line in found.notes["module_log"]]
    assert [int(line[1]) for line in said if line] == list(range(100, 100 * len(said) + 1, 100))
    assert len(said) > 10


@pytest.mark.usefixtures("headers")
def test_the_program_to_start_with_gives_the_windows_of_reno(tmp_path: Path) -> None:
    program, *_ = starters.program("mine", tmp_path)
    theirs = run(scenario_of(tmp_path, f"{{bpf: {program.name}}}")).tables["tcp_info"].to_arrow()
    ours = run(scenario_of(tmp_path, "reno")).tables["tcp_info"].to_arrow()
    for column in ("t", "snd_cwnd", "snd_ssthresh"):
        assert theirs[column].to_pylist() == ours[column].to_pylist()


CURVE = """\
links: [{ends: [client, router], rate: 1gbit, delay: 25ms}, {ends: [router, server], rate: 1gbit, delay: 25ms}]
qdiscs: {router -> server: htb rate 40mbit | pfifo limit 150}
traffic: [{tcp: client -> server, name: upload, stop: 30s}]
duration: 30s
measure: {interval: 100ms}
cc: {bpf: mine.bpf.c}
"""


@pytest.mark.usefixtures("headers")
def test_the_curve_of_the_example_is_that_of_rfc_9438(tmp_path: Path) -> None:
    """Between two losses cwnd is C (t - K)^3 + W_max, with W_max lowered by fast convergence. [rfc9438 §4.2, §4.7]"""
    (tmp_path / "mine.bpf.c").write_text((EXAMPLES / "cubic.bpf.c").read_text())
    (tmp_path / "curve.yaml").write_text(CURVE)
    table = run(scenario.load(tmp_path / "curve.yaml").runs()[0].scenario).tables["tcp_info"].to_arrow()
    t, cwnd, ssthresh = (
        np.nan_to_num(table[name].to_numpy().astype(float)) for name in ("t", "snd_cwnd", "snd_ssthresh")
    )
    reduced = [*np.flatnonzero(np.diff(ssthresh)) + 1, len(t)]
    assert len(reduced) >= 5
    most = 0.0
    # The first two follow the overshoot of slow start, which falls between two samples.
    for begin, end in itertools.pairwise(reduced[1:]):
        last = cwnd[begin - 1]
        most = 0.85 * last if last < most else last
        plateau = math.cbrt((most - ssthresh[begin]) / 0.4)
        recovered = slice(begin + 10, end - 1)
        curve = 0.4 * (t[recovered] - t[begin] - plateau) ** 3 + most
        if begin != reduced[1]:
            assert cwnd[recovered] == pytest.approx(curve, rel=0.02)


CONTROL = """\
SEC("struct_ops/mine_control")
void BPF_PROG(mine_control, %s)
{
}
"""
OTHER = '\nSEC(".struct_ops.link")\nstruct tcp_congestion_ops other = {\n\t.name = "bpf_other",\n};\n'


@pytest.mark.usefixtures("headers")
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (".cong_avoid = (void *)mine_avoid", ".cong_control = (void *)mine_control", "line 14: `cong_control` of"),
        ("};\n", "};\n" + OTHER, "line 45: it has 2 controls"),
        ('SEC(".struct_ops")', "", "has no struct tcp_congestion_ops"),
        ("\nextern", "\nstruct { __uint(type, BPF_MAP_TYPE_HASH); } map;\nextern", "line 9: the simulator has no map"),
    ],
)  # fmt: skip
def test_what_a_kernel_refuses_and_a_compiler_does_not_notice_is_refused_with_its_line(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    text = RENO % ("", CONTROL % "struct sock *sk, const struct rate_sample *rs", "")
    (tmp_path / "mine.bpf.c").write_text(text.replace(old, new, 1))
    assert said in refusal(scenario_of(tmp_path, "{bpf: mine.bpf.c}"))


@pytest.mark.usefixtures("headers")
def test_a_program_in_a_file_with_the_name_of_a_module_is_told_its_name(tmp_path: Path) -> None:
    (tmp_path / "mine.c").write_text(RENO % ("", "", ""))
    assert "give it a name that ends in .bpf.c" in refusal(scenario_of(tmp_path, "mine.c"))


@pytest.mark.usefixtures("headers")
def test_a_program_may_define_what_the_kernel_and_the_headers_have_and_include_them_in_any_order(
    tmp_path: Path,
) -> None:
    own = """
static bool before(__u32 one, __u32 other) { return (__s32)(one - other) < 0; }
static __noinline __u32 root(__u32 of) { return before(0, of) ? of : 0; }
"""
    text = RENO % ('#include "bpf_tracing_net.h"\n#include <bpf/bpf_tracing.h>', own, "acked = root(acked);")
    lines = [line for line in text.splitlines(keepends=True) if "vmlinux" not in line and "bpf_helpers" not in line]
    (tmp_path / "mine.bpf.c").write_text("".join(lines))
    asked = scenario_of(tmp_path, "{bpf: mine.bpf.c}")
    ours = run(scenario_of(tmp_path, "reno")).tables["tcp_info"].to_arrow()
    assert run(asked).tables["tcp_info"].to_arrow()["snd_cwnd"].to_pylist() == ours["snd_cwnd"].to_pylist()


@pytest.mark.usefixtures("headers")
def test_what_no_program_of_the_simulator_can_do_is_refused_with_its_line(tmp_path: Path) -> None:
    array = 'SEC("struct_ops")\nint mine_init(unsigned long long *ctx)\n{\n\treturn 0;\n}\n'
    assert "mine.bpf.c, line 14: it takes its arguments from an array" in refusal(mine(tmp_path, outside=array))
    said = refusal(mine(tmp_path, avoid="__u32 key = 0;\n\tif (bpf_map_lookup_elem(&mine_avoid, &key)) return;"))
    assert "mine.bpf.c, line 18: the simulator has no function `bpf_map_lookup_elem` for BPF programs" in said
    assert "it needs `bbr_main`" in refusal(
        mine(tmp_path, outside="extern void bbr_main(struct sock *sk) __ksym;", avoid="bbr_main(sk);")
    )


# What a program of init does with options of its socket, and what it prints of them.
STARTS = """
static char fallback[TCP_CA_NAME_MAX] = "reno";
SEC("struct_ops/mine_init")
void BPF_PROG(mine_init, struct sock *sk)
{
	char name[TCP_CA_NAME_MAX];
	int value = 0;

	%s
}
"""


def starting(folder: Path, text: str, control: str = "") -> Scenario:
    """A program with these statements in `init`, which both ends of a connection begin with."""
    program = RENO % ('#include "bpf_tracing_net.h"', STARTS % text, control)
    (folder / "mine.bpf.c").write_text(program.replace("\t.ssthresh", "\t.init = (void *)mine_init,\n\t.ssthresh"))
    return scenario_of(folder, "{bpf: mine.bpf.c}")


def windows(result: RunResult) -> list[int]:
    return [int(value) for value in result.tables["tcp_info"].to_arrow()["snd_cwnd"].to_pylist() if value is not None]


@pytest.mark.usefixtures("headers")
def test_a_program_that_falls_back_to_reno_leaves_the_flow_to_it(tmp_path: Path) -> None:
    text = """
	bpf_getsockopt(sk, SOL_TCP, TCP_CONGESTION, name, sizeof(name));
	bpf_getsockopt(sk, SOL_TCP, TCP_MAXSEG, &value, sizeof(value));
	bpf_printk("%s, mss %d", name, value);
	value = bpf_setsockopt(sk, SOL_TCP, TCP_CONGESTION, fallback, sizeof(fallback));
	bpf_getsockopt(sk, SOL_TCP, TCP_CONGESTION, name, sizeof(name));
	bpf_printk("%s, %d", name, value);"""
    never = 'tcp_sk(sk)->snd_cwnd = 1; bpf_printk("called");'
    found = run(starting(tmp_path, text, never))
    assert found.notes["module_log"] == 2 * ["bpf_mine, mss 1448", "reno, 0"]
    assert windows(found) == windows(run(scenario_of(tmp_path, "reno")))


@pytest.mark.usefixtures("headers")
def test_a_control_that_was_chosen_by_a_program_cannot_choose_another(tmp_path: Path) -> None:
    text = """
	value = bpf_setsockopt(sk, SOL_TCP, TCP_CONGESTION, fallback, sizeof(fallback));
	bpf_printk("away %d", value);
	__builtin_memcpy(name, "bpf_mine", 9);
	value = bpf_setsockopt(sk, SOL_TCP, TCP_CONGESTION, name, sizeof(name));
	bpf_printk("back %d", value);"""
    # The second call begins `init` again, whose own calls are refused: EBUSY.
    found = run(starting(tmp_path, text)).notes["module_log"]
    assert found == 2 * ["away 0", "away -16", "back -16", "back 0"]


@pytest.mark.usefixtures("headers")
def test_a_program_sets_its_first_window_and_the_largest(tmp_path: Path) -> None:
    text = """
	value = 4;
	value = bpf_setsockopt(sk, SOL_TCP, TCP_BPF_IW, &value, sizeof(value));
	bpf_printk("%d, cwnd %u", value, tcp_sk(sk)->snd_cwnd);
	value = 20;
	value = bpf_setsockopt(sk, SOL_TCP, TCP_BPF_SNDCWND_CLAMP, &value, sizeof(value));
	bpf_printk("%d, %d", value, (int)bpf_setsockopt(sk, SOL_TCP, TCP_BPF_IW, &value, 2));"""
    late = """int value = 9;
	static int told;

	if (!told++)
		bpf_printk("late %d", (int)bpf_setsockopt(sk, SOL_TCP, TCP_BPF_IW, &value, sizeof(value)));"""
    found = run(starting(tmp_path, text, late))
    assert found.notes["module_log"] == [*2 * ["0, cwnd 4", "0, -22"], "late -22"]
    assert max(windows(found)) == 20 < max(windows(run(scenario_of(tmp_path, "reno"))))


PACED = """
SEC("struct_ops/mine_control")
void BPF_PROG(mine_control, struct sock *sk, __u32 ack, int flag, const struct rate_sample *rs)
{
	tcp_sk(sk)->snd_cwnd = 100;
	sk->sk_pacing_rate = sk->sk_max_pacing_rate;
}
"""
LIMIT = """
	value = 1000000;
	value = bpf_setsockopt(sk, SOL_SOCKET, SO_MAX_PACING_RATE, &value, sizeof(value));
	bpf_printk("%d", value);"""


@pytest.mark.usefixtures("headers")
def test_a_program_that_paces_itself_limits_its_rate(tmp_path: Path) -> None:
    starting(tmp_path, LIMIT)
    text = (tmp_path / "mine.bpf.c").read_text().replace('\nSEC(".struct_ops")', PACED + '\nSEC(".struct_ops")')
    (tmp_path / "mine.bpf.c").write_text(
        text.replace(".cong_avoid = (void *)mine_avoid", ".cong_control = (void *)mine_control")
    )
    found = run(scenario_of(tmp_path, "{bpf: mine.bpf.c}"))
    assert found.notes["module_log"] == ["0", "0"]
    # Pacing counts data: 100 kB in 100 ms.
    assert found.tables["flows"].to_arrow().to_pandas().bytes.median() == pytest.approx(1e5, rel=0.02)


@pytest.mark.usefixtures("headers")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("bpf_setsockopt(sk, SOL_SOCKET, SO_SNDBUF, &value, sizeof(value));", "give the flow `sndbuf`"),
        ("bpf_setsockopt(sk, SOL_TCP, TCP_NODELAY, &value, sizeof(value));", "line 21: the simulator cannot set"),
        ("bpf_getsockopt(sk, SOL_TCP, TCP_BPF_IW, &value, sizeof(value));", "the simulator cannot get `TCP_BPF_IW`"),
    ],
)
def test_an_option_that_the_simulator_has_not_is_refused_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    assert said in refusal(starting(tmp_path, text))


@pytest.mark.usefixtures("headers")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("bpf_setsockopt(sk, SOL_TCP, 1, &value, sizeof(value));", "bpf_setsockopt for option 1 of level 6"),
        (
            '__builtin_memcpy(name, "cubic", 6);\n\tbpf_setsockopt(sk, SOL_TCP, TCP_CONGESTION, name, 6);',
            "the simulator has only `bpf_mine` and `reno`",
        ),
        (LIMIT, "give the flow max_pacing_rate in the experiment"),
    ],
)
def test_what_a_program_asks_for_only_while_it_runs_ends_its_run(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(RunFailed, match=re.escape(said)):
        run(starting(tmp_path, text))


@pytest.mark.usefixtures("headers")
def test_release_must_not_set_options_as_on_a_kernel(tmp_path: Path) -> None:
    starting(tmp_path, "bpf_setsockopt(sk, SOL_TCP, TCP_CONGESTION, fallback, sizeof(fallback));")
    (tmp_path / "mine.bpf.c").write_text((tmp_path / "mine.bpf.c").read_text().replace(".init =", ".release ="))
    assert "`release` must not call bpf_setsockopt, as on a kernel" in refusal(
        scenario_of(tmp_path, "{bpf: mine.bpf.c}")
    )


def test_user_mode_linux_refuses_a_program_and_says_why(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("CONFIG_MODULES=y\nCONFIG_TCP_CONG_CUBIC=y\n")
    stock = Kernel(tmp_path, Manifest("stock", "0", "6.12.117", "", "", "", 0.0))
    with pytest.raises(Unsuitable, match="needs a JIT compiler, and user-mode Linux has none for BPF"):
        of_uml.check(mine(tmp_path), stock)


def test_the_kernel_knows_a_program_by_the_name_that_it_has(tmp_path: Path) -> None:
    [entry] = job_of(mine(tmp_path))["traffic"]
    assert entry["congestion_control"] == "bpf_mine"


def test_what_this_machine_lacks_for_a_program_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bpf, "TYPES", tmp_path / "none")
    monkeypatch.setattr(bpf, "HEADER", tmp_path / "none")
    monkeypatch.setattr(bpf, "PLACES", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    found = dict(bpf.findings(mine(tmp_path)))
    whole = "\n".join(f"{what}: {remedy}" for what, remedy in found.items())
    for word in ("only root may do", "CONFIG_DEBUG_INFO_BTF", "apt-get install clang bpftool libbpf-dev"):
        assert word in whole
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(Unsuitable, match="needs the types of this kernel"):
        suitable.refuse(bpf.findings(mine(tmp_path)))


def test_a_program_without_the_name_of_a_control_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.bpf.c").write_text("int x;\n")
    found = [what for what, _ in bpf.findings(scenario_of(tmp_path, "mine.bpf.c"))]
    assert "`mine.bpf.c` names no congestion control" in found


@pytest.fixture
def loads_programs(tmp_path: Path) -> None:
    found = [what for what, _ in bpf.findings(mine(tmp_path))]
    of_machine = [what for what in found if "only root may do" in what or "types of this kernel" in what]
    if of_machine:
        pytest.skip(f"this machine loads no BPF program: {of_machine[0]}")
    if found:
        pytest.skip(f"needs what loads BPF programs: {found[0]}")
    if bpf._run("prog", "list").returncode:
        pytest.skip("this machine lets nobody load a BPF program, not even root")


@pytest.mark.usefixtures("loads_programs")
@pytest.mark.parametrize("example", ["aimd", "cubic", "fresh"])
def test_the_kernel_of_this_machine_accepts_the_examples_and_forgets_them(tmp_path: Path, example: str) -> None:
    if example == "fresh":
        starters.program(example, tmp_path)
    else:
        shutil.copy(EXAMPLES / f"{example}.bpf.c", tmp_path)
    programs = bpf.compiled(scenario_of(tmp_path, f"{example}.bpf.c"))
    [name] = programs
    with bpf.registered(programs):
        assert name in bpf._available()
        with pytest.raises(RunFailed, match=f"has a congestion control `{name}` already"), bpf.registered(programs):
            pass
        assert name in bpf._available()
    assert name not in bpf._available()


CLAMPED = """
#define TCP_LEVEL 6

SEC("struct_ops/mine_init")
void BPF_PROG(mine_init, struct sock *sk)
{
	int value = 20;
	char name[16];

	bpf_getsockopt(sk, TCP_LEVEL, 13, name, sizeof(name));
	bpf_setsockopt(sk, TCP_LEVEL, TCP_BPF_SNDCWND_CLAMP, &value, sizeof(value));
}
"""


def clamped(folder: Path) -> Scenario:
    """A program for a kernel and the simulator alike: of the headers of libbpf it has the macros, of the types all."""
    program = (RENO % ("", CLAMPED, "")).replace("\t.ssthresh", "\t.init = (void *)mine_init,\n\t.ssthresh")
    (folder / "mine.bpf.c").write_text(program)
    return scenario_of(folder, "{bpf: mine.bpf.c}")


@pytest.mark.usefixtures("headers")
def test_a_program_for_a_kernel_sets_the_same_options_here(tmp_path: Path) -> None:
    assert max(windows(run(clamped(tmp_path)))) == 20


@pytest.mark.usefixtures("loads_programs")
def test_the_kernel_of_this_machine_accepts_a_program_that_sets_options(tmp_path: Path) -> None:
    with bpf.registered(bpf.compiled(clamped(tmp_path))):
        assert "bpf_mine" in bpf._available()


@pytest.mark.usefixtures("loads_programs")
def test_a_program_that_the_kernel_refuses_is_shown_with_its_reason(tmp_path: Path) -> None:
    wild = "*(volatile __u32 *)(ack + 4ULL) = 1;"
    programs = bpf.compiled(mine(tmp_path, avoid=wild))
    with pytest.raises(RunFailed, match=r"the kernel refuses the BPF program of `bpf_mine`"), bpf.registered(programs):
        pass
    assert "bpf_mine" not in bpf._available()


@pytest.mark.usefixtures("loads_programs")
def test_clang_names_the_line_of_the_user(tmp_path: Path) -> None:
    with pytest.raises(Unsuitable, match=r"mine\.bpf\.c, line \d+: use of undeclared identifier 'nothing'"):
        bpf.compiled(mine(tmp_path, avoid="acked = nothing;"))
