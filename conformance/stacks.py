"""The tables of `docs/stacks.md`: each mechanism in which stacks differ, by version, and what it changes in a figure.

    python -m conformance.stacks            # writes them anew from references/stacks.toml

A test holds the page and the file together (`tests/python/conformance/test_stacks.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from conformance.page import DOCS, rows, with_tables
from tailback.scenario.stacks import Difference, Stack, differences, in_order, stacks

PAGE = DOCS / "stacks.md"


def tables() -> dict[str, list[str]]:
    """The tables of the page, by name."""
    ordered = in_order(stacks())
    return {
        "releases": rows(
            ["stack", "release", ""], ([f"`{each.name}`", each.release, each.summary] for each in ordered)
        ),
        "mechanisms": rows(
            ["mechanism", "by version", "since, and where it was measured or read", "what it changes"],
            (_row(each, ordered) for each in differences()),
        ),
    }


def _row(difference: Difference, ordered: Sequence[Stack]) -> Sequence[str]:
    values = "<br>".join(_values(difference, ordered))
    cells = (difference.what, values, f"{difference.since}. {known(difference)}", difference.effect)
    return [cell.replace("|", "\\|") for cell in cells]


def _values(difference: Difference, ordered: Sequence[Stack]) -> Iterator[str]:
    """Each value with the stacks that have it, neighbours as a range."""
    for value, words in difference.values.items():
        having = [stack.values[difference.key] == value for stack in ordered]
        yield f"**{', '.join(_ranges(ordered, having))}**: {words}"


def _ranges(ordered: Sequence[Stack], having: Sequence[bool]) -> Iterator[str]:
    linux = [place for place, stack in enumerate(ordered) if stack.name.startswith("linux-")]
    names = [stack.name.removeprefix("linux-") for stack in ordered]
    start = None
    for place in [*linux, len(linux)]:
        has = place < len(linux) and having[place]
        if has and start is None:
            start = place
        if not has and start is not None:
            yield names[start] if place - start == 1 else f"{names[start]} to {names[place - 1]}"
            start = None
    yield from (names[place] for place in range(len(linux), len(ordered)) if having[place])


def known(difference: Difference) -> str:
    """Where the values were measured or read, the oldest version first."""
    parts = (("measured", difference.evidence.measured), ("read", reversed(difference.evidence.read)))
    lists = ((how, ", ".join(stack.removeprefix("linux-") for stack in which)) for how, which in parts)
    return "; ".join(f"*{how}:* {names}" for how, names in lists if names)


def main() -> None:
    """Writes the page's tables."""
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), tables()), encoding="utf-8")


if __name__ == "__main__":
    main()
