"""Each command that reads a file or a folder, with paths that are none: a message and no traceback."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from command import in_process

COMMANDS: dict[str, list[str]] = {
    **{name: [name, "PATH"] for name in ("check", "run", "plot", "report", "sensitivity", "pareto", "bundle", "rerun")},
    **{name: [name, "PATH"] for name in ("validate", "drill")},
    **{f"import {kind}": ["import", kind, "PATH", "--out", "OUT"] for kind in ("flent", "pcap", "teacup")},
    "recommend": ["recommend", "PATH"],
    "compare": ["compare", "PATH", "PATH"],
    "export": ["export", "PATH", "--csv", "--out", "OUT"],
    "testbed": ["testbed", "check", "PATH"],
    "lab": ["lab", "PATH", "--no-browser"],
}

KINDS = ("a loop", "a long name", "below a file", "nothing", "a device", "not UTF-8")


def odd(kind: str, place: Path) -> str:
    """A path of this kind."""
    file = place / "file"
    file.write_text("x")
    if kind == "a loop":
        (place / "loop").symlink_to(place / "loop")
    return {
        "a loop": str(place / "loop"),
        "a long name": str(place / ("x" * 300)),
        "below a file": str(file / "x"),
        "nothing": "",
        "a device": "/dev/zero",
        "not UTF-8": os.fsdecode(b"\xff\xfe.yaml"),
    }[kind]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_path_that_is_no_file_or_folder_is_refused_by_a_message(
    command: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = odd(kind, tmp_path)
    monkeypatch.chdir(tmp_path)
    words = [{"PATH": path, "OUT": str(tmp_path / "out")}.get(word, word) for word in COMMANDS[command]]
    done = in_process(*words, status=2)
    assert not done.stdout
    assert "hint: " in done.stderr or "Error: " in done.stderr


@pytest.mark.parametrize("kind", ["flent", "pcap", "teacup"])
def test_an_import_waits_for_no_fifo(kind: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    done = in_process("import", kind, tmp_path / "fifo", "--out", tmp_path / "out", status=2)
    assert "it is not a regular file" in done.stderr
