"""Each discipline with random options is set by the real `tc` on a real kernel, printed, and read back as what was set.

A kernel or a `tc` that is older than an option refuses it; what they take has to be read.
"""

from __future__ import annotations

import pytest

from conformance.tc import guest
from tailback import _core
from tailback.backends.uml import Uml
from tailback.scenario import CoreRegistry, words
from tc_options import OPTIONS, drawn, with_what_is_not_printed

QDISCS = CoreRegistry().qdiscs
TIMES = 12

NEWER = ("dualpi2",)
"""Disciplines that the kernel of the backend may lack."""


def meant(text: str) -> dict[str, int]:
    found = words.discipline(text, QDISCS)
    resolved = dict(_core.resolved_qdisc(found.kind, found.options, 1500))
    if found.kind == "sfq":
        # No more flows than packets can wait; the kernel prints it so. [linux-6.12 sch_sfq.c sfq_change]
        resolved["flows"] = min(resolved["flows"], resolved["limit"])
    return resolved


@pytest.fixture(scope="module")
def answers(uml: Uml) -> dict[str, guest.Answer]:
    """What `tc` and the kernel say to all strings, in one guest."""
    del uml
    texts = list(dict.fromkeys(text for kind in OPTIONS for text in drawn(kind, TIMES)))
    return {answer.text: answer for answer in guest.answers(texts)}


@pytest.mark.parametrize("kind", OPTIONS)
def test_what_a_kernel_shows_is_read_as_what_was_set(answers: dict[str, guest.Answer], kind: str) -> None:
    taken = [answers[text] for text in dict.fromkeys(drawn(kind, TIMES)) if not answers[text].status]
    assert taken or kind in NEWER
    for answer in taken:
        first, *more = [line for line in answer.printed if " parent " not in line]
        assert meant("\n".join([with_what_is_not_printed(first, kind), *more])) == meant(answer.text), answer.printed
