"""Runs `tc` with all strings in one guest, a kernel in virtual time.

The guest can read the host's files, including `tc`. It writes one file with a block per string: the exit status, the
output of `tc`, the disciplines from `tc -s -d -j qdisc show`, and as text the disciplines and the classes, because
`tc -j class show` does not print JSON for all kinds.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from conformance.tc.strings import commands
from tailback.backends.linux import process
from tailback.backends.linux.qdisc_stats import parsed
from tailback.backends.linux.steps import IP, TC, run
from tailback.backends.uml import instance
from tailback.kernel import STOCK, find_agent, find_kernel

DEVICE = "d0"
OUT = "/tmp/run/tc.out"


@dataclass(frozen=True)
class Answer:
    """The answer to one string. `status` is that of `tc`: 1 = syntax error, 2 = refused by the kernel."""

    text: str
    status: int
    output: str
    discipline: dict[str, Any] | None
    classes: list[str]
    printed: list[str]
    """The lines of `tc -d qdisc show`."""


def answers(texts: Sequence[str]) -> list[Answer]:
    """The answers of `tc` and the kernel to strings."""
    machine = instance.Machine(find_kernel(STOCK).binary, find_agent())
    order = instance.Order(json.dumps(_job(texts)), 1, 10**6)
    with instance.finished(machine, order, process.Progress()) as (folder, _):
        blocks = (folder / "tc.out").read_text(encoding="utf-8").split("\x1e\n")[1:]
    return [_answer(text, block) for text, block in zip(texts, blocks, strict=True)]


def _job(texts: Sequence[str]) -> dict[str, Any]:
    setup = [run(None, IP, "link", "add", DEVICE, "type", "veth", "peer", "name", "d1")]
    setup += [run(None, "/bin/sh", "-c", f"exec >>{OUT}\n{_script(text)}\nexit 0") for text in texts]
    nothing: dict[str, Any] = {key: [] for key in ("hosts", "devices", "changes", "traffic")}
    return {**nothing, "marks": {}, "setup": setup, "duration_ns": 10**6, "interval_ns": 10**6}


def _script(text: str) -> str:
    """The shell commands for one string: removes the previous discipline, then adds the discipline and its classes."""
    chained = " && ".join(shlex.join([TC, *command]) for command in commands(text, DEVICE))
    return "\n".join(
        (
            f"{TC} qdisc del dev {DEVICE} root 2>/dev/null",
            r"printf '\036\n'",
            f"said=$( {{ {chained}; }} 2>&1 ); echo $?",
            r"""printf '%s\n' "$said" | tr '\n' ' ' | cut -c 1-200""",
            f"{TC} -s -d -j qdisc show dev {DEVICE}; echo",
            f"{TC} -d class show dev {DEVICE}",
            f"{TC} -d qdisc show dev {DEVICE}",
        )
    )


def _answer(text: str, block: str) -> Answer:
    status, output, *rest = block.splitlines()
    shown = parsed(next(line for line in rest if line.startswith("[")))
    root = next((each for each in shown if each.get("root") and not int(status)), None)
    classes = [line for line in rest if line.startswith("class ")]
    printed = [line for line in rest if line.startswith(("qdisc ", " "))]
    return Answer(text, int(status), output.strip(), root, classes, printed)
