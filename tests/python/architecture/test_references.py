"""Every number has a source: the citations of the code and the keys of references/ are the same."""

import re
import tomllib
from pathlib import Path

import pytest

from tailback import _core

ROOT = Path(__file__).parents[3]
SOURCES = tomllib.loads((ROOT / "references" / "sources.toml").read_text())
DEVIATIONS = sorted((ROOT / "references" / "deviations").glob("*.toml"))

UNMISTAKABLE = re.compile(r"(linux|rfc|draft)[-\d]|[a-z]+(19|20)\d\d\b")
"""What a bracket opens with that can be nothing but a citation."""

ALGORITHMS = [
    *(ROOT / "crates/cc/src" / f"{row['name']}.rs" for row in _core.congestion_controls()),
    *(ROOT / "crates/qdisc/src" / f"{row['name']}.rs" for row in _core.qdiscs()),
]
"""The file of each row of a registry."""


def head(file: Path) -> str:
    """The opening `//!` comment."""
    lines = []
    for line in file.read_text().splitlines():
        if not line.startswith("//!"):
            break
        lines.append(line[3:].strip())
    return " ".join(lines)


def brackets(text: str) -> list[str]:
    """What stands in brackets that are neither links nor code; `; ` and a comma before a key begin another."""
    inside = re.findall(r"(?<![\w`\]#!])\[([a-z][^][`]*)\](?![(\[])", text)
    return [part.strip() for words in inside for part in re.split(r";\s|,\s(?=rfc|linux|draft)", words)]


def key(citation: str) -> str:
    return re.split(r"[\s,:]", citation, maxsplit=1)[0]


def code() -> list[Path]:
    rust = (ROOT / "crates").rglob("*.rs")
    python = [*(ROOT / "python").rglob("*.py"), *(ROOT / "conformance").rglob("*.py")]
    return sorted([*rust, *python])


def comments(file: Path) -> str:
    """The comments of a Rust file, line by line; a Python file as it is."""
    text = file.read_text()
    if file.suffix == ".py":
        return text
    return "\n".join(line[line.index("//") :] for line in text.splitlines() if "//" in line)


def cited(file: Path) -> set[str]:
    return {key(citation) for citation in brackets(comments(file))}


@pytest.mark.parametrize("file", ALGORITHMS, ids=lambda file: file.stem)
def test_an_algorithm_opens_with_its_source(file: Path) -> None:
    sources = [key(citation) for citation in brackets(head(file))]
    assert set(sources) & set(SOURCES), f"{file.name} opens with no key of references/sources.toml: {sources}"


def test_what_is_cited_is_in_the_list_of_sources() -> None:
    unknown = {
        f"{file.relative_to(ROOT)}: [{key(citation)}]"
        for file in code()
        for citation in brackets(comments(file))
        if UNMISTAKABLE.match(citation) and key(citation) not in SOURCES
    }
    assert sorted(unknown) == []


def test_what_is_in_the_list_of_sources_is_cited() -> None:
    used = set().union(*(cited(file) for file in code()))
    assert sorted(set(SOURCES) - used) == []


def test_a_source_has_a_title_and_a_place() -> None:
    assert all(set(source) == {"title", "url"} for source in SOURCES.values())


def test_the_kernel_is_cited_by_version() -> None:
    loose = [str(file) for file in code() if re.search(r"\[[lL]inux[ \]]", comments(file))]
    assert loose == []


@pytest.mark.parametrize("file", DEVIATIONS, ids=lambda file: file.stem)
def test_a_deviation_says_what_why_and_where(file: Path) -> None:
    deviation = tomllib.loads(file.read_text())
    assert list(deviation) == ["what", "why", "effect", "from", "where", "since"]
    assert all(deviation.values())
    assert deviation["from"] in SOURCES
    assert all((ROOT / place).is_file() for place in deviation["where"])
