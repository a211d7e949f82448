"""Each page of docs/mistakes shows its mistake: its experiment is run, its table has the numbers of the runs, its
warning is given.
"""

import json
import re
from pathlib import Path

import pytest
from PIL import Image

import mistakes
from command import in_process
from tailback.scenario.lint import WARNINGS

PRINTED = 0.02
"""Relative error of a number that is printed with three digits, and is a mean over repetitions."""

FACTOR = {
    "netem-on-the-sender": 2.0, "jitter-reorders": 1.1, "netem-limit": 1.2, "offloads-on-a-slow-shaper": 3.0,
    "mbps-is-bytes": 7.0, "queue-never-fills": 5.0, "htb-burst-and-quantum": 1.3, "host-buffers": 5.0,
    "percentiles-of-means": 1.3,
}  # fmt: skip
"""By how much at least the mistake and its remedy differ. Of `one-run` the point is that they do not."""

QUICK = {"mbps-is-bytes", "jitter-reorders", "percentiles-of-means"}
"""The pages of `make test`; `make campaign-tests` runs all."""


def test_the_index_lists_every_page_and_every_page_has_an_experiment_a_figure_a_remedy_and_a_warning() -> None:
    index = (mistakes.FOLDER / "index.md").read_text(encoding="utf-8")
    assert len(mistakes.PAGES) == 10
    for page in mistakes.PAGES:
        text = mistakes.text(page)
        assert f"]({page}.md)" in index
        assert f"](../pictures/mistakes/{page}.png)" in text
        assert "**Remedy.**" in text
        assert "**Warning.**" in text
        assert len(mistakes.shown(page)) == 2


@pytest.mark.parametrize("page", FACTOR)
def test_the_mistake_makes_a_difference_on_its_page(page: str) -> None:
    low, high = sorted(mistakes.shown(page).values())
    assert high > FACTOR[page] * low


@pytest.mark.parametrize("page", mistakes.PAGES)
def test_check_gives_the_warning_that_the_page_names(page: str, tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(mistakes.block(page, "yaml"), encoding="utf-8")
    done = in_process("check", file, "--json")
    given = {warning["code"] for warning in json.loads(done.stdout)["findings"]}
    told = set(re.findall(r"`([a-z-]+)`", mistakes.text(page).partition("**Warning.**")[2])) & set(WARNINGS)
    # These two pages show a sound experiment beside another one.
    assert told <= given or page in ("queue-never-fills", "one-run")
    assert given <= told


@pytest.mark.parametrize(
    "page", [page if page in QUICK else pytest.param(page, marks=pytest.mark.campaign) for page in mistakes.PAGES]
)
def test_the_table_and_the_figure_of_a_page_are_those_of_its_runs(page: str, tmp_path: Path) -> None:
    figure, measured = mistakes.run(page, tmp_path)
    assert mistakes.shown(page) == pytest.approx(measured, rel=PRINTED)
    with Image.open(figure) as drawn, Image.open(mistakes.PICTURES / f"{page}.png") as committed:
        assert drawn.size == committed.size
