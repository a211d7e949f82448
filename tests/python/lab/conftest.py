"""A browser, for the pages of the lab."""

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from waiting import GENEROUS_S

TIMEOUT_MS = 1000 * GENEROUS_S
PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if PROGRAM is None:
        pytest.skip("needs chromium: scripts/test-packages.sh, as root")
    with sync_playwright() as player:
        found = player.chromium.launch(executable_path=PROGRAM, args=["--no-sandbox"], timeout=TIMEOUT_MS)
        yield found
        found.close()
