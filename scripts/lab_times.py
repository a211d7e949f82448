"""Time from a knob of the lab to its new curves, in Chromium: `python scripts/lab_times.py [EXPERIMENT] [--turns N]`.

From the key that turns the knob to the frame that shows the new curves, each setting new to the lab; and from the
command to the first picture. Of an idle machine: the lab and the browser need a processor each.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time

import lab_pictures
from playwright.sync_api import sync_playwright

KNOB = "client -> router rate in words"
FIRST_MBPS = 40
TURN = """([field, text]) => new Promise((resolve) => {
    const seen = new MutationObserver(() => requestAnimationFrame(() => resolve(performance.now() - turned)));
    seen.observe(document.body, { attributes: true, attributeFilter: ["data-pictures"] });
    field.value = text;
    const turned = performance.now();
    field.dispatchEvent(new Event("change", { bubbles: true }));
})"""


def main(words: list[str]) -> None:
    """Prints median and 95th percentile of the turns, and the time to the first picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("experiment", nargs="?", default="demo")
    parser.add_argument("--turns", type=int, default=40)
    options = parser.parse_args(words)
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=lab_pictures.program(), args=["--no-sandbox"])
        began = time.monotonic()
        with lab_pictures.served(options.experiment) as address:
            page = lab_pictures.at(browser, address, viewport={"width": 1360, "height": 900})
            page.wait_for_selector("body[data-pictures='1']")
            first = time.monotonic() - began
            field = page.get_by_label(KNOB).element_handle()
            found = [page.evaluate(TURN, [field, f"{FIRST_MBPS + n}mbit"]) for n in range(options.turns)]
        browser.close()
    p95 = statistics.quantiles(found, n=20)[-1]
    print(
        f"first picture {first:.1f} s; {len(found)} turns: median {statistics.median(found):.0f} ms, p95 {p95:.0f} ms"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
