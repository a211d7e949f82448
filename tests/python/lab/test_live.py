"""A saved page that simulates by itself: its simulator gives the tables of ours, its knobs are those of the file."""

import base64
import itertools
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from command import in_process
from lab.serving import TEXT
from tailback import _core
from tailback.lab import setting, simulator
from tailback.lab.live import changed, changes, live, resolved, turned
from tailback.lab.setting import Place, Wanted
from waiting import GENEROUS_S

TIMEOUT_MS = 1000 * GENEROUS_S

GOLDEN = sorted((Path(__file__).parents[2] / "golden" / "runs").glob("*.jsonl"))

COMPILE = """async (letters) => {
    globalThis.module = await WebAssembly.compile(Uint8Array.from(atob(letters), (letter) => letter.charCodeAt(0)));
}"""
SIMULATE = """async (scenario) => {
    const { exports } = await WebAssembly.instantiate(module, {});
    const given = new TextEncoder().encode(scenario);
    const at = exports.room(given.length);
    new Uint8Array(exports.memory.buffer, at, given.length).set(given);
    exports.simulate();
    const answer = new Uint8Array(exports.memory.buffer, exports.answer(), exports.answered());
    let letters_ = "";
    for (let from = 0; from < answer.length; from += 30000)
        letters_ += String.fromCharCode(...answer.subarray(from, from + 30000));
    return btoa(letters_);
}"""


@pytest.fixture(scope="module")
def module() -> bytes:
    try:
        return simulator.content()
    except simulator.NoSimulator as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def page(browser: Browser, module: bytes) -> Page:
    """A page that has the simulator and nothing else."""
    found = browser.new_page()
    found.evaluate(COMPILE, base64.b64encode(module).decode())
    return found


def tables_of(answer: bytes) -> dict[str, Any]:
    """The columns of an answer: for each its words or the bytes of its cells, and which cells there are."""
    (length,) = struct.unpack_from("<I", answer)
    head, cells = json.loads(answer[4 : 4 + length]), answer[4 + length :]
    assert "error" not in head, head
    return {
        name: {column["name"]: cells_of(column, table["rows"], cells) for column in table["columns"]}
        for name, table in head["tables"].items()
    }


def cells_of(column: dict[str, Any], rows: int, cells: bytes) -> Any:
    width = 4 if column["kind"] == "text" else 8
    found = cells[column["at"] : column["at"] + width * rows]
    there = [1] * rows if column["present"] is None else list(cells[column["present"] :][:rows])
    if width == 8:
        return [found[8 * row : 8 * row + 8] if here else None for row, here in enumerate(there)]
    codes = struct.unpack(f"<{rows}I", found)
    return [column["words"][code] if here else None for code, here in zip(codes, there, strict=True)]


def tables_here(scenario: str) -> dict[str, Any]:
    """The same of a run here."""
    found = {}
    for name, table in _core.run(scenario, None)["tables"].items():
        found[name] = {column: cells_here(table, column, kind) for column, kind, _ in table.columns}
    return found


def cells_here(table: _core.Table, column: str, kind: str) -> Any:
    if kind == "text":
        codes, known = table.words(column)
        return [None if code < 0 else known[code] for code in struct.unpack(f"{len(table)}q", codes)]
    cells, present = table.exact(column)
    there = [1] * len(table) if present is None else present
    return [cells[8 * row : 8 * row + 8] if here else None for row, here in enumerate(there)]


EACH = 6
"""Of the golden runs, every sixth of each file; the campaign takes all."""


def same_tables(golden: Path, page: Page, each: int) -> None:
    for line in golden.read_text("utf-8").splitlines()[::each]:
        scenario = json.dumps(json.loads(line)["scenario"])
        answer = base64.b64decode(page.evaluate(SIMULATE, scenario))
        assert tables_of(answer) == tables_here(scenario), json.loads(line)["run"]


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda file: file.stem)
def test_the_simulator_of_a_page_gives_the_same_tables_to_the_bit(golden: Path, page: Page) -> None:
    same_tables(golden, page, EACH)


