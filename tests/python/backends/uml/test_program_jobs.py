"""The jobs of docs/program-jobs.md: real programs beside our traffic have the figures that the page shows."""

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tailback import scenario
from tailback.backends.uml import Uml
from tailback.kernel import Recipe, build, build_agent, package
from tailback.sweep import programs as summaries

ROOT = Path(__file__).parents[4]
NEEDED = {
    "iperf": ("iperf3",),
    "flent": ("flent", "netserver", "netperf"),
    "web": ("nginx", "curl", "h2load"),
    "ssh": ("/usr/sbin/sshd", "ssh", "ssh-keygen"),
    "dns": ("dnsmasq", "dnsperf"),
    "quic": ("gtlsclient", "gtlsserver", "openssl"),
    "quic-wifi": ("gtlsclient", "gtlsserver", "openssl"),
    "mptcp": ("iperf3", "mptcpize", "ip"),
}
BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"
"""A program that keeps a processor busy as long as its parent lives."""
PRINTED = 0.05
"""Relative difference of a figure, which other versions of the programs may have, from the page."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    there = shutil.copytree(ROOT / "examples/programs", tmp_path / "programs")
    (there / "page").write_bytes(b"x" * 500_000)
    if shutil.which("ssh-keygen"):
        for key in ("host", "key"):
            subprocess.run(["ssh-keygen", "-q", "-N", "", "-f", key], cwd=there, check=True)
        (there / "key.pub").rename(there / "authorized")
    if shutil.which("openssl"):
        curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        made = ["openssl", "req", "-x509", *curve, "-subj", "/CN=server"]
        subprocess.run([*made, "-keyout", "quic.key", "-out", "quic.crt"], cwd=there, check=True, capture_output=True)
    return there


def reported(uml: Uml, file: Path, axis: str) -> dict[str, Mapping[str, Any]]:
    """The figures of each program, by the value of the axis and its name; with `goodput`, that of the device."""
    found: dict[str, Mapping[str, Any]] = {}
    for run in scenario.load(file).runs():
        uml.check(run.scenario)
        result = uml.run(run.scenario, uml.new_progress())
        flows = result.tables["flows"].to_arrow().to_pandas()
        of_window = flows[(flows.t > 3) & (flows.t <= 11) & flows.flow.str.startswith("bulk")]
        found[run.axes[axis]] = {
            **{
                name: entry["reported"]
                for name, entry in summaries.summary_of(result.notes).items()
                if "reported" in entry
            },
            "goodput": of_window.bytes.sum() * 8 / 8e6,
            "files": result.files,
        }
    return found


def shown(title: str) -> dict[str, list[float]]:
    """The numbers of the table below a title of the page, by the first cell."""
    text = (ROOT / "docs/program-jobs.md").read_text(encoding="utf-8")
    part = text.partition(f"## {title}\n")[2].partition("\n## ")[0]
    rows = [line.strip("|").split("|") for line in part.splitlines() if line.startswith("|")][2:]
    return {row[0].strip(): [float(cell) for cell in re.findall(r"[0-9.]+(?= )", " ".join(row[1:]))] for row in rows}


def missing(job: str) -> list[str]:
    return [
        program
        for program in NEEDED[job]
        if shutil.which(program, path="/usr/sbin:/usr/local/bin:/usr/bin:/bin") is None
    ]


def of(job: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(bool(missing(job)), reason=f"needs {', '.join(missing(job))}")


@pytest.mark.campaign
@of("iperf")
def test_iperf3_has_the_goodput_of_bulk_data(uml: Uml, folder: Path) -> None:
    found = reported(uml, folder / "iperf.yaml", "who")
    assert found["iperf3"]["goodput"] == pytest.approx(found["agent"]["goodput"], rel=0.005)
    assert found["iperf3"]["bulk"]["goodput_mbps"] == pytest.approx(
        shown("iperf3 beside bulk data")["iperf3"][-1], rel=PRINTED
    )


@pytest.mark.campaign
@of("flent")
def test_flents_rrul_runs_inside_and_flent_opens_its_file(uml: Uml, folder: Path) -> None:
    found = reported(uml, folder / "flent.yaml", "who")["Flent"]
    up, down, ping = shown("Flent's rrul beside ours")["Flent, its own figures"]
    theirs = [found["flent"][name] for name in ("up_mbps", "down_mbps", "ping_mean_ms")]
    assert theirs == pytest.approx([up, down, ping], rel=PRINTED)
    (name,) = (name for name in found["files"] if name.endswith(".flent.gz"))
    (folder / name).write_bytes(found["files"][name])
    done = subprocess.run(["flent", "-f", "summary", name], cwd=folder, capture_output=True, text=True, check=True)
    assert "TCP upload sum" in done.stdout


@pytest.mark.campaign
@of("web")
def test_nginx_serves_curl_and_h2load(uml: Uml, folder: Path) -> None:
    found = reported(uml, folder / "web.yaml", "queue")
    for queue, figures in shown("nginx, curl and h2load").items():
        curl, h2load = found[queue]["curl"], found[queue]["h2load"]
        assert h2load["succeeded"] == 20
        theirs = [curl["first_byte_ms"], curl["total_ms"], h2load["goodput_mbps"]]
        assert theirs == pytest.approx(figures, rel=PRINTED)


@pytest.mark.campaign
@of("ssh")
def test_typing_over_ssh_waits_in_the_queue_of_an_upload(uml: Uml, folder: Path) -> None:
    found = reported(uml, folder / "ssh.yaml", "queue")
    for queue, figures in shown("Typing over ssh").items():
        typing = found[queue]["typing"]
        assert [typing["typing_p50_ms"], typing["typing_p95_ms"]] == pytest.approx(figures, rel=PRINTED)


@pytest.mark.campaign
@of("dns")
def test_queries_of_dnsperf_wait_in_the_queue_of_an_upload(uml: Uml, folder: Path) -> None:
    found = reported(uml, folder / "dns.yaml", "queue")
    for queue, figures in shown("dnsperf").items():
        theirs = found[queue]["dnsperf"]
        assert theirs["lost"] == 0
        assert [theirs["mean_ms"], theirs["max_ms"]] == pytest.approx(figures, rel=PRINTED)


@pytest.mark.campaign
@of("quic")
def test_quic_fetches_files_beside_a_download(uml: Uml, folder: Path) -> None:
    table = shown("QUIC over cake and over Wi-Fi")
    for queue, figures in reported(uml, folder / "quic.yaml", "queue").items():
        assert fetched(figures) == pytest.approx(table[queue], rel=PRINTED)


@pytest.mark.campaign
@of("quic-wifi")
def test_quic_fetches_files_over_wifi(folder: Path) -> None:
    table = shown("QUIC over cake and over Wi-Fi")
    for control, figures in reported(Uml.named("wifi"), folder / "quic-wifi.yaml", "cc").items():
        assert fetched(figures) == pytest.approx(table[f"Wi-Fi, {control}"], rel=PRINTED)


@pytest.mark.campaign
@of("mptcp")
def test_mptcp_has_the_sum_of_two_paths(folder: Path) -> None:
    build(Recipe(package("6.12"), "mptcp", ("mptcp",)), print)
    build_agent()
    table = shown("MPTCP over two paths")
    found = reported(Uml.named("mptcp"), folder / "mptcp.yaml", "by")
    for by, figures in found.items():
        assert [figures["bulk"]["goodput_mbps"]] == pytest.approx(table[by], rel=PRINTED)
    # Nine tenths of 6 and 4 Mbit/s without headers; one path has 6.
    assert found["MPTCP"]["bulk"]["goodput_mbps"] > 0.9 * 10 * 1448 / 1538 > 6


def fetched(figures: Mapping[str, Any]) -> list[float]:
    return [figures["fetch"][f"{size}_bytes_ms"] for size in (50_000, 5_000_000)]


@pytest.mark.campaign
@pytest.mark.parametrize("job", [pytest.param(job, marks=of(job)) for job in ("iperf", "web", "quic")])
def test_a_job_has_the_same_bytes_in_five_runs_whatever_else_runs(uml: Uml, folder: Path, job: str) -> None:
    """The second to the fourth run are beside 4, 8 and 12 busy processes."""
    run = scenario.load(folder / f"{job}.yaml").runs()[1].scenario
    found = []
    for processes in (0, 4, 8, 12, 0):
        busy = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(processes)]
        try:
            result = uml.run(run, uml.new_progress())
        finally:
            for each in busy:
                each.kill()
                each.wait()
        found.append({**{name: table.stream for name, table in result.tables.items()}, **result.files})
    assert all(each == found[0] for each in found)


@pytest.mark.parametrize("job", NEEDED)
def test_the_file_of_a_job_is_correct(job: str, folder: Path) -> None:
    for name in ("host", "key", "authorized", "quic.key", "quic.crt"):
        (folder / name).touch()
    loaded = scenario.load(folder / f"{job}.yaml")
    assert len(loaded.runs()) == 2
    assert all(run.scenario.programs for run in loaded.runs()[1:])
