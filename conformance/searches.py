"""Writes the searches of docs/search.md: the commands, and what they print.

python -m conformance.searches
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from conformance.page import DOCS, write_tables
from tailback import scenario
from tailback.search import Wanted, condition, search, seconds

PAGE = DOCS / "search.md"

SEARCHES: Mapping[str, Sequence[str]] = {
    "search/trap": (
        "--find", "bbr_bw > 3 * rate", "--for", "40s",
        "--over", "before=10mbit..200mbit, after=1mbit..20mbit, delay, limit=10..2000",
    ),
    "search/starvation": (
        "--find", "goodput('other') / goodput('test', 'other') < 0.02",
        "--over", "rate=2mbit..100mbit, delay=1ms..50ms, limit=10..2000",
    ),
    "search/oscillation": (
        "--find", "ping_ms.p50 < ping_ms.min + 5 and ping_ms.p95 > ping_ms.min + 45",
        "--over", "rate=5mbit..50mbit, delay=5ms..150ms, flows=10..40",
    ),
    "search/policed": (
        "--find", "goodput_mbps.total < 0.3 * lowest(rate)",
        "--over", "rate=2mbit..20mbit, burst=9kb..200kb, delay=1ms..100ms", "--keep", "traffic[0].cc",
    ),
}  # fmt: skip
"""The words of the commands, by experiment."""


def main() -> None:
    write_tables(
        {"searches": [line for name in SEARCHES for line in told(name)]}, PAGE, "python -m conformance.searches"
    )


def told(name: str) -> Iterator[str]:
    """A command and what it prints, without what differs between machines."""
    words = SEARCHES[name]
    options = dict(zip(words[::2], words[1::2], strict=True))
    kept = [options["--keep"]] if "--keep" in options else []
    looked = condition(options["--find"], seconds(options.get("--for", "0s")))
    wanted = Wanted(scenario.file_of(Path(name)), looked, options["--over"], budget_s=600, kept=kept)
    found = search(wanted, lambda *_: None)
    yield "```console"
    yield f"$ tailback search {name} {' '.join(map(quoted, words))} --seed {wanted.seed}"
    yield f"found after {found.evaluations} runs, shrunk in {found.shrinking} more to {found.lines} lines"
    yield from found.text.rstrip().splitlines()
    yield "```"
    yield ""


def quoted(word: str) -> str:
    """A word as a shell takes it."""
    return word if word.isalnum() or word.startswith("--") else f'"{word}"'


if __name__ == "__main__":
    main()
