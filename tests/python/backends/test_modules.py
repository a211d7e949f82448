"""Kernel modules on the simulator: they behave as our controls do, and a module that fails costs its run alone."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import tailback
from tailback import kernel, scenario
from tailback.backends import RunFailed, RunResult, Unsuitable, modules
from tailback.backends.sim import Sim
from tailback.kernel import KernelMissing, messages, module
from tailback.resolved import Scenario

EXPERIMENT = """\
links: [{ends: [client, router], rate: 1gbit, delay: 5ms}, {ends: [router, server], rate: 1gbit, delay: 5ms}]
qdiscs: {router -> server: htb rate 20mbit | pfifo limit 50}
traffic: [{tcp: client -> server, name: upload, stop: 3s}]
duration: 4s
"""

RENO = """\
#include <linux/module.h>
#include <net/tcp.h>

struct mine { u32 acks; };
static int step = 1;
module_param(step, int, 0644);

static void mine_avoid(struct sock *sk, u32 ack, u32 acked)
{
	%s
	tcp_reno_cong_avoid(sk, ack, acked);
}

static struct tcp_congestion_ops mine = {
	.ssthresh = tcp_reno_ssthresh,
	.undo_cwnd = tcp_reno_undo_cwnd,
	.cong_avoid = mine_avoid,
	.owner = THIS_MODULE,
	.name = "mine",
};
"""

REGISTERED = """
static int __init mine_register(void)
{
	%s
	return tcp_register_congestion_control(&mine);
}

module_init(mine_register);
MODULE_LICENSE("GPL");
"""


@pytest.fixture(scope="module")
def headers() -> kernel.Headers:
    if os.environ.get("CI") == "true":
        return kernel.prepare(kernel.Recipe(kernel.package("6.12"), kernel.STOCK), print)
    try:
        return kernel.find_headers()
    except KernelMissing as missing:
        pytest.skip(f"needs the headers of a kernel: {missing}")


def scenario_of(folder: Path, control: str) -> Scenario:
    (folder / "experiment.yaml").write_text(f"{EXPERIMENT}cc: {control}\n")
    return scenario.load(folder / "experiment.yaml").runs()[0].scenario


def run(asked: Scenario) -> RunResult:
    return Sim().run(asked, Sim().new_progress())


def reno(avoid: str, init: str = "") -> str:
    """The text of a module that is Reno, with these statements before those of two of its functions."""
    return RENO % avoid + REGISTERED % init


def mine(folder: Path, *, avoid: str = "", init: str = "", parameters: str = "") -> Scenario:
    (folder / "tcp_mine.c").write_text(reno(avoid, init))
    return scenario_of(folder, f"{{module: tcp_mine.c{parameters}}}")


def refusal(asked: Scenario) -> str:
    with pytest.raises(Unsuitable) as caught:
        Sim().check(asked)
    return str(caught.value)


@pytest.mark.parametrize("name", ["cubic", "yeah", "cdg", "dctcp"])
def test_a_module_of_the_kernel_gives_the_windows_of_our_control(
    headers: kernel.Headers, tmp_path: Path, name: str
) -> None:
    theirs = (
        run(scenario_of(tmp_path, f"{{module: {headers.controls / f'tcp_{name}.c'}}}")).tables["tcp_info"].to_arrow()
    )
    ours = run(scenario_of(tmp_path, name)).tables["tcp_info"].to_arrow()
    for column in ("t", "snd_cwnd", "snd_ssthresh", "pacing_rate"):
        assert theirs[column].to_pylist() == ours[column].to_pylist()
    assert max(ours["snd_cwnd"].to_pylist()) > 20


def test_what_bbr_says_of_itself_is_in_the_columns_of_bbr(headers: kernel.Headers, tmp_path: Path) -> None:
    theirs = run(scenario_of(tmp_path, f"{{module: {headers.controls / 'tcp_bbr.c'}}}")).tables["tcp_info"].to_arrow()
    ours = run(scenario_of(tmp_path, "bbr")).tables["tcp_info"].to_arrow()
    for column in ("bbr_bw", "bbr_min_rtt", "bbr_pacing_gain", "bbr_cwnd_gain"):
        assert theirs[column].to_pylist() == ours[column].to_pylist()
    assert max(ours["bbr_bw"].to_pylist()) > 2_000_000, "bytes per second"


BBR_TREE = (
    ("u32 (*min_tso_segs)(struct sock *sk);", "u32 (*tso_segs)(struct sock *sk, unsigned int mss_now);"),
    (
        "u32  (*undo_cwnd)(struct sock *sk);",
        "u32 (*undo_cwnd)(struct sock *sk);\nvoid (*skb_marked_lost)(struct sock *sk, const struct sk_buff *skb);",
    ),
    (
        "struct sock *sk, u32 ack, int flag, const struct rate_sample *rs",
        "struct sock *sk, const struct rate_sample *rs",
    ),
    ("u64  prior_mstamp; /*", "u32 tx_in_flight; s32 lost; u64 prior_mstamp; /*"),
    ("u64 first_tx_mstamp;", "u32 in_flight, lost, first_tx_mstamp;"),
    ("u64 delivered_mstamp;\n\t\t} tx", "u32 delivered_mstamp;\n\t\t} tx"),
)
"""What trees with BBR 2 and 3 change in `include/net/tcp.h` for controls."""

WITNESS = """\
#include <linux/module.h>
#include <linux/inet_diag.h>
#include <net/tcp.h>

