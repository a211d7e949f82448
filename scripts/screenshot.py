"""A picture of a report as a browser shows it: `python scripts/screenshot.py REPORT.html PICTURE.png [BUTTON...]`.

BUTTON is the value of a filter to switch off first.
"""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def main(page: Path, picture: Path, buttons: list[str]) -> None:
    """Draws the whole page, 1300 pixels wide."""
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        sys.exit("chromium is missing: scripts/test-packages.sh installs it")
    with sync_playwright() as player:
        opened = player.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        shown = opened.new_page(viewport={"width": 1300, "height": 900})
        shown.goto(page.resolve().as_uri())
        shown.wait_for_selector("body[data-ready=true]")
        for button in buttons:
            shown.click(f"button[data-value='{button}']")
        shown.screenshot(path=picture, clip={"x": 0, "y": 0, "width": 1300, "height": 1480}, full_page=True)
        opened.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
