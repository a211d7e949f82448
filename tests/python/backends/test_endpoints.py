"""Transports of users in libraries and in Python: what they give, and what they do wrong, on the simulator."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import tailback
from command import in_process
from tailback import scenario
from tailback.backends import RunFailed, RunResult
from tailback.backends.linux import suitable
from tailback.backends.sim import Sim
from tailback.resolved import Scenario

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples" / "transports"
DATA = ROOT / "tests" / "data" / "endpoints"

EXPERIMENT = """\
links: [{{ends: [client, router], rate: 1gbit, delay: 1ms}}, {{ends: [router, server], rate: 20mbit, delay: 10ms}}]
qdiscs: {{router -> server: fq_codel}}
traffic:
  - {{tcp: client -> server, name: upload}}
  - {{endpoint: {file}, from: client, to: server, options: {options}}}
duration: {duration}
measure: {{warmup: 1s}}
"""

Compile = Callable[..., Path]


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """Compiles a C file to a library; words are what is defined."""
    folder = tmp_path_factory.mktemp("libraries")

    def compile_(source: Path, *words: str) -> Path:
        name = "-".join(["lib" + source.stem, *words]).replace("=", "-")
        found = folder / f"{name}.so"
        defined = [f"-D{word}" for word in words]
        flags = ["-shared", "-fPIC", "-g", f"-I{ROOT / 'include'}"]
        subprocess.run(["cc", *flags, *defined, "-o", str(found), str(source)], check=True)
        return found

    return compile_


def asked(file: Path, options: str = "{}", duration: str = "6s") -> Scenario:
    text = EXPERIMENT.format(file=file, options=options, duration=duration)
    return scenario.loads(text).runs()[0].scenario


def run(file: Path, options: str = "{}", duration: str = "6s") -> RunResult:
    return Sim().run(asked(file, options, duration), Sim().new_progress())


def failure(file: Path, options: str = "{}") -> str:
    with pytest.raises(RunFailed) as failed:
        run(file, options, "3s")
    return str(failed.value)


def goodput(found: RunResult, flow: str, since: float = 1.0) -> float:
    """Mbit/s after this time."""
    table = found.tables["flows"].to_arrow().to_pandas()
    rows = table[(table["flow"] == flow) & (table["t"] > since)]
    return float(rows["bytes"].sum() * 8 / 1e6 / (table["t"].max() - since))


@pytest.fixture(scope="module")
def beside(compiled: Compile) -> RunResult:
    return run(compiled(EXAMPLES / "c" / "aimd.c"), "{beta: 0.7, ecn: true}")


def test_the_example_in_c_shares_a_fair_queue_with_linuxs_cubic(beside: RunResult) -> None:
    mine, cubic = goodput(beside, "aimd"), goodput(beside, "upload")
    assert mine + cubic == pytest.approx(18.9, abs=0.4)
    assert 0.85 < mine / cubic < 1.2


def test_what_it_reports_and_its_delays_are_recorded(beside: RunResult) -> None:
    reported = beside.tables["endpoints"].to_arrow().to_pandas()
    first, second = (reported[reported["end"] == end] for end in ("from", "to"))
    assert (first["cwnd_bytes"] >= 1200).all()
    assert first["rtt"].dropna().between(22_000, 400_000).all()
    assert first["read_bytes"].isna().all()
    arrived = beside.tables["flows"].to_arrow().to_pandas().query("flow == 'aimd'")["bytes"].sum()
    assert second["read_bytes"].max() == pytest.approx(arrived, rel=0.01)
    delays = beside.tables["delays"].to_arrow().to_pandas()
    assert delays["packets"].sum() * 1200 == arrived
    assert delays["shortest_ms"].min() >= 11


def test_two_runs_are_the_same(compiled: Compile, beside: RunResult) -> None:
    again = run(compiled(EXAMPLES / "c" / "aimd.c"), "{beta: 0.7, ecn: true}")
    assert {name: table.stream for name, table in again.tables.items()} == {
        name: table.stream for name, table in beside.tables.items()
    }


def test_the_example_in_rust_keeps_the_queue_at_its_target(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "rust", tmp_path / "rust", ignore=shutil.ignore_patterns("target"))
    build = ["cargo", "build", "--quiet", "--offline", "--target-dir", str(tmp_path / "target")]
    subprocess.run(build, cwd=tmp_path / "rust", check=True)
    text = EXPERIMENT.replace("  - {{tcp: client -> server, name: upload}}\n", "").replace("fq_codel", "pfifo")
    library = tmp_path / "target" / "debug" / "libdelay.so"
    alone = scenario.loads(text.format(file=library, options="{target_ms: 10}", duration="6s")).runs()[0].scenario
    found = Sim().run(alone, Sim().new_progress())
    delays = found.tables["delays"].to_arrow().to_pandas().query("t > 3")
    mean = (delays["delay_ms"] * delays["packets"]).sum() / delays["packets"].sum()
    # 1200 of the 1266 bytes that a frame takes on the wire.
    assert goodput(found, "delay", 3) == pytest.approx(20 * 1200 / 1266, rel=0.005)
    # 11 ms of links, half a millisecond of sending, and the target.
    assert mean == pytest.approx(11.5 + 10, abs=2)


def test_the_example_in_python_shares_a_fair_queue() -> None:
    found = run(EXAMPLES / "python" / "aimd.py", "{beta: 0.7}")
    assert 0.8 < goodput(found, "aimd") / goodput(found, "upload") < 1.2
    assert found.tables["endpoints"].to_arrow().to_pandas()["cwnd_bytes"].max() > 12_000


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("VERSION=9", "it was compiled for version 9 of tailback_endpoint.h, and this is version 1"),
        ("LACKS_TIMEOUT", "it has no function `tailback_endpoint_timeout`"),
        ("REFUSES", "it does not like this path"),
        ("REFUSES_SILENTLY", "it calls `fail` without a reason"),
        ("GIVES_NULL", "its tailback_endpoint_open gives NULL"),
        ("ASKS_FOR_THE_PAST", "at 1 s: it asks to be called at 0.5 s, and it is 1 s"),
        ("STANDS_STILL", "time stands still at 1 s"),
        ("SENDS_NOWHERE", "it sends to end 7, which is nobody it can reach; the other end is 1"),
        ("SENDS_TOO_MUCH", "its transmit gives 65508 bytes, and there is room for 65507"),
        ("SENDS_LONG", "a datagram of 1473 bytes, and the path carries 1472 at most"),
        ("MARKS", "its ECN bits are 4; write 0 to 3"),
        ("NOTES", "the data of its event `recovery:metrics_updated` is not JSON"),
        ("CRASHES", "wrong.c, line 53, in tailback_endpoint_expired: an access through a null pointer"),
        ("ABORTS", "it called abort(), in its call `tailback_endpoint_expired` at 1.000000 s"),
        ("SPINS", "it did not return within 2 s of CPU time, in its call `tailback_endpoint_expired`"),
    ],
)
def test_what_a_library_does_wrong_ends_its_run_with_its_reason(compiled: Compile, word: str, said: str) -> None:
    assert said in failure(compiled(DATA / "wrong.c", word))


def test_a_failed_run_leaves_the_others_alone(compiled: Compile, tmp_path: Path) -> None:
    for name, word in [("good", "GOOD"), ("bad", "CRASHES")]:
        shutil.copy(compiled(DATA / "wrong.c", word), tmp_path / f"lib{name}.so")
    text = EXPERIMENT.format(file='"./lib${which}.so"', options="{}", duration="2s") + "vary: {which: [good, bad]}\n"
    (tmp_path / "experiment.yaml").write_text("let: {which: good}\n" + text)
    done = in_process("run", tmp_path / "experiment.yaml", "-o", tmp_path / "out", status=1)
    assert "the endpoint failed: wrong.c, line 53" in done.stderr
    assert len(tailback.open(tmp_path / "out").runs) == 1


WRONG = """\
class Mine:
    def __init__(self, setup, size=100):
        self.next = setup.start
        self.sends = setup.end == "from"

    def receive(self, now, data, ecn):
        pass

    def poll(self, now):
        if not self.sends or now < self.next:
            return None
        self.next = now + 0.01
        {poll}

    def next_timeout(self):
        if not self.sends:
            return None
        {timeout}
