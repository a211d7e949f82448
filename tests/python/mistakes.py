"""Runs what the pages of docs/mistakes show, each in an empty folder: `python tests/python/mistakes.py [PAGE...]` draws
the pictures of these pages and writes the numbers of their tables anew.
"""

import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import jobs
import tailback

FOLDER = jobs.DOCS / "mistakes"
PICTURES = jobs.DOCS / "pictures" / "mistakes"
PAGES = sorted(page.stem for page in FOLDER.glob("*.md") if page.stem != "index")
ROW = re.compile(r"^\| ([^|]+) \| ([0-9.]+) \|$", re.MULTILINE)

MEASURED = {
    "netem-on-the-sender": "ping_ms.p50",
    "jitter-reorders": "goodput_mbps.total",
    "netem-limit": "goodput_mbps.total",
    "offloads-on-a-slow-shaper": "ping_ms.p50",
    "mbps-is-bytes": "goodput_mbps.total",
    "queue-never-fills": "ping_ms.p50",
    "htb-burst-and-quantum": "goodput_mbps.flows.small",
    "host-buffers": "goodput_mbps.total",
    "one-run": "goodput_mbps.flows.flow.1",
}
"""The column of the summary that a page's table shows, by its axis. The other page computes its own."""


def text(page: str) -> str:
    """The page."""
    return (FOLDER / f"{page}.md").read_text(encoding="utf-8")


def block(page: str, language: str) -> str:
    """A block of code of the page; empty if there is none."""
    found = re.search(rf"```{language}\n(.*?)```", text(page), re.DOTALL)
    return found[1] if found else ""


def run(page: str, folder: Path) -> tuple[Path, dict[str, float]]:
    """Runs the page in an empty folder; returns its figure and the numbers of its table."""
    (folder / f"{page}.yaml").write_text(block(page, "yaml"), encoding="utf-8")
    jobs.execute(block(page, "sh").splitlines(), folder)
    if page not in MEASURED:
        return _computed(page, folder)
    summary = tailback.open(folder / "results" / page).summary
    means = summary.groupby(summary.columns[0], sort=False)[MEASURED[page]].mean()
    [figure] = (folder / "results" / page / "plots").glob("*.png")
    return figure, {str(label): float(mean) for label, mean in means.items()}


def _computed(page: str, folder: Path) -> tuple[Path, dict[str, float]]:
    code = block(page, "python").replace('"results/', f'"{folder}/results/').replace('savefig("', f'savefig("{folder}/')
    names: dict[str, Any] = {}
    exec(code, names)
    tails = {"samples": names["samples"], "means of a second": names["means"]}
    return folder / "percentiles.png", {name: float(values.quantile(0.99)) for name, values in tails.items()}


def shown(page: str) -> dict[str, float]:
    """The numbers of the page's table."""
    return {label: float(number) for label, number in ROW.findall(text(page))}


def main(pages: list[str]) -> None:
    """Draws the pictures of these pages, or of all, and writes their numbers."""
    for page in pages or PAGES:
        with tempfile.TemporaryDirectory() as folder:
            figure, numbers = run(page, Path(folder))
            shutil.copy(figure, PICTURES / f"{page}.png")
        new = text(page)
        for label, number in numbers.items():
            new = re.sub(
                rf"^\| {re.escape(label)} \| [0-9.]+ \|$", f"| {label} | {number:.3g} |", new, flags=re.MULTILINE
            )
        (FOLDER / f"{page}.md").write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
