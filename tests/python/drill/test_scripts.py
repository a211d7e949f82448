"""The scripts of conformance/drill pass, and each of their expectations can fail."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailback import drill

SCRIPTS = sorted((Path(__file__).parents[3] / "conformance" / "drill").glob("*.pkt"))

FLAGS = re.compile(r"(> )(\[\w+\] )?([FSRPEW]*)(\.? \d+:)")
"""The flags of a segment that is expected."""
EQUAL = re.compile(r"== (\(?)(\w+)")
"""What an assertion compares with."""
RESULT = re.compile(r"(\b(?:read|write|poll|epoll_wait)\(.*\) = )(-?\d+)")
"""What a call is to return."""
TOLD = re.compile(r"(\b(?:cmsg_data|ee_data|scm_nsec)=|getsockopt\(.*?\[)(-?\d+)")
"""What a call is to tell beside its result."""
STAMP = re.compile(r"ee_info=SCM_TSTAMP_(\w+)")
"""Of what a time stamp is."""
COUNTED = re.compile(r'(grep -q " )(\d+)')
"""What a counter is to have grown by."""
BEYOND_TOLERANCE = 10_000_000
"""More than times may be off, in nanoseconds."""


def verdict(text: str) -> str:
    return drill.run_text(text, Path("script.pkt"), drill.Settings()).verdict


def mutants(text: str) -> Iterator[tuple[int, str]]:
    """The script with one expectation changed, and its line."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        changed = mutated(line)
        if changed != line:
            yield number + 1, "\n".join([*lines[:number], changed, *lines[number + 1 :]])


def mutated(line: str) -> str:
    """The line with another flag, number or result; comments are kept."""
    if line.startswith("//"):
        return line
    if FLAGS.search(line):
        return FLAGS.sub(lambda found: found[1] + (found[2] or "") + toggled(found[3]) + found[4], line)
    if EQUAL.search(line):
        return EQUAL.sub(r"== \g<1>1 + \g<2>", line, count=1)
    if ">=" in line:
        return line.replace(">=", "<", 1)
    changed = STAMP.sub("ee_info=SCM_TSTAMP_OTHER", line)
    changed = TOLD.sub(lambda found: found[1] + str(int(found[2]) + BEYOND_TOLERANCE), changed)
    changed = COUNTED.sub(lambda found: found[1] + str(int(found[2]) + 1), changed)
    return RESULT.sub(lambda found: found[1] + str(int(found[2]) + 1), changed)


def toggled(flags: str) -> str:
    return flags.replace("F", "") if "F" in flags else "F" + flags


def test_there_are_scripts() -> None:
    assert len(SCRIPTS) >= 30


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_passes(script: Path) -> None:
    report = drill.run_file(script, drill.Settings())
    assert report.verdict == "passed", str(report)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_each_expectation_of_a_script_can_fail(script: Path) -> None:
    found = list(mutants(script.read_text()))
    assert found
    survivors = [line for line, text in found if verdict(text) != "failed"]
    assert survivors == []


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_opens_with_what_it_shows(script: Path) -> None:
    assert script.read_text().startswith("// ")
