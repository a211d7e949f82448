"""Every warning that a command prints about runs stands in its JSON document, and those of a run in its summary."""

import json
import re
import zlib
from pathlib import Path

import pytest

import tailback
from command import in_process
from tailback.cli.run_warnings import CODES
from tailback.results import open_results
from tailback.scenario.lint import WARNINGS

CODE = re.compile(r"\[([a-z-]+)\]$", re.MULTILINE)

FILE = """\
title: much to be warned of
links:
  - {wifi: {ap: router, stations: [near, far]}, standard: n, width: 40MHz, mcs: 15, distance: {near: 5m, far: 90m}}
  - {ends: [router, server], rate: 1gbit, delay: 1ms}
traffic:
  - {tcp: near -> server, name: near}
  - {tcp: far -> server, name: far}
  - {ping: far -> server}
duration: 2s
vary: {tsq: [1ms, 2ms]}
repeat: until ci95 of ping < 0.001%, at most 3
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "warned.yaml"
    path.write_text(FILE)
    return path


def test_each_warning_of_run_is_one_line_and_stands_in_its_document(file: Path) -> None:
    printed = CODE.findall(in_process("run", file).stderr)
    assert len(printed) == len(set(printed)), "one for each kind"
    assert {"out-of-reach", "few-pings", "slow-start-measured", "too-short-to-tell", "flow-without-data"} < set(printed)
    found = json.loads(in_process("run", file, "--json").stdout)
    assert [each["code"] for each in found["warnings"]] == printed
    assert all(each["text"] and each["hint"] and each["severity"] for each in found["warnings"])
    assert {each["code"]: each for each in found["warnings"]}["flow-without-data"]["count"] == len(found["runs"])
    for run in found["runs"]:
        there = json.loads((Path(run["dir"]) / "summary.json").read_text())
        assert there["warnings"] == run["summary"]["warnings"]
        about_file = [each for each in there["warnings"] if "key" in each]
        about_run = [each["code"] for each in there["warnings"] if "key" not in each]
        assert about_run == ["too-short-to-tell", "flow-without-data", "ping-unanswered"]
        assert {each["code"] for each in about_file} == {each["code"] for each in found["warnings"] if "file" in each}
        assert all(each["key"] and each["line"] and each["text"] and each["hint"] for each in about_file)


def test_runs_that_are_taken_over_or_analysed_again_get_the_warnings_of_their_file(file: Path) -> None:
    in_process("run", file, "--set", "repeat=1", "-o", "first")
    wanted = [run.summary["warnings"] for run in open_results("first").runs]
    assert any("key" in each for each in wanted[0])
    for run in open_results("first").runs:
        # As an earlier version wrote it, and as its analysis noted it.
        summary = {**run.summary, "warnings": [each for each in run.summary["warnings"] if "key" not in each]}
        content = json.dumps(summary).encode()
        (run.path / "summary.json").write_bytes(content)
        manifest = {**run.manifest, "analysis": "an earlier one"}
        manifest["files"]["summary.json"] = {"bytes": len(content), "crc32": zlib.crc32(content)}
        (run.path / "manifest.json").write_text(json.dumps(manifest))
    in_process("run", file, "--set", "repeat=1", "-o", "taken", "--reuse", "first")
    in_process("run", file, "--set", "repeat=1", "-o", "first")
    for folder in ("first", "taken"):
        assert [run.summary["warnings"] for run in open_results(folder).runs] == wanted


def test_each_warning_of_check_stands_in_its_document(file: Path) -> None:
    printed = CODE.findall(in_process("check", file).stderr)
    found = json.loads(in_process("check", file, "--json").stdout)["findings"]
    assert set(printed) == {each["code"] for each in found}


def test_each_warning_of_compare_stands_in_its_document(file: Path) -> None:
    in_process("run", file, "--out", "results")
    sides = ("compare", "results", "tsq=1ms", "tsq=2ms")
    printed = CODE.findall(in_process(*sides).stderr)
    found = json.loads(in_process(*sides, "--json").stdout)["warnings"]
    assert [each["code"] for each in found] == printed
    assert "flow-without-data" in printed
    assert {each.get("side") for each in found if each["code"] == "flow-without-data"} == {"reference", "candidate"}


def test_the_report_has_the_warnings(file: Path) -> None:
    in_process("run", file, "--out", "results")
    in_process("report", "results")
    page = Path("results/report.html").read_text()
    assert "[out-of-reach]" in page
    assert "[flow-without-data]" in page


def test_each_code_is_explained() -> None:
    """The codes are written where the warnings are made."""
    package = Path(tailback.__file__).parent
    files = [package / "analysis" / "cautions.py", *package.glob("*/warned.py")]
    made = {code for file in files for code in re.findall(r'Caution\(\s*"([a-z-]+)"', file.read_text())}
    assert len(made) > 8
    assert made - {"repetitions-alike"} <= set(CODES)
    assert made <= {*CODES, *WARNINGS}
    for code in made:
        assert code in in_process("explain", code).stdout
        assert code in in_process("list", "warning").stdout
