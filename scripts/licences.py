"""licences.py: prints the licences of all that an installed Tailback stands on, as Markdown (`make licences`).

Python: what `pip install tailback[plot,lab]` installs, by its metadata in this environment. Rust: what is compiled into
the wheel, by `cargo metadata`. The page of the lab: what is bundled into it, by its lock file. Ends with status 1 if a
licence is none of those that a work under MIT or Apache-2.0 may stand on.
"""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]

CLASSIFIED = {
    "MIT License": "MIT", "BSD License": "BSD-3-Clause", "Apache Software License": "Apache-2.0",
    "Python Software Foundation License": "PSF-2.0", "MIT No Attribution License (MIT-0)": "MIT-0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0", "ISC License (ISCL)": "ISC",
}  # fmt: skip
"""Classifiers of older packages as SPDX identifiers."""

WORDS = {
    "MIT License": "MIT", "BSD": "BSD-3-Clause", "Python Software Foundation License": "PSF-2.0",
    "Apache 2.0": "Apache-2.0",    "Apache License 2.0": "Apache-2.0", "PSF": "PSF-2.0", "ISC License": "ISC",
    "3-Clause BSD License": "BSD-3-Clause",
}  # fmt: skip
"""What older packages say in words."""

ALLOWED = frozenset(
    ("MIT", "MIT-0", "MIT-CMU", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "ISC", "PSF-2.0", "CC0-1.0",
     "Unicode-3.0", "Unlicense", "Zlib", "HPND", "BSL-1.0", "MPL-2.0", "Apache-2.0 WITH LLVM-exception",
     "GPL-3.0-or-later WITH GCC-exception-3.1")
)  # fmt: skip
"""SPDX identifiers of licences under which a package may be used beside a work that is MIT or Apache-2.0."""


def main() -> int:
    """Prints the tables."""
    python = sorted(_python())
    rust = sorted(set(_rust()))
    page = sorted(_page())
    print("# Licences of what Tailback stands on\n\n`make licences` writes this page.\n")
    for title, rows in (
        ("Python packages that `pip install 'tailback[plot,lab]'` installs", python),
        ("Crates in the wheel", rust),
        ("Packages in the page of `tailback lab`", page),
    ):
        print(f"## {title}\n\n| package | version | licence |\n|---|---|---|")
        print("".join(f"| {name} | {version} | {licence} |\n" for name, version, licence in rows))
    wrong = [f"{name}: {licence}" for name, _, licence in [*python, *rust, *page] if not allowed(licence)]
    print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


def allowed(licence: str) -> bool:
    """Whether a licence, an SPDX expression, has a choice whose every part is allowed."""
    choices = re.split(r" OR |/", licence.replace("(", "").replace(")", ""))
    return any(all(part.strip() in ALLOWED for part in choice.split(" AND ")) for choice in choices)


def _python() -> Iterator[tuple[str, str, str]]:
    """Name, version and licence of each Python package, with all that it requires."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    words = [*project["dependencies"], *extras["plot"], *extras["lab"]]
    left, seen = [Requirement(word) for word in words], set[str]()
    while left:
        requirement = left.pop()
        name = canonicalize_name(requirement.name)
        marker = requirement.marker
        if name in seen or (marker is not None and not marker.evaluate({"extra": ""})):
            continue
        seen.add(name)
        try:
            found = distribution(requirement.name)
        except PackageNotFoundError:
            continue
        yield name, found.version, _licence(found)
        left += [Requirement(word) for word in found.requires or ()]


def _licence(found: Distribution) -> str:
    metadata = found.metadata
    if expression := metadata.get("License-Expression"):
        return str(expression)
    kinds = [line.rsplit(" :: ", 1)[-1] for line in metadata.get_all("Classifier", []) if line.startswith("License ::")]
    named = [CLASSIFIED[kind] for kind in kinds if kind in CLASSIFIED]
    text = str(metadata.get("License", "")).strip().partition("\n")[0]
    return " AND ".join(dict.fromkeys(named)) or WORDS.get(text, text) or "unknown"


def _page() -> Iterator[tuple[str, str, str]]:
    """Name, version and licence of each npm package that is bundled into the page of the lab."""
    locked = json.loads((ROOT / "web" / "package-lock.json").read_text("utf-8"))["packages"]
    for folder, each in locked.items():
        if folder and not each.get("dev"):
            yield folder.rpartition("node_modules/")[2], each["version"], each.get("license", "unknown")


def _rust() -> Iterator[tuple[str, str, str]]:
    """Name, version and licence of each crate that is compiled into the extension or the agent."""
    words = ["cargo", "metadata", "--locked", "--offline", "--format-version", "1", "--filter-platform"]
    document = json.loads(subprocess.check_output([*words, "x86_64-unknown-linux-gnu"], cwd=ROOT))
    packages = {each["id"]: each for each in document["packages"]}
    nodes = {each["id"]: each for each in document["resolve"]["nodes"]}
    left = [key for key, each in packages.items() if each["name"] in ("tailback-python", "tailback-agent")]
    seen = set(left)
    while left:
        for key in _needed(nodes[left.pop()]):
            if key not in seen:
                seen.add(key)
                left.append(key)
    for key in seen:
        if packages[key]["source"] is not None:
            yield packages[key]["name"], packages[key]["version"], packages[key]["license"] or "unknown"


def _needed(node: Mapping[str, Any]) -> Iterator[str]:
    """The crates that a crate is compiled with, but for its tests."""
    for each in node["deps"]:
        if any(kind["kind"] != "dev" for kind in each["dep_kinds"]):
            yield each["pkg"]


if __name__ == "__main__":
    raise SystemExit(main())