struct mine { u32 losses, most_lost, in_flight, at_loss; };

static void mine_control(struct sock *sk, const struct rate_sample *rs)
{
	struct mine *own = inet_csk_ca(sk);

	tcp_sk(sk)->snd_cwnd = 100;
	own->in_flight = max(own->in_flight, rs->tx_in_flight);
	own->most_lost = max_t(u32, own->most_lost, rs->lost);
}

static void mine_lost(struct sock *sk, const struct sk_buff *skb)
{
	struct mine *own = inet_csk_ca(sk);

	own->losses += tcp_skb_pcount(skb);
	own->at_loss = max_t(u32, own->at_loss, TCP_SKB_CB(skb)->tx.in_flight);
	WARN_ON(TCP_SKB_CB(skb)->tx.lost >= tcp_sk(sk)->lost);
}

static u32 mine_segs(struct sock *sk, unsigned int mss_now) { return 1; }

static size_t mine_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct mine *own = inet_csk_ca(sk);

	*attr = INET_DIAG_BBRINFO;
	info->bbr.bbr_bw_hi = 0;
	info->bbr.bbr_bw_lo = own->at_loss;
	info->bbr.bbr_min_rtt = own->losses;
	info->bbr.bbr_pacing_gain = own->in_flight << 8;
	info->bbr.bbr_cwnd_gain = own->most_lost << 8;
	return sizeof(info->bbr);
}