@pytest.mark.campaign
@pytest.mark.parametrize("golden", GOLDEN, ids=lambda file: file.stem)
def test_all_golden_runs_have_the_same_tables_to_the_bit(golden: Path, page: Page) -> None:
    """Every control, discipline, driver, stack and kind of traffic is in one of these runs."""
    same_tables(golden, page, 1)


def test_what_differs_in_two_documents_makes_one_of_the_other() -> None:
    one = {"a": 1, "b": [{"kind": "x", "c": 1}, 2], "d": {"e": 1}, "f": [1, 2]}
    other = {"a": 1.0, "b": [{"kind": "y", "d": 1}, 2], "d": {"g": None}, "f": [1]}
    found = list(changes(one, other))
    assert changed(one, found) == other
    assert type(changed(one, found)["a"]) is float
    assert found == [(("a",), 1.0), (("b", 0), {"kind": "y", "d": 1}), (("d", "e"),), (("d", "g"), None), (("f",), [1])]


def place(folder: Path) -> Place:
    return Place(folder, "x.yaml", trust=False)


def test_two_knobs_turned_on_the_page_are_the_file_with_both_values(tmp_path: Path) -> None:
    """Unless both change the same place of the scenario, where the page turns one of them back."""
    wanted, here = Wanted(1, TEXT + "# \N{MUSICAL SYMBOL G CLEF}\n"), place(tmp_path)
    found = setting.read(wanted, here)
    known = live(wanted, found, here, lambda *_: None)
    knobs = {knob.id: knob for knob in found.knobs}
    compared = 0
    for one, other in itertools.combinations(known["knobs"], 2):
        changes_ = [*one["changes"][0], *other["changes"][-1]]
        paths = [path for path, *_ in changes_]
        apart = all(a[: len(b)] != b[: len(a)] for a, b in itertools.combinations(paths, 2))
        if apart and one["at"] != 0 and other["at"] != len(other["stops"]) - 1:
            both = wanted
            # The later one first: a value that becomes longer moves what follows it.
            places = sorted((one, other), key=lambda knob: knobs[knob["id"]].place or (0, 0), reverse=True)
            for knob in places:
                both = turned(both, knobs[knob["id"]], knob["stops"][0 if knob is one else -1])
            assert changed(known["scenario"], changes_) == resolved(both, here), (one["id"], other["id"])
            compared += 1
    assert compared > 10


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory, module: bytes) -> Path:
    assert module
    folder = tmp_path_factory.mktemp("saved")
    (folder / "x.yaml").write_text(TEXT)
    done = in_process("lab", folder / "x.yaml", "--save", folder / "page.html")
    assert (done.stdout, done.stderr) == (f"{folder / 'page.html'}\n", "")
    return folder / "page.html"


def opened(browser: Browser, page: Path, **view: Any) -> Page:
    context = browser.new_context(offline=True, **view)
    found = context.new_page()
    found.set_default_timeout(TIMEOUT_MS)
    found.goto(page.as_uri())
    found.wait_for_selector("body[data-ready=true]")
    return found


def simulated(page: Page, times: int) -> Any:
    """What the page has drawn when it has simulated so often."""
    page.wait_for_selector(f"body[data-simulated='{times}']")
    return page.evaluate("tailback.now")


def test_a_page_from_the_disk_simulates_what_was_saved_and_draws_the_same(browser: Browser, saved: Path) -> None:
    page = opened(browser, saved)
    (drawn,) = json.loads(page.locator("#data").inner_text())["drawn"]
    page.get_by_role("button", name="Back to the file").click()
    now = simulated(page, 1)
    for name, curve in drawn["picture"]["curves"].items():
        assert now["curves"][name].keys() == curve.keys(), name
        for numbers in ("t", "mean"):
            assert now["curves"][name][numbers] == pytest.approx(curve[numbers], rel=2e-5), name
        for flow, values in curve.get("flows", {}).items():
            assert now["curves"][name]["flows"][flow] == pytest.approx(values, rel=2e-5, nan_ok=True), (name, flow)
    for flow, strip in drawn["picture"]["held"]["flows"].items():
        assert now["held"]["flows"][flow]["t"] == pytest.approx(strip["t"])
        for cause, shares in strip["shares"].items():
            assert now["held"]["flows"][flow]["shares"][cause] == pytest.approx(shares, abs=0.11), (flow, cause)
    page.context.close()


