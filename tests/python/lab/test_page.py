"""The page in a real browser: a knob moves the curve, errors stand beside their lines, several browsers, a restart."""

import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

import tailback
from lab.serving import TEXT, Served, served
from waiting import GENEROUS_S, until

TIMEOUT_MS = 1000 * GENEROUS_S
MANY = """\
links: [{ends: [client, server], rate: 10gbit, delay: 5ms}]
traffic: [{tcp: client -> server, name: up, flows: 2000}]
duration: 300ms
measure: {warmup: 0s}
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("page")
    (folder / "x.yaml").write_text(TEXT)
    with served(folder, "x.yaml") as found:
        yield found


@contextmanager
def opened(browser: Browser, address: str, **view: object) -> Iterator[Page]:
    """The page, with its first picture; it must have said nothing on the console and asked nobody else."""
    said: list[str] = []
    context = browser.new_context(viewport={"width": 1300, "height": 900}, **view)  # type: ignore[arg-type]
    page = context.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda each: None if "//127.0.0.1:" in each.url or each.url[:4] in ("data", "blob")
            else said.append(each.url))  # fmt: skip
    page.goto(address)
    page.wait_for_selector("body[data-pictures]")
    yield page
    assert said == []
    context.close()


def cell(page: Page, title: str, place: int = -1) -> float:
    """The number of a setting in the table, by default the present one."""
    row = page.locator("#table tbody tr", has=page.locator(f"th:text-is('{title}')"))
    return float(re.findall(r"[0-9.]+", row.locator("td").nth(place).inner_text())[0])


def pictured(page: Page, act: Callable[[], object]) -> None:
    """Does something, and waits for the picture of it."""
    before = int(page.get_attribute("body", "data-pictures") or 0)
    act()
    page.wait_for_selector(f"body:not([data-pictures='{before}'])")


def drawn(page: Page, quantity: str) -> str:
    return page.locator(f"figure[data-quantity={quantity}] [role=img]").get_attribute("aria-label") or ""


def test_a_knob_that_is_turned_by_keys_moves_the_curve_and_the_text(browser: Browser, lab: Served) -> None:
    with opened(browser, lab.address) as page:
        before = drawn(page, "goodput")
        assert cell(page, "goodput (Mbit/s)") == pytest.approx(9.6, abs=0.3)
        knob = page.get_by_label("router -> server rate", exact=True)
        knob.focus()
        pictured(page, lambda: page.keyboard.press("PageDown"))
        assert cell(page, "goodput (Mbit/s)") < 7
        assert drawn(page, "goodput") != before
        written = page.get_by_label("router -> server rate in words").input_value()
        assert f"htb rate {written} | pfifo" in page.locator(".cm-content").inner_text()
        # The focus stays, so that the next key turns the knob further.
        assert page.evaluate("document.activeElement.type") == "range"


def test_a_setting_is_pinned_and_the_next_one_compared_with_it(browser: Browser, lab: Served) -> None:
    with opened(browser, lab.address) as page:
        page.click("#pin")
        pictured(page, lambda: page.get_by_label("buffer").select_option("100"))
        assert cell(page, "ping p90 (ms)") > 1.5 * cell(page, "ping p90 (ms)", 0)
        assert page.locator("#table .worse").count() > 0
        assert page.locator("#settings li").all_inner_texts() == ["pinned 1 (seed 1) ×", "now (seed 1)"]
        page.get_by_label("remove pinned 1").click()
        assert page.locator("#settings li").count() == 1


def test_repeat_adds_intervals(browser: Browser, lab: Served) -> None:
    with opened(browser, lab.address) as page:
        assert page.get_by_text("±").count() == 0
        page.fill("#repeat", "3")
        pictured(page, lambda: page.keyboard.press("Enter"))
        assert page.get_by_text("±").count() > 3
        assert "seeds 1 to 3" in page.inner_text("#settings")


def test_a_link_holds_the_whole_view_and_a_known_picture_is_not_simulated_again(browser: Browser, lab: Served) -> None:
    with opened(browser, lab.address) as page:
        page.click("#pin")
        pictured(page, lambda: page.get_by_label("cc", exact=True).select_option("reno"))
        page.click("#link")
        page.wait_for_function("() => location.hash.length > 9")
        address, numbers = page.url, page.inner_text("#table")
    with opened(browser, address) as again:
        until(lambda: again.inner_text("#table") == numbers)
        assert again.get_by_label("cc", exact=True).input_value() == "reno"
        assert again.inner_text("#status") == "Known already"


def test_an_error_stands_beside_its_line_and_completion_knows_the_keys(browser: Browser, lab: Served) -> None:
    with opened(browser, lab.address) as page:
        page.get_by_label("client – router: rate in words").fill("fast")
        page.keyboard.press("Enter")
        page.wait_for_selector(".cm-lint-marker-error")
        assert "line 4: links[0].rate" in page.inner_text("#findings")
        page.locator("#findings button").click()
        page.keyboard.press("Control+End")
        page.keyboard.type("measu")
        page.wait_for_selector(".cm-tooltip-autocomplete")
        assert "measure" in page.inner_text(".cm-tooltip-autocomplete")


def test_a_strip_says_what_holds_each_sender(browser: Browser, lab: Served) -> None:
    with opened(browser, lab.address) as page:
        told = page.locator("figure[data-quantity=held] [role=img]").get_attribute("aria-label") or ""
        assert re.search(r"upload\.1: .*cwnd \d+ %", told)


def test_what_was_found_is_saved_as_an_axis_and_as_a_page_without_a_server(
    browser: Browser, lab: Served, tmp_path: Path
) -> None:
    with opened(browser, lab.address) as page:
        page.click("#pin")
        pictured(page, lambda: page.get_by_label("buffer").select_option("100"))
        knob = page.get_by_label("router – server: delay in words")
        knob.fill("20ms")
        pictured(page, lambda: page.keyboard.press("Enter"))
        with page.expect_download() as file:
            page.select_option("#save", "axis")
        found = tailback.load(file.value.path().rename(tmp_path / "found.yaml"))
        assert found.axes == {"setting": ["pinned 1", "now"]}
        delays = [run.scenario.links[1].delay_ns[0] for run in found.runs()]
        assert delays == [5_000_000, 20_000_000]
        with page.expect_download() as saved:
            page.select_option("#save", "page")
        numbers, place = page.inner_text("#table tbody"), saved.value.path().rename(tmp_path / "saved.html")
    alone = browser.new_context(offline=True).new_page()
    alone.goto(place.as_uri())
    alone.wait_for_selector("body[data-ready=true]")
    assert alone.inner_text("#table tbody") == numbers
    assert alone.locator("canvas").count() >= 6
    alone.context.close()


def told(page: Page) -> str:
    return page.locator("#packets ul:not(.legend)").inner_text()


def clock(page: Page) -> float:
    return float(page.locator("#packets output").inner_text().split()[0])


def looked(page: Page, begin: str, length: str = "50 ms") -> None:
    """Opens the packet view at a time."""
    page.get_by_label("from (s)", exact=True).fill(begin)
    page.get_by_label("for", exact=True).select_option(label=length)
    page.click("#look")
    page.wait_for_selector("#packets canvas")


def test_packets_of_an_instant_are_drawn_and_told_and_time_is_stepped_and_scrubbed(
    browser: Browser, lab: Served
) -> None:
    with opened(browser, lab.address) as page:
        looked(page, "2")
        assert re.search(r"router -> server: \d+ in the queue \(upload\.\d \d+", told(page))
        assert re.search(r"upload\.1: held by \w+.*, \d+ of \d+ segments of cwnd in flight", told(page))
        image = "document.querySelector('#packets canvas').toDataURL()"
        before, words, now = page.evaluate(image), told(page), clock(page)
        page.get_by_role("button", name="Step", exact=True).focus()
        for _ in range(5):
            page.keyboard.press("Enter")
        # A change comes every few hundred microseconds on this line.
        assert now < clock(page) < now + 0.02
        assert page.evaluate(image) != before
        page.get_by_role("button", name="Step back").click()
        page.get_by_label("instant", exact=True).focus()
        page.keyboard.press("Home")
        assert clock(page) == 2.0
        page.keyboard.press("End")
        assert clock(page) == pytest.approx(2.05)
        assert told(page) != words
        alternative = page.locator("#packets canvas").get_attribute("aria-label") or ""
        assert alternative.startswith("The network at 2.05")
        assert "in the queue" in alternative
        pictured(page, lambda: page.get_by_label("buffer").select_option("100"))
        # They were those of another setting.
        assert not page.locator("#packets canvas").is_visible()


def test_a_file_of_2000_flows_leaves_the_page_small(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "many.yaml").write_text(MANY)
    with served(tmp_path, "many.yaml") as lab, opened(browser, lab.address) as page:
        page.click("#look")
        page.wait_for_selector("#packets canvas")
        legend, told = (page.locator(f"#packets ul{each}").inner_text() for each in (".legend", ":not(.legend)"))
        assert re.search(r"and \d+ more flows", legend) and re.search(r"and \d+ more senders", told)
        assert len(page.query_selector_all("*")) < 1000


def test_time_plays_slowly_and_stands_still_where_motion_is_reduced(browser: Browser, lab: Served) -> None:
    with opened(browser, lab.address) as page:
        looked(page, "2", "1 s")
        now = clock(page)
        page.get_by_label("speed", exact=True).select_option(label="1/10")
        page.get_by_role("button", name="Play").click()
        page.wait_for_function(
            f"() => parseFloat(document.querySelector('#packets output').textContent) > {now + 0.002}"
        )
        page.get_by_role("button", name="Pause").click()
        stopped = clock(page)
        page.get_by_role("button", name="Step", exact=True).click()
        assert 0 < clock(page) - stopped < 0.1
    with opened(browser, lab.address, reduced_motion="reduce") as page:
        looked(page, "2")
        assert not page.get_by_role("button", name="Play").is_visible()


def test_on_wifi_ppdus_are_on_the_air_and_the_air_has_a_strip(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(
        "links: [{wifi: {ap: router, stations: [a, b]}, standard: 802.11n, width: 20MHz, mcs: 4, driver: ath9k},\n"
        "        {ends: [router, server], rate: 1gbit, delay: 1ms}]\n"
        "traffic: [{tcp: a -> server, name: up}, {tcp: b -> server, name: too}]\nduration: 2s\nmeasure: {warmup: 0s}\n"
    )
    with served(tmp_path, "x.yaml") as lab, opened(browser, lab.address) as page:
        shares = page.locator("figure[data-quantity=air] [role=img]").get_attribute("aria-label") or ""
        assert re.search(r"air: .*\b[ab] \d\d %", shares)
        looked(page, "1")
        step = page.get_by_role("button", name="Step", exact=True)
        words = []
        for _ in range(60):
            words.append(told(page))
            step.click()
        said = "\n".join(words)
        assert re.search(r"on the air: [ab] to router, \d+ MPDUs in [\d.]+ ms, of which \d+ arrive, closed by ", said)
        assert re.search(r"waiting for the medium: .*\b[ab]\b", said)
        assert re.search(r"[ab] -> air: .*in the driver or on the air", said)


def test_two_browsers_have_settings_of_their_own(browser: Browser, lab: Served) -> None:
    with opened(browser, lab.address) as one, opened(browser, lab.address) as two:
        pictured(one, lambda: one.get_by_label("buffer").select_option("100"))
        assert cell(one, "ping p90 (ms)") > 1.5 * cell(two, "ping p90 (ms)")


def test_a_long_run_shows_its_progress_and_is_stopped(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "long.yaml").write_text(TEXT.replace("duration: 4s", "duration: 3600s").replace("100ms", "10s"))
    with served(tmp_path, "long.yaml") as lab, opened_unfinished(browser, lab.address) as page:
        page.wait_for_selector("#progress:not([hidden])")
        page.click("#stop")
        page.get_by_text("Stopped").wait_for()
        # The next setting is simulated by the same page.
        page.locator(".cm-content").fill(TEXT)
        page.wait_for_selector("body[data-pictures]")


@contextmanager
def opened_unfinished(browser: Browser, address: str) -> Iterator[Page]:
    page = browser.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    page.goto(address)
    yield page
    page.close()


def test_a_page_says_that_the_lab_was_killed_and_its_link_goes_on_in_the_next(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(TEXT)
    with served(tmp_path, "x.yaml") as lab:
        page = browser.new_page()
        page.set_default_timeout(TIMEOUT_MS)
        page.goto(lab.address)
        page.wait_for_selector("body[data-pictures]")
        pictured(page, lambda: page.get_by_label("buffer").select_option("100"))
        lab.process.send_signal(signal.SIGKILL)
        page.get_by_text("The lab does not answer").wait_for()
        page.click("#link")
        page.wait_for_function("() => location.hash.length > 9")
        fragment = page.url.partition("#")[2]
        page.close()
    with served(tmp_path, "x.yaml") as next_lab, opened(browser, f"{next_lab.address}#{fragment}") as again:
        assert again.get_by_label("buffer").input_value() == "100"


def test_a_phone_shows_everything_in_one_column(browser: Browser, lab: Served) -> None:
    with opened(browser, lab.address, is_mobile=True) as page:
        page.set_viewport_size({"width": 390, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        tall = page.locator("figure[data-quantity=goodput]").bounding_box()
        knobs = page.locator("#knobs").bounding_box()
        assert tall is not None
        assert knobs is not None
        assert tall["y"] > knobs["y"] + knobs["height"]


@pytest.mark.parametrize(("scheme", "paper"), [("dark", "rgb(20, 24, 29)"), ("light", "rgb(255, 255, 255)")])
def test_dark_and_light_pages_have_no_violation_of_axe(browser: Browser, lab: Served, scheme: str, paper: str) -> None:
    with opened(browser, lab.address, color_scheme=scheme) as page:
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == paper
        page.click("#pin")
        looked(page, "2")
        found = Axe().run(page).response["violations"]
        assert [(each["id"], [node["target"] for node in each["nodes"]]) for each in found] == []
