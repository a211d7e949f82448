"""Every number has a source: each citation has a key in references/, and each key is cited."""

import re
import tomllib
from pathlib import Path

import pytest

from tailback import _core
from tailback.scenario import defaults, stacks

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
    """The text in brackets that are neither links nor code; `; `, or a comma before a key, begins another citation."""
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


def test_every_cited_source_is_in_the_list() -> None:
    unknown = {
        f"{file.relative_to(ROOT)}: [{key(citation)}]"
        for file in code()
        for citation in brackets(comments(file))
        if UNMISTAKABLE.match(citation) and key(citation) not in SOURCES
    }
    assert sorted(unknown) == []


def test_every_source_in_the_list_is_cited() -> None:
    used = set().union(*(cited(file) for file in code()))
    used |= {citation.split(" ")[0] for line in STACKS["differences"].values() for citation in line["from"]}
    assert sorted(set(SOURCES) - used) == []


def test_a_source_has_a_title_and_a_place() -> None:
    assert all(set(source) == {"title", "url"} for source in SOURCES.values())


def test_the_kernel_is_cited_by_version() -> None:
    loose = [str(file) for file in code() if re.search(r"\[[lL]inux[ \]]", comments(file))]
    assert loose == []


@pytest.mark.parametrize("file", DEVIATIONS, ids=lambda file: file.stem)
def test_a_deviation_has_its_text_reason_and_place(file: Path) -> None:
    deviation = tomllib.loads(file.read_text())
    assert list(deviation) == ["what", "why", "effect", "from", "where", "since"]
    assert all(deviation.values())
    assert deviation["from"] in SOURCES
    assert all((ROOT / place).is_file() for place in deviation["where"])


STACKS = tomllib.loads((ROOT / "references" / "stacks.toml").read_text())


def values_of(key: str) -> set[str]:
    return {stack.values[key] for stack in stacks.stacks()}


def test_the_stacks_of_the_simulator_are_those_of_the_list_and_of_the_file() -> None:
    names = [stack["name"] for stack in _core.stacks()]
    assert names == list(STACKS["stacks"]) == list(defaults.STACKS)


def test_each_field_in_which_stacks_differ_has_its_line_and_no_line_is_without_one() -> None:
    assert set(STACKS["differences"]) == set().union(*(stack.values for stack in stacks.stacks()))


@pytest.mark.parametrize("key", STACKS["differences"])
def test_a_difference_of_stacks_has_all_its_fields(key: str) -> None:
    line = STACKS["differences"][key]
    assert list(line) == ["what", "values", "since", "evidence", "effect", "from", "where"]
    assert all(line.values())
    assert {citation.split(" ")[0] for citation in line["from"]} <= set(SOURCES)
    assert all((ROOT / place).is_file() for place in line["where"])


@pytest.mark.parametrize("key", STACKS["differences"])
def test_a_difference_says_how_it_is_known_and_measurements_are_files_of_the_repository(key: str) -> None:
    evidence = STACKS["differences"][key]["evidence"]
    measured, read = evidence.get("measured", {}), evidence["read"]
    assert set(evidence) <= {"measured", "read"}
    assert [*measured, *read]
    assert set(measured).isdisjoint(read)
    assert {*measured, *read} <= set(defaults.STACKS)
    assert all((ROOT / by).exists() for by in measured.values())


@pytest.mark.parametrize("name", defaults.STACKS)
def test_a_stack_says_which_release_it_is(name: str) -> None:
    assert set(STACKS["stacks"][name]) == {"what", "release"}


@pytest.mark.parametrize("key", STACKS["differences"])
def test_a_difference_has_words_for_the_values_that_the_stacks_have(key: str) -> None:
    assert set(STACKS["differences"][key]["values"]) == values_of(key)
    assert len(values_of(key)) > 1


@pytest.mark.parametrize("key", _core.stacks()[0]["values"])
def test_the_code_uses_each_difference_where_the_list_says(key: str) -> None:
    asked = {"airtime_queue_limit": "aql"}.get(key, key)
    code = [(ROOT / place).read_text().lower() for place in STACKS["differences"][key]["where"]]
    assert any(asked in text for text in code)
