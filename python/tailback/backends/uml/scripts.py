"""packetdrill scripts against the TCP of a real kernel: a guest for each script, in virtual time.

The agent in the guest runs the script (`crates/agent/src/drill.rs`) and reports its result in the form of the core.
"""

import json
from typing import TYPE_CHECKING, cast

from tailback.backends.backend import RunFailed
from tailback.backends.linux import process
from tailback.backends.uml import Uml, instance

if TYPE_CHECKING:
    from tailback._core import Drilled

SEED = 1
"""Seed of the guest's random numbers, which affect only initial sequence numbers."""


def play(kernel: Uml, text: str, tolerance_usecs: int | None) -> "Drilled":
    """Runs the script `text` in a new guest; raises `RunFailed` if the guest fails."""
    script = json.dumps({"text": text, "tolerance_usecs": tolerance_usecs})
    order = instance.Order(script, SEED, duration_ns=1, file="script.json")
    with instance.finished(kernel.machine, order, process.Progress()) as (folder, _):
        try:
            report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise RunFailed(f"the guest has not reported the result of the script: {error}") from error
    return cast("Drilled", report)