static struct tcp_congestion_ops mine = {
	.ssthresh = tcp_reno_ssthresh,
	.undo_cwnd = tcp_reno_undo_cwnd,
	.cong_control = mine_control,
	.skb_marked_lost = mine_lost,
	.tso_segs = mine_segs,
	.get_info = mine_info,
	.owner = THIS_MODULE,
	.name = "mine",
};
"""


def linked(tree: Path, folder: Path) -> None:
    """A folder with the entries of another."""
    folder.mkdir()
    for entry in tree.iterdir():
        (folder / entry.name).symlink_to(entry)


CWND_EVENT = "void (*cwnd_event)(struct sock *sk, enum tcp_ca_event ev);"
SINCE_7 = ((CWND_EVENT, f"{CWND_EVENT}\n\tvoid (*cwnd_event_tx_start)(struct sock *sk);"),)
"""What Linux 7 adds to it."""


def with_other_members(headers: kernel.Headers, folder: Path, changes: Sequence[tuple[str, str]]) -> kernel.Headers:
    linked(headers.folder, folder)
    for part in ("include", "include/net"):
        (folder / part).unlink()
        linked(headers.folder / part, folder / part)
    text = (headers.folder / "include/net/tcp.h").read_text()
    for ours, theirs in changes:
        assert ours in text
        text = text.replace(ours, theirs)
    (folder / "include/net/tcp.h").unlink()
    (folder / "include/net/tcp.h").write_text(text)
    return replace(headers, folder=folder, digest=f"{headers.digest}-{len(changes)}")


def test_a_module_for_a_tree_with_bbr3_is_told_of_lost_segments(
    headers: kernel.Headers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = with_other_members(headers, tmp_path / "tree", BBR_TREE)
    monkeypatch.setattr(modules, "find_headers", lambda _: theirs)
    (tmp_path / "tcp_mine.c").write_text(WITNESS + REGISTERED % "")
    sample = run(scenario_of(tmp_path, "{module: tcp_mine.c}")).tables["tcp_info"].to_arrow().to_pylist()[-1]
    assert sample["bbr_min_rtt"] == sample["total_retrans"] > 10, "losses that it was told of"
    assert 60 < sample["bbr_bw"] <= 100, "segments in flight when one that was lost was sent"
    assert 60 < sample["bbr_pacing_gain"] <= 100, "segments in flight when one that was acknowledged was sent"
    assert sample["bbr_cwnd_gain"] > 0, "losses since then"


OF_7 = RENO.replace(
    "\t.owner",
    "\t.cwnd_event = mine_event,\n\t.cwnd_event_tx_start = mine_start,\n\t.owner",
).replace(
    "static struct tcp_congestion_ops",
    """static void mine_start(struct sock *sk) { pr_info("begins to send"); }
static void mine_event(struct sock *sk, enum tcp_ca_event event) { if (event == CA_EVENT_TX_START) pr_info("twice"); }

