"""Versions of Linux beside the simulator's stacks of them: the campaign, and what it has measured."""

from __future__ import annotations

import re

import pytest

from conformance.kinds.golden import RUN
from conformance.versions import cost, golden, report
from conformance.versions.__main__ import judged
from conformance.versions.versions import VERSIONS, Version, cases, experiment
from tailback.kernel.build import features

WIRED = [version for version in VERSIONS if version.file == "versions"]


def test_every_version_has_a_kernel_that_one_command_builds() -> None:
    assert len({version.name for version in VERSIONS}) == len(VERSIONS)
    for version in VERSIONS:
        assert set(version.features) <= set(features())
        assert version.build[:4] == ["kernel", "build", "--version", version.release]


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.name)
def test_all_hosts_of_a_version_have_its_stack_in_the_simulator(version: Version) -> None:
    for configuration in experiment(version, version.stack).runs():
        assert {host.stack for host in configuration.scenario.hosts} == {version.stack}
    assert len(cases(version)) == len(experiment(version, version.stack).configurations) > 3


def test_a_version_has_the_stack_of_its_point_release() -> None:
    assert [version.stack for version in WIRED] == ["linux-5.10.262", "linux-6.1", "linux-7.3"]


def test_a_version_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(SystemExit, match=r"there is no version 4\.4\n  hint: use one of '5\.10', '6\.1'"):
        report.named(["4.4"])


@pytest.mark.parametrize("version", WIRED, ids=lambda version: version.name)
def test_the_stack_of_a_version_agrees_with_its_kernel_in_one_cell(version: Version) -> None:
    kernel = golden.read()
    mine = kernel[(kernel["file"] == version.name) & (kernel["case"] == "cubic over pfifo")]
    if mine.empty:
        pytest.skip("this version has not been measured")
    table = judged([version], mine, jobs=2)
    assert [cell["title"] for cell in table.judged if cell["outcome"] == "off"] == []
    assert report.summary(table, mine)[2].startswith(f"| {version.name} | `{version.stack}` | {len(mine)} |")


def test_a_table_of_cells_has_a_row_for_each_that_was_measured() -> None:
    kernel = golden.read()
    version = next(version for version in VERSIONS if version.name in set(kernel["file"]))
    of_version = kernel[kernel["file"] == version.name]
    case = of_version["case"].iloc[0]
    table = judged([version], of_version[of_version["case"] == case], jobs=2)
    head, _, *body = report.beside(table, [version.name])
    assert [row.split(" | ")[1] for row in body] == [case] and "goodput" in head


def test_the_figures_of_kernels_have_each_run_once_and_what_it_took() -> None:
    kernel = golden.read()
    assert not kernel.duplicated(list(RUN)).any()
    assert (kernel[golden.COST] > 0).all()
    assert set(kernel["file"]) <= {version.name for version in VERSIONS}


def test_a_cell_has_the_rate_of_its_name() -> None:
    """A bottleneck that a cell does not override is that of all cells."""
    for run in experiment(VERSIONS[0], VERSIONS[0].stack).runs():
        named = re.search(r"(\d+) Mbit/s", run.axes["case"])
        rates = {each.root.options["rate"] for each in run.scenario.qdiscs if each.root.kind == "htb"}
        assert rates == {(int(named[1]) if named else 20) * 10**6}, run.axes["case"]


def test_a_version_that_lacks_runs_says_which() -> None:
    kernel, version = golden.read(), VERSIONS[0]
    assert report.short([version], kernel) == []
    others = (kernel["file"] != version.name) | (kernel["case"] != "cubic over pfifo")
    lost = kernel[others | (kernel["repetition"] < 2)]
    assert report.short([version], lost) == [
        "5.10: the kernel's figures of 2 of 36 runs are missing: `cubic over pfifo` 2, `cubic over pfifo` 3"
    ]


def test_the_table_of_costs_has_each_version_and_wi_fi_only_with_our_driver() -> None:
    assert {version.name: cost.cases_of(version) for version in cost.VERSIONS} == {
        "5.10": ["wired"], "6.1": ["wired"], "6.12": ["wired", "Wi-Fi"], "7.3": ["wired", "Wi-Fi"],
    }  # fmt: skip
    assert cost.table({"5.10": {"wired": [0.5, 1.0]}, "6.1": {}})[2:] == [
        "| 5.10 | 0.75 (0.50 to 1.00) | – |",
        "| 6.1 | – | – |",
    ]
