"""Pictures of the lab in a browser: `python scripts/lab_pictures.py FOLDER` writes lab.png, lab-phone.png,
lab-packets.png and lab-course.png.
"""

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
TIMEOUT_MS = 600_000


def main(folder: Path) -> None:
    """Draws the lab on a screen and on a phone, its packets, and a lab of the course."""
    with sync_playwright() as player:
        opened = player.chromium.launch(executable_path=program(), args=["--no-sandbox"])
        with served("demo") as address:
            for name, view in (
                ("lab", {"viewport": {"width": 1360, "height": 900}}),
                ("lab-phone", {"viewport": {"width": 390, "height": 844}, "is_mobile": True}),
            ):
                page = at(opened, address, **view)
                compared(page)
                page.screenshot(path=folder / f"{name}.png", full_page=name == "lab")
        with served("labs/sharing") as address:
            page = at(opened, address, viewport={"width": 1500, "height": 900})
            page.wait_for_selector("body[data-pictures='1']")
            page.click("#look")
            page.wait_for_selector("#packets canvas")
            page.locator("#packets").screenshot(path=folder / "lab-packets.png")
        with served("labs/buffer") as address:
            page = at(opened, address, viewport={"width": 1360, "height": 900})
            page.wait_for_selector("body[data-pictures='1']")
            page.screenshot(path=folder / "lab-course.png", full_page=True)
        opened.close()


def program() -> str:
    """The browser of this machine."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    return found or sys.exit("chromium is missing: scripts/test-packages.sh installs it")


@contextmanager
def served(experiment: str) -> Iterator[str]:
    """The address of a lab."""
    command = [sys.executable, "-m", "tailback", "lab", experiment, "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as lab:
        assert lab.stdout is not None
        try:
            yield lab.stdout.readline().strip()
        finally:
            lab.send_signal(signal.SIGTERM)


def at(browser: Browser, address: str, **view: Any) -> Page:
    """A page of its own."""
    page = browser.new_context(**view).new_page()
    page.set_default_timeout(TIMEOUT_MS)
    page.goto(address)
    return page


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
