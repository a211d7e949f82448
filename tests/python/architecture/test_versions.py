"""What a clone and its workflows use has a version that does not move by itself."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def locked() -> dict[str, list[Requirement]]:
    """The rows of the lock by name: a package may have one for each Python."""
    found: dict[str, list[Requirement]] = {}
    for line in (ROOT / "requirements.lock").read_text().splitlines():
        if line and not line.startswith("#"):
            row = Requirement(line)
            found.setdefault(canonicalize_name(row.name), []).append(row)
    return found


def wanted() -> list[Requirement]:
    """Everything that pyproject.toml and the Makefile have installed."""
    extras = PROJECT["project"]["optional-dependencies"].values()
    lists = [PROJECT["project"]["dependencies"], PROJECT["build-system"]["requires"], *extras, ["ziglang", "uv"]]
    # An extra may name extras of our own.
    named = [Requirement(word) for words in lists for word in words]
    return [requirement for requirement in named if requirement.name != PROJECT["project"]["name"]]


def test_every_requirement_has_one_version_in_the_lock_which_satisfies_it() -> None:
    rows = locked()
    for requirement in wanted():
        found = rows.get(canonicalize_name(requirement.name))
        assert found, f"{requirement.name} is not in requirements.lock: make lock"
        for row in found:
            version = str(row.specifier).removeprefix("==")
            assert requirement.specifier.contains(version, prereleases=True), f"{requirement}, but {row}: make lock"


def test_every_row_of_the_lock_is_one_version() -> None:
    assert [row for rows in locked().values() for row in rows if not str(row.specifier).startswith("==")] == []


def test_every_installation_of_the_makefile_uses_the_lock() -> None:
    makefile = (ROOT / "Makefile").read_text()
    installs = re.findall(r"\$\(PIP\) install (.*)", makefile)
    assert len(installs) == 2
    assert [words for words in installs if "$(LOCK)" not in words and "--no-deps" not in words] == []
    assert makefile.count("scripts/install.sh $(BIN) ") == 4
    assert "--constraint" in (ROOT / "scripts" / "install.sh").read_text()


def test_every_action_of_a_workflow_is_named_by_its_commit() -> None:
    uses = [
        line
        for workflow in (ROOT / ".github" / "workflows").glob("*.yml")
        for line in re.findall(r"uses: (.*)", workflow.read_text())
    ]
    assert uses
    assert [line for line in uses if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}  # v[\d.]+", line)] == []


def test_the_release_has_one_version_everywhere() -> None:
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert re.search(rf"^## .*{re.escape(version)}", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)


def test_the_package_says_what_it_is() -> None:
    project = PROJECT["project"]
    assert {"readme", "license", "license-files", "authors", "keywords", "classifiers"} <= project.keys()
    assert all((ROOT / name).is_file() for name in (project["readme"], "CITATION.cff", "CODE_OF_CONDUCT.md"))
    lowest = project["requires-python"].removeprefix(">=")
    assert f"Programming Language :: Python :: {lowest}" in project["classifiers"]
