"""`tailback assess`: a control, judged by a suite."""

import json
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

from command import in_process
from tailback.backends import stalled

EXPERIMENT = """\
title: one flow
let: {control: cubic}
hosts: {left: , router: , server: }
links:
  - {ends: [left, router]}
  - {ends: [router, server], rate: 10mbit, delay: 10ms}
qdiscs:
  router -> server: pfifo limit ${limit}p
traffic:
  - {tcp: left -> server, name: test, cc: "${control}", jitter: 100ms}
  - {ping: left -> server, interval: 20ms}
duration: 3s
measure: {warmup: 1s}
vary:
  control: [cubic]
  buffer: {short: {limit: 17}, long: {limit: 300}}
repeat: 2
"""

CRITERIA = """\
title: a suite of mine
source: my thesis
baselines: [cubic]
criteria:
  - {id: rate, section: "1", question: Is it fast?, experiment: one, measure: goodput("test"), unit: Mbit/s,
     against: [cubic], allow: 0.5, source: none}
  - {id: delay, section: "2", question: Is it soon?, experiment: one, where: {buffer: [long]},
     measure: ping_ms.p50, unit: ms, better: low, bound: 60, source: my wish}
  - {id: paths, section: "3", question: Many paths?, absent: "not yet: needs more paths"}
"""

CRASHES = """\
class Crashes:
    def on_ack(self, flow, sample):
        flow.cwnd += sample.acked / (1 if flow.now < 1.5 else 0)
    def on_loss(self, flow): pass
"""


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "one.yaml").write_text(EXPERIMENT.replace("control: cubic}", "control: cubic, limit: 17}"))
    (folder / "criteria.yml").write_text(CRITERIA)
    return str(folder)


def test_a_control_gets_a_row_per_criterion_with_a_page_junit_and_json(suite: str) -> None:
    found = in_process("assess", "vegas", "--suite", suite, "--junit", "found.xml")
    assert "not yet: needs more paths" in found.stdout
    assert "3 rows: 2 meets, 1 absent; 2 scenarios, 8 runs" in found.stdout
    cases = {case.attrib["name"]: [part.tag for part in case] for case in Xml.parse("found.xml").getroot()}
    assert cases == {"1 rate": [], "2 delay": [], "3 paths": ["skipped"]}
    page = Path("results/assess/vegas-mine/assessment.html").read_text()
    assert page.count("<svg") == 2
    document = json.loads(in_process("assess", "vegas", "--suite", suite, "--json").stdout)
    rate, delay, _ = document["rows"]
    assert [place["axes"] for place in delay["places"]] == [{"buffer": "long"}]
    assert set(rate["places"][0]["found"]) == {"vegas", "cubic"}
    assert rate["places"][0]["found"]["vegas"]["n"] == 2


def test_a_row_that_fails_is_the_status_and_complete_runs_are_not_repeated(suite: str) -> None:
    found = in_process("assess", "cubic", "--suite", suite, "--row", "delay", status=1)
    assert "long: " in found.stdout
    runs = {file: file.stat().st_mtime_ns for file in Path("results").rglob("manifest.json")}
    assert len(runs) == 4
    in_process("assess", "cubic", "--suite", suite, "--junit", "found.xml", status=1)
    assert Xml.parse("found.xml").getroot().attrib["failures"] == "1"
    assert {file: file.stat().st_mtime_ns for file in Path("results").rglob("manifest.json")} == runs


def test_a_control_that_crashes_ends_its_rows_with_the_reason_and_the_others_are_there(suite: str) -> None:
    Path("crashes.py").write_text(CRASHES)
    found = in_process("assess", "./crashes.py", "--suite", suite, "--json", status=1)
    rate = json.loads(found.stdout)["rows"][0]
    assert rate["verdict"] == "ended"
    assert "crashes.py, line 3, in Crashes.on_ack: ZeroDivisionError" in rate["reason"]
    assert rate["places"][0]["found"]["cubic"]["n"] == 2


STALLS = CRASHES.replace("flow.cwnd += sample.acked / (1 if flow.now < 1.5 else 0)", "while flow.now > 0.5: pass")
SILENT = """\
class Silent:
    def cong_control(self, flow, sample):
        flow.cwnd, flow.pacing_rate = 1, 8
"""


def test_a_control_that_stalls_is_not_run_again_and_the_baselines_are_there(
    suite: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stalled, "LIMIT_S", 0.2)
    Path("stalls.py").write_text(STALLS)
    folder = Path(suite)
    (folder / "two.yaml").write_text((folder / "one.yaml").read_text())
    (folder / "criteria.yml").write_text(CRITERIA.replace("experiment: one, where", "experiment: two, where"))
    found = in_process("assess", "./stalls.py", "--suite", suite, "--json", status=1)
    rate, delay, paths = json.loads(found.stdout)["rows"]
    assert [row["verdict"] for row in (rate, delay, paths)] == ["ended", "ended", "absent"]
    assert "stalls.py, line 3, in Crashes.on_ack: it did not return within 0.2 s of CPU time" in rate["reason"]
    assert delay["reason"].startswith("not run, because the congestion control failed: stalls.py")
    assert rate["places"][0]["found"]["cubic"]["n"] == 2


def test_a_control_that_never_sends_ends_its_rows_with_the_reason(suite: str) -> None:
    Path("silent.py").write_text(SILENT)
    found = in_process("assess", "./silent.py", "--suite", suite, "--json", status=1)
    rate, delay, _ = json.loads(found.stdout)["rows"]
    assert [row["verdict"] for row in (rate, delay)] == ["ended", "ended"]
    assert "never sends, or stops for good" in rate["reason"]
    assert rate["places"][0]["found"]["cubic"]["n"] == 2


def test_where_backing_off_is_asked_silence_ends_no_row(suite: str) -> None:
    Path("silent.py").write_text(SILENT)
    table = Path(suite) / "criteria.yml"
    table.write_text(CRITERIA.replace("against: [cubic], allow: 0.5", "better: low, silent: true, bound: 0.3"))
    rate, delay, _ = json.loads(in_process("assess", "./silent.py", "--suite", suite, "--json", status=1).stdout)[
        "rows"
    ]
    assert [row["verdict"] for row in (rate, delay)] == ["meets", "ended"]


def test_alone_it_runs_with_the_baselines_of_its_bounds_only(suite: str) -> None:
    in_process("assess", "vegas", "--suite", suite, "--row", "delay", "--alone")
    assert len(list(Path("results").rglob("manifest.json"))) == 4
    document = json.loads(in_process("assess", "vegas", "--suite", suite, "--alone", "--json").stdout)
    assert set(document["rows"][0]["places"][0]["found"]) == {"vegas", "cubic"}


def test_a_suite_that_is_not_there_is_wrong_input(suite: str) -> None:
    assert "is not a suite" in in_process("assess", "cubic", "--suite", "nothing", status=2).stderr
    assert "about disciplines" in in_process("assess", "pie", "--qdisc", "--suite", suite, status=2).stderr
    assert "has no row" in in_process("assess", "cubic", "--suite", suite, "--row", "x", status=2).stderr
