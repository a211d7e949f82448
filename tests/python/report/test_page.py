"""The interactive report in a real browser: it loads without errors, filters, and switches series off."""

import html
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

import tailback
from fake_backend import FakeBackend, Nobody, grid
from tailback import report
from tailback.report import content
from tailback.results import Results, claim, open_results
from tailback.sweep import Sweep, run_all
from waiting import GENEROUS_S, until

TIMEOUT_MS = 1000 * GENEROUS_S
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
NEEDS_BROWSER = "chromium is missing: scripts/test-packages.sh installs it"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Two controls × two small-queue settings × three repetitions."""
    folder = tmp_path_factory.mktemp("results") / "x"
    with claim(folder, grid(repetitions=3)) as store:
        run_all(Sweep(store, FakeBackend(), 2), Nobody())
    return open_results(folder)


@pytest.fixture(scope="module")
def written(found: Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report.write(found, tmp_path_factory.mktemp("page") / "report.html")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    assert BROWSER, NEEDS_BROWSER
    with sync_playwright() as player:
        started = player.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"], timeout=TIMEOUT_MS)
        yield started
        started.close()


@pytest.fixture
def page(browser: Browser, written: Path) -> Iterator[tuple[Page, list[str]]]:
    """The opened page, with its errors."""
    said: list[str] = []
    # Offline: any request of the page to a network fails.
    context = browser.new_context(offline=True, viewport={"width": 1300, "height": 900})
    opened = context.new_page()
    opened.set_default_timeout(TIMEOUT_MS)
    opened.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.on("request", lambda request: said.append(request.url) if request.url.startswith("http") else None)
    opened.goto(written.as_uri())
    opened.wait_for_selector("body[data-ready=true]")
    yield opened, said
    context.close()


def rows(page: Page) -> list[str]:
    return page.locator("#table tbody tr").all_inner_texts()


def lines(page: Page, figure: str) -> int:
    """The visible curves of a figure; the edges of bands have no name."""
    visible: int = page.evaluate(
        "figure => charts[figure].flatMap(chart => chart.series).filter(s => s.show && s.at !== undefined).length",
        figure,
    )
    return visible


def test_the_page_loads_without_errors_and_shows_everything(page: tuple[Page, list[str]], tmp_path: Path) -> None:
    opened, said = page
    assert said == []
    assert len(rows(opened)) == 4
    assert opened.locator("#count").inner_text() == "4 of 4 configurations"
    assert lines(opened, "time") == 4 * 3
    assert lines(opened, "distribution") == 4
    opened.screenshot(path=tmp_path / "page.png", full_page=True)
    with Image.open(tmp_path / "page.png") as picture:
        assert picture.height > 1500
        pixels = np.asarray(picture.convert("HSV"))
    # Coloured marks on a page that is otherwise grey.
    assert 0.002 < (pixels[:, :, 1] > 120).mean() < 0.2


def test_a_filter_leaves_the_configurations_with_its_value(page: tuple[Page, list[str]]) -> None:
    opened, said = page
    opened.click("button[data-axis=cc][data-value=bbr]")
    assert len(rows(opened)) == 2
    assert all("cubic" in row for row in rows(opened))
    until(lambda: lines(opened, "time") == 2 * 3)
    opened.click("button[data-axis=tsq][data-value='off']")
    assert len(rows(opened)) == 1
    # Switching off the last value shows all of them again.
    opened.click("button[data-axis=cc][data-value=cubic]")
    assert len(rows(opened)) == 2
    assert said == []


def test_a_series_is_switched_off_by_its_row_and_by_its_legend(page: tuple[Page, list[str]]) -> None:
    opened, said = page
    opened.click("#table tbody tr >> nth=1")
    until(lambda: lines(opened, "time") == 3 * 3)
    assert opened.locator("#table tr.muted").count() == 1
    opened.click("#table tbody tr >> nth=1")
    until(lambda: lines(opened, "time") == 4 * 3)
    opened.locator("#time-legend button").first.click()
    until(lambda: lines(opened, "time") == 3 * 3)
    assert opened.locator("#table tr.muted").count() == 1
    assert said == []


def test_the_legend_says_the_values_under_the_cursor(page: tuple[Page, list[str]]) -> None:
    opened, said = page
    opened.locator("#time .u-over").first.hover()
    values = opened.locator("#time-legend output").first
    until(lambda: values.inner_text() != "")
    # Of each quantity one.
    assert len(values.inner_text().split(" · ")) == 3
    assert said == []


def test_zooming_one_panel_zooms_all(page: tuple[Page, list[str]]) -> None:
    opened, said = page
    opened.evaluate("charts.time[1].setScale('x', {min: 6, max: 9})")
    until(lambda: opened.evaluate("charts.time.map(({scales}) => [scales.x.min, scales.x.max])") == [[6, 9]] * 3)
    assert said == []


def test_a_heading_sorts_and_a_metric_can_be_picked(page: tuple[Page, list[str]]) -> None:
    opened, said = page
    opened.click("#table th:has-text('ping p50')")
    opened.click("#table th:has-text('ping p50')")
    assert all("off" in row for row in rows(opened)[:2])
    opened.select_option("#metric", label="ping p90")
    assert opened.locator("#compared svg").get_attribute("aria-label") == "ping p90 (ms)"
    shown = opened.locator("#compared circle").all()[0].get_attribute("cx")
    opened.select_option("#metric", label="goodput")
    assert opened.locator("#compared circle").count() == 4
    assert shown != opened.locator("#compared circle").all()[0].get_attribute("cx")
    opened.select_option("#quantity", label="Ping")
    assert opened.evaluate("charts.distribution[0].axes[1].label") == "Ping (ms)"
    assert said == []


def test_the_page_holds_the_numbers_of_the_table(found: Results, written: Path) -> None:
    text = written.read_text()
    held = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL).group(1))  # type: ignore[union-attr]
    titles = [column["title"] for column in held["columns"]]
    goodput = held["configurations"][0]["cells"][titles.index("goodput")]
    values = [run.summary["goodput_mbps"]["total"] for run in found.select(cc="cubic", tsq="1ms").runs]
    assert goodput[0] == pytest.approx(np.mean(values), rel=1e-4)
    assert goodput[1] < goodput[0] < goodput[2]


def test_a_column_has_one_form_of_numbers_and_both_ends_of_each_interval(page: tuple[Page, list[str]]) -> None:
    opened, said = page
    shapes = opened.evaluate(
        "[...document.querySelectorAll('#table tbody tr')].map((row) => [...row.querySelectorAll('td:not(.axis)')]"
        ".map((cell) => cell.innerText))"
    )
    for column in zip(*shapes, strict=True):
        decimals = {len(number.partition(".")[2]) for cell in column for number in re.findall(r"[0-9.]+", cell)}
        assert len(decimals) == 1, column
        assert all(re.fullmatch(r"[−0-9.]+\n?\[[−0-9.]+, [−0-9.]+\]", cell) for cell in column), column
    assert said == []


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_cut_beside_the_page(page: tuple[Page, list[str]], width: int) -> None:
    opened, _ = page
    opened.set_viewport_size({"width": width, "height": 900})
    until(lambda: opened.evaluate("document.documentElement.scrollWidth") == width)
    table = opened.locator(".scroll")
    wide, seen = table.evaluate("(box) => [box.scrollWidth, box.clientWidth]")
    assert width < 1280 or wide <= seen


def test_a_table_of_fourteen_columns_is_seen_whole(page: tuple[Page, list[str]]) -> None:
    opened, _ = page
    opened.set_viewport_size({"width": 1280, "height": 900})
    more = """() => { for (const row of document.querySelectorAll(".scroll tr"))
        while (row.cells.length < 14) {
            const cell = row.lastElementChild.cloneNode(true);
            if (cell.tagName === "TD") cell.innerHTML = "24615.5<small>[18000.12, 31229.95]</small>";
            row.append(cell);
        } }"""
    opened.evaluate(more)
    wide, seen = opened.locator(".scroll").evaluate("(box) => [box.scrollWidth, box.clientWidth]")
    assert wide <= seen


def test_logarithmic_axes_have_numbers_where_the_data_is(page: tuple[Page, list[str]]) -> None:
    opened, _ = page
    for low, high in ((15, 80), (4.2, 4.8), (1e-4, 1e2), (0.3, 0.9), (2, 1e6)):
        marks = opened.evaluate("([low, high]) => readable(low, high)", [low, high])
        assert 2 <= len(marks) <= 9, (low, high, marks)
        assert all(low <= mark <= high for mark in marks)


def test_the_longest_queue_has_a_panel_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(FILE)
    queue = content.document(tailback.run(tmp_path / "one.yaml", out=tmp_path / "out"))["figures"]["series"]["queue"]
    assert (queue["title"], queue["unit"]) == ("Longest queue", "packets")
    assert len(queue["configurations"][0]["t"]) > 3


def test_configurations_without_a_quantity_keep_their_place(tmp_path: Path) -> None:
    text = FILE.replace("repeat: 2", "vary: {kind: {none: {}, ping: {'traffic[1].stop': 3s}}}").replace(
        "name: upload}]", "name: upload}, {ping: client -> server, start: 0s, stop: 1ms}]\nmeasure: {warmup: 1s}"
    )
    (tmp_path / "one.yaml").write_text(text)
    document = content.document(tailback.run(tmp_path / "one.yaml", out=tmp_path / "out"))
    first, second = document["figures"]["distributions"]["ping"]["configurations"]
    assert first["value"] == []
    assert len(second["value"]) > 100


def test_the_findings_of_the_table_are_a_list(found: Results) -> None:
    document = content.document(found)
    statements = [*document["findings"], *document["all_findings"]]
    assert document["findings"][0]["head"].startswith("tsq off instead of 1ms: ")
    assert len(document["all_findings"]) == 3
    text = report.html(found)
    assert all(html.escape(part) in text for each in statements for part in (each["head"], *each["parts"]))


def test_the_page_is_small(written: Path) -> None:
    """What draws is 70 kB of it."""
    assert written.stat().st_size < 1_000_000


def test_a_title_cannot_inject_markup(found: Results) -> None:
    wicked = Results(found.path, "</script><script>alert(1)</script>", found.axes, found.runs)
    text = report.html(wicked)
    assert "<script>alert" not in text
    assert text.count("</script>") == 3


FILE = """
title: one flow
links: [{ends: [client, server], rate: 10mbit, delay: 5ms}]
traffic: [{tcp: client -> server, name: upload}]
duration: 3s
repeat: 2
"""


def test_warnings_are_shown_and_missing_parts_left_out(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(FILE)
    results = tailback.run(tmp_path / "one.yaml", out=tmp_path / "out")
    document = content.document(results)
    assert any("repetitions-alike" in warning for warning in document["warnings"])
    assert "ping" not in document["figures"]["distributions"]
    assert document["experiment"] == FILE
    assert "repetitions hardly differ" in report.html(results)


def test_a_single_run_has_a_report_too(found: Results) -> None:
    document = content.document(open_results(found.runs[0].path))
    assert (document["experiment"], len(document["configurations"])) == ("", 1)
