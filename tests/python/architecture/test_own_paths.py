"""No text in the repository names a folder that only one machine has."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[3]

OWN = re.compile(r"(?<![\w.}/-])/(?:work|root|tmp/w)/\w")
"""Folders where we happen to work: beside them a clone would look for nothing."""

THIS = "tests/python/architecture/test_own_paths.py"


def tracked() -> list[str]:
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [name for name in done.stdout.split("\0") if name and name != THIS]


def test_no_file_names_a_folder_of_our_machines() -> None:
    found = []
    for name in tracked():
        path = ROOT / name
        if path.is_file():
            content = path.read_bytes()
            if b"\0" not in content:
                found += [f"{name}: {match.group()}" for match in OWN.finditer(content.decode("utf-8", "replace"))]
    assert not found


def test_the_pattern_sees_such_a_folder_and_no_other() -> None:
    assert OWN.search("python -m tool /work/shared/truth out")
    assert OWN.search("`/root/project`")
    assert OWN.search("a/work/shared") is None
