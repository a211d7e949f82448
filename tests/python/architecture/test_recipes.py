"""A new control, discipline or driver is one file and one row: no code outside its package names it.

The crates contain a toy of each, added as CONTRIBUTING.md says, which their own tests run.
"""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tailback.algorithms import CoreRegistry

ROOT = Path(__file__).parents[3]
SOURCES = (":(glob)crates/*/src/**", "python/tailback")
NOT_THE_PRODUCT = (
    ":!python/tailback/papers",
    ":!python/tailback/starters",
    ":!python/tailback/formats",
    ":!python/tailback/cli/field.toml",
    ":!python/tailback/lab/page",
    ":!crates/drill",
    ":!crates/agent/src/drill",
    ":(exclude,glob)crates/*/src/**/tests.rs",
)
"""Data about others: what papers compared, what other programs call it, what users ask for, packetdrill's commands;
and code of a page, whose names a bundler chose."""

ROOMS = {
    "congestion_controls": ("crates/cc/src/",),
    "qdiscs": ("crates/qdisc/src/", "python/tailback/qdiscs/"),
    "drivers": ("crates/wifi/src/",),
}

KNOWN_BY_NAME = {
    "congestion_controls": {
        "cubic", "newreno",  # defaults of the stacks
        "reno", "bbr",  # with cubic, the ones with a colour of their own, and in examples of help texts
        "highspeed",  # needs a kernel symbol that a guest may lack
        "dctcp", "prague",  # ask for another handshake
        "scalable",  # is also what RFC 9332 calls a kind of controls
    },
    "qdiscs": {
        "pfifo_fast", "fq_codel", "fq", "mq", "noqueue",  # defaults of devices, and what pacing asks for
        "htb", "tbf", "cake", "netem", "prio", "drr",  # shape, delay or classify: others build trees of them
        "codel", "pfifo",  # the law of mac80211's queues; what the agent puts where nothing is said
        "red",  # is also a colour
    },
    "drivers": {"generic", "ath9k", "ath9k_htc"},  # the default; examples of help texts
}  # fmt: skip
"""Rows that have a part in more than their own algorithm, and why. No new row needs to be here."""


def places(name: str) -> Sequence[str]:
    """Files outside the tests that contain the word."""
    words = ["git", "grep", "--files-with-matches", "--word-regexp", name, "--", *SOURCES, *NOT_THE_PRODUCT]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()


@pytest.mark.parametrize("kind", ROOMS)
def test_only_its_own_package_knows_an_algorithm_by_name(kind: str) -> None:
    names = {row.name for row in getattr(CoreRegistry(), kind)} - KNOWN_BY_NAME[kind]
    assert names
    found = {name: [place for place in places(name) if not place.startswith(ROOMS[kind])] for name in sorted(names)}
    assert {name: elsewhere for name, elsewhere in found.items() if elsewhere} == {}
    assert all(places(name) for name in names)


#: By crate the files that a toy is in: its own, that of its row and that of its `mod` line.
TOYS = {
    "cc": ("toy.rs", "registry.rs", "lib.rs"),
    "qdisc": ("toy.rs", "registry.rs", "lib.rs"),
    "traffic": ("toy.rs", "lib.rs"),
}


@pytest.mark.parametrize("crate", TOYS)
def test_a_toy_needs_its_file_a_row_and_a_mod_line_and_no_more(crate: str) -> None:
    source = ROOT / "crates" / crate / "src"
    lines = {
        file.relative_to(source).as_posix(): re.findall(r"^.*\btoy\b.*$", file.read_text(), re.MULTILINE)
        for file in sorted(source.rglob("*.rs"))
    }
    known = {file: found for file, found in lines.items() if found}
    own, *others = TOYS[crate]
    assert set(known) == {own, *others}
    assert sorted(line.strip() for file in others for line in known[file]) == [TOY_ROWS[crate], "mod toy;"]


TOY_ROWS = {"cc": "crate::toy::ROW,", "qdisc": "crate::toy::ROW,", "traffic": "Toy(toy::ToyTraffic),"}
"""In the registries."""
