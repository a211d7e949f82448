"""Each discipline with random options is set by the real `tc`, printed by it, and read back as what was set.

On the kernel of this machine here, as far as it has the disciplines, and on that of the uml backend in
`tests/python/backends/uml/test_printed.py`.
"""

from __future__ import annotations

import shutil
import subprocess
import uuid
from collections.abc import Iterator

import pytest

from tailback import _core
from tailback.qdiscs import words_of
from tailback.scenario import CoreRegistry, words
from tc_options import ALWAYS, OPTIONS, drawn, with_what_is_not_printed

QDISCS = CoreRegistry().qdiscs
TC = shutil.which("tc")
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


@pytest.fixture(scope="module")
def tc() -> Iterator[list[str]]:
    """`tc` in a network namespace of its own, with a device `d0`."""
    if TC is None:
        pytest.skip("there is no tc on this machine")
    name = f"tailback-printed-{uuid.uuid4().hex[:8]}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"no network namespace can be made here: {made.stderr.strip()}")
    inside = ["ip", "netns", "exec", name]
    try:
        link = ["ip", "link", "add", "d0", "type", "veth", "peer", "name", "d1"]
        if subprocess.run([*inside, *link], check=False, capture_output=True).returncode:
            pytest.skip("no veth can be made here")
        yield [*inside, TC]
    finally:
        subprocess.run(["ip", "netns", "del", name], check=False)


@pytest.mark.parametrize("details", [(), ("-d",), ("-s", "-d")], ids=["plain", "details", "statistics"])
@pytest.mark.parametrize("kind", OPTIONS)
def test_what_the_tc_of_this_machine_prints_is_read_as_what_was_set(
    tc: list[str], kind: str, details: tuple[str, ...]
) -> None:
    for text in drawn(kind, TIMES):
        subprocess.run([*tc, "qdisc", "del", "dev", "d0", "root"], capture_output=True, check=False)
        done = subprocess.run(
            [*tc, "qdisc", "add", "dev", "d0", "root", *text.split()], capture_output=True, text=True, check=False
        )
        if "kind is unknown" in done.stderr or "Unknown qdisc" in done.stderr:
            pytest.skip(f"the kernel or the tc of this machine has no {kind}")
        assert not done.returncode, f"{text}: {done.stderr}"
        shown = subprocess.run(
            [*tc, *details, "qdisc", "show", "dev", "d0"], capture_output=True, text=True, check=True
        ).stdout
        first, *more = [line for line in shown.splitlines() if " parent " not in line]
        assert meant("\n".join([with_what_is_not_printed(first, kind), *more])) == meant(text), shown