def test_a_knob_of_a_page_from_the_disk_moves_the_curve(browser: Browser, saved: Path) -> None:
    page = opened(browser, saved)
    goodput = page.locator("figure[data-quantity=goodput] [role=img]")
    assert "your setting" not in (goodput.get_attribute("aria-label") or "")
    knob = page.get_by_label("router -> server rate", exact=True)
    knob.focus()
    for times in range(1, 4):
        page.keyboard.press("ArrowLeft")
        now = simulated(page, times)
    # Three stops are an octave.
    window = [
        value for t, value in zip(now["curves"]["goodput"]["t"], now["curves"]["goodput"]["mean"], strict=True) if t > 1
    ]
    assert sum(window) / len(window) == pytest.approx(4.8, abs=0.2)
    assert "as saved: mean 9.5" in (goodput.get_attribute("aria-label") or "")
    assert "your setting: mean 4.7" in (goodput.get_attribute("aria-label") or "")
    assert page.locator("#table .worse").count() > 0
    page.get_by_label("cc", exact=True).select_option(label="bbr")
    assert simulated(page, 4)["curves"] != now["curves"]
    page.context.close()


@pytest.mark.usefixtures("module")
def test_on_wifi_the_page_draws_who_has_the_air_and_what_waits_for_it(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(
        "links: [{wifi: {ap: router, stations: [a, b]}, standard: 802.11n, width: 20MHz, mcs: 4, driver: ath9k},\n"
        "        {ends: [router, server], rate: 1gbit, delay: 1ms}]\n"
        "traffic: [{tcp: a -> server, name: up}, {tcp: b -> server, name: too}]\nduration: 2s\nmeasure: {warmup: 0s}\n"
    )
    in_process("lab", tmp_path / "x.yaml", "--save", tmp_path / "page.html")
    page = opened(browser, tmp_path / "page.html")
    (drawn,) = json.loads(page.locator("#data").inner_text())["drawn"]
    page.get_by_role("button", name="Back to the file").click()
    now = simulated(page, 1)
    for channel, strip in drawn["picture"]["air"]["flows"].items():
        assert now["air"]["flows"][channel]["t"] == pytest.approx(strip["t"])
        for sender, shares in strip["shares"].items():
            assert now["air"]["flows"][channel]["shares"][sender] == pytest.approx(shares, abs=0.11), sender
    queue = drawn["picture"]["curves"]["queue"]["mean"]
    assert max(queue) > 10
    assert now["curves"]["queue"]["mean"] == pytest.approx(queue, rel=2e-5)
    page.context.close()


def test_a_page_of_a_phone_and_in_the_dark_has_no_violation_of_axe(browser: Browser, saved: Path) -> None:
    page = opened(browser, saved, viewport={"width": 390, "height": 844}, is_mobile=True, color_scheme="dark")
    page.get_by_label("buffer", exact=True).select_option(label="100")
    simulated(page, 1)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    found = Axe().run(page).response["violations"]
    assert [(each["id"], [node["target"] for node in each["nodes"]]) for each in found] == []
    page.context.close()


def test_a_file_with_an_error_is_not_saved_and_says_where(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(TEXT.replace("100mbit", "fast", 1))
    done = in_process("lab", tmp_path / "x.yaml", "--save", tmp_path / "page.html", status=2)
    assert "line 4" in done.stderr
    assert not (tmp_path / "page.html").exists()
