"""Each page of docs/jobs goes from an empty folder to its figure in at most five commands, run as they are written."""

import re
import shutil
from pathlib import Path

import pytest
from PIL import Image

import jobs
import tailback

TOOLS = {"flent": ("flent", "tshark"), "iperf": ("iperf3",)}
"""The programs of others that a page needs; scripts/test-packages.sh installs them."""

QUICK = {"home-link", "cellular", "own-control", "flent"}
"""The pages of `make test`; those of `make campaign-tests` simulate for longer and use the same commands."""

TABLES = {
    "responsiveness": (["queue"], ["rpm.total"]),
    "video": (["rule"], ["video.video.bitrate_mbps", "video.video.switches", "video.video.stalls", "video.video.qoe"]),
    "load": (["load", "setting"], ["slowdown.mean", "slowdown.p99"]),
}
"""The axes and the metrics of the table that a page prints, as rows and columns of the summary."""

PRINTED = 0.03
"""Relative error of a number that is printed with two digits."""


@pytest.mark.parametrize(
    "page", [page if page in QUICK else pytest.param(page, marks=pytest.mark.campaign) for page in jobs.PAGES]
)
def test_the_commands_of_a_page_draw_its_figure(page: str, tmp_path: Path) -> None:
    assert len(jobs.commands(page)) <= 5
    absent = [tool for tool in TOOLS.get(page, ()) if shutil.which(tool) is None]
    assert not absent, f"missing: {', '.join(absent)}: scripts/test-packages.sh installs them"
    with Image.open(jobs.run(page, tmp_path)) as drawn, Image.open(jobs.DOCS / f"pictures/jobs/{page}.png") as shown:
        assert drawn.size == shown.size


def test_every_page_shows_the_figure_that_its_commands_draw() -> None:
    for page in jobs.PAGES:
        text = (jobs.DOCS / "jobs" / f"{page}.md").read_text(encoding="utf-8")
        assert jobs.FIGURE.findall(text) == [f"../pictures/jobs/{page}.png"]
        assert f"]({page}.md)" in (jobs.DOCS / "jobs" / "index.md").read_text(encoding="utf-8")


def printed(page: str) -> list[list[str]]:
    """The cells of a page's table, without its two rows of heading."""
    text = (jobs.DOCS / "jobs" / f"{page}.md").read_text(encoding="utf-8")
    return [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")][2:]


@pytest.mark.parametrize("page", ["responsiveness", "video", pytest.param("load", marks=pytest.mark.campaign)])
def test_the_table_of_a_page_has_the_means_of_its_runs(page: str, tmp_path: Path) -> None:
    axes, metrics = TABLES[page]
    jobs.execute(jobs.commands(page)[:2], tmp_path)
    means = tailback.open(tmp_path / "results" / page).summary.groupby(axes, sort=False)[metrics].mean()
    shown = {label.strip(" `"): re.findall(r"[0-9.]+", " ".join(cells)) for label, *cells in printed(page)}
    measured = {str(label): rows.to_numpy().ravel() for label, rows in means.groupby(level=0, sort=False)}
    for label, numbers in measured.items():
        assert [float(number) for number in shown[f"{label}".replace("%", " %")]] == pytest.approx(numbers, rel=PRINTED)


def test_the_readme_says_how_many_jobs_there_are_and_how_many_commands_they_take() -> None:
    names = ["zero", "one", "two", "three", "four", "five"]
    counts = [len(jobs.commands(page)) for page in jobs.PAGES]
    readme = (jobs.DOCS.parent / "README.md").read_text(encoding="utf-8")
    assert f"each of {names[min(counts)]} to {names[max(counts)]} commands" in " ".join(readme.split())
    assert len(jobs.PAGES) == 16
    assert "sixteen jobs" in readme
    assert "# Sixteen jobs" in (jobs.DOCS / "jobs" / "index.md").read_text(encoding="utf-8")