static struct tcp_congestion_ops""",
)


def test_a_module_for_linux_7_is_told_of_the_begin_of_sending_by_a_member_of_its_own(
    headers: kernel.Headers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = with_other_members(headers, tmp_path / "tree", SINCE_7)
    monkeypatch.setattr(modules, "find_headers", lambda _: theirs)
    (tmp_path / "tcp_mine.c").write_text(OF_7 % "" + REGISTERED % "")
    log = run(scenario_of(tmp_path, "{module: tcp_mine.c}")).notes["module_log"]
    assert set(log) == {"begins to send"}


def test_a_module_parameter_does_what_it_does_in_our_control(headers: kernel.Headers, tmp_path: Path) -> None:
    cubic = headers.controls / "tcp_cubic.c"
    theirs = run(scenario_of(tmp_path, f"{{module: {cubic}, beta: 512, hystart: 0}}")).tables["tcp_info"].to_arrow()
    ours = run(scenario_of(tmp_path, "{name: cubic, beta: 512, hystart: 0}")).tables["tcp_info"].to_arrow()
    assert theirs["snd_cwnd"].to_pylist() == ours["snd_cwnd"].to_pylist()


@pytest.mark.usefixtures("headers")
def test_an_unknown_parameter_is_refused_by_its_name(tmp_path: Path) -> None:
    assert "`speed` is not a parameter of it; it has: step" in refusal(mine(tmp_path, parameters=", speed: 3"))
    assert "its parameter `step` cannot be fast" in refusal(mine(tmp_path, parameters=", step: fast"))


@pytest.mark.usefixtures("headers")
@pytest.mark.parametrize(
    ("avoid", "said"),
    [
        (
            "*(volatile int *)(long)(step - 1) = 1;",
            "tcp_mine.c, line 10, in mine_avoid: an access through a null pointer",
        ),
        ("while (READ_ONCE(step)) ;", "in mine_avoid: it did not return within 2 s of CPU time"),
        ("memset(inet_csk_ca(sk), 0, ICSK_CA_PRIV_SIZE + 4 * step);", "it wrote beyond its private area"),
        ("((u32 *)inet_csk_ca(sk))[-2 * step] = 7;", "it wrote beyond its private area"),
        ("WRITE_ONCE(step, acked / (step - 1));", "in mine_avoid: a division by zero"),
        ("tcp_sk(sk)->snd_cwnd = 0; return;", "it set cwnd to 0"),
        ("BUG_ON(step);", "panic: BUG!"),
        (
            "*(volatile int *)(0xdead000000000000UL + step) = 1;",
            "tcp_mine.c, line 10, in mine_avoid: an access through a wild pointer",
        ),
    ],
)
def test_a_module_that_fails_ends_its_run_with_the_reason_and_the_call(tmp_path: Path, avoid: str, said: str) -> None:
    asked = mine(tmp_path, avoid=avoid)
    with pytest.raises(RunFailed, match="the congestion control failed") as caught:
        run(asked)
    assert said in str(caught.value)
    assert "in its call `cong_avoid` at 0." in str(caught.value)


@pytest.mark.usefixtures("headers")
def test_a_module_that_refuses_to_begin_is_refused_with_what_it_printed(tmp_path: Path) -> None:
    asked = mine(tmp_path, init='pr_err("mine: no luck, %d", 7); return -EINVAL;')
    assert "`tcp_mine.c` cannot be used: its initialisation returned -22: mine: no luck, 7" in refusal(asked)


@pytest.mark.usefixtures("headers")
@pytest.mark.parametrize(
    ("avoid", "said"),
    [
        ("tcp_sk(sk)->no_such_member = 1;", "tcp_mine.c, line 10: 'struct tcp_sock' has no member named"),
        ("step = tcp_of_tomorrow(sk);", "tcp_mine.c, line 10: this kernel declares no function `tcp_of_tomorrow`"),
        ("tcp_send_fin(sk);", "tcp_mine.c, line 10: it needs `tcp_send_fin`"),
        ("BUILD_BUG_ON(sizeof(step) == 4);", "tcp_mine.c, line 10: BUILD_BUG_ON failed: sizeof(step) == 4"),
        ("static_assert(sizeof(struct mine) > 4);", "tcp_mine.c, line 10: static assertion failed"),
    ],
)
def test_what_a_module_needs_and_does_not_find_is_named_with_its_line(tmp_path: Path, avoid: str, said: str) -> None:
    message = refusal(mine(tmp_path, avoid=avoid))
    assert said in message.replace("‘", "'").replace("’", "'")


@pytest.mark.usefixtures("headers")
def test_what_a_module_prints_is_in_the_manifest(tmp_path: Path) -> None:
    found = run(mine(tmp_path, init='pr_info("step is %d", step);', parameters=", step: 5"))
    assert found.notes["module_log"] == ["step is 5"]
    assert "6.12" in found.notes["modules"]["tcp_mine.c"]["headers"]


@pytest.mark.usefixtures("headers")
def test_what_a_module_prints_beyond_what_a_manifest_has_is_in_a_file(tmp_path: Path) -> None:
    found = run(mine(tmp_path, avoid='pr_info("ack %u", ack);'))
    whole = found.files["module.log"].decode().splitlines()
    assert found.notes["module_log"] == [*whole[:1000], f"({len(whole) - 1000} more lines in module.log)"]
    assert len(whole) > 1000


@pytest.mark.usefixtures("headers")
@pytest.mark.parametrize(
    ("avoid", "warned"),
    [
        ("WARN_ON_ONCE(step);", "warning at tcp_mine.c, line 10"),
        (
            "{ static void *much; if (!much) { much = kmalloc(64 << 20, GFP_ATOMIC); if (!much) much = sk; } }",
            "warning at kmalloc, 67108864 bytes, which are more than KMALLOC_MAX_SIZE (4194304)",
        ),
        (
            "if (step) { step = 0; while (kmalloc(1 << 20, GFP_ATOMIC)) ; }",
            "warning at kmalloc, 1048576 bytes beside 268435456 that it holds: no memory is left",
        ),
    ],
)
def test_what_a_kernel_would_warn_of_marks_a_run(tmp_path: Path, avoid: str, warned: str) -> None:
    assert run(mine(tmp_path, avoid=avoid)).notes["kernel_warnings"] == [warned]


@pytest.mark.usefixtures("headers")
def test_a_delay_in_a_module_takes_no_time(tmp_path: Path) -> None:
    plain, delayed = (
        run(mine(tmp_path, avoid=avoid)).tables["tcp_info"].to_arrow()["snd_cwnd"].to_pylist()
        for avoid in ("", "udelay(step); ndelay(10);")
    )
    assert plain == delayed


@pytest.mark.usefixtures("headers")
def test_flows_with_other_parameters_have_variables_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "tcp_mine.c").write_text(reno("tcp_sk(sk)->snd_cwnd = 10 * step; return;"))
    flows = ", ".join(
        f"{{tcp: client -> server, name: f{step}, cc: {{module: tcp_mine.c, step: {step}}}, stop: 3s}}"
        for step in (1, 3)
    )
    (tmp_path / "experiment.yaml").write_text(
        EXPERIMENT.replace("[{tcp: client -> server, name: upload, stop: 3s}]", f"[{flows}]")
    )
    info = run(scenario.load(tmp_path / "experiment.yaml").runs()[0].scenario).tables["tcp_info"].to_arrow().to_pandas()
    last = {
        str(flow): list(rows["snd_cwnd"])[-1] for flow, rows in info[info["t"] < 2.9].groupby("flow", observed=True)
    }
    assert last == {"f1": 10, "f3": 30}


@pytest.mark.usefixtures("headers")
def test_one_run_that_crashes_leaves_the_others_their_results(tmp_path: Path) -> None:
    (tmp_path / "tcp_mine.c").write_text(reno("*(volatile int *)(long)(step - 1) = 1;"))
    (tmp_path / "experiment.yaml").write_text(EXPERIMENT + "vary: {cc: [reno, {module: tcp_mine.c}]}\n")
    with pytest.raises(tailback.RunsFailed, match=r"tcp_mine\.c, line 10"):
        tailback.run(tmp_path / "experiment.yaml", out=tmp_path / "results")
    assert list(tailback.open(tmp_path / "results").summary["cc"]) == ["reno"]


def test_without_headers_the_remedy_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    kernel.find_headers.cache_clear()
    try:
        assert "hint: prepare them, about a minute: tailback kernel headers" in refusal(mine(tmp_path))
    finally:
        kernel.find_headers.cache_clear()


def test_what_all_modules_are_linked_with_is_compiled_once(
    headers: kernel.Headers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    sources = [messages.Source(f"tcp_{name}.c", reno("")) for name in ("one", "other")]
    made = [module.compiled(source, headers).name for source in sources]
    assert made == ["tcp_one.so", "tcp_other.so"]
    assert len(list(tmp_path.rglob("glue.o"))) == 1


def test_a_file_may_name_the_kernel_whose_headers_its_module_is_compiled_with(tmp_path: Path) -> None:
    (tmp_path / "tcp_mine.c").write_text(reno(""))
    asked = scenario_of(tmp_path, "{module: tcp_mine.c}\nkernel: stock")
    assert asked.kernel == "stock"
    assert run(asked).tables["tcp_info"].to_arrow().num_rows > 0


# CI has one kernel; those of other versions are made by `make campaign-kernels`.
OTHER_VERSIONS = ("linux-5.10", "linux-6.1", "linux-7.3", "linux-7.3-wifi")


@pytest.mark.usefixtures("headers")
@pytest.mark.parametrize("name", ["stock", *(pytest.param(n, marks=pytest.mark.campaign) for n in OTHER_VERSIONS)])
def test_a_module_is_checked_and_runs_with_the_headers_of_every_version(tmp_path: Path, name: str) -> None:
    try:
        kernel.find_headers(name)
    except kernel.KernelMissing as missing:
        pytest.skip(str(missing))
    (tmp_path / "tcp_mine.c").write_text(reno("").replace("tcp_snd_cwnd(tp)", "tp->snd_cwnd"))
    asked = scenario_of(tmp_path, f"{{module: tcp_mine.c}}\nkernel: {name}")
    Sim().check(asked)
    assert run(asked).tables["tcp_info"].to_arrow().num_rows > 0
