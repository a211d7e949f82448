"""The documentation as a site: it builds without warnings and without a network, and has a page for every algorithm."""

import os
import posixpath
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tailback.cli.app import COMMANDS
from tailback.scenario import CoreRegistry, json_schema

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documentation")
    # A proxy that does not exist: any use of a network fails.
    offline = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")
    environment = {**os.environ, **offline, "NO_COLOR": "1"}
    subprocess.run([sys.executable, str(ROOT / "scripts" / "site.py"), str(folder)], env=environment, check=True)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", str(folder / "mkdocs.yml")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"


def page(site: Path, name: str) -> str:
    return (site / f"{name}.html").read_text(encoding="utf-8")


def test_every_algorithm_has_its_page(site: Path) -> None:
    registry = CoreRegistry()
    families = {
        "controls": registry.congestion_controls, "disciplines": registry.qdiscs, "drivers": registry.drivers,
    }  # fmt: skip
    for family, rows in families.items():
        for row in rows:
            text = page(site, f"{family}/{row.name}")
            assert all(f"<code>{parameter.name}</code>" in text for parameter in row.parameters), row.name
            assert f"<code>{row.name}</code>" in page(site, f"{family}/index")


def test_every_command_and_every_key_is_documented(site: Path) -> None:
    commands = page(site, "reference/commands")
    assert all(f'id="tailback-{name}"' in commands for name in ("run", "recommend", "kernel-build"))
    assert len(COMMANDS) <= commands.count('id="tailback-')
    keys = {
        "links": ("ends", "ap", "mcs"),
        "traffic": ("rcvlowat", "codec"),
        "measure": ("tcp_info",),
        "hosts": ("ring",),
    }
    for key, below in keys.items():
        assert all(f"<code>{each}</code>" in page(site, f"experiment/{key}") for each in below), key
    assert {file.stem for file in (site / "experiment").glob("*.html")} == set(json_schema()["properties"])


def test_citations_lead_to_their_source(site: Path) -> None:
    assert 'href="../reference/sources.html#rfc9438"' in page(site, "controls/cubic")
    assert 'id="rfc9438"' in page(site, "reference/sources")


def test_nothing_is_loaded_from_a_network(site: Path) -> None:
    loads = re.compile(r"<(?:script|img|iframe|link)\b[^>]*(?:src|href)=\"?(https?:[^\" >]*)")
    found = {name for file in site.rglob("*.html") for name in loads.findall(file.read_text(encoding="utf-8"))}
    assert found == set()


def test_every_link_within_the_site_leads_to_a_page_and_to_a_place_on_it(site: Path) -> None:
    texts = {
        file.relative_to(site).as_posix(): file.read_text("utf-8")
        for file in site.rglob("*.html")
        if file.name != "404.html"
    }
    ids = {name: set(re.findall(r'\bid="?([^" >]+)', text)) for name, text in texts.items()}
    dead = []
    for name, text in texts.items():
        for target, anchor in re.findall(r'<a [^>]*href="([^":#]*\.html)?(?:#([^"]*))?"', text):
            place = posixpath.normpath(posixpath.join(posixpath.dirname(name), target)) if target else name
            if place not in texts or (anchor and anchor not in ids[place]):
                dead.append(f"{name}: {target}#{anchor}")
    assert dead == []