"""


@pytest.mark.parametrize(
    ("poll", "timeout", "said"),
    [
        ("return b'x' * (1 // (now < 1))", "return self.next", "mine.py, line 13, in Mine.poll: ZeroDivisionError"),
        ("return 'text'", "return self.next", "`poll` gives the bytes of a datagram"),
        ("return b'x', {'to': 3}", "return self.next", "`poll` gives `to`; there are ecn, departure and segment"),
        (
            "return b'x'",
            "return min(self.next, 9 - 8.5 * (self.next > 1.005))",
            "it asks to be called at 0.5 s, and it is 1 s",
        ),
        ("return b'x' * 2000", "return self.next", "a datagram of 2000 bytes, and the path carries 1472 at most"),
        ("return b'x'", "return 'soon'", "`next_timeout` is a number, not 'soon'"),
        ("return b'x'", "return float('nan')", "`next_timeout` cannot be NaN s"),
        ("return b'x', {'departure': None}", "return self.next", "`departure` of `poll` is a number, not None"),
        ("return b'x', {'ecn': 1}", "return self.next", "`ecn` of `poll` is a word, not 1"),
        ("return b'x', {'segment': -1}", "return self.next", "`segment` of `poll` is a number of bytes, not -1"),
        ("return b'x', {3: 1}", "return self.next", "a key that `poll` gives is a word, not 3"),
    ],
)
def test_what_python_does_wrong_ends_its_run_with_its_reason(
    tmp_path: Path, poll: str, timeout: str, said: str
) -> None:
    (tmp_path / "mine.py").write_text(WRONG.format(poll=poll, timeout=timeout))
    assert said in failure(tmp_path / "mine.py")


@pytest.mark.parametrize(
    ("info", "said"),
    [
        ("[]", "`info` gives a dict"),
        ("{1: 2}", "a key that `info` gives is a word, not 1"),
        ("{'cwnd': 2}", "`info` gives `cwnd`; there are cwnd_bytes,"),
        ("{'cwnd_bytes': -1}", "`cwnd_bytes` of `info` cannot be -1"),
        ("{'lost': float('nan')}", "`lost` of `info` cannot be NaN"),
        ("{'pacing_rate': float('inf')}", "`pacing_rate` of `info` cannot be inf"),
        ("{'read_bytes': 'all'}", "`read_bytes` of `info` is a number, not 'all'"),
        ("{'min_rtt': -0.1}", "`min_rtt` of `info` cannot be -0.1 s"),
    ],
)
def test_what_python_cannot_say_of_itself_ends_its_run_with_its_reason(tmp_path: Path, info: str, said: str) -> None:
    text = WRONG.format(poll="return b'x'", timeout="return self.next")
    (tmp_path / "mine.py").write_text(f"{text}\n    def info(self, now):\n        return {info}\n")
    assert said in failure(tmp_path / "mine.py")


def test_what_python_does_not_know_of_itself_is_none_and_an_event_takes_a_dict(tmp_path: Path) -> None:
    sends = "self.setup.event('mine:sent', {'size': 1})\n        return b'x'"
    text = WRONG.format(poll=sends, timeout="return self.next")
    text = text.replace("self.next = setup.start", "self.next, self.setup = setup.start, setup")
    text += "\n    def info(self, now):\n        return {'rtt': None, 'cwnd_bytes': None, 'lost': 7}\n"
    (tmp_path / "mine.py").write_text(text)
    found = run(tmp_path / "mine.py", duration="2s")
    reported = found.tables["endpoints"].to_arrow().to_pandas().query("end == 'from'")
    assert reported["rtt"].isna().all()
    assert reported["cwnd_bytes"].isna().all()
    assert (reported["lost"] == 7).all()
    assert any(b'"mine:sent"' in text for text in found.files.values())


def test_an_event_of_what_is_no_json_names_it(tmp_path: Path) -> None:
    text = WRONG.format(poll="self.setup.event('mine:sent', {1, 2})", timeout="return self.next")
    (tmp_path / "mine.py").write_text(
        text.replace("self.next = setup.start", "self.next, self.setup = setup.start, setup")
    )
    assert "Object of type set is not JSON serializable" in failure(tmp_path / "mine.py")


def test_an_option_that_the_class_does_not_have_is_named(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(WRONG.format(poll="return b'x'", timeout="return self.next"))
    assert "the options of `Mine`: got an unexpected keyword argument 'window'" in failure(
        tmp_path / "mine.py", "{window: 3}"
    )


def test_kernels_refuse_it_by_its_name_and_say_what_comes_nearest() -> None:
    found = [
        (str(what), remedy)
        for what, remedy in suitable.findings(asked(EXAMPLES / "python" / "aimd.py"))
        if "transport" in str(what)
    ]
    assert len(found) == 1
    assert "`aimd` is a transport in a library (`aimd.py`)" in found[0][0]
    assert "--backend sim" in found[0][1]
    assert "program" in found[0][1]


def test_a_file_that_is_no_library_is_refused_when_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "libmine.so").write_text("text")
    with pytest.raises(scenario.ScenarioError, match=r"`libmine\.so` is no shared library"):
        asked(tmp_path / "libmine.so")


def test_looking_at_an_experiment_executes_nothing_of_it(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    (tmp_path / "experiment.yaml").write_text(EXPERIMENT.format(file="mine.py", options="{}", duration="2s"))
    done = in_process("check", tmp_path / "experiment.yaml")
    assert "the code of mine.py was not executed" in done.stdout + done.stderr
    in_process("run", tmp_path / "experiment.yaml", "--dry-run", "-o", tmp_path / "out")
    assert not (tmp_path / "ran").exists()


def test_the_example_in_c_has_no_fault_that_a_sanitizer_finds(tmp_path: Path) -> None:
    program = tmp_path / "drive"
    flags = ["-g", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    sources = [EXAMPLES / "c" / "aimd.c", DATA / "drive.c"]
    subprocess.run(["cc", *flags, f"-I{ROOT / 'include'}", "-o", program, *sources], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    sent, lost, events = map(int, done.stdout.split())
    assert sent > 1000
    assert lost > 5
    assert events > 5


def test_the_sanitizer_finds_a_fault(tmp_path: Path) -> None:
    text = (EXAMPLES / "c" / "aimd.c").read_text()
    (tmp_path / "leaks.c").write_text(text.replace("{ free(endpoint); }", "{ (void)endpoint; }"))
    flags = ["-g", "-fsanitize=address", f"-I{ROOT / 'include'}"]
    subprocess.run(["cc", *flags, "-o", tmp_path / "drive", tmp_path / "leaks.c", DATA / "drive.c"], check=True)
    done = subprocess.run([tmp_path / "drive"], capture_output=True, text=True, check=False)
    assert "detected memory leaks" in done.stderr
