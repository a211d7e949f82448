"""The strings of `strings.txt`, and their commands of `tc`."""

from __future__ import annotations

from pathlib import Path

STRINGS = Path(__file__).with_name("strings.txt")


def strings() -> list[str]:
    """All strings, in order."""
    lines = STRINGS.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def commands(text: str, device: str) -> list[list[str]]:
    """The commands of `tc`: the discipline, then its classes."""
    root, *classes = [part.split() for part in text.split(";")]
    found = [["qdisc", "add", "dev", device, "root", "handle", "1:", *root]]
    for _, number, *options in classes:
        parent, own = (options[1], options[2:]) if options[:1] == ["parent"] else ("1:", options)
        found.append(["class", "add", "dev", device, "parent", parent, "classid", number, root[0], *own])
    return found
