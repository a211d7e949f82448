"""The command line as a script sees it: exit status, stdout, the document of `--json`. Tests about processes start one,
as a user would; the others run the command in this process.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from command import in_process

PERCENTILES = {"n", "mean", "min", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "p99.9", "max"}
COMMAND = [sys.executable, "-c", "from tailback.cli import main; main()"]
# A shell starts background jobs, such as a test suite, with SIGINT ignored.
INTERRUPTED = """
import itertools, os, signal, sys
named = itertools.count(1)
def interrupt(event, arguments):
    if event == "os.rename" and os.path.basename(os.path.dirname(arguments[1])) == "runs" and next(named) == 2:
        os.kill(os.getpid(), signal.SIGINT)
sys.addaudithook(interrupt)
from tailback.cli import interrupts, main
interrupts.SHUTDOWN_S = 900
main()
"""
"""The command, interrupted when the second of its runs is complete, and not ended before it has shut down."""


def tailback(*words: str | Path, status: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([*COMMAND, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    return done


def document(*words: str | Path) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(in_process("run", *words, "--json").stdout)
    return parsed


def tables(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*.parquet"))}


def test_json_is_the_document_of_the_contract_and_nothing_else(file: Path, tmp_path: Path) -> None:
    found = json.loads(tailback("run", file, "--out", tmp_path / "out", "--json").stdout)
    assert list(found) == ["tailback", "runs", "findings", "warnings"]
    assert len(found["runs"]) == 8
    run = found["runs"][0]
    assert list(run) == ["axes", "seed", "backend", "dir", "status", "summary"]
    assert (run["axes"], run["seed"], run["backend"], run["status"]) == ({"cc": "cubic", "tsq": "1ms"}, 1, "sim", "ok")
    summary = run["summary"]
    assert list(summary)[:13] == [
        "goodput_mbps", "ping_ms", "tcp_rtt_ms", "tcp_rtt_up_ms", "tcp_rtt_down_ms", "cwnd_segments", "jain",
        "retransmits", "retransmission_rate", "held", "drops", "marks", "cost",
    ]  # fmt: skip
    assert set(summary["goodput_mbps"]["flows"]) == {"upload.1", "upload.2", "download"}
    for metric in ("ping_ms", "tcp_rtt_ms", "tcp_rtt_up_ms", "tcp_rtt_down_ms"):
        assert set(summary[metric]) == PERCENTILES
    assert set(summary["cwnd_segments"]["download"]) == PERCENTILES
    assert set(summary["cost"]) == {"wall_s", "sim_s", "events", "packets"}
    # The shaper counts 1514 B per 1448 B of data, and the ACKs of the download; the download itself is not shaped.
    assert 6 < summary["goodput_mbps"]["up"] < 9.6
    assert 60 < summary["goodput_mbps"]["down"] < 96


def test_the_folder_of_a_run_holds_what_the_document_says(file: Path, tmp_path: Path) -> None:
    for run in document(file, "--out", tmp_path / "out")["runs"]:
        folder = Path(run["dir"])
        assert json.loads((folder / "summary.json").read_text()) == run["summary"]
        manifest = json.loads((folder / "manifest.json").read_text())
        assert manifest["seed"] == manifest["scenario"]["seed"] == run["seed"]
        for table in ("flows", "tcp_info", "ping", "qdisc", "events"):
            assert (folder / f"{table}.parquet").is_file()
    assert (tmp_path / "out" / "experiment.yaml").read_bytes() == file.read_bytes()


def test_the_same_seed_gives_the_same_bytes_with_any_number_of_jobs(file: Path, tmp_path: Path) -> None:
    for jobs in (1, 4):
        in_process("run", file, "--jobs", str(jobs), "--out", tmp_path / f"jobs{jobs}")
    once, again = tables(tmp_path / "jobs1"), tables(tmp_path / "jobs4")
    assert len(once) == 8 * 6
    assert once == again


def test_another_seed_gives_other_tables(file: Path, tmp_path: Path) -> None:
    for seed in (1, 2):
        in_process("run", file, "--seed", str(seed), "--repeat", "1", "--out", tmp_path / str(seed))
    contents = [list(tables(tmp_path / str(seed)).values()) for seed in (1, 2)]
    assert contents[0] != contents[1]


def test_a_table_on_a_pipe_has_one_row_per_configuration_and_no_colours(file: Path) -> None:
    done = in_process("run", file)
    rows = [line for line in done.stdout.splitlines() if line.split()[:1] in (["cubic"], ["reno"])]
    assert len(rows) == 4
    assert "\x1b" not in done.stdout + done.stderr
    assert "Mbit/s" in done.stdout
    assert "8 complete runs: results/small" in done.stderr


def test_a_second_run_reuses_the_first_and_says_so(file: Path, tmp_path: Path) -> None:
    first = document(file)
    again = in_process("run", file)
    assert "8 of them reused" in again.stderr
    assert document(file) == first
    assert [entry.name for entry in (tmp_path / "results").iterdir()] == ["small"]


def test_a_changed_experiment_goes_beside_the_first(file: Path, tmp_path: Path) -> None:
    in_process("run", file, "--repeat", "1")
    in_process("run", file, "--repeat", "1", "--set", "duration=2s")
    assert sorted(entry.name for entry in (tmp_path / "results").iterdir()) == ["small", "small-2"]


def test_sweep_is_run(file: Path) -> None:
    assert "8 complete runs" in in_process("sweep", file).stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "nowhere.yaml"], "nowhere.yaml"),
        (["run", "small.yaml", "--set", "cc=vegaz"], "vegaz"),
        (["run", "small.yaml", "--set", "durration=3s"], "durration"),
        (["run", "small.yaml", "--set", "links[0].rate=10mbps/s"], "links[0].rate"),
        (["run", "small.yaml", "--backend", "ns3"], "`sim`"),
        (["run", "small.yaml", "--jobs", "0"], "--jobs"),
        (["run", "small.yaml", "--seed", "-1"], "--seed"),
        (["run", "small.yaml", "--out", "small.yaml"], "--out"),
        (["check", "nowhere.yaml"], "nowhere.yaml"),
        (["plot", "nowhere"], "`nowhere` does not exist"),
        (["report", "small.yaml"], "`small.yaml` is a file, and no results"),
        (["run", "small.yaml", "--set", "bandwidth=3mbit"], "write the path of a key, such as `links[0].rate`"),
        (["list", "cars"], "cars"),
        (["explain", "fq_coddel"], "fq_codel"),
        (["explain", "fq_codel limit -3"], "limit"),
        (["fly"], "fly"),
    ],
)
def test_wrong_input_is_named_with_status_2(file: Path, words: list[str], said: str) -> None:
    assert file.exists()
    done = in_process(*words, status=2)
    assert said in done.stderr
    assert done.stdout == ""
    assert not Path("results").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["compare", "nowhere", "neither"],
        ["validate", "nowhere.yaml", "--against", "uml"],
        ["import", "pcap", "nowhere.pcap"],
        ["reproduce", "nowhere"],
    ],
)
def test_a_command_in_its_own_process_refuses_a_missing_file(words: list[str]) -> None:
    done = tailback(*words, status=2)
    assert "nowhere" in done.stderr
    assert done.stdout == ""


def test_a_folder_that_cannot_be_written_is_named_with_status_1_before_anything_runs(file: Path) -> None:
    done = in_process("run", file, "--out", file / "below", "--json", status=1)
    assert done.stdout == ""
    assert done.stderr.count("cannot write") == 1
    assert "hint:" in done.stderr


def test_a_full_disk_ends_with_one_message_and_no_run_that_looks_complete(file: Path) -> None:
    # A limit on the size of files: the kernel refuses to write, as on a full disk.
    limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000)); import signal; "
    ignored = "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); from tailback.cli import main; main()"
    command = [sys.executable, "-B", "-c", limited + ignored, "run", str(file), "--out", "full"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.count("cannot write") == 1
    assert "Traceback" not in done.stderr
    assert list(Path("full/runs").iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a file that is always full")
@pytest.mark.parametrize("words", [["list", "cc"], ["schema"], ["run", "small.yaml", "--json", "--repeat", "1"]])
def test_output_that_cannot_be_written_ends_with_one_message_and_status_1(file: Path, words: list[str]) -> None:
    assert file.exists()
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*COMMAND, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.count("cannot write the output") == 1
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_an_interrupt_keeps_complete_runs_and_the_next_run_goes_on(file: Path, tmp_path: Path) -> None:
    words = ["run", str(file), "--jobs", "1", "--out", "out"]
    command = [sys.executable, "-c", INTERRUPTED, *words]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 130
    assert "interrupted" in process.stderr
    assert "Traceback" not in process.stderr
    runs = tmp_path / "out" / "runs"
    kept = [run.name for run in runs.iterdir()]
    assert 1 <= len(kept) < 8
    assert all((runs / name / "summary.json").is_file() for name in kept)
    done = in_process("run", file, "--out", "out")
    assert f"8 complete runs, {len(kept)} of them reused" in done.stderr


def test_check_explains_its_warnings(file: Path) -> None:
    done = in_process("check", file, "--set", "vary.cc=[bbr]")
    assert done.stderr.startswith(f"{file}:")
    assert "  hint: " in done.stderr
    assert "LintWarning" not in done.stderr


def test_check_says_how_many_runs_there_are_and_runs_none(file: Path) -> None:
    assert in_process("check", file).stdout == f"{file}: ok, 8 runs\n"
    assert not Path("results").exists()


def test_plot_draws_from_the_folder_alone(file: Path) -> None:
    in_process("run", file, "--out", "out")
    file.unlink()
    done = tailback("plot", "out", "-o", "figure.pdf")
    assert done.stdout.split() == ["figure.pdf", "figure.csv"]
    assert Path("figure.pdf").read_bytes().startswith(b"%PDF")
    done = in_process("plot", "out", "-p", "timeseries", "--where", "cc=reno", "--where", "tsq=off")
    assert done.stdout.split() == ["out/plots/timeseries.png", "out/plots/timeseries.csv"]
    assert "vegas" in in_process("plot", "out", "--where", "cc=vegas", status=2).stderr
    assert "pie" in in_process("plot", "out", "-p", "pie", status=2).stderr


def test_lists_and_explanations_come_from_the_registries() -> None:
    assert "cubic" in in_process("list", "cc").stdout
    assert "fq_codel" in in_process("list", "qdisc").stdout
    assert "ath9k_htc" in in_process("list", "driver").stdout
    assert "slots" in in_process("explain", "ath9k").stdout
    assert "freebsd-9" in in_process("list", "stack").stdout
    explained = in_process("explain", "linux-5.0").stdout
    assert "`bbr` and bursts of ACKs: its window knows nothing of them" in explained
    assert "initial window" not in explained
    assert "candlestick" in in_process("list", "plot").stdout
    explained = in_process("explain", "htb rate 10mbit | fq_codel limit 180").stdout
    assert "borrow" in explained
    assert "180p" in explained
    assert "rfc8290" in explained


def test_schema_and_version() -> None:
    assert json.loads(in_process("schema").stdout)["title"] == "Tailback experiment"
    assert in_process("--version").stdout.startswith("tailback ")


@pytest.mark.parametrize("words", [("--version", "--verbose"), ("--verbose", "--version")])
def test_a_report_of_a_fault_can_say_what_is_installed(words: tuple[str, ...]) -> None:
    lines = in_process(*words).stdout.splitlines()
    heads = {line.partition(":")[0] for line in lines[1:]}
    assert {"python", "libraries", "system", "processor", "kernels for uml", "root"} <= heads
    assert re.search(r"libraries: .*numpy \d", "\n".join(lines))


def test_a_reader_that_closes_the_pipe_causes_no_traceback(file: Path) -> None:
    shell = f'"{sys.executable}" -c "from tailback.cli import main; main()" explain fq_codel | head -1'
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False, env=os.environ)
    assert done.stdout.startswith("fq_codel")
    assert "Traceback" not in done.stderr
    assert file.exists()


def test_check_prints_its_findings_as_one_document(file: Path) -> None:
    done = in_process("check", file, "--set", "links[0].loss=100%", "--json")
    assert done.stderr == ""
    found = json.loads(done.stdout)
    assert list(found) == ["tailback", "file", "runs", "findings"]
    assert (found["file"], found["runs"]) == (str(file), 8)
    lossy = next(each for each in found["findings"] if each["code"] == "nothing-passes")
    assert lossy["severity"] == "warning"
    assert (lossy["file"], lossy["key"]) == ("--set links[0].loss=100%", "links[0].loss")
    assert lossy["text"].startswith("the link loses every packet")
    assert lossy["hint"]
    assert "line" not in lossy
    assert all(each["line"] > 0 for each in found["findings"] if each["file"] == str(file))


def test_check_prints_either_the_document_or_the_expanded_file(file: Path) -> None:
    assert "exclude each other" in in_process("check", file, "--json", "--expand", status=2).stderr


def test_a_kind_may_be_listed_in_the_plural() -> None:
    kinds = [each["name"] for each in json.loads(in_process("list", "--json").stdout)["names"]]
    for kind in kinds:
        assert in_process("list", f"{kind}s").stdout == in_process("list", kind).stdout
    assert json.loads(in_process("list", "metrics", "--json").stdout)["kind"] == "metric"


def test_list_prints_names_as_one_document() -> None:
    found = json.loads(in_process("list", "stack", "--json").stdout)
    assert found["kind"] == "stack"
    assert {"name": "linux-6.12", "text": "the Linux that is modelled"} in found["names"]
    kinds = json.loads(in_process("list", "--json").stdout)
    assert "kind" not in kinds
    assert {"cc", "qdisc", "word"} <= {each["name"] for each in kinds["names"]}
