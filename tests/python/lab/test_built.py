"""The page in the package is built from the sources in the repository, and small."""

import hashlib
import re
from pathlib import Path

import tailback.lab

PAGE = Path(tailback.lab.__file__).parent / "page"
WEB = Path(__file__).parents[3] / "web"


def test_the_page_is_that_of_its_sources() -> None:
    digest = hashlib.sha256()
    for file in [*sorted((WEB / "src").iterdir()), WEB / "package-lock.json"]:
        digest.update(file.read_bytes())
    for name in ("lab.js", "standalone.js", "simulator.js", "lab.css"):
        told = re.search(r"sources ([0-9a-f]{64})", (PAGE / name).read_text(encoding="utf-8"))
        assert told, name
        assert told[1] == digest.hexdigest(), "make web"
    for name in ("index.html", "saved.html"):
        assert (PAGE / name).read_bytes() == (WEB / "src" / name).read_bytes()


def test_the_page_loads_nothing_from_elsewhere_and_is_small() -> None:
    html = (PAGE / "index.html").read_text(encoding="utf-8")
    assert set(re.findall(r'(?:src|href)="([^"#]+)"', html)) == {"lab.js", "lab.css", "data:,"}
    assert sum(file.stat().st_size for file in PAGE.iterdir()) < 1_000_000
