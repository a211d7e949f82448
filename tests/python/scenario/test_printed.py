"""Each discipline with random options is set by the real `tc`, printed by it, and read back as what was set.

On the kernel of this machine here, as far as it has the disciplines, and on that of the uml backend in
`tests/python/backends/uml/test_printed.py`.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from tailback import _core
from tailback.qdiscs import words_of
from tailback.scenario import CoreRegistry, words
from tc_options import ALWAYS, OPTIONS, drawn, with_what_is_not_printed

QDISCS = CoreRegistry().qdiscs
TIMES = 4
NEEDS_ANOTHER = ("gap",)


def test_every_discipline_of_tc_is_drawn() -> None:
    # `mq` has no options, and needs a device with several queues.
    assert set(OPTIONS) == {row.name for row in QDISCS} - {"mq"}


@pytest.mark.parametrize("kind", OPTIONS)
def test_what_is_drawn_is_read(kind: str) -> None:
    for text in drawn(kind, TIMES):
        meant(text)


@pytest.mark.parametrize("kind", OPTIONS)
def test_what_is_written_for_a_kernel_is_read_as_what_was_given(kind: str) -> None:
    texts = [*drawn(kind, 5 * TIMES), *(f"{kind} {ALWAYS.get(kind, '')} {option}" for option in every(kind))]
    for text in texts:
        options = words.discipline(text, QDISCS).options
        written = " ".join([kind, *words_of(kind, options)])
        assert meant(written) == meant(text), written


def every(kind: str) -> Iterator[str]:
    """Each option with each of its values."""
    for name, values in OPTIONS[kind].items():
        if name not in NEEDS_ANOTHER:
            yield from (f"{name} {value}".strip() for value in values)


def meant(text: str) -> dict[str, int]:
    """All options that a text stands for."""
    found = words.discipline(text, QDISCS)
    return dict(_core.resolved_qdisc(found.kind, found.options, 1500))


@pytest.mark.parametrize("details", [(), ("-d",), ("-s", "-d")], ids=["plain", "details", "statistics"])
def test_what_the_tc_of_this_machine_prints_is_read_as_what_was_set(tc: list[str], details: tuple[str, ...]) -> None:
    # Those that the kernel of this machine lacks are left to that of the uml backend, which has them all.
    had = [kind for kind in OPTIONS if all(printed_as_set(tc, text, kind, details) for text in drawn(kind, TIMES))]
    assert "pfifo" in had


def printed_as_set(tc: list[str], text: str, kind: str, details: tuple[str, ...]) -> bool:
    """Whether this machine has the discipline; what its `tc` prints of it must be what was set."""
    subprocess.run([*tc, "qdisc", "del", "dev", "d0", "root"], capture_output=True, check=False)
    added = [*tc, "qdisc", "add", "dev", "d0", "root", *text.split()]
    done = subprocess.run(added, capture_output=True, text=True, check=False)
    if "kind is unknown" in done.stderr or "Unknown qdisc" in done.stderr:
        return False
    assert not done.returncode, f"{text}: {done.stderr}"
    show = [*tc, *details, "qdisc", "show", "dev", "d0"]
    shown = subprocess.run(show, capture_output=True, text=True, check=True).stdout
    first, *more = [line for line in shown.splitlines() if " parent " not in line]
    assert meant("\n".join([with_what_is_not_printed(first, kind), *more])) == meant(text), shown
    return True
