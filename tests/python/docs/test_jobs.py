"""Each page of docs/jobs goes from an empty folder to its figure in at most five commands, run as they are written."""

import shutil
from pathlib import Path

import pytest
from PIL import Image

import jobs

TOOLS = {"flent": ("flent", "tshark")}
"""The programs of others that a page needs; scripts/test-packages.sh installs them."""

QUICK = {"home-link", "cellular", "own-control", "flent"}
"""The pages of `make test`; those of `make campaign-tests` simulate for longer and use the same commands."""


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
