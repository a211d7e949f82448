"""Pictures of the lab in a browser: `python scripts/lab_pictures.py FOLDER` writes lab.png and lab-phone.png."""

import shutil
import signal
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
TIMEOUT_MS = 600_000


def main(folder: Path) -> None:
    """Draws `demo` with a pinned setting and without small queues, on a screen and on a phone."""
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        sys.exit("chromium is missing: scripts/test-packages.sh installs it")
    command = [sys.executable, "-m", "tailback", "lab", "demo", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as lab, sync_playwright() as player:
        assert lab.stdout is not None
        address = lab.stdout.readline().strip()
        opened = player.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        for name, view in (
            ("lab", {"viewport": {"width": 1360, "height": 900}}),
            ("lab-phone", {"viewport": {"width": 390, "height": 844}, "is_mobile": True}),
        ):
            page = opened.new_context(**view).new_page()
            page.set_default_timeout(TIMEOUT_MS)
            page.goto(address)
            compared(page)
            page.screenshot(path=folder / f"{name}.png", full_page=name == "lab")
        opened.close()
        lab.send_signal(signal.SIGTERM)


def compared(page: Page) -> None:
    """Pins the first setting, and turns the small queues off and the rate down."""
    page.wait_for_selector("body[data-pictures='1']")
    page.click("#pin")
    page.get_by_label("tsq", exact=True).select_option("off")
    page.wait_for_selector("body[data-pictures='2']")
    field = page.get_by_label("client -> router rate in words")
    field.fill("60mbit")
    page.keyboard.press("Enter")
    page.wait_for_selector("body[data-pictures='3']")
    page.locator("#figures-head").scroll_into_view_if_needed()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
