"""The page of a comparison: self-contained, and readable by a browser."""

import base64
import re
import shutil
import subprocess
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import pytest

from fake_backend import Nobody
from tailback import backends, scenario, validation
from tailback.analysis.tolerances import FIDELITY
from tailback.validation import Criteria, Request
from tailback.validation import report as page_of_comparison
from tailback.validation.report import html
from tailback.validation.words import number
from twin_backend import STAND_INS
from validation.conftest import EXPERIMENT
from waiting import GENEROUS_S

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FIGURES = 3
VOID = {"meta", "img", "br", "hr", "link", "input"}


class Page(HTMLParser):
    """Records the content of a page, and whether every opened element is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def attributes(self, name: str) -> list[str]:
        return [value for _, attributes in self.seen if (value := attributes.get(name)) is not None]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One page, shared by the tests."""
    folder = tmp_path_factory.mktemp("report")
    request = Request("sim", "slower", Criteria(FIDELITY), 2, folder / "out", ("vary.cc=[reno, bbr]",))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(backends, "_BACKENDS", STAND_INS)
        done = validation.validate(scenario.loads(EXPERIMENT, list(request.settings)), request, Nobody())
    written = validation.write_validation(done)
    assert written is not None
    return written


def test_the_page_is_well_formed_and_loads_nothing_from_a_network(report: Path) -> None:
    text = report.read_text()
    page = Page(text)
    assert page.open == []
    assert not {"script", "link", "iframe", "object"} & {tag for tag, _ in page.seen}
    assert all(source.startswith("data:") for source in page.attributes("src"))
    assert all(target.startswith("#") for target in page.attributes("href"))
    assert "url(" not in text
    assert "@import" not in text


def test_every_link_of_the_page_leads_somewhere(report: Path) -> None:
    page = Page(report.read_text())
    targets = {target[1:] for target in page.attributes("href")}
    assert targets == {"c1", "c2"}
    assert targets <= set(page.attributes("id"))


def test_figures_are_whole_and_one_for_each_configuration_beside_the_matrix(report: Path) -> None:
    sources = Page(report.read_text()).attributes("src")
    assert len(sources) == 1 + 2
    for source in sources:
        head, content = source.split(",", 1)
        assert head == "data:image/svg+xml;base64"
        assert ET.fromstring(base64.b64decode(content)).tag.endswith("svg")


def test_the_page_shows_cells_out_of_tolerance_and_first_divergences(report: Path) -> None:
    text = re.sub(r"<[^>]+>", " ", report.read_text())
    assert "off ×" in text
    assert "10% or 0.5ms" in text
    assert "the twin has no bbr" in text
    assert re.search(r"upload\.[12] at 0\.\d+ s in \w+", text)
    assert "nan" not in text
    assert re.search(r"unacked\s+slower\s+\d", text)


def test_markup_in_a_title_stays_text(file: Path, tmp_path: Path) -> None:
    settings = ["title=<script>alert(1)</script>", "repeat=1"]
    request = Request("sim", "twin", Criteria(FIDELITY), 2, tmp_path / "out", settings)
    done = validation.validate(scenario.load(file, settings), request, Nobody())
    assert done.comparison is not None
    text = html(done.comparison)
    assert "<script>" not in text
    assert "&lt;script&gt;" in text


def test_of_a_large_grid_only_the_worst_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "_BACKENDS", STAND_INS)
    # Fewer than for a user: a figure takes half a second.
    monkeypatch.setattr(page_of_comparison, "MAX_FIGURES", FIGURES)
    path = tmp_path / "grid.yaml"
    delays = ", ".join(f"{number}ms" for number in range(1, FIGURES + 3))
    path.write_text(
        "links: [{ends: [a, b], rate: 10mbit, delay: 1ms}]\ntraffic: [{tcp: a -> b}]\n"
        f"duration: 1s\nmeasure: {{warmup: 100ms}}\nvary: {{'links[0].delay': [{delays}]}}\n"
    )
    request = Request("sim", "slower", Criteria(FIDELITY), 2, tmp_path / "out")
    done = validation.validate(scenario.load(path), request, Nobody())
    assert done.comparison is not None
    text = html(done.comparison)
    assert len(Page(text).attributes("src")) == 1 + FIGURES
    assert f"drawn for the {FIGURES} configurations" in text


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, "0"), (3.0, "3"), (0.123456, "0.1235"), (123456.7, "123457"), (float("nan"), "–"), ("reno", "reno")],
)
def test_numbers_are_short(value: float | str, shown: str) -> None:
    assert number(value) == shown


@pytest.mark.skipif(BROWSER is None, reason="needs chromium (Debian: apt-get install chromium)")
def test_a_browser_shows_every_figure_without_a_complaint(report: Path, tmp_path: Path) -> None:
    assert BROWSER is not None, "CI needs chromium (Debian: apt-get install chromium)"
    # A page of our own inspects the report in the browser: the report itself may not run scripts.
    probe = tmp_path / "probe.html"
    text = report.read_text().replace("default-src 'none'; ", "default-src 'none'; script-src 'unsafe-inline'; ")
    probe.write_text(
        text.replace(
            "</body>",
            "<script>addEventListener('load', () => { document.title = JSON.stringify("
            "[...document.images].map(i => i.complete && i.naturalWidth > 100)); });</script></body>",
        )
    )
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
               "--virtual-time-budget=5000", "--dump-dom", probe.as_uri()]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=GENEROUS_S)
    assert "<title>[true,true,true]</title>" in done.stdout, done.stderr[-2000:]
    assert "Refused to" not in done.stderr
